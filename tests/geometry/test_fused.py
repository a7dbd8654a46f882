"""Compositions of operations, compiled and through geomstats."""

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from numba import njit

from geomstats_ldp.geometry import Geometry, dispatch
from geomstats_ldp.geometry.spaces import space_from_spec

# Each case is compiled.
pytestmark = pytest.mark.slow


def spd(metric, n):
    return space_from_spec({"name": metric, "n": n})


#: One size of each space: the loops are the same for all, and each is compiled by itself.
CASES = [
    pytest.param(Hypersphere(2), "exponential", id="S2"),
    pytest.param(Hypersphere(2), "projection", id="S2-projection"),
    pytest.param(Hyperboloid(5), "exponential", id="H5"),
    pytest.param(Euclidean(3), "exponential", id="R3"),
    pytest.param(spd("SPDAffineInvariant", 3), "exponential", id="affine3"),
    pytest.param(spd("SPDLogEuclidean", 3), "exponential", id="log-Euclidean3"),
]


def run(geometry, coords, message, base, end, weight, vectors, out_coords, out_points):
    """Every composition once; runs in both engines."""
    dispatch.log_coords(geometry, end, base, vectors[0], out_coords[0])
    dispatch.carry(geometry, message, base, end, vectors, out_coords[1])
    dispatch.retract_coords(geometry, coords, base, vectors[0], out_points[0])
    dispatch.retract_both_ways(geometry, coords, base, vectors[0], out_points[1], out_points[2])
    dispatch.interpolate(geometry, base, end, weight, vectors[0], out_points[3])
    return dispatch.dim(geometry)


compiled_run = njit(run)


def results(function, geometry, dim, shape, *arguments):
    out = np.full((2, dim), np.nan), np.full((4, *shape), np.nan)
    assert function(geometry, *arguments, np.empty((2, *shape)), *out) == dim
    return out


def random_geometry(space, retraction, rng):
    """Geometry with a frame given away from the origin."""
    origin = np.eye(space.shape[0])[0] if len(space.shape) == 1 else np.eye(space.shape[0])
    if isinstance(space, Euclidean):
        origin = np.zeros(space.dim)
    start = Geometry(space, origin)
    aside = start.lift(0.5 * rng.normal(size=start.dim) / np.sqrt(start.dim), origin)
    return Geometry(space, start.exp(aside, origin), retraction=retraction)


def point_at(geometry, base, length, rng):
    direction = rng.normal(size=geometry.dim)
    return geometry.exp(geometry.lift(length * direction / np.linalg.norm(direction), base), base)


@pytest.mark.parametrize(("space", "retraction"), CASES)
def test_both_engines_agree(space, retraction):
    rng = np.random.default_rng(0)
    geometry = random_geometry(space, retraction, rng)
    twin, dim, shape = geometry.twin(), geometry.dim, geometry.shape
    for _ in range(50):
        base = point_at(geometry, geometry.reference, 0.8, rng)
        end = point_at(geometry, base, 1.2, rng)
        coords, message = 0.4 * rng.normal(size=dim), rng.normal(size=shape)
        arguments = dim, shape, coords, message, base, end, rng.uniform()
        ours = results(compiled_run, twin, *arguments)
        theirs = results(run, geometry, *arguments)
        for one, other in zip(ours, theirs):
            # geomstats keeps about twelve digits; entries are of order ten at most
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize(("space", "retraction"), CASES)
@pytest.mark.parametrize("length", [1e-8, 1e-4])
def test_small_displacements_keep_their_digits(space, retraction, length):
    """The length of the coordinates is the distance, and a fraction of the way is a fraction."""
    rng = np.random.default_rng(1)
    geometry = random_geometry(space, retraction, rng)
    twin, dim, shape = geometry.twin(), geometry.dim, geometry.shape
    for _ in range(20):
        base = point_at(geometry, geometry.reference, 0.8, rng)
        end = point_at(geometry, base, length, rng)
        arguments = dim, shape, np.zeros(dim), np.zeros(shape), base, end
        (coords, _), _ = results(compiled_run, twin, *arguments, 0.5)
        # the points are known to 1e-16 times their size, which is at most ten here
        slack = 1e-8 * length + 2e-15
        assert abs(np.linalg.norm(coords) - float(geometry.dist(base, end))) < slack
        for weight in (0.0, 1.0):
            _, points = results(compiled_run, twin, *arguments, weight)
            np.testing.assert_allclose(points[3], end if weight else base, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("space", "retraction"), CASES)
def test_a_point_and_itself(space, retraction):
    rng = np.random.default_rng(2)
    geometry = random_geometry(space, retraction, rng)
    twin, dim, shape = geometry.twin(), geometry.dim, geometry.shape
    point = point_at(geometry, geometry.reference, 0.5, rng)
    message = rng.normal(size=shape)
    coords, points = results(
        compiled_run, twin, dim, shape, np.zeros(dim), message, point, point, 0.3
    )
    np.testing.assert_allclose(coords[0], 0.0, atol=1e-15)
    expected = geometry.coordinates(geometry.to_tangent(message, point), point)
    np.testing.assert_allclose(coords[1], expected, rtol=1e-11, atol=1e-12)
    for reached in points:
        np.testing.assert_allclose(reached, point, rtol=0, atol=1e-14)
