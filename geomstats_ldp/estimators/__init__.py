"""Scikit-learn faces of the private estimators."""

from geomstats_ldp.estimators.pca import PrivatePCA

__all__ = ["PrivatePCA"]
