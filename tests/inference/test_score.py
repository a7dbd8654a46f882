"""The score region as a set, as a test that needs no curvature, and its profiles."""

import math
import warnings

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from scipy import stats

from geomstats_ldp import PrivateFrechetMean, PrivatePCA, Tuning
from geomstats_ldp.exceptions import (
    LDPWarning,
    ProtocolError,
    UninformativeRegionWarning,
    WeakCurvatureWarning,
)
from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.inference import (
    ProfiledFunctional,
    ScoreRegion,
    WaldRegion,
    predict_pair_scores,
    weakest_direction,
)
from geomstats_ldp.protocol import GainRule
from geomstats_ldp.score_regression import PredictedScore

# Runs are short, and say so; what they say is tested where it is the point.
pytestmark = pytest.mark.filterwarnings(
    "ignore::geomstats_ldp.exceptions.UninformativeRegionWarning"
)

#: P(|normal| > 5) = 6e-7.
MAX_Z = 5.0


def flat(dim):
    return Geometry(Euclidean(dim), np.zeros(dim))


def region_of(prediction, level=0.95, radius=50.0):
    dim = len(prediction.value)
    return ScoreRegion(
        flat(dim), np.zeros(dim), prediction, level, geodesic_ball(np.zeros(dim), radius)
    )


def make_prediction(dim=3, growth=0.02, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(dim, dim))
    spread = rng.normal(size=(dim, dim))
    return PredictedScore(
        value=rng.normal(size=dim),
        slope=root @ root.T + np.eye(dim),
        covariance=0.1 * (spread @ spread.T + np.eye(dim)),
        pivot=rng.normal(size=dim),
        growth=growth * np.diag(np.arange(1.0, dim + 1)),
    )


def explicit_statistic(known, u):
    score = known.value + known.slope @ u
    away = u - known.pivot
    return score @ np.linalg.inv(known.covariance) @ score / (1 + away @ known.growth @ away)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_region_is_an_ellipsoid_where_curvature_is_known(dim):
    known = make_prediction(dim)
    region = region_of(known)
    u = np.random.default_rng(1).normal(size=dim)
    assert region.statistic(u) == pytest.approx(explicit_statistic(known, u), rel=1e-10)
    assert region.pvalue(u) == pytest.approx(stats.chi2.sf(region.statistic(u), dim), rel=1e-10)
    assert not region.is_open and region.is_informative
    assert np.all(np.diff(region.semi_axis_lengths) <= 0)
    ends = region.semi_axis_lengths[:, None] * region.semi_axes
    points = np.concatenate([region.midpoint + ends, region.midpoint - ends, region.boundary(40)])
    np.testing.assert_allclose(region.statistic(points), region.threshold, rtol=1e-9)
    assert np.all(region.contains(region.midpoint + 0.999 * (points - region.midpoint)))
    assert not np.any(region.contains(region.midpoint + 1.001 * (points - region.midpoint)))
    farther = np.maximum(
        np.linalg.norm(region.midpoint + ends, axis=1),
        np.linalg.norm(region.midpoint - ends, axis=1),
    )
    np.testing.assert_allclose(region.angular_radii, farther, rtol=1e-12)


def test_region_is_that_of_wald_where_the_hessian_is_known():
    known = make_prediction(growth=0.0)
    score, inverse = region_of(known), np.linalg.inv(known.slope)
    zero = -inverse @ known.value
    ball = geodesic_ball(np.zeros(3), 50.0)
    wald = WaldRegion(flat(3), zero, inverse @ known.covariance @ inverse.T, 0.95, ball)
    np.testing.assert_allclose(score.midpoint, zero, atol=1e-12)
    np.testing.assert_allclose(score.semi_axis_lengths, wald.semi_axis_lengths, rtol=1e-9)
    points = np.random.default_rng(2).normal(size=(20, 3))
    np.testing.assert_allclose(score.statistic(points), wald.statistic(points), rtol=1e-9)
    np.testing.assert_allclose(
        score.marginal_intervals(), zero[:, None] + wald.marginal_intervals(), rtol=1e-9
    )


