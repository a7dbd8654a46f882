"""Scores that bend and saturate, against those of a cubic and of laws known in closed form."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp import PrivateLinearRegression
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, geodesic_ball
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
from geomstats_ldp.score_regression.fit import (
    _least_squares,
    hedged_step,
    intercept_weights,
)
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
        Geometry(Euclidean(2)),
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
    unknown = Knowledge(np.zeros((5, 5)), np.zeros(5), np.zeros((5, 5)))
    chart = SimpleNamespace(design=design, bend=bend, means=coords, basis=basis)
    rule = replace(rule, ridge=0.0)
    _, spread, *_ = _least_squares(chart, pull, share, np.ones(6), rule, 1.0, 100, unknown)
    weights = intercept_weights(share, bend, pull)
    for place, is_tied in ((weights, False), (share, True)):
        pivot = place @ coords / place.sum()
        at_pivot = np.concatenate([np.eye(2), np.einsum("kij,j->ik", basis, pivot)], axis=1)
        mixed = np.abs(at_pivot @ spread[:, 2:]).max()
        assert (mixed > 1e-3) if is_tied else (mixed < 1e-12)
    assert np.array_equal(intercept_weights(share, bend[:, :, :0], pull), share)


def test_the_region_counts_how_far_the_target_may_be_from_the_queries():
    """With a raw Hessian: the same but for nu tr(M C_0 M) H^-2, C_0 the covariance of the score."""
    fit = answered(make(5.0), lambda points: points @ HESSIAN)[-1]
    fit = replace(fit, offset=np.array([0.3, -0.2]))
    protocol = make(5.0)
    for error in (0.001, 0.9):
        noisy = replace(fit, errors=np.array([[0.0, error]]))
        plain, counted = (
            estimate_round_sandwich(
                noisy, replace(protocol, inference=replace(protocol.inference, hessian=kind))
            )
            for kind in ("shrunk", "raw")
        )
        score = fit.hessian @ plain.covariance @ fit.hessian / plain.guard
        step = np.linalg.inv(fit.hessian + error / 8 * np.linalg.inv(fit.hessian))
        inverse = np.linalg.inv(fit.hessian)
        added = plain.guard * error / 3 * np.trace(step @ score @ step) * inverse @ inverse
        assert plain.guard == counted.guard
        assert np.allclose(counted.covariance - plain.covariance, added, rtol=1e-9, atol=0)


@pytest.mark.slow
def test_how_far_the_target_is_from_the_queries():
    """|p - target|^2 is |u|^2 and the square error of the step on average, within a third.

    150 fits, in which its mean has a relative standard error of a twelfth.
    """
    rng, truth, squares = np.random.default_rng(2), np.array([-0.5, 0.8, -0.5]), []
    for seed in range(150):
        X = rng.normal(size=(8000, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
        X *= np.minimum(1, 2.0 / np.linalg.norm(X, axis=1))[:, None]
        y = np.clip(truth[0] + X @ truth[1:] + 0.5 * rng.normal(size=len(X)), -3, 3)
        model = PrivateLinearRegression(2.0, 3.0, epsilon=8.0, n_rounds=8, random_state=seed)
        model.fit(X, y)
        fit = model.server_.fit()
        target = truth / [model.protocol_.loss_spec["intercept"], 1, 1]
        step = hedged_step(fit.hessian, fit.hessian_error / 3)
        location = np.trace(np.linalg.inv(fit.information)) / 3 * fit.score_covariance
        expected = fit.offset @ fit.offset + np.trace(step @ location @ step)
        squares.append([np.sum((fit.point + fit.offset - target) ** 2), expected])
    true, expected = np.mean(squares, axis=0)
    assert 2 / 3 < true / expected < 3 / 2


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
