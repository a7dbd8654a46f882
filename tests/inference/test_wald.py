"""The Wald region as a quadratic form, a set and a coverage statement."""

import math
import re

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from scipy import stats

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, UserCoordinates, geodesic_ball
from geomstats_ldp.inference import SmoothFunctional, WaldRegion, smooth_functional

RETRACTIONS = ["exponential", "projection"]
DIMS = [1, 2, 3]


def unit(vector):
    return vector / np.linalg.norm(vector)


def covariance_of(dim, scale=0.01, seed=0):
    root = np.random.default_rng(seed).normal(size=(dim, dim))
    return scale * (root @ root.T + 0.2 * np.eye(dim))


def make_region(dim=2, retraction="projection", scale=0.01, level=0.95, radius=1.2):
    geometry = Geometry(Hypersphere(dim=dim), unit(np.ones(dim + 1)), retraction=retraction)
    center = unit(np.arange(1.0, dim + 2))
    return WaldRegion(
        geometry,
        center,
        covariance_of(dim, scale),
        level,
        geodesic_ball(unit(np.ones(dim + 1)), radius),
    )


def rotation(start, end):
    wedge = np.outer(end, start) - np.outer(start, end)
    return np.eye(len(start)) + wedge + wedge @ wedge / (1 + start @ end)


def explicit_statistic(region, point):
    """V^T C^-1 V with V written out: inverse retraction, then the rotated frame."""
    center, geometry = region.center, region.geometry
    cosine = point @ center
    if geometry.retraction == "projection":
        tangent = point / cosine - center
    else:
        side = point - cosine * center
        tangent = math.acos(cosine) * unit(side)
    frame = rotation(geometry.reference, center) @ geometry.basis.T
    coords = frame.T @ tangent
    return coords @ np.linalg.inv(region.covariance) @ coords


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_statistic_is_the_quadratic_form(dim, retraction):
    region = make_region(dim, retraction)
    rng = np.random.default_rng(dim)
    points = np.array([unit(region.center + 0.4 * rng.normal(size=dim + 1)) for _ in range(20)])
    points = points[points @ region.center > 0.2]
    expected = [explicit_statistic(region, point) for point in points]
    # condition number 1e2 of the covariance, and that of arccos
    np.testing.assert_allclose(region.statistic(points), expected, rtol=1e-10)
    assert region.statistic(points[0]) == pytest.approx(expected[0], rel=1e-10)
    np.testing.assert_allclose(region.pvalue(points), stats.chi2.sf(expected, dim), rtol=1e-8)
    assert region.statistic(region.center) == pytest.approx(0.0, abs=1e-25)
    assert region.contains(region.center)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_boundary_points_have_the_statistic_of_the_threshold(dim, retraction):
    region = make_region(dim, retraction)
    boundary = region.boundary(50)
    assert boundary.shape == (2 if dim == 1 else 50, dim + 1)
    assert region.threshold == pytest.approx(stats.chi2.isf(0.05, dim), rel=1e-12)
    np.testing.assert_allclose(region.statistic(boundary), region.threshold, rtol=1e-10)
    # a little towards the centre is in, a little away is out
    for factor, inside in ((0.999, True), (1.001, False)):
        coords = factor * region.coordinates(boundary)
        points = region.geometry.retract(region.geometry.lift(coords, region.center), region.center)
        assert np.all(region.contains(points) == inside)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_semi_axes_and_angular_radii(dim, retraction):
    region = make_region(dim, retraction)
    values, vectors = np.linalg.eigh(region.covariance)
    lengths = np.sqrt(stats.chi2.ppf(0.95, dim) * values[::-1])
    np.testing.assert_allclose(region.semi_axis_lengths, lengths, rtol=1e-12)
    np.testing.assert_allclose(np.abs(region.semi_axes @ vectors[:, ::-1]), np.eye(dim), atol=1e-10)
    ends = region.semi_axis_lengths[:, None] * region.semi_axes
    points = region.geometry.retract(region.geometry.lift(ends, region.center), region.center)
    np.testing.assert_allclose(region.statistic(points), region.threshold, rtol=1e-10)
    angles = [math.acos(point @ region.center) for point in points]
    expected = np.arctan(lengths) if retraction == "projection" else lengths
    np.testing.assert_allclose(angles, expected, rtol=1e-10)
    np.testing.assert_allclose(region.angular_radii, expected, rtol=1e-12)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_points_at_inverts_coordinates(dim, retraction):
    region = make_region(dim, retraction)
    coords = np.random.default_rng(dim).normal(scale=0.5, size=(4, 5, dim))
    points = region.points_at(coords)
    assert points.shape == (4, 5, dim + 1)
    np.testing.assert_allclose(region.coordinates(points), coords, atol=1e-12)
    np.testing.assert_allclose(region.points_at(np.zeros(dim)), region.center, atol=1e-12)