@pytest.mark.parametrize("slope", [3.0, 1.0])
def test_one_dimension_is_the_theorem_of_fieller(slope):
    # the interval for the ratio a / b of independent normal means, textbook form
    a, b, var_a, var_b = -2.0, slope, 0.4, 0.3
    known = PredictedScore(
        np.array([a]),
        np.array([[b]]),
        np.array([[var_a]]),
        np.zeros(1),
        np.array([[var_b / var_a]]),
    )
    region, t = region_of(known), stats.norm.ppf(0.975)
    inner = b**2 - t**2 * var_b
    if inner <= 0:
        assert region.is_open and np.all(np.isinf(region.marginal_intervals()))
        np.testing.assert_allclose(np.abs(region.open_directions), [[1.0]])
        return
    half = t * math.sqrt(b**2 * var_a + a**2 * var_b - t**2 * var_a * var_b) / inner
    expected = np.array([-a * b / inner - half, -a * b / inner + half])
    np.testing.assert_allclose(region.marginal_intervals()[0], expected, rtol=1e-10)
    np.testing.assert_allclose(np.sort(region.boundary()[:, 0]), expected, rtol=1e-10)


def weak_prediction():
    """The Hessian is known in the first direction and hardly in the second."""
    return PredictedScore(
        np.array([0.2, 0.1]),
        np.diag([2.0, 0.1]),
        0.01 * np.eye(2),
        np.array([0.1, 0.0]),
        np.eye(2),
    )


def test_open_region_names_its_directions_and_is_cut():
    region = region_of(weak_prediction(), radius=3.0)
    assert region.is_open and not region.is_informative
    np.testing.assert_allclose(np.abs(region.open_directions), [[0.0, 1.0]], atol=0.2)
    far = 1e6 * region.open_directions[0]
    assert region.statistic(far) <= region.threshold and region.statistic(-far) <= region.threshold
    assert not region.contains(far)
    assert np.isinf(region.semi_axis_lengths[0]) and np.isfinite(region.semi_axis_lengths[1])
    assert region.largest_radius == pytest.approx(3.0)
    boundary = region.boundary(60)
    lengths = np.linalg.norm(boundary, axis=1)
    at_edge = np.isclose(lengths, 3.0, rtol=1e-6)
    assert 0 < at_edge.sum() < 60
    np.testing.assert_allclose(region.statistic(boundary[~at_edge]), region.threshold, rtol=1e-8)
    assert np.all(region.statistic(boundary) <= region.threshold * (1 + 1e-8))
    assert "open in 1 of 2 directions" in repr(region)


def test_open_region_of_matrices_ends_at_the_working_region():
    """Rays go on where matrices are not definite to floating point."""
    geometry = Geometry(space_from_spec({"name": "SPDAffineInvariant", "n": 2}), np.eye(2))
    known = PredictedScore(np.zeros(3), 0.1 * np.eye(3), np.eye(3), np.zeros(3), np.eye(3))
    region = ScoreRegion(geometry, np.eye(2), known, 0.95, geodesic_ball(np.eye(2), 3.0))
    assert len(region.open_directions) == 3
    np.testing.assert_allclose(geometry.dist(np.eye(2), region.boundary(12)), 3.0, rtol=1e-9)


def draw_prediction(rng, hessian, variance, growth, target):
    """Score and Hessian with the covariance that a prediction states."""
    dim = len(hessian)
    slope = hessian + math.sqrt(variance * growth) * rng.normal(size=(dim, dim))
    value = -hessian @ target + math.sqrt(variance) * rng.normal(size=dim)
    return PredictedScore(value, slope, variance * np.eye(dim), np.zeros(dim), growth * np.eye(dim))


@pytest.mark.slow
@pytest.mark.parametrize("weak", [1.0, 0.01])
def test_coverage_needs_no_curvature(weak):
    rng, n = np.random.default_rng(5), 2000
    hessian, target = np.diag([1.0, 1.0, weak]), np.array([0.3, -0.2, 0.4])
    covered, known_interval, wald = 0, 0, 0
    for _ in range(n):
        known = draw_prediction(rng, hessian, 0.01, 1.0, target)
        region = region_of(known)
        covered += region.contains(target)
        low, high = region.marginal_intervals()[0]
        known_interval += low <= target[0] <= high
        gap = known.slope @ target + known.value
        wald += gap @ gap / 0.01 <= region.threshold
    error = math.sqrt(0.95 * 0.05 / n)
    assert abs(covered / n - 0.95) < MAX_Z * error
    # Guggenberger et al. (2012): no less than its level, whatever is known of the others.
    assert known_interval / n > 0.95 - MAX_Z * error
    assert wald / n < 0.95 - MAX_Z * error or weak > 0.5


