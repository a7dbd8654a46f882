"""Working regions and their metric projection."""

import math

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hypersphere import Hypersphere
from numba import njit
from scipy.optimize import minimize

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, geodesic_ball, spherical_cap
from geomstats_ldp.geometry.regions import project, region_from_spec

CENTER = np.array([2.0, -1.0, 0.5]) / np.linalg.norm([2.0, -1.0, 0.5])


@pytest.fixture(scope="module")
def geometry():
    return Geometry(Hypersphere(dim=2), CENTER)


@njit
def compiled_project(twin, region, point, tangent, out):
    return project(twin, region, point, tangent, out)


def run_project(geometry, region, point):
    out, tangent = np.empty_like(point), np.empty_like(point)
    outside = project(geometry, region, point, tangent, out)
    return out, outside


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


@pytest.mark.slow  # compiles one function anew
def test_compiled_projection_equals_the_interpreted_one(geometry):
    region = geodesic_ball(CENTER, 0.7)
    for point in random_points(20, seed=2):
        expected, outside = run_project(geometry, region, point)
        out, tangent = np.empty(3), np.empty(3)
        assert compiled_project(geometry.twin(), region, point, tangent, out) == outside
        np.testing.assert_allclose(out, expected, atol=1e-13)


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
    with pytest.raises(ProtocolError, match="radius must be positive"):
        geodesic_ball(CENTER, radius)


@pytest.mark.parametrize("height", [0.0, 1.0, -0.2, np.nan])
def test_bad_heights_are_refused(height):
    with pytest.raises(ProtocolError, match="height"):
        spherical_cap(CENTER, height)


def test_record_of_a_region_reads_back():
    region = geodesic_ball(CENTER, 0.7)
    rebuilt = region_from_spec(region.to_spec())
    np.testing.assert_array_equal(rebuilt.center, region.center)
    assert rebuilt.radius == region.radius
    with pytest.raises(ProtocolError, match="geodesic_ball"):
        region_from_spec({"name": "box"})
