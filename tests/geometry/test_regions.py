"""Working regions and their metric projection."""

import math

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import (
    SPDAffineMetric,
    SPDLogEuclideanMetric,
    SPDMatrices,
)
from numba import njit
from scipy.optimize import minimize

from geomstats_ldp.exceptions import ArgumentTypeError, ProtocolError
from geomstats_ldp.geometry import Geometry, geodesic_ball, spherical_cap
from geomstats_ldp.geometry.regions import (
    check_region,
    log_box,
    project,
    region_from_spec,
    region_of_iterates,
    region_of_queries,
    spectral_band,
)

CENTER = np.array([2.0, -1.0, 0.5]) / np.linalg.norm([2.0, -1.0, 0.5])


@pytest.fixture(scope="module")
def geometry():
    return Geometry(Hypersphere(dim=2), CENTER)


@njit
def compiled_project(region, twin, room, point, vectors, coords, out):
    return project(region, twin, room, point, vectors, coords, out)


def run_project(geometry, region, point, room=0.0, compiled=False):
    out, vectors, coords = np.empty_like(point), np.empty((2, *point.shape)), np.empty(geometry.dim)
    if compiled:
        arguments = (region, geometry.twin(), room, point, vectors, coords, out)
        return out, compiled_project(*arguments)
    return out, project(region, geometry, room, point, vectors, coords, out)


def random_points(n, seed):
    points = np.random.default_rng(seed).normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def test_projection_is_the_nearest_point(geometry):
    region = geodesic_ball(CENTER, 0.7)
    side = geometry.basis

    def polar(parameters):
        radius, angle = parameters
        direction = math.cos(angle) * side[0] + math.sin(angle) * side[1]
        return math.cos(radius) * CENTER + math.sin(radius) * direction

    for point in random_points(10, seed=0):
        nearest, outside = run_project(geometry, region, point)
        if not outside:
            continue
        found = min(
            (
                minimize(
                    lambda p, y=point: math.acos(np.clip(polar(p) @ y, -1, 1)),
                    [0.5, start],
                    bounds=[(0.0, 0.7), (None, None)],
                    tol=1e-14,
                )
                for start in np.linspace(0, 2 * np.pi, 5)[:-1]
            ),
            key=lambda result: result.fun,
        )
        # at the optimum the error of the distance is the square of the minimiser's 1e-7 or so
        assert math.acos(nearest @ point) <= found.fun + 1e-12
        np.testing.assert_allclose(nearest, polar(found.x), atol=1e-4)


def test_projection_keeps_inner_points_and_is_idempotent(geometry):
    region = geodesic_ball(CENTER, 0.7)
    n_outside = 0
    for point in random_points(60, seed=1):
        once, outside = run_project(geometry, region, point)
        assert outside == (math.acos(CENTER @ point) > 0.7)
        n_outside += outside
        if outside:
            assert abs(math.acos(CENTER @ once) - 0.7) < 1e-14
            assert region.contains(geometry, once)
        else:
            np.testing.assert_array_equal(once, point)
        twice, _ = run_project(geometry, region, once)
        np.testing.assert_allclose(twice, once, rtol=0, atol=1e-15)
    assert 10 < n_outside < 60


def spd_geometry(metric_class, n=3):
    space = SPDMatrices(n, equip=False)
    space.equip_with_metric(metric_class)
    return Geometry(space, np.eye(n))


def random_spd(n_points, n, spread, seed):
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.normal(size=(n_points, n, n)))[0]
    values = np.exp(spread * rng.normal(size=(n_points, 1, n)))
    return (vectors * values) @ np.swapaxes(vectors, -1, -2)


REGIONS = {
    "ball": lambda: (
        Geometry(Hypersphere(dim=2), CENTER),
        geodesic_ball(CENTER, 0.7),
        random_points(60, seed=1),
    ),
    "box": lambda: (
        spd_geometry(SPDLogEuclideanMetric, 2),
        log_box(np.diag([1.5, 0.8]), [0.3, 0.2, 0.5]),
        random_spd(20, 2, 0.4, seed=3),
    ),
    "band": lambda: (
        spd_geometry(SPDAffineMetric),
        spectral_band(3, 0.5, 2.0),
        random_spd(20, 3, 0.6, seed=4),
    ),
}