def test_profile_of_a_linear_function_is_the_marginal_interval():
    region = region_of(make_prediction())
    profile = ProfiledFunctional(lambda point: point, region)
    np.testing.assert_allclose(profile.interval(0.95), region.marginal_intervals(), rtol=1e-4)
    np.testing.assert_allclose(profile.estimate, np.zeros(3))
    first = ProfiledFunctional(lambda point: point[0], region)
    end = region.marginal_intervals()[0, 1]
    assert first.pvalue(end) == pytest.approx(0.05, rel=1e-3)
    assert first.contains(0.99 * end) and not first.contains(1.01 * end)
    # all components together are the point itself
    point = np.array([0.3, -0.8, 0.1])
    assert profile.statistic(point) == pytest.approx(region.statistic(point), rel=1e-6)


def test_profile_of_a_curved_function_is_its_range_over_the_region():
    region = region_of(make_prediction(2))
    narrow = region.for_one_number(0.9)
    assert narrow.threshold == pytest.approx(stats.chi2.ppf(0.9, 1), rel=1e-9)
    grid = np.stack(np.meshgrid(*[np.linspace(-3, 3, 1201)] * 2), axis=-1).reshape(-1, 2)
    inside = grid[narrow.contains(grid)]
    values = np.sum(inside**2, axis=1)
    profile = ProfiledFunctional(lambda point: point @ point, region)
    np.testing.assert_allclose(profile.interval(0.9)[0], [values.min(), values.max()], atol=0.02)


def test_profile_of_an_open_region_ends_at_the_working_region():
    region = region_of(weak_prediction(), radius=3.0)
    interval = ProfiledFunctional(lambda point: point, region).interval(0.95)
    np.testing.assert_allclose(interval[1], [-3.0, 3.0], rtol=0.05)
    assert interval[0, 1] - interval[0, 0] < 3.0


def test_profile_asks_the_geometry_about_many_points_at_a_time(monkeypatch):
    n_calls, retract = [], Geometry.retract
    monkeypatch.setattr(Geometry, "retract", lambda *args: n_calls.append(1) or retract(*args))

    def h(point):
        return point[0] + point[1] ** 2

    # Open, so that rays are followed to the edge; the interval took 3,728 calls, one a point.
    ProfiledFunctional(h, region_of(weak_prediction(), radius=3.0)).interval(0.95)
    assert len(n_calls) < 400
    n_calls.clear()
    ProfiledFunctional(h, region_of(make_prediction())).statistic(0.3)
    assert len(n_calls) < 100


def test_profile_finds_the_nearer_of_two_branches():
    # h(u) = c on two lines; the least statistic is on the one that the zero of the score is near.
    region = region_of(make_prediction(2, growth=0.0))
    u, along = region.midpoint, np.linalg.inv(region.quadric(1.0)[0])
    profile = ProfiledFunctional(lambda point: (point[0] - u[0] + 0.1) ** 2, region)
    nearest = (0.3 - 0.1) ** 2 / along[0, 0]
    assert profile.statistic(0.09) == pytest.approx(nearest, rel=1e-4)


def test_profile_of_a_region_outside_of_the_working_region_has_no_interval():
    known = make_prediction(growth=0.0)
    known = PredictedScore(
        known.value + 100.0, *(known.slope, known.covariance), known.pivot, known.growth
    )
    profile = ProfiledFunctional(lambda point: point[:2], region_of(known, radius=0.1))
    assert np.isnan(profile.interval()).all() and profile.interval().shape == (2, 2)


@pytest.mark.parametrize("value", [2.0, -5.0])
def test_profile_of_a_value_that_h_never_takes(value):
    region = region_of(make_prediction(5, growth=5.0), radius=3.0)
    assert ProfiledFunctional(lambda point: np.sin(point[0]), region).statistic(value) == np.inf


@pytest.mark.parametrize(
    "h, error", [(3, ProtocolError), (lambda point: np.nan, ValueError)], ids=["number", "nan"]
)
def test_functions_are_checked(h, error):
    with pytest.raises(error, match="h must"):
        ProfiledFunctional(h, region_of(make_prediction()))


