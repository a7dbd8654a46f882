"""Inference: from a state to a covariance, a confidence region and smooth functionals."""

from geomstats_ldp.inference.functional import SmoothFunctional, smooth_functional
from geomstats_ldp.inference.rounds import estimate_round_sandwich
from geomstats_ldp.inference.sandwich import SandwichEstimate, estimate_sandwich
from geomstats_ldp.inference.wald import WaldRegion

__all__ = [
    "SandwichEstimate",
    "SmoothFunctional",
    "WaldRegion",
    "estimate_round_sandwich",
    "estimate_sandwich",
    "smooth_functional",
]
