"""Scikit-learn faces of the private estimators."""

from geomstats_ldp.estimators.location import (
    PrivateFrechetMean,
    PrivateMEstimator,
    PrivateVMFLocation,
)
from geomstats_ldp.estimators.pca import PrivatePCA

__all__ = ["PrivateFrechetMean", "PrivateMEstimator", "PrivatePCA", "PrivateVMFLocation"]
