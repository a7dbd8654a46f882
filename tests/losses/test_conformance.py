"""Every loss of the package, on every space it is meant for, against the conformance suite."""

import math
from functools import partial

import numpy as np
import pytest

from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import (
    LOSSES,
    FrechetLoss,
    HuberRegressionLoss,
    LinearRegressionLoss,
    LogisticRegressionLoss,
    PCALoss,
    PseudoHuberLoss,
    SPDLikelihoodLoss,
    SubspaceLoss,
    TransformedFrechetLoss,
    VonMisesFisherLoss,
    register_transform,
)
from geomstats_ldp.testing import LossCase, parametrize_with_checks

SPHERES = {
    "sphere1": ({"name": "Hypersphere", "dim": 1}, [0.6, 0.8]),
    "sphere2": ({"name": "Hypersphere", "dim": 2}, [2 / 3, -1 / 3, 2 / 3]),
    "sphere5": ({"name": "Hypersphere", "dim": 5}, [0.5, 0.5, -0.5, 0.0, 0.5, 0.0]),
}
TWO, THREE = [[2.0, 0.3], [0.3, 0.7]], [[1.0, 0.2, 0.0], [0.2, 0.8, -0.3], [0.0, -0.3, 2.0]]
LINE, PLANE = np.diag([0.0, 1.0, 0.0]), np.diag([1.0, 0.0, 0.0, 1.0])
AFFINE = {
    "affine2": ({"name": "SPDAffineInvariant", "n": 2}, TWO),
    "affine3": ({"name": "SPDAffineInvariant", "n": 3}, THREE),
}
SPACES = {
    **SPHERES,
    **AFFINE,
    "euclidean": ({"name": "Euclidean", "dim": 3}, [1.0, -2.0, 0.5]),
    "hyperboloid1": ({"name": "Hyperboloid", "dim": 1}, [math.sqrt(1.25), 0.5]),
    "hyperboloid2": ({"name": "Hyperboloid", "dim": 2}, [1.5, 0.5, -1.0]),
    "hyperboloid4": ({"name": "Hyperboloid", "dim": 4}, [2.0, 1.0, 1.0, 0.0, -1.0]),
    "log2": ({"name": "SPDLogEuclidean", "n": 2}, TWO),
    "log3": ({"name": "SPDLogEuclidean", "n": 3}, THREE),
}

# Cheap, with a large known constant c_psi: psi = log(1 + t), valid for D < sqrt(2).
register_transform("log", np.log1p, lambda t: 1 / (1 + t), lambda t: -1 / (1 + t) ** 2)


def case(loss, spec, center):
    return LossCase(loss, space_from_spec(spec), center)


def data_ball(spec, center):
    """Ball of data about a point at distance 0.3 from the centre of the region."""
    geometry = Geometry(space_from_spec(spec), center)
    coords = np.random.default_rng(7).normal(size=geometry.dim)
    coords *= 0.3 / np.linalg.norm(coords)
    moved = geometry.exp(geometry.lift(coords, geometry.reference), geometry.reference)
    return {"center": moved, "data_radius": 0.5}


#: The losses of the distance: the squared one, and two functions of it.
RADIAL = (
    FrechetLoss,
    partial(PseudoHuberLoss, scale=0.4),
    partial(TransformedFrechetLoss, transform="log"),
)


def radial_cases(losses, places):
    return [case(loss(**data_ball(*place)), *place) for loss in losses for place in places]


#: Both signs of curvature and none, and every loss; matrices and other dimensions are slow.
FEW = ["euclidean", "sphere2", "hyperboloid2"]
SPECIAL = {
    key: [case(VonMisesFisherLoss(kappa=2.5), *place), case(PCALoss(norm_bound=1.5), *place)]
    for key, place in SPHERES.items()
} | {key: [case(SPDLikelihoodLoss(norm_bound=2.5), *place)] for key, place in AFFINE.items()}
FLAT = SPACES["euclidean"]
CASES = [
    *SPECIAL["sphere2"],
    *SPECIAL["affine2"],
    *radial_cases(RADIAL[:1], [SPACES[key] for key in FEW]),
    *radial_cases(RADIAL[1:2], [SPACES["hyperboloid2"]]),
    case(LinearRegressionLoss(feature_bound=1.5, intercept=0.7, target_bound=2.0), *FLAT),
    case(LogisticRegressionLoss(feature_bound=1.5, intercept=0.0), *FLAT),
    case(HuberRegressionLoss(feature_bound=1.5, intercept=0.7, scale=0.5), *FLAT),
]
#: A function of the distance changes the length of a score, which no space treats in its own way:
#: the squared distance is examined on all spaces, its functions on one of each kind.
MORE = [
    *(one for key in ("sphere1", "sphere5", "affine3") for one in SPECIAL[key]),
    *radial_cases(RADIAL[:1], [place for key, place in SPACES.items() if key not in FEW]),
    *radial_cases(RADIAL[1:], [SPACES[key] for key in ("euclidean", "sphere2", "affine2")]),
    *radial_cases(RADIAL[2:], [SPACES["hyperboloid2"]]),
    case(SubspaceLoss(norm_bound=1.5), {"name": "Grassmannian", "n": 3, "p": 1}, LINE),
    case(SubspaceLoss(norm_bound=1.5), {"name": "Grassmannian", "n": 4, "p": 2}, PLANE),
]


@parametrize_with_checks(CASES)
def test_conformance(case, check):
    check(case)


@pytest.mark.slow  # searches for the largest score, and compiles, for each space and loss
@parametrize_with_checks(MORE)
def test_conformance_in_more_dimensions(case, check):
    check(case)


def test_every_loss_is_examined():
    own = {
        name for name, cls in LOSSES.items() if cls.__module__.startswith("geomstats_ldp.losses.")
    }
    assert {case.loss.name for case in [*CASES, *MORE]} == own
