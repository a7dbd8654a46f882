"""Score regression against moments that are known, and what must not change it."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.product_manifold import ProductManifold
from geomstats.geometry.spd_matrices import SPDMatrices
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

from geomstats_ldp import PrivateFrechetMean
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.losses import FrechetLoss
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import InferenceRule, RadiusRule, RoundPlan, make_protocol
from geomstats_ldp.protocol.rounds import round_sizes
from geomstats_ldp.score_regression import (
    RoundState,
    closed_round,
    fit_scores,
    initial_round_state,
    merge_states,
    query_points,
    with_messages,
    without_messages,
)
from geomstats_ldp.score_regression.moments import charted, design_matrices, symmetric_basis

RNG = np.random.default_rng(0)


# ------------------------------------------------------------------------ moments


def random_points(geometry, n, reach, rng):
    coords = rng.normal(size=(n, geometry.dim))
    coords *= (rng.uniform(0.1, reach, n) / np.linalg.norm(coords, axis=1))[:, None]
    return geometry.exp(geometry.lift(coords, geometry.reference), geometry.reference)


@pytest.mark.parametrize(
    ("dim", "compiled"),
    [(1, False), (2, False), (5, False), (2, True), pytest.param(5, True, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("moment", ["first", "second"])
def test_linear_scores_lie_in_the_span_of_their_design(moment, dim, compiled):
    """Scores -P_q m and -P_q S q, computed as they are, are matched to rounding at wide offsets,
    by gradient and Hessian at the centre, in a chart at any point."""
    rng = np.random.default_rng(dim)
    center = rng.normal(size=dim + 1)
    center /= np.linalg.norm(center)
    geometry = Geometry(Hypersphere(dim), center)
    points = random_points(geometry, 8 * (dim + 1), 1.3, rng)
    matrix = rng.normal(size=(dim + 1, dim + 1))
    vector, matrix = rng.normal(size=dim + 1), matrix @ matrix.T
    for at in (center, points[0]):
        twin = geometry.twin() if compiled else None
        coords, maps, frames = charted(geometry, twin, points, at)
        # Along its mean a first moment has an isotropic Hessian; second moments have any.
        basis = symmetric_basis(dim, moment == "first")
        design = design_matrices(moment, geometry, points, at, coords, maps, frames, basis)
        moments = np.broadcast_to(vector, points.shape) if moment == "first" else points @ matrix
        scores = -(moments - np.sum(moments * points, axis=1)[:, None] * points)
        expected = [
            geometry.coordinates(geometry.transport(score, point, at), at)
            for score, point in zip(scores, points)
        ]
        rows, values = design.reshape(-1, design.shape[2]), np.ravel(expected)
        solution = np.linalg.lstsq(rows, values, rcond=None)[0]
        np.testing.assert_allclose(rows @ solution, values, atol=1e-12)
        # The solution is the gradient and the Hessian there, by their definitions.
        axes = geometry.lift(np.eye(dim), at)
        if moment == "first":
            gradient, hessian = -axes @ vector, (at @ vector) * np.eye(dim)
        else:
            gradient = -axes @ matrix @ at
            hessian = (at @ matrix @ at) * np.eye(dim) - axes @ matrix @ axes.T
        np.testing.assert_allclose(solution[:dim], gradient, atol=1e-10)
        found = np.einsum("k,kij->ij", solution[dim:], basis)
        np.testing.assert_allclose(found, hessian, atol=1e-10)


@pytest.mark.parametrize(
    ("space", "center"),
    [
        (ProductManifold([Hypersphere(2), Euclidean(2)]), [0.0, 0.0, 1.0, 0.0, 0.0]),
        (ProductManifold([Hypersphere(2), Hypersphere(2)]), np.eye(3)[:2]),
        (SPDMatrices(2), np.diag([1.0, 2.0])),
        (SpecialOrthogonal(3), np.eye(3)),
    ],
)
def test_frames_of_many_points_are_carried_as_each_of_them_is(space, center):
    geometry = Geometry(space, center)
    points = random_points(geometry, 5, 0.6, np.random.default_rng(1))
    coords, maps, frames = charted(geometry, None, points, points[0])
    for point, place, frame, carry in zip(points, coords, frames, maps):
        np.testing.assert_allclose(
            geometry.exp(geometry.lift(place, points[0]), points[0]), point, atol=1e-12
        )
        np.testing.assert_allclose(frame, geometry.lift(np.eye(geometry.dim), point), atol=1e-14)
        for vector, column in zip(frame, carry.T):
            there = geometry.lift(column, points[0])
            np.testing.assert_allclose(
                geometry.transport(there, points[0], point), vector, atol=1e-12
            )


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_the_basis_of_symmetric_matrices_is_orthonormal_and_complete(dim):
    basis = symmetric_basis(dim, False)
    assert len(basis) == dim * (dim + 1) // 2
    np.testing.assert_allclose(np.einsum("aij,bij->ab", basis, basis), np.eye(len(basis)))
    np.testing.assert_array_equal(basis, np.swapaxes(basis, 1, 2))
    assert np.sum(symmetric_basis(dim, True)[0] ** 2) == pytest.approx(1.0)


# ------------------------------------------------------------------------ fit


def flat_protocol(dim=3, n_rounds=3, scale=1.0, noise=0.0, bending=math.inf, **rule):
    """Means in R^dim with a region so wide, and a floor so low, that neither is in the way."""
    center = scale * np.linspace(0.1, 0.5, dim)
    loss = FrechetLoss(center=center, data_radius=scale)
    mechanism = make_mechanism("identity", epsilon=math.inf, dim=dim, bound=10 * scale)
    inference = InferenceRule(hessian_floor=1e-9, covariance_floor=1e-12, ridge=1e-14, **rule)
    return make_protocol(
        Geometry(Euclidean(dim), center),
        loss,
        mechanism,
        geodesic_ball(center, 4.0 * scale),
        radius=RadiusRule.fixed(0.3 * scale),
        gain=None,
        inference=inference,
        hessian_bound=100.0,
        rounds=RoundPlan(n_rounds, None, 1, None, bending * scale),
    )


def noiseless(protocol, score, n=50, wiggle=1e-6):
    """State and points of rounds whose messages are scores, about which they hardly scatter."""
    state = initial_round_state(protocol)
    n_directions, dim = len(protocol.directions), protocol.dim
    for number in range(protocol.rounds.n_rounds):
        points = query_points(protocol, state)
        for index, point in enumerate(points[number]):
            scatter = np.random.default_rng(number * n_directions + index).normal(size=(n, dim))
            coords = score(point) + wiggle * (scatter - scatter.mean(axis=0))
            cell = np.full(n, number), np.full(n, index)
            state = with_messages(state, *cell, coords)
        if number + 1 < protocol.rounds.n_rounds:
            moved = state.centers[-1] + 0.1 * np.array(protocol.basis)[number % dim]
            state = closed_round(state, moved)
    return state, query_points(protocol, state)


@pytest.mark.parametrize(
    ("dim", "compiled"),
    [
        *((1, False), (2, False), (3, False), (2, True)),
        *(pytest.param(30, compiled, marks=pytest.mark.slow) for compiled in (False, True)),
    ],
)
def test_a_linear_score_gives_back_its_root_and_its_hessian(dim, compiled):
    protocol = flat_protocol(dim)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(dim, dim)))[0]
    hessian = (turn * np.linspace(0.5, 2.0, dim)) @ turn.T
    root = np.array(protocol.initial_point) + 0.2 / math.sqrt(dim)
    state, points = noiseless(protocol, lambda point: hessian @ (point - root))
    twin = protocol.geometry.twin() if compiled else None
    fit = fit_scores(protocol, state, points, twin)
    np.testing.assert_allclose(fit.raw_hessian, hessian, atol=1e-7)
    np.testing.assert_allclose(fit.hessian, hessian, atol=1e-5)  # shrunk by its tiny noise
    np.testing.assert_allclose(fit.point, root, atol=1e-7)
    assert not fit.is_cut
    assert fit.n_participants == state.n_participants


def test_the_covariance_is_that_within_query_points():
    protocol = flat_protocol(2)
    state, points = noiseless(protocol, lambda point: 3.0 * point, n=4000, wiggle=0.7)
    fit = fit_scores(protocol, state, points)
    # Relative sampling error of a variance from 12 * 4000 draws: sqrt(2 / 48000) = 0.0065.
    np.testing.assert_allclose(fit.score_covariance, 0.49 * np.eye(2), atol=5 * 0.0065 * 0.49)


@pytest.mark.slow
def test_the_estimate_spreads_as_the_information_says():
    """With the Hessian known to be the identity, the estimate has covariance information^-1."""
    protocol = flat_protocol(2, n_rounds=2, prior_hessian=((1.0, 0.0), (0.0, 1.0)), prior_sd=1e-4)
    root, sd, rng = np.array(protocol.initial_point), 0.2, np.random.default_rng(5)
    state = closed_round(initial_round_state(protocol), root)
    points, found = query_points(protocol, state), []
    cells = np.repeat(np.arange(8), 25)
    for _ in range(600):
        rows = points[cells // 4, cells % 4] - root + sd * rng.normal(size=(200, 2))
        fit = fit_scores(protocol, with_messages(state, cells // 4, cells % 4, rows), points)
        found.append(fit.point - root)
    covariance = np.cov(np.transpose(found))
    expected = sd**2 * np.linalg.inv(fit.information)
    np.testing.assert_allclose(expected, sd**2 / 200 * np.eye(2), rtol=1e-3, atol=1e-9)
    # Entries of a covariance of 600 draws: relative error sqrt(2 / 600) = 0.058 at most.
    np.testing.assert_allclose(covariance, expected, atol=4 * 0.058 * expected[0, 0])


def test_far_rounds_count_nothing_where_scores_bend_at_once():
    """A round far away whose scores are wrong is then as good as lost; else it counts."""
    found = []
    for bending, rounds in ((1e-5, (0, 1)), (1e-5, (1,)), (math.inf, (0, 1))):
        protocol = flat_protocol(2, n_rounds=2, bending=bending)
        root = np.array(protocol.initial_point)
        state = closed_round(initial_round_state(protocol), root)
        state = state._replace(centers=np.stack([root + 1.0, root]))
        points = query_points(protocol, state)
        for number in rounds:
            for index, point in enumerate(points[number]):
                noise = 0.05 * np.random.default_rng(4 * number + index).normal(size=(400, 2))
                rows = (point - root if number else 0.5 * (point - root) + 0.1) + noise
                cell = np.full(400, number), np.full(400, index)
                state = with_messages(state, *cell, rows)
        found.append(fit_scores(protocol, state, points))
    np.testing.assert_allclose(found[0].point, found[1].point, atol=1e-4)
    np.testing.assert_allclose(found[0].raw_hessian, found[1].raw_hessian, atol=1e-4)
    assert np.linalg.norm(found[2].raw_hessian - found[1].raw_hessian) > 0.1


def test_few_answers_give_no_fit():
    protocol = flat_protocol(2)
    state = initial_round_state(protocol)
    points = query_points(protocol, state)
    assert fit_scores(protocol, state, points) is None
    for n in range(1, 8):
        coords = RNG.normal(size=(n, 2))
        few = with_messages(state, np.zeros(n, int), np.zeros(n, int), coords)
        assert (fit_scores(protocol, few, points) is None) == (n - 1 <= 2)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_the_unit_of_the_data_does_not_matter(scale):
    X = np.random.default_rng(3).normal([0.4, 0.3, 0.2], 0.3, size=(2000, 3))
    fits = [
        PrivateFrechetMean(
            epsilon=4.0,
            n_rounds=4,
            data_radius=2.0 * unit,
            region_radius=1.0 * unit,
            initial_point=unit * np.array([0.1, 0.2, 0.0]),
            random_state=0,
        ).fit(unit * X)
        for unit in (1.0, scale)
    ]
    np.testing.assert_allclose(fits[1].estimate_ / scale, fits[0].estimate_, rtol=1e-10)
    np.testing.assert_allclose(fits[1].covariance_ / scale**2, fits[0].covariance_, rtol=1e-8)
    np.testing.assert_allclose(fits[1].hessian_, fits[0].hessian_, rtol=1e-8)


# ------------------------------------------------------------------------ states


def random_state(rng, centers, n_directions=4, dim=2):
    n = len(centers)
    counts = rng.integers(0, 9, size=(n, n_directions))
    return RoundState(
        centers,
        np.stack([np.eye(dim)] * n),
        counts,
        rng.integers(-99, 99, size=(n, n_directions, dim)).astype(float),
        rng.integers(-99, 99, size=(n, n_directions, dim, dim)).astype(float),
    )


def assert_same(one, other):
    for a, b in zip(one, other):
        np.testing.assert_array_equal(a, b)


def test_states_are_a_commutative_monoid():
    """Sums of whole numbers are exact, so that the laws hold to the last bit."""
    rng, centers = np.random.default_rng(2), RNG.normal(size=(3, 3))
    a, b, c = (random_state(rng, centers[:n]) for n in (3, 2, 3))
    assert_same(merge_states([a, b]), merge_states([b, a]))
    assert_same(merge_states([merge_states([a, b]), c]), merge_states([a, merge_states([b, c])]))
    assert_same(merge_states([a, without_messages(a)]), a)
    assert_same(merge_states([a]), a)
    before = [part.copy() for part in a]
    merge_states([a, b, c])
    assert_same(before, a)
    with pytest.raises(ProtocolError, match="at least"):
        merge_states([])
    with pytest.raises(ProtocolError, match="state 1 has others"):
        merge_states([a, b._replace(centers=b.centers + 1e-9)])


def test_messages_are_added_to_their_query_point_only():
    state = random_state(np.random.default_rng(1), RNG.normal(size=(2, 3)))
    coords = np.array([[1.0, 2.0], [3.0, -1.0]])
    more = with_messages(state, np.array([1, 1]), np.array([2, 2]), coords)
    difference = [b - a for a, b in zip(state[2:], more[2:])]
    assert difference[0].sum() == difference[0][1, 2] == 2
    np.testing.assert_array_equal(difference[1][1, 2], [4.0, 1.0])
    np.testing.assert_array_equal(difference[2][1, 2], coords.T @ coords)
    assert not np.delete(difference[1].reshape(8, 2), 6, axis=0).any()


@pytest.mark.parametrize("n", [1, 2, 7, 40, 41, 1000, 8000, 10**8])
def test_sizes_add_up_and_grow(n):
    for n_rounds, smallest in itertools.product([1, 2, 5, 8, 50], [1, 4, 24]):
        sizes = round_sizes(n, n_rounds, smallest)
        assert sum(sizes) == n
        assert 1 <= len(sizes) <= n_rounds
        assert min(sizes) >= min(smallest, n)
        assert all(b >= a for a, b in zip(sizes, sizes[1:]))
        if len(sizes) > 2 and n > 100 * n_rounds * smallest:
            ratios = np.divide(sizes[1:], sizes[:-1])
            assert sizes[0] == pytest.approx(n / (3 * len(sizes)), rel=0.3)
            assert np.ptp(ratios) < 0.1


def test_a_minimum_that_a_quota_undercuts_is_refused():
    plan = RoundPlan(2, (4, 9), 4)
    with pytest.raises(ProtocolError, match="minimum must be at most the smallest"):
        replace(plan, minimum=5)