def test_points_out_of_reach_are_refused():
    geometry = Geometry(Hyperboloid(dim=2), [1.0, 0.0, 0.0])
    ball = geodesic_ball([1.0, 0.0, 0.0], 1.0)
    region = WaldRegion(geometry, geometry.reference, np.eye(2), 0.95, ball)
    assert np.isfinite(region.points_at([100.0, 0.0])).all()
    with pytest.raises(ProtocolError, match=r"distances up to 1e\+03 .* uninformative"):
        region.points_at([[1.0, 0.0], [0.0, 1000.0]])


@pytest.mark.parametrize("coords_type", ["ball", "half-space"])
def test_the_internal_region_is_the_same_set(coords_type):
    geometry = Geometry(Hyperboloid(dim=2), [1.0, 0.0, 0.0])
    ball = geodesic_ball([1.0, 0.0, 0.0], 2.0)
    coordinates = UserCoordinates(Hyperbolic(2, coords_type=coords_type))
    center = geometry.exp(np.array([0.0, 0.3, -0.4]), geometry.reference)
    region = WaldRegion(geometry, center, covariance_of(2), 0.95, ball, coordinates=coordinates)
    points = region.points_at(np.random.default_rng(0).normal(scale=0.2, size=(20, 2)))
    inner = region.internal
    np.testing.assert_array_equal(inner.center, center)
    moved = region.to_internal(points)
    np.testing.assert_allclose(inner.statistic(moved), region.statistic(points), rtol=1e-10)
    np.testing.assert_allclose(inner.boundary(9), region.to_internal(region.boundary(9)))
    assert 0 < np.sum(inner.contains(moved)) < 20


def test_longest_boundary_distance_is_the_longest_semi_axis():
    region = make_region(2, "projection")
    angles = np.arccos(region.boundary(2000) @ region.center)
    # 2000 points miss the end of an axis by 1.6e-3 rad at most, quadratically in the length
    assert angles.max() == pytest.approx(region.angular_radii[0], rel=1e-4)
    assert angles.min() == pytest.approx(region.angular_radii[1], rel=1e-4)


@pytest.mark.parametrize("dim", DIMS)
def test_marginal_intervals_are_normal_intervals(dim):
    region = make_region(dim)
    half = stats.norm.ppf(0.975) * np.sqrt(np.diag(region.covariance))
    np.testing.assert_allclose(region.marginal_intervals(), np.stack([-half, half], 1), rtol=1e-12)
    if dim == 1:  # then the interval is the region
        np.testing.assert_allclose(half, region.semi_axis_lengths, rtol=1e-10)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_statistic_does_not_depend_on_the_frame(dim, retraction):
    region = make_region(dim, retraction)
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(dim, dim)))[0]
    old = region.geometry
    turned = Geometry(old.space, old.reference, turn @ old.basis, retraction=retraction)
    other = WaldRegion(
        turned, region.center, turn @ region.covariance @ turn.T, 0.95, region.working_region
    )
    points = np.concatenate([region.boundary(10), [unit(np.ones(dim + 1))]])
    np.testing.assert_allclose(other.statistic(points), region.statistic(points), rtol=1e-9)
    np.testing.assert_allclose(other.angular_radii, region.angular_radii, rtol=1e-10)


def test_region_is_restricted_to_the_working_region():
    region = make_region(2, scale=1.0, radius=0.3)
    rng = np.random.default_rng(4)
    points = np.array([unit(p) for p in unit(np.ones(3)) + 0.3 * rng.normal(size=(500, 3))])
    near = points @ region.working_region.center >= math.cos(0.3)
    low = np.array([explicit_statistic(region, point) for point in points]) <= region.threshold
    np.testing.assert_array_equal(region.contains(points), near & low)
    assert 0 < np.sum(near & low) < np.sum(low)