@pytest.mark.slow  # compiles one function anew
@pytest.mark.parametrize("name", REGIONS)
@pytest.mark.parametrize("room", [0.0, 0.15])
def test_compiled_projection_equals_the_interpreted_one(name, room):
    geometry, region, points = REGIONS[name]()
    n_outside = 0
    for point in points:
        expected, outside = run_project(geometry, region, point, room)
        out, compiled_outside = run_project(geometry, region, point, room, compiled=True)
        assert compiled_outside == outside
        n_outside += outside
        np.testing.assert_allclose(out, expected, atol=1e-12)
    assert 0 < n_outside < len(points)


@pytest.mark.parametrize("name", REGIONS)
def test_room_shrinks_a_region_on_all_sides(name):
    geometry, region, points = REGIONS[name]()
    room, rng = 0.15, np.random.default_rng(5)
    shrunk = region_of_iterates(region._replace(holds_queries=True), room)
    queries = region_of_queries(geometry, shrunk._replace(holds_queries=False), room)
    for point in points:
        kept, _ = run_project(geometry, region, point, room)
        assert shrunk.contains(geometry, kept)
        # whatever lies within the room of a point so kept lies in the region
        coords = rng.normal(size=(50, geometry.dim))
        coords *= room / np.linalg.norm(coords, axis=1, keepdims=True)
        reached = geometry.exp(geometry.lift(coords, kept), kept)
        for widened in (region, queries):
            assert widened.contains(geometry, reached, slack=1e-9).all()


@pytest.mark.parametrize("name", ["box", "band"])
def test_projection_is_nearer_than_every_other_point_of_the_region(name):
    geometry, region, points = REGIONS[name]()
    inside = np.stack([run_project(geometry, region, point)[0] for point in points])
    for point, nearest in zip(points, inside):
        distance = geometry.dist(point, nearest)
        for other in inside:
            assert distance <= geometry.dist(point, other) + 1e-12
        # and than points a short move along the way there
        for other in inside:
            towards = geometry.exp(0.05 * geometry.log(other, nearest), nearest)
            assert region.contains(geometry, towards, slack=1e-9)
            assert distance <= geometry.dist(point, towards) + 1e-12


def test_band_projection_cuts_eigenvalues_for_both_metrics():
    for metric in (SPDAffineMetric, SPDLogEuclideanMetric):
        geometry = spd_geometry(metric, 2)
        rotation = np.array([[0.6, -0.8], [0.8, 0.6]])
        point = rotation @ np.diag([5.0, 0.1]) @ rotation.T
        nearest, outside = run_project(geometry, spectral_band(2, 0.5, 2.0), point)
        assert outside
        expected = rotation @ np.diag([2.0, 0.5]) @ rotation.T
        np.testing.assert_allclose(nearest, expected, atol=1e-14)


def test_sizes_of_box_and_band():
    box = log_box(np.zeros(2), [0.3, 0.4])
    assert box.radius == pytest.approx(0.5)
    assert box.in_radius == 0.3
    band = spectral_band(4, math.exp(-1), math.exp(1))
    assert band.in_radius == pytest.approx(1.0)
    assert band.radius == pytest.approx(2.0)
    corner = np.diag(np.exp([1.0, -1.0, 1.0, -1.0]))
    assert spd_geometry(SPDAffineMetric, 4).dist(corner, band.center) == pytest.approx(2.0)


def test_regions_that_do_not_suit_the_space_are_refused(geometry):
    with pytest.raises(ProtocolError, match="flat space; got Hypersphere"):
        check_region(geometry, log_box(CENTER, [0.1, 0.1]), 0.1)
    with pytest.raises(ProtocolError, match=r"half_widths must have shape \(2,\); got \(3,\)"):
        check_region(Geometry(Euclidean(dim=2), np.zeros(2)), log_box(np.zeros(2), [1, 1, 1]), 0.1)
    with pytest.raises(ProtocolError, match="needs SPD matrices; got Hypersphere"):
        check_region(geometry, spectral_band(2, 0.5, 2.0), 0.1)
    with pytest.raises(ProtocolError, match="query radius must be smaller"):
        check_region(geometry, geodesic_ball(CENTER, 0.3, holds_queries=True), 0.3)
    with pytest.raises(ProtocolError, match=r"0 < lower < upper; got 2\.0 and 1\.0"):
        spectral_band(2, 2.0, 1.0)
    with pytest.raises(ProtocolError, match="half_widths must be a vector of positive"):
        log_box(np.zeros(2), [1.0, 0.0])


