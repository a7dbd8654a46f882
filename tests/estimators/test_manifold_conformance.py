"""Every estimator on data of its manifold, against the package's own conformance suite."""

import numpy as np
import pytest
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import (
    SPDAffineMetric,
    SPDLogEuclideanMetric,
    SPDMatrices,
)
from sklearn.base import clone

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivateHuberRegression,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivateVMFLocation,
    Tuning,
)
from geomstats_ldp.testing import EstimatorCase, parametrize_with_checks

RNG = np.random.default_rng(0)
VECTORS = RNG.normal([0.4, 0.3, 0.2], 0.3, size=(61, 3))
DIRECTIONS = VECTORS / np.linalg.norm(VECTORS, axis=1, keepdims=True)
DISC = RNG.normal([0.15, -0.1], 0.08, size=(61, 2))


def spd(metric):
    space = SPDMatrices(2, equip=False)
    space.equip_with_metric(metric)
    return space


def spd_data():
    values, axes = np.linalg.eigh([(a + a.T) / 2 for a in RNG.normal(0.0, 0.2, size=(41, 2, 2))])
    return np.einsum("nij,nj,nkj->nik", axes, np.exp(values), axes)


#: Two features and a target, which is a class in the second array.
ROWS = np.column_stack([VECTORS[:, :2], VECTORS @ [1.0, -0.5, 1.0]])
LABELS = np.column_stack([VECTORS[:, :2], VECTORS[:, 0] + VECTORS[:, 2] > 0.6])
START = {"epsilon": 4.0, "initial_point": [0.1, 0.2, 0.0]}
NOT_SPD = np.diag([1.0, -1.0])
POINCARE = Hyperbolic(dim=2, coords_type="ball")
CASES = [
    EstimatorCase(PrivatePCA(epsilon=4.0, norm_bound=1.5), VECTORS),
    EstimatorCase(PrivateVMFLocation(epsilon=4.0), VECTORS),
    EstimatorCase(PrivateFrechetMean(epsilon=4.0), VECTORS),
    EstimatorCase(
        PrivateFrechetMean(Hypersphere(2), epsilon=4.0, initial_point=DIRECTIONS[0]),
        DIRECTIONS,
        off_manifold=1.1 * DIRECTIONS[0],
    ),
    EstimatorCase(
        PrivateFrechetMean(POINCARE, loss="pseudo_huber", scale=0.3, epsilon=4.0),
        DISC,
        off_manifold=[1.0, 0.3],
    ),
    EstimatorCase(PrivateLinearRegression(n_rounds=None, **START), ROWS),
    EstimatorCase(PrivateLogisticRegression(n_rounds=None, **START), LABELS),
    EstimatorCase(PrivateHuberRegression(0.5, n_rounds=None, **START), ROWS),
    EstimatorCase(PrivateFrechetMean(spd(SPDLogEuclideanMetric), epsilon=4.0), spd_data(), NOT_SPD),
    EstimatorCase(
        PrivateFrechetMean(spd(SPDAffineMetric), epsilon=4.0, tuning=Tuning(engine="geomstats")),
        spd_data(),
        NOT_SPD,
    ),
]


def changed(case, **parameters):
    """The case with other parameters of its estimator."""
    estimator = clone(case.estimator).set_params(**parameters)
    return EstimatorCase(estimator, case.X, case.off_manifold)


INTERPRETED = [changed(case, tuning=Tuning(engine="geomstats")) for case in CASES]
IN_ROUNDS = [changed(case, n_rounds=3) for case in INTERPRETED[:-2]]  # matrices take long


@parametrize_with_checks([*INTERPRETED[:8:4], *IN_ROUNDS[1::4]])
def test_conformance(case, check):
    """Some cases in pairs and others in rounds, without compilation."""
    check(case)


@pytest.mark.slow
@parametrize_with_checks([*INTERPRETED[2::4], INTERPRETED[8], *IN_ROUNDS[3::4]])
def test_conformance_of_the_other_estimators(case, check):
    check(case)


@pytest.mark.slow  # compiles for each space and loss
@parametrize_with_checks([*CASES[1::2], *(changed(case, n_rounds=3) for case in CASES[::2])])
def test_conformance_of_compiled_estimators(case, check):
    """Each case in the plan in which it has not been interpreted."""
    check(case)