def test_uninformative_regions_are_flagged():
    assert make_region(2, scale=1e-4).is_informative
    assert not make_region(2, scale=1.0).is_informative
    assert not make_region(2, "exponential", scale=100.0).is_informative  # wraps round the sphere
    for slack, expected in ((1.01, True), (0.99, False)):
        small = make_region(1, "exponential", radius=1.0)
        gap = math.acos(small.center @ small.working_region.center)
        reach = gap + small.angular_radii[0]  # in one dimension one end lies straight away
        region = make_region(1, "exponential", radius=slack * reach)
        assert region.is_informative == expected
        assert ("uninformative" in repr(region)) == (not expected)


def test_points_out_of_range_have_an_infinite_statistic():
    region = make_region(2, "projection")
    points = np.array([region.center, -region.center])
    np.testing.assert_array_equal(region.statistic(points), [0.0, np.inf])
    np.testing.assert_array_equal(region.contains(points), [True, False])
    assert region.pvalue(-region.center) == 0.0


def test_the_antipode_is_outside_of_an_exponential_region():
    region = make_region(2, "exponential")
    points = np.array([region.center, -region.center])
    np.testing.assert_array_equal(region.contains(points), [True, False])
    assert region.statistic(-region.center) == np.inf


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, np.nan, "a", None, [0.95]])
def test_bad_levels_are_refused(level):
    functional = SmoothFunctional(np.zeros(1), np.eye(1), np.eye(1))
    named = r"level must be .*in \(0, 1\); got " + re.escape(repr(level))
    for use in (
        lambda: make_region(level=level),
        lambda: functional.interval(level),
        lambda: functional.contains([0.0], level),
    ):
        with pytest.raises(ProtocolError, match=named):
            use()


def test_what_is_no_function_is_named():
    geometry = Geometry(Euclidean(2), np.zeros(2))
    with pytest.raises(ProtocolError, match=r"h must be a function of a point; got \[1, 0\]"):
        smooth_functional([1, 0], geometry, np.zeros(2), np.eye(2))


def test_points_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="shape"):
        make_region(2).statistic(np.ones(2))


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("retraction", RETRACTIONS)
def test_coverage_of_exactly_normal_coordinates(dim, level, retraction):
    """If V(x) is normal with the stated covariance, the region covers at its level."""
    region = make_region(dim, retraction, scale=1e-3, level=level)
    n = 20_000
    root = np.linalg.cholesky(region.covariance)
    coords = np.random.default_rng(dim).normal(size=(n, dim)) @ root.T
    truths = region.geometry.retract(region.geometry.lift(coords, region.center), region.center)
    covered = np.mean(region.contains(truths))
    # binomial error; P(|normal| > 4.5) = 7e-6 for each of twelve cases
    assert abs(covered - level) < 4.5 * math.sqrt(level * (1 - level) / n)


def test_coverage_in_euclidean_space():
    geometry = Geometry(Euclidean(dim=2), np.zeros(2))
    covariance, truth, n = covariance_of(2), np.array([0.3, -0.2]), 2000
    ball = geodesic_ball(np.zeros(2), 5.0)
    centers = np.random.default_rng(0).multivariate_normal(truth, covariance, size=n)
    covered = np.mean(
        [WaldRegion(geometry, c, covariance, 0.9, ball).contains(truth) for c in centers]
    )
    assert abs(covered - 0.9) < 4.5 * math.sqrt(0.9 * 0.1 / n)  # binomial error


@pytest.mark.parametrize("method", ["contains", "statistic", "pvalue", "coordinates"])
def test_points_off_the_manifold_are_named(method):
    region = make_region()
    good = make_region(level=0.5).boundary(3)
    answer = getattr(region, method)
    stacked = answer(np.stack([good, good]))
    np.testing.assert_allclose(stacked, np.stack([answer(good)] * 2), rtol=1e-12)
    np.testing.assert_allclose(answer(good * (1 + 1e-9)), answer(good), rtol=1e-6)
    for bad, match in [
        (1.01 * good[1], "points must lie on Hypersphere; this fails"),
        (np.zeros(3), "points must lie on Hypersphere; this fails"),
        (np.array([0.0, np.nan, 1.0]), "points must be finite"),
    ]:
        for points in (bad, np.stack([good[0], bad, good[2]])):
            with pytest.raises(ProtocolError, match=match):
                answer(points)
    with pytest.raises(ProtocolError, match="points must have shape"):
        answer(np.ones(4))
