"""Hessians that are learnt within rounds: no bias, symmetric errors, and the level of regions."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hypersphere import Hypersphere
from scipy import stats

from geomstats_ldp import PrivatePCA, Tuning
from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.inference import ScoreRegion
from geomstats_ldp.score_regression import PredictedScore
from geomstats_ldp.score_regression.instruments import (
    error_weights,
    instruments,
    quantile_of_squares,
)
from geomstats_ldp.score_regression.moments import hessian_basis

DIM = 5

#: P(|normal| > 5) = 6e-7.
MAX_Z = 5.0


def linear_design(offsets, basis):
    """Columns (I, B_k y) of scores that are linear in the place y, one matrix a query."""
    slopes = np.einsum("kij,nj->nik", basis, offsets)
    eye = np.broadcast_to(np.eye(len(offsets[0])), (len(offsets), *basis.shape[1:]))
    return np.concatenate([eye, slopes], axis=2)


def regressed(design, compared, means, share):
    """Coefficients with given instruments, by stacking all queries."""
    left = np.einsum("n,nij,nik->jk", share, compared, design)
    right = np.einsum("n,nij,ni->j", share, compared, means)
    return np.linalg.solve(left, right)


def collect(rng, sizes, radius, noise):
    """Queries and mean messages of rounds whose centres follow the estimates; Hessian one."""
    basis, steps = symmetric_basis(DIM), radius * np.concatenate([np.eye(DIM), -np.eye(DIM)])
    offsets, means, share, rounds = (np.empty((0, DIM)),) * 2 + (np.empty(0),) * 2
    center = np.full(DIM, 0.3)
    for number, size in enumerate(sizes):
        asked, each = center + steps, size / len(steps)
        told = asked + noise / math.sqrt(each) * rng.normal(size=asked.shape)
        offsets, means = np.concatenate([offsets, asked]), np.concatenate([means, told])
        share = np.append(share, np.full(len(asked), each))
        rounds = np.append(rounds, np.full(len(asked), number))
        # The step with the true Hessian, from the mean query.
        center = np.average(offsets - means, axis=0, weights=share)
    return linear_design(offsets, basis), means, share, rounds, basis


def symmetric_basis(dim):
    return hessian_basis(Geometry(Euclidean(dim), np.zeros(dim)), None, False)


def test_instruments_compare_messages_of_a_round_and_the_first_round_with_the_others():
    rng = np.random.default_rng(0)
    design, _, share, rounds, _ = collect(rng, [100, 200, 400], 0.2, 0.5)
    compared = instruments(design, SimpleNamespace(rounds=rounds), share)
    np.testing.assert_array_equal(compared[:, :, :DIM], design[:, :, :DIM])
    np.testing.assert_array_equal(compared[rounds == 0], design[rounds == 0])
    means = [np.average(compared[rounds == r], axis=0, weights=share[rounds == r]) for r in (1, 2)]
    np.testing.assert_allclose(means[0], means[1], atol=1e-12)
    for r in (1, 2):
        change = (compared - design)[rounds == r]
        np.testing.assert_allclose(change, np.broadcast_to(change[0], change.shape), atol=1e-12)


def test_one_round_is_least_squares():
    design, _, share, rounds, _ = collect(np.random.default_rng(0), [100], 0.2, 0.5)
    np.testing.assert_array_equal(
        instruments(design, SimpleNamespace(rounds=rounds), share), design
    )


@pytest.mark.slow  # many collections
def test_centres_that_follow_the_noise_leave_no_bias():
    """Least squares finds Hessians too large, instruments do not."""
    rng, n, traces = np.random.default_rng(1), 2000, []
    for _ in range(n):
        design, means, share, rounds, basis = collect(rng, [100, 150, 200, 300, 450], 0.2, 2.0)
        compared = instruments(design, SimpleNamespace(rounds=rounds), share)
        found = [regressed(design, one, means, share)[DIM:] for one in (design, compared)]
        traces.append([np.trace(np.tensordot(one, basis, axes=1)) / DIM for one in found])
    bias, error = np.mean(traces, axis=0) - 1, np.std(traces, axis=0) / math.sqrt(n)
    assert bias[0] > 0.1 and bias[0] > 10 * error[0]
    # What is left is of the contrast with the first round, a tenth of it at most.
    assert abs(bias[1]) < 0.1 * bias[0] + 3 * error[1]


def symmetric_errors(rng, dim, n):
    """Normal symmetric matrices with variance one on and a half off the diagonal."""
    noise = rng.normal(size=(n, dim, dim))
    return (noise + np.swapaxes(noise, 1, 2)) / 2


@pytest.mark.parametrize("dim", [2, 5, 19])
def test_weights_of_a_symmetric_error_are_one_along_and_half_across(dim):
    basis = symmetric_basis(dim)
    weights, directions = error_weights(
        np.diag(np.arange(1.0, dim + 1)), 0.3 * np.eye(len(basis)), basis, np.eye(dim)
    )
    np.testing.assert_allclose(directions @ directions.T, np.eye(dim), atol=1e-12)
    np.testing.assert_allclose(weights[:, -1], 0.3, rtol=1e-10)
    np.testing.assert_allclose(weights[:, :-1], 0.15, rtol=1e-10)


@pytest.mark.parametrize("level", [0.95, 0.99])
@pytest.mark.parametrize("dim", [5, 19])
def test_quantile_of_squares(dim, level):
    rng, n, weights = np.random.default_rng(2), 400_000, np.append(np.full(dim - 1, 0.5), 1.0)
    squares = rng.chisquare(1, size=n) + 0.5 * rng.chisquare(dim - 1, size=n)
    share = np.mean(squares <= quantile_of_squares(weights, 1 - level))
    assert share == pytest.approx(level, abs=2e-3)  # as the docstring says
    equal = quantile_of_squares(np.ones(dim), 1 - level)
    assert equal == pytest.approx(stats.chi2.ppf(level, dim), rel=1e-12)


def prediction(value, slope, error):
    """With errors of the slope of standard deviation `error` along every direction."""
    dim = len(value)
    weights = np.tile(np.append(np.full(dim - 1, 0.5), 1.0), (dim, 1))
    return PredictedScore(value, slope, np.eye(dim), np.zeros(dim), error**2 * np.eye(dim), weights)


def region_of(known, level=0.95):
    dim = len(known.value)
    geometry, center = Geometry(Euclidean(dim), np.zeros(dim)), np.zeros(dim)
    return ScoreRegion(geometry, center, known, level, geodesic_ball(center, 1e6))


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("length", [0.5, 2.0, 30.0])
@pytest.mark.parametrize("dim", [5, 19])
def test_region_has_its_level_at_any_distance(dim, length, level):
    rng, n, error = np.random.default_rng(3), 20_000, 1.0
    target = length * np.eye(dim)[0]
    region = region_of(prediction(np.zeros(dim), np.eye(dim), error), level)
    # g(target) = value + slope target, with the mean zero.
    scores = rng.normal(size=(n, dim)) + error * symmetric_errors(rng, dim, n) @ target
    growth = 1 + region._share * error**2 * length**2
    share = np.mean(np.sum(scores**2, axis=1) / growth <= region.threshold)
    assert share == pytest.approx(level, abs=MAX_Z * math.sqrt(level * (1 - level) / n) + 2e-3)


@pytest.mark.slow  # many collections
def test_region_covers_and_is_smaller_than_with_all_of_the_growth():
    rng, n, error = np.random.default_rng(4), 2000, 0.13
    target, errors = rng.normal(size=DIM) * 4, symmetric_errors(rng, DIM, n)
    inside, whole, is_open = np.zeros((3, n))
    for i in range(n):
        slope = np.eye(DIM) + error * errors[i]
        known = prediction(rng.normal(size=DIM) - target, slope, error)
        region = region_of(known)
        inside[i] = region.contains(target)
        all_of_it = region.prediction.statistic(target) <= region.threshold
        whole[i], is_open[i] = all_of_it, region.is_open
    spread = math.sqrt(0.95 * 0.05 / n)
    assert abs(inside.mean() - 0.95) < MAX_Z * spread + 2e-3
    # One number is still tested with all of the growth.
    assert whole.mean() > inside.mean() + 2 * spread
    assert region.for_one_number(0.95)._share == 1.0


@pytest.mark.parametrize("asked", [0.5, 0.95, 0.999])
def test_the_pvalue_of_a_point_is_the_same_whatever_the_level_of_the_region(asked):
    """Regions count a share of the growth that depends on their level."""
    rng = np.random.default_rng(6)
    slope = np.eye(DIM) + 0.1 * symmetric_errors(rng, DIM, 1)[0]
    known = prediction(rng.normal(size=DIM), slope, 0.1)
    regions = {level: region_of(known, level) for level in (0.5, 0.8, 0.95, 0.99)}
    for level, region in regions.items():
        ends = region.boundary(30)
        assert region_of(known, asked).pvalue(ends) == pytest.approx(1 - level, rel=1e-9)
    points = region.points_at(region.coordinates(ends) * rng.uniform(0, 1.5, size=(len(ends), 1)))
    pvalues = region_of(known, asked).pvalue(points)
    for level, region in regions.items():
        assert np.array_equal(region.contains(points), pvalues >= 1 - level)
    assert 0 < region.contains(points).mean() < 1
    far = region.pvalue([1e3 * np.ones(DIM)])
    assert far == pytest.approx(stats.chi2.sf(region.statistic([1e3 * np.ones(DIM)]), DIM))


def answer_exactly(server, S, sd, rng):
    """Two messages a query, whose noise cancels: their mean is exact, whatever their scatter."""
    for _ in range(server.protocol.rounds.n_rounds):
        for index, query in enumerate(server.points(server.round)):
            score = -(S @ query - query @ S @ query * query)
            frame = server.protocol.geometry.coordinates(score, query)
            number = np.full(2, server.round), np.full(2, index)
            noise = sd * rng.normal(size=frame.shape)
            server.add_coords(*number, np.stack([frame + noise, frame - noise]))
        server.close_round()


@pytest.mark.parametrize("sd", [0.0, 0.1])
@pytest.mark.parametrize("n_features", [4, 6])
def test_rounds_of_principal_directions_find_the_eigengaps(n_features, sd):
    """Exactly, by least squares and by instruments, however far from the target they asked."""
    values = np.linspace(2.0, 0.1, n_features)
    start = np.concatenate([[1.0], np.full(n_features - 1, 0.2)])
    pca = PrivatePCA(
        norm_bound=3.0,
        epsilon=math.inf,
        initial_point=start,
        n_rounds=3,
        random_state=0,
        tuning=Tuning(engine="geomstats"),  # without compilation
    )
    server = pca.start().server_
    answer_exactly(server, np.diag(values), sd, np.random.default_rng(0))
    known = server.predict_scores()
    np.testing.assert_allclose(
        np.linalg.eigvalsh(known.slope), 2.0 - values[:0:-1][::-1], rtol=0.02
    )
    geometry = Geometry(
        Hypersphere(n_features - 1), server.protocol.geometry.reference, retraction="projection"
    )
    estimate = server.estimate()
    coords = geometry.coordinates(
        geometry.inverse_retract(np.eye(n_features)[0], estimate), estimate
    )
    size = np.linalg.norm(known.value)
    assert np.linalg.norm(known.value + known.slope @ coords) < 2 * size * coords @ coords
    assert np.linalg.norm(coords) < 0.05
    assert (known.weights is None) == (n_features < 6 or sd == 0)
