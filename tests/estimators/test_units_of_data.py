"""On flat spaces an estimate in other units is the same estimate, and so is its region."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.product_manifold import ProductManifold

from geomstats_ldp import PrivateFrechetMean, Tuning
from geomstats_ldp.geometry import geodesic_ball, log_box
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.protocol import InferenceRule
from geomstats_ldp.score_regression.fit import _least_squares
from geomstats_ldp.score_regression.known_moment import Knowledge
from geomstats_ldp.score_regression.moments import symmetric_basis

pytestmark = pytest.mark.filterwarnings(
    "ignore::geomstats_ldp.exceptions.LDPWarning"  # of few rows, and of the edges aimed at
)

UNITS = [1e-6, 1e-2, 10.0, 1e6]


def heights_and_weights(n=1500):
    return np.random.default_rng(0).normal([170.0, 70.0], [8.0, 12.0], (n, 2))


def fitted(rows, start, unit, *, space=None, scale=None, n_rounds=None, region=None, epsilon=4.0):
    """A mean of data in the given unit, whose public numbers are in it as well."""
    start = unit * np.array(start)
    return PrivateFrechetMean(
        space,
        "squared" if scale is None else "pseudo_huber",
        None if scale is None else scale * unit,
        80.0 * unit,
        epsilon=epsilon,
        initial_point=start,
        region_radius=40.0 * unit,
        n_rounds=n_rounds,
        tuning=Tuning(working_region=None if region is None else region(start, unit)),
        random_state=0,
    ).fit(unit * rows)


def numbers(mean, unit):
    """What a fit says, in the unit of one."""
    region, protocol = mean.confidence_region(), mean.protocol_
    gain = protocol.gain
    found = {
        "estimate": mean.estimate_ / unit,
        "covariance": mean.covariance_ / unit**2,
        "hessian": mean.hessian_,
        "semi-axes": region.semi_axis_lengths / unit,
        "reach": protocol.reach / unit,
        "statistic": region.statistic(protocol.initial_point),
    }
    if gain is not None:
        found |= {"gain": gain.constant, "offset": gain.offset, "cap": gain.step_cap / unit}
    return found


def assert_same(mean, other, unit):
    expected, found = numbers(mean, 1.0), numbers(other, unit)
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-10, atol=1e-10, err_msg=name)
    assert mean.confidence_region().is_informative == other.confidence_region().is_informative


@pytest.mark.parametrize(
    ("scale", "n_rounds"),
    [(None, None), (None, 3), (20.0, 3), pytest.param(20.0, None, marks=pytest.mark.slow)],
)
def test_the_unit_of_vectors_does_not_matter(scale, n_rounds):
    rows, start = heights_and_weights(), [150.0, 90.0]
    mean = fitted(rows, start, 1.0, scale=scale, n_rounds=n_rounds)
    for unit in UNITS:
        other = fitted(rows, start, unit, scale=scale, n_rounds=n_rounds)
        assert_same(mean, other, unit)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("epsilon", [0.5, pytest.param(math.inf, marks=pytest.mark.slow)])
def test_the_unit_does_not_matter_under_any_noise(unit, epsilon):
    rows, start = heights_and_weights(400), [150.0, 90.0]
    mean, other = (fitted(rows, start, s, epsilon=epsilon) for s in (1.0, unit))
    assert_same(mean, other, unit)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize("holds_queries", [False, True])
def test_the_unit_of_a_region_does_not_matter(unit, holds_queries):
    """Targets at the edge, where iterates are projected all the time."""

    def box(start, s):
        return log_box(start, [20.0 * s, 21.0 * s], holds_queries)

    def ball(start, s):
        return geodesic_ball(start, 20.0 * s, holds_queries)

    rows, start = heights_and_weights(400), [150.0, 90.0]
    for region in (box, ball):
        mean, other = (fitted(rows, start, s, region=region) for s in (1.0, unit))
        assert mean.diagnostics_["n_projected_updates"] > 0
        assert_same(mean, other, unit)


@pytest.mark.parametrize("n_rounds", [pytest.param(None, marks=pytest.mark.slow), 3])
def test_the_unit_of_flat_factors_does_not_matter(n_rounds):
    space = ProductManifold([Euclidean(2), Euclidean(2)])
    rng = np.random.default_rng(1)
    rows, start = rng.normal(10.0, 9.0, (300, 2, 2)), np.zeros((2, 2))
    mean = fitted(rows, start, 1.0, space=space, n_rounds=n_rounds)
    for unit in (1e-6, 1e6):
        assert_same(mean, fitted(rows, start, unit, space=space, n_rounds=n_rounds), unit)


@pytest.mark.slow  # compiles
@pytest.mark.parametrize("n_rounds", [None, 3])
@pytest.mark.parametrize("unit", [0.01, 0.1, 2.0])
def test_powers_of_matrices_scale_their_logarithms(unit, n_rounds):
    """The logarithm of X^s is s log X, so X -> X^s is a change of unit of this flat space."""
    space = space_from_spec({"name": "SPDLogEuclidean", "n": 2})
    logs = np.random.default_rng(2).normal(0.2, 0.5, (300, 2, 2))
    logs = (logs + np.swapaxes(logs, 1, 2)) / 2

    def mean(s):
        values, vectors = np.linalg.eigh(s * logs)
        rows = np.einsum("nij,nj,nkj->nik", vectors, np.exp(values), vectors)
        return PrivateFrechetMean(
            space,
            data_radius=2.0 * s,
            region_radius=1.0 * s,
            initial_point=np.eye(2),
            n_rounds=n_rounds,
            epsilon=4.0,
            random_state=0,
        ).fit(rows)

    def log(matrix):
        values, vectors = np.linalg.eigh(matrix)
        return (vectors * np.log(values)) @ vectors.T

    plain, other = mean(1.0), mean(unit)
    np.testing.assert_allclose(log(other.estimate_) / unit, log(plain.estimate_), atol=1e-10)
    np.testing.assert_allclose(other.covariance_ / unit**2, plain.covariance_, rtol=1e-10)


@pytest.mark.slow  # 100 runs
@pytest.mark.parametrize("unit", [0.01, 1.0, 10.0, 1000.0])
def test_regions_cover_in_every_unit(unit):
    """Of the population mean; with a cap of 0.75 in any unit, 0.98, 0.84, 0.00 and 0.00."""
    covered = 0
    for seed in range(100):
        rows = np.random.default_rng(seed).normal([170.0, 70.0], [8.0, 12.0], (5000, 2))
        mean = PrivateFrechetMean(
            initial_point=np.array([150.0, 90.0]) * unit,
            data_radius=80.0 * unit,
            region_radius=40.0 * unit,
            epsilon=4.0,
            random_state=seed,
        ).fit(unit * rows)
        covered += bool(mean.confidence_region().contains(unit * np.array([170.0, 70.0])))
    assert covered / 100 > 0.95 - 4 * math.sqrt(0.95 * 0.05 / 100)


def test_a_prior_means_the_same_in_every_unit():
    """Least squares of messages on offsets, with a prior of the Hessian, in units of offsets."""
    rng = np.random.default_rng(3)
    basis = symmetric_basis(2, False)
    share, means = np.full(4, 100.0), rng.normal(size=(4, 2))
    offsets = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    rule = InferenceRule(prior_hessian=((1.0, 0.2), (0.2, 0.5)), prior_sd=0.3)
    found = []
    for unit in (1.0, 1e-8, 1e8):
        # Scores are lengths, and so is their noise.
        design = np.concatenate(
            [
                np.broadcast_to(np.eye(2), (4, 2, 2)),
                np.einsum("kij,nj->nik", basis, unit * offsets),
            ],
            axis=2,
        )
        bend = np.empty((4, 2, 0))  # no third derivative
        chart = SimpleNamespace(design=design, bend=bend, means=unit * means, basis=basis)
        unknown = Knowledge(np.zeros((5, 5)), np.zeros(5), np.zeros((5, 5)))
        estimate, spread, _, gram, penalty = _least_squares(
            chart, 0.0, share, np.ones(4), rule, 2.0 * unit**2, 400, unknown
        )
        sizes = np.array([1.0, 1.0, unit, unit, unit])
        covariance = spread * np.outer(sizes, sizes)
        found.append((estimate * sizes / unit, covariance, gram / unit**2, penalty / sizes**2))
    for other in found[1:]:
        for a, b in zip(found[0], other):
            np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-12)
