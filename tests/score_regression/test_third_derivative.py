"""Scores that bend and saturate, against those of a cubic and of laws known in closed form."""

from dataclasses import replace

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import geodesic_ball
from geomstats_ldp.inference import estimate_round_sandwich
from geomstats_ldp.losses import FrechetLoss
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import Protocol, RadiusRule, RoundPlan, make_protocol
from geomstats_ldp.score_regression import (
    closed_round,
    fit_scores,
    initial_round_state,
    query_points,
)
from geomstats_ldp.score_regression.fit import _least_squares, intercept_weights
from geomstats_ldp.score_regression.known_moment import Knowledge
from geomstats_ldp.score_regression.moments import symmetric_basis
from geomstats_ldp.score_regression.prediction import predict_round_scores

HESSIAN = np.array([[1.0, 0.3], [0.3, 0.6]])
CUBIC = np.array([0.8, -0.5])  # F has the term sum_j c_j x_j^3 / 6
COUNT = 10**6

#: Radii that fall by and by, and one wide round among close ones.
FALLING, WIDE = RadiusRule(0.8, 0.8, 0.4), RadiusRule(0.8, 0.8, 0.0, n_wide=1)


def make(size, saturation=0.0, radius=FALLING):
    """A plan of four rounds, and its protocol."""
    return make_protocol(
        Euclidean(2),
        FrechetLoss(center=[0.0, 0.0], data_radius=1.0),
        make_mechanism("privunit", epsilon=2.0, delta=0.0, dim=2, bound=3.0),
        geodesic_ball(np.zeros(2), 1.0),
        radius=radius,
        gain=None,
        rounds=RoundPlan(
            4, None, 1, bending_length=np.inf, third_derivative=size, saturation=saturation
        ),
    )


def fitted(size):
    """State of rounds about the minimum 0 whose messages are the mean scores, and its fit.

    With directions e_1 and e_2 the mean third derivative is t_j = c_j / 2.
    """
    return answered(make(size), lambda points: points @ HESSIAN + CUBIC * points**2 / 2)


def answered(protocol, mean_score):
    """State of rounds about 0 whose messages are the mean scores, and its fit."""
    state = initial_round_state(protocol)
    for _ in range(3):
        state = closed_round(state, np.zeros(2))
    points = query_points(protocol, state)
    means = mean_score(points)
    counts = np.full(state.counts.shape, COUNT)
    outer = COUNT * (means[..., :, None] * means[..., None, :] + 2.0 * np.eye(2))
    state = state._replace(counts=counts, sums=COUNT * means, outer=outer)
    return protocol, state, points, fit_scores(protocol, state, points)


def test_the_shift_of_a_cubic_is_found_and_taken_off():
    protocol, state, points, fit = fitted(5.0)
    assert np.abs(fit.point).max() < 1e-4
    assert np.allclose(fit.raw_hessian, HESSIAN, atol=1e-3)
    prediction = predict_round_scores(protocol, state, points, fit)
    assert np.abs(prediction.value - prediction.slope @ fit.point).max() < 1e-4


def test_without_it_the_estimate_is_shifted_by_what_theory_says():
    """By H^-1 t times half the mean square distance of the queries."""
    _, _, points, fit = fitted(0.0)
    square = np.mean(np.sum(points**2, axis=-1))
    expected = -np.linalg.solve(HESSIAN, CUBIC / 2 * square / 2)
    assert np.allclose(fit.point, expected, rtol=0.05)
    assert np.linalg.norm(expected) > 0.02


def test_what_is_not_known_of_it_adds_to_the_covariance():
    """Least squares with t as a random effect: variance by the formula for a normal prior."""
    size = 0.02
    _, _, points, fit = fitted(size)
    half = np.sum(points**2, axis=-1)[:, 0] / 2
    n, variance = 4 * COUNT, np.trace(fit.score_covariance) / 2
    total, mixed, square = n, 4 * COUNT * half.sum(), 4 * COUNT * (half**2).sum()
    normal = np.array([[4 * total, mixed], [mixed, square + variance / size**2]])
    expected = np.linalg.inv(normal)[0, 0]
    assert np.allclose(np.linalg.inv(fit.information), expected * np.eye(2), rtol=1e-2)


def saturating(points, target=(0.2, -0.1), rate=0.25):
    """Mean scores of wide queries about 0 that saturate, and of close ones that do not."""
    size = np.linalg.norm(points, axis=-1, keepdims=True)
    return (points / (1 + rate * size**2) - target) @ HESSIAN / 2 + CUBIC / 4 * size**2


