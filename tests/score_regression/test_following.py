"""The bias of Hessians whose query points follow the noise, against what happens to them."""

import math

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp import PrivatePCA
from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.losses import FrechetLoss
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import InferenceRule, RadiusRule, RoundPlan, make_protocol
from geomstats_ldp.score_regression import (
    closed_round,
    fit_scores,
    initial_round_state,
    query_points,
)


def flat_protocol(dim, n_rounds, unit=1.0, **rule):
    """Points of R^dim, with a region and bounds that are not in the way."""
    center = unit * np.linspace(0.1, 0.5, dim)
    mechanism = make_mechanism("identity", epsilon=math.inf, dim=dim, bound=100 * unit)
    rule = {"hessian_floor": 1e-9, "covariance_floor": 1e-12, "ridge": 1e-12, **rule}
    return make_protocol(
        Geometry(Euclidean(dim), center),
        FrechetLoss(center=center, data_radius=unit),
        mechanism,
        geodesic_ball(center, 40.0 * unit),
        radius=RadiusRule.fixed(0.5 * unit),
        gain=None,
        inference=InferenceRule(**rule),
        hessian_bound=100.0,
        rounds=RoundPlan(n_rounds, None, 1, None, math.inf),
    )


def collect(protocol, score, sd, sizes, noise, twin=None):
    """Fit after rounds whose cells have a number of messages each, with standard normal noise."""
    state, geometry, dim = initial_round_state(protocol), protocol.geometry, protocol.dim
    for number, size in enumerate(sizes):
        points = query_points(protocol, state)[number]
        means = geometry.coordinates(np.stack([score(point) for point in points]), points)
        means = means + sd / math.sqrt(size) * noise[number, : len(points)]
        state.counts[number] = size
        state.sums[number] = size * means
        squares = size * means[:, :, None] * means[:, None, :]
        state.outer[number] = squares + (size - 1) * sd**2 * np.eye(dim)
        fit = fit_scores(protocol, state, query_points(protocol, state), twin)
        if number + 1 < len(sizes):
            state = closed_round(state, fit.point)
    return fit


def slopes_of_two_rounds(noise, hessian, away, radius, sd, sizes):
    """Least squares on the line, by hand: queries about `away`, then about the first estimate."""
    offsets = radius * np.array([1.0, -1.0])
    first = np.broadcast_to(away + offsets, (len(noise), 2))
    scores = hessian * first + sd / math.sqrt(sizes[0]) * noise[:, :2]
    slope = (scores[:, 0] - scores[:, 1]) / (2 * radius)
    center = away - scores.mean(axis=1) / slope
    queries = np.concatenate([first, center[:, None] + offsets], axis=1)
    last = hessian * queries[:, 2:] + sd / math.sqrt(sizes[1]) * noise[:, 2:]
    scores = np.concatenate([scores, last], axis=1)
    weights = np.repeat(sizes, 2) / (2 * sum(sizes))
    queries = queries - (queries @ weights)[:, None]
    return (queries * scores) @ weights / (queries**2 @ weights)


@pytest.mark.parametrize("unit", [1e-6, 1.0])
@pytest.mark.parametrize("away", [0.0, 0.7])
def test_the_bias_of_two_rounds_on_a_line_is_their_expectation(away, unit):
    """By Gauss-Hermite quadrature over the noise of all four cells, which is small."""
    hessian, sd, sizes = 1.3, 0.02, (20, 60)
    nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    grid = np.stack(np.meshgrid(*[nodes] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    chances = np.prod(np.meshgrid(*[weights] * 4, indexing="ij"), axis=0).ravel()
    slopes = slopes_of_two_rounds(grid, hessian, away, 0.5, sd, sizes)
    expected = chances @ slopes / chances.sum() - hessian
    protocol = flat_protocol(1, 2, unit)
    root = np.array(protocol.initial_point) - away * unit

    def score(point):
        return hessian * (point - root)

    found = collect(protocol, score, sd * unit, sizes, np.zeros((2, 2, 1)))
    # The remainder is of the order of the squared noise of the slope, 1e-4.
    np.testing.assert_allclose(found.hessian_bias, [[expected]], rtol=2e-3)
    np.testing.assert_allclose(found.raw_hessian, [[hessian]], rtol=1e-9)
    kept = collect(
        flat_protocol(1, 2, unit, hessian="raw"), score, sd * unit, sizes, np.zeros((2, 2, 1))
    )
    assert kept.hessian_bias == 0
    np.testing.assert_allclose(kept.hessian - found.hessian, found.hessian_bias, rtol=1e-6)


def axes():
    root = np.random.default_rng(1).normal(size=(3, 3))
    turn = np.linalg.qr(root)[0]
    moment = (turn * [1.0, 0.5, 0.1]) @ turn.T
    model = PrivatePCA(
        norm_bound=1.5, initial_point=math.cos(0.4) * turn[:, 0] + math.sin(0.4) * turn[:, 1]
    )
    return model, lambda point: point @ moment @ point * point - moment @ point


@pytest.mark.slow
@pytest.mark.parametrize("problem", ["flat", "axes"])
def test_the_mean_hessian_is_off_by_its_bias(problem):
    """Over collections in four rounds, each of which asks where the estimate before was."""
    rng, sd = np.random.default_rng(7), 0.9
    sizes, n = (40, 60, 80, 120), 500
    if problem == "flat":
        protocol, twin = flat_protocol(2, 4), None
        hessian, trace = np.array([[1.5, 0.3], [0.3, 1.0]]), 2.5
        root = np.array(protocol.initial_point) + 0.3

        def score(point):
            return hessian @ (point - root)
    else:
        model, score = axes()
        model.set_params(epsilon=8.0, n_participants=2000, n_rounds=4)
        protocol = model.start().protocol_
        twin, trace = protocol.geometry.twin(), 0.5 + 0.9  # the two eigengaps
    raw, bias = [], []
    for _ in range(n):
        noise = rng.normal(size=(4, len(protocol.directions), protocol.dim))
        fit = collect(protocol, score, sd, sizes, noise, twin)
        raw.append(np.trace(fit.raw_hessian))
        bias.append(np.trace(fit.hessian_bias))
    off, error = np.mean(raw) - trace, np.std(raw) / math.sqrt(n)
    assert off > 2 * error
    assert abs(off - np.mean(bias)) < 3 * error
