"""Inference: from a state to a covariance and a confidence region."""

from geomstats_ldp.inference.sandwich import SandwichEstimate, estimate_sandwich
from geomstats_ldp.inference.wald import WaldRegion

__all__ = ["SandwichEstimate", "WaldRegion", "estimate_sandwich"]
