"""Scikit-learn faces of the private estimators."""

from geomstats_ldp.estimators.combining import combine
from geomstats_ldp.estimators.comparing import compare
from geomstats_ldp.estimators.frechet import PrivateFrechetMean
from geomstats_ldp.estimators.location import PrivateMEstimator
from geomstats_ldp.estimators.logistic import PrivateLogisticRegression
from geomstats_ldp.estimators.pca import PrivatePCA
from geomstats_ldp.estimators.regression import PrivateHuberRegression, PrivateLinearRegression
from geomstats_ldp.estimators.spd_covariance import PrivateSPDCovariance
from geomstats_ldp.estimators.tuning import Tuning
from geomstats_ldp.estimators.von_mises_fisher import PrivateVMFLocation

__all__ = [
    "PrivateFrechetMean",
    "PrivateHuberRegression",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivateMEstimator",
    "PrivatePCA",
    "PrivateSPDCovariance",
    "PrivateVMFLocation",
    "Tuning",
    "combine",
    "compare",
]
