"""Poincare ball and half-space points to the hyperboloid and back."""

import mpmath
import numpy as np
import pytest
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, UserCoordinates

MODELS = [(dim, model) for dim in (1, 2, 4) for model in ("ball", "half-space")]


def points_of(space, model, n, spread=0.99):
    rng = np.random.default_rng(space.dim)
    points = rng.normal(size=(n, space.dim))
    if model == "ball":
        return points * rng.uniform(0, spread, (n, 1)) / np.linalg.norm(points, axis=1)[:, None]
    points[:, -1] = np.exp(points[:, -1])
    return points


@pytest.mark.parametrize(("dim", "model"), MODELS)
def test_conversions_and_distances_are_those_of_geomstats(dim, model):
    space = Hyperbolic(dim, coords_type=model)
    coordinates = UserCoordinates(space)
    inner = coordinates.internal_space
    assert type(inner) is Hyperboloid and inner.dim == dim
    points = points_of(space, model, 300)
    converted = coordinates.to_internal(points)
    # a margin of 0.01 to the boundary, known to 1e-16, enters the coordinates squared
    expected = space.to_coordinates(points, "extrinsic")
    np.testing.assert_allclose(converted, expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(coordinates.from_internal(converted), points, rtol=1e-13)
    np.testing.assert_allclose(
        Geometry(inner).dist(converted[1:], converted[:-1]),
        space.metric.dist(points[1:], points[:-1]),
        rtol=1e-9,
    )


@pytest.mark.parametrize(("dim", "model"), MODELS)
def test_leading_dimensions_are_kept(dim, model):
    space = Hyperbolic(dim, coords_type=model)
    coordinates, points = UserCoordinates(space), points_of(space, model, 6)
    converted = coordinates.to_internal(points.reshape(2, 3, dim))
    np.testing.assert_array_equal(converted.reshape(6, -1), coordinates.to_internal(points))
    np.testing.assert_array_equal(coordinates.to_internal(points[0].tolist()), converted[0, 0])
    assert coordinates.from_internal(converted).shape == (2, 3, dim)
    assert coordinates.from_internal(converted[0, 0]).shape == (dim,)


@pytest.mark.parametrize("margin", [1e-3, 1e-8, 1e-12])
def test_ball_points_near_the_boundary_against_mpmath(margin):
    coordinates = UserCoordinates(Hyperbolic(3, coords_type="ball"))
    direction = np.array([2.0, -1.0, 2.0]) / 3
    point = (1 - margin) * direction
    with mpmath.workdps(60):
        exact = [mpmath.mpf(float(entry)) for entry in point]
        gap = 1 - mpmath.fsum(x * x for x in exact)
        expected = [(2 - gap) / gap, *(2 * x / gap for x in exact)]
        expected = [float(entry) for entry in expected]
    # the squares in extended precision leave 1e-19 / margin; in double precision 1e-16 / margin
    rounding = float(np.finfo(np.longdouble).eps)
    converted = coordinates.to_internal(point)
    np.testing.assert_allclose(converted, expected, rtol=1e-15 + 4 * rounding / margin)
    np.testing.assert_allclose(coordinates.from_internal(converted), point, rtol=4e-16)


@pytest.mark.parametrize("height", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_half_space_points_against_mpmath(height):
    coordinates = UserCoordinates(Hyperbolic(3, coords_type="half-space"))
    point = np.array([0.3, -2.0, height])
    with mpmath.workdps(60):
        *flat, last = [mpmath.mpf(float(entry)) for entry in point]
        square = mpmath.fsum(x * x for x in flat)
        expected = [x / last for x in flat] + [(square + last**2 - 1) / (2 * last)]
        expected = [mpmath.sqrt(1 + mpmath.fsum(x * x for x in expected)), *expected]
        expected = [float(entry) for entry in expected]
    converted = coordinates.to_internal(point)
    np.testing.assert_allclose(converted, expected, rtol=1e-15)
    # a height of 1e-9 is 1 / (t - last), from coordinates of 1e9 without a difference
    np.testing.assert_allclose(coordinates.from_internal(converted), point, rtol=4e-15)


def test_other_spaces_are_left_as_they_are():
    for space in (Hypersphere(2), Hyperbolic(2)):
        points = np.eye(3)
        coordinates = UserCoordinates(space)
        assert coordinates.internal_space is space
        assert coordinates.to_internal(points) is points
        assert coordinates.from_internal(points) is points


@pytest.mark.parametrize(
    ("model", "points", "match"),
    [
        ("ball", [[0.1, 0.2], [0.6, 0.9]], "inside the unit ball; this fails at index 1$"),
        ("ball", [1.0, 0.0], "inside the unit ball; this fails$"),
        (
            "ball",
            [[[0.1, 0.2]], [[np.nan, 0.0]]],
            r"finite; it contains NaN or inf at index \(1, 0\)$",
        ),
        ("ball", [np.nan, 0.0], "PoincareBall must be finite"),
        ("ball", [0.1, 0.2, 0.3], "shape"),
        ("ball", 0.1, "shape"),
        (
            "half-space",
            [[0.1, 0.2], [3.0, 0.0]],
            "positive last coordinate; this fails at index 1$",
        ),
        ("half-space", [0.1, -1.0], "positive last coordinate"),
        ("half-space", [np.inf, 1.0], "PoincareHalfSpace must be finite"),
    ],
)
def test_bad_points_are_named(model, points, match):
    with pytest.raises(ProtocolError, match=match):
        UserCoordinates(Hyperbolic(2, coords_type=model)).to_internal(points)


def test_bad_internal_points_are_named():
    coordinates = UserCoordinates(Hyperbolic(2, coords_type="ball"))
    with pytest.raises(ValueError, match="finite"):
        coordinates.from_internal([1.0, np.nan, 0.0])
    with pytest.raises(ValueError, match="shape"):
        coordinates.from_internal([1.0, 0.0])
