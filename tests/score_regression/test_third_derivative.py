"""The shift of mean scores by the third derivative, against a cubic whose derivatives are known."""

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import geodesic_ball
from geomstats_ldp.losses import FrechetLoss
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import Protocol, RadiusRule, RoundPlan, make_protocol
from geomstats_ldp.score_regression import (
    closed_round,
    fit_scores,
    initial_round_state,
    query_points,
)
from geomstats_ldp.score_regression.prediction import predict_round_scores

HESSIAN = np.array([[1.0, 0.3], [0.3, 0.6]])
CUBIC = np.array([0.8, -0.5])  # F has the term sum_j c_j x_j^3 / 6
COUNT = 10**6


def make(size):
    """A plan of four rounds, and its protocol."""
    return make_protocol(
        Euclidean(2),
        FrechetLoss(center=[0.0, 0.0], data_radius=1.0),
        make_mechanism("privunit", epsilon=2.0, delta=0.0, dim=2, bound=3.0),
        geodesic_ball(np.zeros(2), 1.0),
        radius=RadiusRule(0.8, 0.8, 0.4),
        gain=None,
        rounds=RoundPlan(4, minimum=1, bending_length=np.inf, third_derivative=size),
    )


def fitted(size):
    """State of rounds about the minimum 0 whose messages are the mean scores, and its fit.

    With directions e_1 and e_2 the mean third derivative is t_j = c_j / 2.
    """
    protocol = make(size)
    state = initial_round_state(protocol)
    for _ in range(3):
        state = closed_round(state, np.zeros(2))
    points = query_points(protocol, state)
    means = points @ HESSIAN + CUBIC * points**2 / 2
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


def test_a_plan_remembers_it_and_leaves_it_out_where_there_is_none():
    protocol = make(0.5)
    assert Protocol.from_json(protocol.to_json()).rounds.third_derivative == 0.5
    assert "third_derivative" not in make(0.0).rounds.to_spec()
    with pytest.raises(ProtocolError, match="third_derivative"):
        make(-1.0)
