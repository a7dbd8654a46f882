"""Streaming sums and their window against explicit least squares on the stored pairs."""

import math

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.inference.sandwich import fit_regression
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import GainRule, InferenceRule, RadiusRule, make_protocol
from geomstats_ldp.server import Server, window
from geomstats_ldp.server.regression import add_pair, close_cycle, empty_sums, skipped_cycles

# Rows of an array stand for messages here.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.RawDataWarning")


class FlatLoss:
    """Record of a loss that only participants would need."""

    def check_space(self, guard):
        assert guard.dim

    def score_bound(self, geometry, query_region):
        return 1.0

    def hessian_bound(self, geometry, query_region):
        return 1.0

    def to_spec(self):
        return {"name": "flat"}


def flat_server(dim, **options):
    """Interpreted server on Euclidean space, where D and X can be read off the messages."""
    protocol = make_protocol(
        Geometry(Euclidean(dim=dim)),
        FlatLoss(),
        make_mechanism("privunit", epsilon=2.0, dim=dim, bound=1.0),
        geodesic_ball(np.zeros(dim), 1.0),
        radius=RadiusRule(0.3, 0.5, 0.27),
        gain=GainRule(0.5, 10.0, 0.6, 0.5),
        **options,
    )
    return Server(protocol, "geomstats")


def pairs_of(messages, directions):
    """D and X of every pair, from their definitions."""
    halves = (messages[0::2] - messages[1::2]) / 2
    k = np.arange(len(halves))
    radii = np.minimum(0.3, 0.5 * (k // len(directions) + 1.0) ** -0.27)
    return halves, radii[:, None] * np.asarray(directions)[k % len(directions)]


def window_of(n_pairs, n_directions):
    """First and last pair of the window in integer arithmetic, as the paper words it."""
    burn_in = 0
    while burn_in**3 < n_pairs:  # ceil(K^(1/3))
        burn_in += 1
    start = 0
    while start < burn_in:
        start += n_directions
    stop = n_pairs - n_pairs % n_directions
    return (start, stop) if start < stop else (0, 0)


POLYGON = [[math.cos(2 * math.pi * j / 5), math.sin(2 * math.pi * j / 5)] for j in range(5)]


@pytest.mark.parametrize(("dim", "directions"), [(2, None), (3, None), (2, POLYGON)])
def test_window_sums_equal_explicit_least_squares_at_every_pair(dim, directions):
    options = {} if directions is None else {"directions": directions}
    server = flat_server(dim, **options)
    directions = np.array(server.protocol.directions)
    messages = np.random.default_rng(dim).normal(size=(800, dim))
    halves, offsets = pairs_of(messages, directions)
    rule = InferenceRule.paper()
    n_fits = 0
    for n_pairs in range(1, 401):
        server.replay(messages[2 * n_pairs - 2 : 2 * n_pairs])
        sums = window(server.state.sums, n_pairs, len(directions))
        start, stop = window_of(n_pairs, len(directions))
        d, x = halves[start:stop], offsets[start:stop]
        assert sums.n_pairs == stop - start
        # at most 400 terms of size one: 400 roundings of 2e-16, twice for the subtraction
        close = {"rtol": 0, "atol": 1e-12}
        np.testing.assert_allclose(sums.squared_radius, np.sum(x**2), **close)
        np.testing.assert_allclose(sums.d, d.sum(axis=0), **close)
        np.testing.assert_allclose(sums.dx, d.T @ x, **close)
        np.testing.assert_allclose(sums.dd, d.T @ d, **close)
        if len(d) <= dim + 1:
            continue
        n_fits += 1
        # the ridge acts on the slope alone: rows sqrt(lambda) e_j without intercept
        fit = fit_regression(sums, directions, rule, 2 * n_pairs)
        ridge = 0.1 * np.trace(x.T @ x) / dim / math.sqrt(2 * n_pairs)
        design = np.block(
            [
                [np.ones((len(x), 1)), x],
                [np.zeros((dim, 1)), math.sqrt(ridge) * np.eye(dim)],
            ]
        )
        solution = np.linalg.lstsq(design, np.vstack([d, np.zeros((dim, dim))]), rcond=None)[0]
        # condition number of the design, about 1/0.1, squared by the normal equations
        np.testing.assert_allclose(fit.slope, solution[1:].T, rtol=0, atol=1e-10)
        residuals = d - solution[0] - x @ solution[1:]
        np.testing.assert_allclose(
            fit.score_covariance, 2 * residuals.T @ residuals / len(d), rtol=0, atol=1e-10
        )
    assert n_fits > 350


def test_window_of_2587_pairs_holds_2568():
    server = flat_server(2)
    messages = np.random.default_rng(0).normal(size=(2 * 2587, 2))
    server.replay(messages)
    sums = window(server.state.sums, server.n_pairs, 4)
    assert server.n_pairs == 2587
    assert sums.n_pairs == 2568
    # ceil(2587^(1/3)) = 14, so pairs 1 to 16 are left out, and 2585 to 2587
    halves, offsets = pairs_of(messages, server.protocol.directions)
    np.testing.assert_allclose(sums.dx, halves[16:2584].T @ offsets[16:2584], rtol=0, atol=1e-11)


@pytest.mark.parametrize("root", [2, 3, 7, 10, 100, 464, 999, 1000])
@pytest.mark.parametrize("n_directions", [2, 4, 6])
def test_burn_in_is_exact_at_cubes(root, n_directions):
    for n_pairs in (root**3 - 1, root**3, root**3 + 1):
        burn_in = root if n_pairs <= root**3 else root + 1
        if n_pairs > 10**9:  # past the horizon the window's start stays
            burn_in = 1000
        assert skipped_cycles(n_pairs, n_directions) == math.ceil(burn_in / n_directions)


def test_window_is_exact_when_the_early_slots_are_used_up():
    """The sums are linear, so a run of equal cycles shows the count in every sum."""
    sums = empty_sums(2, 4)
    n_slots = len(sums.n_pairs)
    cycles = n_slots + 50
    for cycle in range(cycles):
        for _ in range(4):
            add_pair(sums, 0, 2, np.ones(2), np.array([1.0, 2.0]), np.array([0.5, 0.25]), 0.3125)
        close_cycle(sums, 0, 1, cycle)
    result = window(sums, 4 * cycles, 4)
    skipped = math.ceil(math.ceil((4 * cycles) ** (1 / 3)) / 4)
    assert result.n_pairs == 4 * (cycles - skipped)
    # sums of dyadic numbers are exact
    np.testing.assert_array_equal(result.d, result.n_pairs * np.array([1.0, 2.0]))
    np.testing.assert_array_equal(result.dx, result.n_pairs * np.array([[0.5, 0.25], [1.0, 0.5]]))


def test_state_size_does_not_depend_on_the_number_of_pairs():
    server = flat_server(2)
    before = [values.shape for values in server.state.sums]
    server.replay(np.random.default_rng(1).normal(size=(600, 2)))
    assert [values.shape for values in server.state.sums] == before