def test_what_scores_lose_by_saturation_is_given_back():
    """Close rounds tell the gradient at 0, wide ones the Hessian and the shift."""
    for rate, found in ((0.25, 1.0), (0.0, 1 / (1 + 0.25 * 0.8**2))):
        protocol = make(5.0, rate, WIDE)
        protocol, state, points, fit = answered(protocol, saturating)
        assert np.allclose(fit.raw_hessian, found * HESSIAN / 2, atol=1e-4)
        assert np.allclose(fit.point * found, [0.2, -0.1], atol=1e-4)
        prediction = predict_round_scores(protocol, state, points, fit)
        assert np.allclose(prediction.slope, found * HESSIAN / 2, atol=1e-4)
        assert np.abs(prediction.value).max() < 1e-4


def test_at_the_pivot_the_gradient_is_not_tied_to_the_hessian():
    """The covariance of least squares has no block between them there; elsewhere it has one."""
    rng, rule = np.random.default_rng(0), make(0.5).inference
    coords, share = rng.normal(size=(6, 2)), rng.uniform(1, 3, size=6)
    shift, pull, basis = rng.uniform(0, 1, size=6), 0.7, symmetric_basis(2, False)
    bend = shift[:, None, None] * np.eye(2)
    gradients = np.broadcast_to(np.eye(2), (6, 2, 2))
    design = np.concatenate([gradients, np.einsum("kij,nj->nik", basis, coords)], axis=2)
    unknown = Knowledge(np.zeros((5, 5)), np.zeros(5))
    _, spread, *_ = _least_squares(
        design,
        bend,
        pull,
        share,
        np.ones(6),
        coords,
        replace(rule, ridge=0.0),
        basis,
        1.0,
        100,
        unknown,
    )
    weights = intercept_weights(share, bend, pull)
    for place, is_tied in ((weights, False), (share, True)):
        pivot = place @ coords / place.sum()
        at_pivot = np.concatenate([np.eye(2), np.einsum("kij,j->ik", basis, pivot)], axis=1)
        mixed = np.abs(at_pivot @ spread[:, 2:]).max()
        assert (mixed > 1e-3) if is_tied else (mixed < 1e-12)
    assert np.array_equal(intercept_weights(share, bend[:, :, :0], pull), share)


def test_the_region_counts_how_far_the_target_may_be_from_the_queries():
    """Beside the plan that knows no saturation: the same but for nu |u|^2 H^-2, twice in a square.

    With d = 2 the noise nu of an entry adds 3/2 nu to squared eigenvalues of the Hessian, of
    which it leaves a quarter at least.
    """
    fit = answered(make(5.0, 0.25, WIDE), saturating)[-1]
    for error in (0.001, 0.9):
        noisy = replace(fit, hessian_error=error)
        plain = estimate_round_sandwich(noisy, make(5.0, 0.0, WIDE)).covariance
        counted = estimate_round_sandwich(noisy, make(5.0, 0.25, WIDE)).covariance
        guard = estimate_round_sandwich(noisy, make(5.0, 0.0, WIDE)).guard
        values, inverse = np.linalg.eigvalsh(fit.hessian), np.linalg.inv(fit.hessian)
        vectors = np.linalg.eigh(fit.hessian)[1]
        known = np.maximum(values**2 - error / 2, error / 8)
        score = fit.hessian @ plain @ fit.hessian / guard
        square = np.trace((vectors / known) @ vectors.T @ score)
        added = guard * error / 3 * square * inverse @ inverse
        assert np.allclose(counted - plain, added, rtol=1e-9)


def test_noise_adds_to_the_square_of_a_hessian_what_the_region_takes_off():
    rng, draws = np.random.default_rng(0), np.empty((20_000, 2, 2))
    raw = rng.normal(size=draws.shape)
    draws[:] = HESSIAN + 0.3 * (raw + np.swapaxes(raw, 1, 2)) / 2  # variance .09 on the diagonal
    assert np.allclose(
        (draws @ draws).mean(axis=0), HESSIAN @ HESSIAN + 0.135 * np.eye(2), atol=0.01
    )


def test_a_plan_remembers_it_and_leaves_it_out_where_there_is_none():
    protocol = make(0.5)
    assert Protocol.from_json(protocol.to_json()).rounds.third_derivative == 0.5
    assert "third_derivative" not in make(0.0).rounds.to_spec()
    with pytest.raises(ProtocolError, match="third_derivative"):
        make(-1.0)
    protocol = make(0.5, 0.25, WIDE)
    assert Protocol.from_json(protocol.to_json()) == protocol
    assert "saturation" not in make(0.5).rounds.to_spec()
    with pytest.raises(ProtocolError, match="saturation"):
        make(0.5, -1.0)
    with pytest.raises(ProtocolError, match="saturation must be 0 with adaptive"):
        replace(protocol.rounds, saturation=0.2, adaptive=True)
