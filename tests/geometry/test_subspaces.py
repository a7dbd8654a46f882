"""Subspaces: closed forms of the compiled engine, spans of rows, and angles."""

import math

import numpy as np
import pytest
from numba import njit

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, dispatch, principal_angles, projection_on
from geomstats_ldp.geometry.spaces import space_from_spec


def geometry_of(n, p):
    reference = projection_on(np.random.default_rng(n).normal(size=(p, n)))
    return Geometry(space_from_spec({"name": "Grassmannian", "n": n, "p": p}), reference)


@njit
def operations(twin, point, base, vector, coords, out):
    """Exponential, logarithm, transport, tangent part, lift, and what is a number."""
    dispatch.exp(twin, vector, base, out[0])
    dispatch.log(twin, point, base, out[1])
    dispatch.transport(twin, vector, base, point, out[2])
    dispatch.to_tangent(twin, point, base, out[3])
    dispatch.lift(twin, coords, point, out[4])
    dispatch.coordinates(twin, out[2], point, coords)
    dispatch.settle(twin, point, out[5])
    return dispatch.dist(twin, point, base)


@pytest.mark.slow  # compiles
@pytest.mark.parametrize("reach", [1.2, 1e-3, 1e-7, 0.0])
def test_closed_forms_agree_with_geomstats(reach):
    """Principal angles up to 1.2 sqrt(1/2), and so small that naive quotients would be 0 / 0."""
    n, p = 5, 3
    geometry, rng = geometry_of(n, p), np.random.default_rng(1)
    base = geometry.exp(0.5 * geometry.basis[0], geometry.reference)
    direction = geometry.lift(rng.normal(size=geometry.dim), base)
    point = geometry.exp(reach * direction / np.linalg.norm(direction), base)
    vector = geometry.lift(0.3 * rng.normal(size=geometry.dim), base)
    coords = rng.normal(size=geometry.dim)
    expected = [
        geometry.exp(vector, base),
        reach * direction / np.linalg.norm(direction),
        geometry.transport(vector, base, point),
        geometry.to_tangent(point, base),
        geometry.lift(coords, point),
        point,
    ]
    out = np.zeros((6, n, n))
    length = operations(geometry.twin(), point, base, vector, coords, out)
    # geomstats' point is off by rounding, 1e-15; its transport divides by angles of 1e-7.
    for found, wanted in zip(out, expected):
        np.testing.assert_allclose(found, wanted, atol=1e-8 if reach == 1e-7 else 1e-12)
    assert length == pytest.approx(reach, abs=1e-8)
    np.testing.assert_allclose(
        coords, geometry.coordinates(geometry.transport(vector, base, point), point), atol=1e-8
    )


def test_a_span_does_not_depend_on_the_rows_that_give_it():
    rows, mixing = np.random.default_rng(2).normal(size=(2, 5)), np.array([[2.0, 1.0], [-1.0, 3.0]])
    projection = projection_on(rows)
    np.testing.assert_allclose(projection_on(mixing @ rows), projection, atol=1e-14)
    np.testing.assert_allclose(projection @ projection, projection, atol=1e-14)
    np.testing.assert_allclose(rows @ projection, rows, atol=1e-14)


@pytest.mark.parametrize("rows", [[[1.0, 2.0], [2.0, 4.0]], np.zeros((1, 3)), np.eye(3)[:, :2]])
def test_rows_that_are_not_independent_are_refused(rows):
    with pytest.raises(ProtocolError, match="guess must be independent"):
        projection_on(rows, "guess")


def test_principal_angles_are_those_of_a_rotation():
    given = np.eye(2, 5)
    turned = [
        [math.cos(0.3), 0, math.sin(0.3), 0, 0],
        [0, math.cos(1.1), 0, math.sin(1.1), 0],
    ]
    np.testing.assert_allclose(principal_angles(given)(projection_on(turned)), [0.3, 1.1])
    np.testing.assert_allclose(principal_angles(given[:1])(np.array(turned[0])), [0.3])