def test_euclidean_projection_is_radial():
    geometry = Geometry(Euclidean(dim=3), np.zeros(3))
    region = geodesic_ball([1.0, 2.0, 3.0], 0.5)
    point = np.array([4.0, -2.0, 3.0])  # at distance 5 from the centre
    nearest, outside = run_project(geometry, region, point)
    assert outside
    np.testing.assert_allclose(nearest, [1.3, 1.6, 3.0], rtol=1e-15)


def test_cap_is_the_ball_of_its_angle(geometry):
    height = 0.75
    cap = spherical_cap(CENTER, height)
    assert cap.radius == pytest.approx(math.acos(height), rel=1e-15)
    points = random_points(2000, seed=3)
    inner = points @ CENTER
    assert np.abs(inner - height).min() > 1e-9  # so that rounding decides nothing
    np.testing.assert_array_equal(cap.contains(geometry, points), inner >= height)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf])
def test_bad_radii_are_refused(radius):
    with pytest.raises(ProtocolError, match="radius must be in"):
        geodesic_ball(CENTER, radius)


@pytest.mark.parametrize("height", [0.0, 1.0, -0.2, np.nan])
def test_bad_heights_are_refused(height):
    with pytest.raises(ProtocolError, match="height"):
        spherical_cap(CENTER, height)


@pytest.mark.parametrize("holds_queries", [False, True])
@pytest.mark.parametrize("name", REGIONS)
def test_record_of_a_region_reads_back(name, holds_queries):
    region = REGIONS[name]()[1]._replace(holds_queries=holds_queries)
    rebuilt = region_from_spec(region.to_spec())
    assert type(rebuilt) is type(region)
    for ours, theirs in zip(region, rebuilt):
        np.testing.assert_allclose(ours, theirs, rtol=1e-15)
    assert rebuilt.to_spec() == region.to_spec()


def test_unknown_records_are_refused():
    with pytest.raises(ProtocolError, match=r"region must be one of .*geodesic_ball.*got 'box'"):
        region_from_spec({"name": "box"})


@pytest.mark.parametrize("name", REGIONS)
def test_depth_is_a_distance_that_stays_inside(name):
    geometry, region, points = REGIONS[name]()
    inner = [point for point in points if region.contains(geometry, point)]
    assert 0 < len(inner) < len(points)
    rng = np.random.default_rng(5)
    depths = region.depth(geometry, np.asarray(points))
    assert depths.shape == (len(points),)
    for point, depth in zip(points, depths):
        assert depth == pytest.approx(region.depth(geometry, point), rel=1e-12, abs=1e-14)
        assert (depth >= 0) == region.contains(geometry, point)
        coords = rng.normal(size=(200, geometry.dim))
        coords *= abs(depth) / np.linalg.norm(coords, axis=1, keepdims=True)
        around = geometry.exp(geometry.lift(coords, point), point)
        if depth > 0:
            assert region.contains(geometry, around).all()
    # At the centre it is the distance to the edge itself.
    assert math.isclose(region.depth(geometry, region.center), region.in_radius, rel_tol=1e-12)


@pytest.mark.parametrize("n", [0, 2.5, "2", None, np.eye(2)])
def test_bad_sizes_of_matrices_are_refused(n):
    with pytest.raises(ProtocolError, match="n must be"):
        spectral_band(n, 0.5, 2.0)


@pytest.mark.parametrize("value", ["no", 1, None, [True]])
def test_whether_a_region_holds_the_queries_is_true_or_false(value):
    for make in (
        lambda: geodesic_ball(np.zeros(2), 1.0, value),
        lambda: log_box(np.zeros(2), [1.0, 1.0], value),
        lambda: spectral_band(2, 0.5, 2.0, value),
    ):
        with pytest.raises(ArgumentTypeError, match="holds_queries must be True or False"):
            make()
