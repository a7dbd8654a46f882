"""Inference: from a state to a covariance, confidence regions and functionals."""

from geomstats_ldp.inference.calibration import AnyLook, BiasedLook, OneLook
from geomstats_ldp.inference.coefficients import CoefficientTable
from geomstats_ldp.inference.comparison import Comparison, Group
from geomstats_ldp.inference.functional import SmoothFunctional, smooth_functional
from geomstats_ldp.inference.prediction import (
    chart_of_scores,
    predict_from_differences,
    predict_pair_scores,
    weak_curvature,
    weakest_direction,
)
from geomstats_ldp.inference.profile import ProfiledFunctional
from geomstats_ldp.inference.rounds import estimate_round_sandwich
from geomstats_ldp.inference.sandwich import SandwichEstimate, estimate_sandwich
from geomstats_ldp.inference.score import ScoreRegion
from geomstats_ldp.inference.wald import WaldRegion

__all__ = [
    "AnyLook",
    "BiasedLook",
    "CoefficientTable",
    "Comparison",
    "Group",
    "OneLook",
    "ProfiledFunctional",
    "SandwichEstimate",
    "ScoreRegion",
    "SmoothFunctional",
    "WaldRegion",
    "chart_of_scores",
    "estimate_round_sandwich",
    "estimate_sandwich",
    "predict_from_differences",
    "predict_pair_scores",
    "smooth_functional",
    "weak_curvature",
    "weakest_direction",
]
