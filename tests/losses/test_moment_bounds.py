"""Bounds on what clipping does, by a moment of the data: against linear programs and laws."""

import numpy as np
import pytest
from scipy import optimize

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import (
    FrechetLoss,
    PCALoss,
    PseudoHuberLoss,
    SPDLikelihoodLoss,
    SubspaceLoss,
    TransformedFrechetLoss,
    VonMisesFisherLoss,
    clipping_bias_bound,
    excess_bound,
    negligible_bound,
    register_transform,
)
from geomstats_ldp.mechanisms import make_mechanism


@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize(
    ("bound", "order", "moment"), [(2.0, 4.0, 1.0), (1.3, 2.5, 2.0), (0.5, 3.0, 7.0)]
)
def test_no_law_with_the_moment_loses_more(bound, order, moment, power):
    # All laws on a fine grid of lengths: a linear program in their probabilities.
    lengths = np.linspace(0.0, 12.0 * bound, 6001)
    lost = np.maximum(lengths**power - bound**power, 0.0)
    found = optimize.linprog(
        -lost,
        A_ub=[lengths**order],
        b_ub=[moment],
        A_eq=[np.ones_like(lengths)],
        b_eq=[1.0],
    )
    assert excess_bound(bound, (order, moment), power) == pytest.approx(-found.fun, rel=1e-4)
    assert excess_bound(bound, (order, moment), power) >= -found.fun * (1 - 1e-9)


def test_the_bias_of_a_clipped_score_is_the_papers_with_a_smaller_constant():
    hessian = np.array([[2.0, 0.5], [0.5, 1.0]])
    inverse = np.linalg.norm(np.linalg.inv(hessian), 2)
    for order in (2.5, 4.0, 8.0):
        bias = clipping_bias_bound(hessian, 3.0, (order, 1.7))
        constant = (order - 1) ** (order - 1) / order**order
        assert bias == pytest.approx(inverse * constant * 1.7 * 3.0 ** (1 - order))
        assert bias < inverse * 4 * 1.7 * 3.0 ** (1 - order)


def test_a_clipped_mean_is_as_far_off_as_stated():
    # Score theta - y at theta = E y, clipped to R: the root of the mean is no farther.
    rng = np.random.default_rng(0)
    data = rng.pareto(6.0, size=4000)
    scores, bound = data.mean() - data, 0.6
    moment = np.mean(np.abs(scores) ** 4)
    root = optimize.brentq(lambda x: np.mean(np.clip(x - data, -bound, bound)), 0.0, 1.0)
    between = np.linspace(root, data.mean(), 101)
    slopes = [np.mean(np.abs(x - data) < bound) for x in between]  # of the clipped problem
    off = abs(root - data.mean())
    assert 0.01 < off <= clipping_bias_bound([[np.mean(slopes)]], bound, (4, moment)) < 0.5


LOSSES = {
    "pca": ({"name": "Hypersphere", "dim": 2}, PCALoss(norm_bound=1.0)),
    "subspace": ({"name": "Grassmannian", "n": 3, "p": 1}, SubspaceLoss(norm_bound=1.0)),
    "covariance": ({"name": "SPDAffineInvariant", "n": 3}, SPDLikelihoodLoss(norm_bound=1.0)),
    "mean": ({"name": "Euclidean", "dim": 3}, FrechetLoss(center=np.zeros(3), data_radius=1.0)),
    "hyperbolic": (
        {"name": "Hyperboloid", "dim": 2},
        FrechetLoss(center=[1.0, 0.0, 0.0], data_radius=1.0),
    ),
    "robust": (
        {"name": "Hyperboloid", "dim": 2},
        PseudoHuberLoss(center=[1.0, 0.0, 0.0], data_radius=1.0, scale=0.7),
    ),
}


def problem(name, n):
    """Geometry, loss, a point, data of heavy tails, and the lengths that the loss clips."""
    spec, loss = LOSSES[name]
    space = space_from_spec(spec)
    rng = np.random.default_rng(3)
    lengths = 0.6 * (1 + rng.pareto(3.0, size=n))
    vectors = rng.normal([1.0, 0.3, 0.2], 0.4, size=(n, 3))
    if name in ("hyperbolic", "robust"):
        geometry = Geometry(space, np.array([1.0, 0.0, 0.0]))
        tangent = np.concatenate([np.zeros((n, 1)), vectors[:, :2]], axis=1)
        tangent *= (lengths / np.linalg.norm(tangent, axis=1))[:, None]
        point = geometry.exp(np.array([0.0, 0.3, -0.2]), geometry.reference)
        return geometry, loss, point, geometry.exp(tangent, geometry.reference), lengths
    data = vectors * (lengths / np.linalg.norm(vectors, axis=1))[:, None]
    center = {
        "pca": np.array([0.6, 0.8, 0.0]),
        "subspace": np.outer([0.6, 0.8, 0.0], [0.6, 0.8, 0.0]),
        "covariance": np.diag([0.5, 1.0, 2.0]),
        "mean": np.array([0.2, 0.1, 0.0]),
    }[name]
    return Geometry(space, center), loss, center, data, lengths