def test_weakest_direction():
    known = PredictedScore(
        np.zeros(2), np.diag([2.0, 0.3]), 0.04 * np.eye(2), np.zeros(2), np.diag([1.0, 0.09])
    )
    error, direction = weakest_direction(known)
    # standard errors sqrt(0.04 V) of the Hessian over its size: 0.1 and 0.2
    assert error == pytest.approx(0.2, rel=1e-6)
    np.testing.assert_allclose(np.abs(direction), [0.0, 1.0], atol=1e-6)


# ---------------------------------------------------------------- predictions of collections


@pytest.mark.slow
def test_pairs_predict_where_the_iterates_have_not_arrived():
    """Scores are centred at the target however far from it the gains have left the iterates."""
    rng, target, covered, gone = np.random.default_rng(0), np.array([0.5, -0.3]), 0, 0.0
    n = 200
    for _ in range(n):
        X = target + rng.uniform(-0.2, 0.2, size=(600, 2))
        mean = PrivateFrechetMean(
            Euclidean(2),
            data_radius=1.5,
            epsilon=8.0,
            random_state=rng,
            tuning=Tuning(gain=GainRule(0.05, 0.0, 0.6, 1.0)),
        ).fit(X)
        gone += np.linalg.norm(mean.estimate_ - target) / n
        known = predict_pair_scores(mean.server_.state, mean.protocol_)
        covered += explicit_statistic(known, target - mean.estimate_) <= stats.chi2.ppf(0.95, 2)
    assert gone > 0.1  # ten standard errors
    assert abs(covered / n - 0.95) < MAX_Z * math.sqrt(0.95 * 0.05 / n)


def test_kinds_of_an_estimator():
    X = np.random.default_rng(0).normal(size=(3000, 3)) * [1.0, 0.4, 0.3]
    start = np.array([1.0, 0.1, 0.1])
    pca = PrivatePCA(norm_bound=2.0, epsilon=8.0, random_state=0, initial_point=start)
    for n_rounds in (None, 6):
        fitted = pca.set_params(n_rounds=n_rounds).fit(X)
        wald, score = fitted.confidence_region(), fitted.confidence_region(kind="score")
        assert isinstance(wald, WaldRegion) and isinstance(score, ScoreRegion)
        np.testing.assert_allclose(score.semi_axis_lengths, wald.semi_axis_lengths, rtol=0.2)
        ends = fitted.functional(lambda u: u[1]).interval()
        profiled = fitted.functional(lambda u: u[1], kind="score").interval()
        np.testing.assert_allclose(profiled, ends, atol=0.25 * (ends[0, 1] - ends[0, 0]))
        assert fitted.test(fitted.estimate_, kind="score") > 0.5
        constant = fitted.functional(lambda u: np.array([2.0]), kind="score")
        np.testing.assert_array_equal(constant.interval(), [[2.0, 2.0]])
        assert constant.contains([2.0]) and not constant.contains([2.1])
        with pytest.raises(ProtocolError, match="kind must be one of"):
            fitted.confidence_region(kind="profile")


def test_weak_curvature_is_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3)) * [0.75, 0.7, 0.1]
    pca = PrivatePCA(
        norm_bound=2.0, epsilon=1.0, initial_point=np.eye(3)[0], n_rounds=6, random_state=0
    ).fit(X)
    with pytest.warns(WeakCurvatureWarning, match='kind="score"'):
        pca.confidence_region()
    with pytest.warns(UninformativeRegionWarning, match="open in the directions"):
        assert pca.confidence_region(kind="score").is_open


@pytest.mark.slow
@pytest.mark.parametrize("n_rounds", [None, 6], ids=["pairs", "rounds"])
def test_score_regions_cover_where_the_eigengap_is_small(n_rounds):
    rng, n, start = np.random.default_rng(2), 200, np.array([1.0, 0.2, 0.2])
    scales = np.sqrt([0.5, 0.38, 0.1])
    # rows of bounded length: clipping would move nothing
    corners = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)])
    pca = PrivatePCA(
        norm_bound=1.0, epsilon=4.0, initial_point=start, n_rounds=n_rounds, random_state=rng
    )
    covered = np.zeros(2)
    for _ in range(n):
        pca.fit(corners[rng.integers(8, size=4000)] * scales)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            regions = pca.confidence_region(), pca.confidence_region(kind="score")
        covered += [region.contains(np.eye(3)[0]) for region in regions]
    error = math.sqrt(0.95 * 0.05 / n)
    assert abs(covered[1] / n - 0.95) < 3 * error