@pytest.mark.parametrize("name", LOSSES)
def test_mean_scores_change_no_more_than_stated(name):
    geometry, loss, point, data, lengths = problem(name, 3000)
    clipped = loss.clip(geometry, data)
    scores = [geometry.coordinates(loss.score(geometry, point, y), point) for y in (data, clipped)]
    change = np.mean(scores[0] - scores[1], axis=0)
    # The empirical law is a law like others.
    for order in (2.5, 4.0):
        bound = loss.score_change_bound(geometry, point, (order, np.mean(lengths**order)))
        assert 0.0 < np.linalg.norm(np.linalg.solve(bound, change)) <= 1.0


def test_laws_that_attain_the_bound():
    order, length = 4.0, 4 / 3  # the worst for means: q / (q - 1) times the bound
    geometry, loss, *_ = problem("mean", 1)
    bound = loss.score_change_bound(geometry, np.zeros(3), (order, 0.05 * length**order))
    np.testing.assert_allclose(bound, 0.05 * (length - 1.0) * np.eye(3))
    geometry, loss, *_ = problem("pca", 1)
    length = np.sqrt(2.0)  # (1 - 2 / q)^(-1/2)
    datum = length * np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)
    scores = [loss.score(geometry, np.eye(3)[0], y) for y in (datum, datum / length)]
    bound = loss.score_change_bound(geometry, np.eye(3)[0], (order, 0.05 * length**order))
    change = 0.05 * np.linalg.norm(scores[0] - scores[1])
    np.testing.assert_allclose(bound, change * np.eye(2))
    geometry, loss, *_ = problem("subspace", 1)
    line = np.diag([1.0, 0.0, 0.0])
    scores = [loss.score(geometry, line, y) for y in (datum, datum / length)]
    bound = loss.score_change_bound(geometry, line, (order, 0.05 * length**order))
    np.testing.assert_allclose(bound, 0.05 * np.linalg.norm(scores[0] - scores[1]) * np.eye(2))
    geometry, loss, point, *_ = problem("covariance", 1)
    change = 0.05 * (
        loss.score(geometry, point, datum / length) - loss.score(geometry, point, datum)
    )
    bound = loss.score_change_bound(geometry, point, (order, 0.05 * length**order))
    direction = np.linalg.solve(bound, geometry.coordinates(change, point))
    assert np.linalg.norm(direction) == pytest.approx(1.0)


def test_losses_that_no_moment_says_anything_of():
    sphere = Geometry(space_from_spec({"name": "Hypersphere", "dim": 2}), np.eye(3)[0])
    mean = FrechetLoss(center=np.eye(3)[0], data_radius=0.5)
    register_transform("halved", lambda t: t / 2, lambda t: 0.5 + 0 * t, lambda t: 0 * t)
    flat = Geometry(space_from_spec({"name": "Euclidean", "dim": 3}), np.zeros(3))
    other = TransformedFrechetLoss(center=np.zeros(3), data_radius=0.5, transform="halved")
    for geometry, loss in ((sphere, mean), (flat, other)):
        with pytest.raises(ProtocolError, match="moment_bound must be None for loss"):
            loss.score_change_bound(geometry, geometry.reference, (4, 1.0))
    unclipped = VonMisesFisherLoss(kappa=1.0)
    assert not unclipped.score_change_bound(sphere, np.eye(3)[0], (4, 1.0)).any()


@pytest.mark.parametrize(
    "wrong", [None, 4, (4,), (4, 1, 2), (2.0, 1.0), (np.inf, 1.0), (4, 0.0), (4, -1.0)]
)
def test_what_is_no_moment_is_refused(wrong):
    with pytest.raises(ProtocolError, match="moment_bound"):
        excess_bound(1.0, wrong, 2.0)


def test_a_negligible_bound_leaves_the_share_that_was_asked_for():
    for mechanism, n in (("privunit", 1000), ("l2_ball", 10**6)):
        noise = make_mechanism(mechanism, epsilon=1.0, dim=3, bound=1.0).noise_variance
        for power, share in ((1.0, 0.1), (2.0, 0.3)):
            bound = negligible_bound(n, (5.0, 0.2), noise, power, share)
            error = bound**power * np.sqrt(noise / n)  # of a mean of noisy scores
            assert excess_bound(bound, (5.0, 0.2), power) == pytest.approx(share * error)
    # 64 times the people, 8 times less noise: twice the bound for q = 3.
    ratio = negligible_bound(64_000, (3.0, 1.0), 1.0) / negligible_bound(1000, (3.0, 1.0), 1.0)
    assert ratio == pytest.approx(2.0)


@pytest.mark.parametrize("power", [0.0, -1.0, np.nan, np.inf])
def test_a_power_is_positive(power):
    with pytest.raises(ProtocolError, match=r"^power must be positive and finite"):
        negligible_bound(1000, (4.0, 1.0), 1.0, power)
    with pytest.raises(ProtocolError, match=r"^power must be positive and finite"):
        excess_bound(1.0, (4.0, 1.0), power)
