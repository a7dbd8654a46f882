"""Closed forms on the sphere against 50-digit arithmetic and against geomstats."""

import math

import mpmath
import numpy as np
import pytest
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp.geometry import Geometry

DIMS = [1, 2, 3, 9]
# Angle of the two points and relative tolerance. Unit vectors in doubles are off the sphere by
# about 1e-16, which is 1e-8 of a displacement of 1e-8, and 1e-10 of the sine of pi - 1e-6.
ANGLES = [(0.7, 1e-12), (2.4, 1e-12), (1e-8, 1e-8), (math.pi - 1e-6, 1e-8)]


def exact(vector):
    return mpmath.matrix([mpmath.mpf(float(entry)) for entry in vector])


def inner(a, b):
    return mpmath.fsum(x * y for x, y in zip(a, b))


def unit(vector):
    return vector / mpmath.sqrt(inner(vector, vector))


def random_unit(rng, dim):
    vector = rng.normal(size=dim + 1)
    return vector / np.linalg.norm(vector)


def points_at(angle, dim, seed):
    """Base point and a point at the given angle, each rounded from 50 digits."""
    rng = np.random.default_rng(seed)
    with mpmath.workdps(50):
        base = unit(exact(rng.normal(size=dim + 1)))
        side = exact(rng.normal(size=dim + 1))
        side = unit(side - inner(side, base) * base)
        point = mpmath.cos(angle) * base + mpmath.sin(angle) * side
        return (np.array([float(entry) for entry in vector]) for vector in (base, point))


def reference_log(point, base):
    point, base = unit(exact(point)), unit(exact(base))
    along = inner(point, base)
    side = point - along * base
    sine = mpmath.sqrt(inner(side, side))
    return mpmath.atan2(sine, along) / sine * side


def reference_transport(vector, base, end):
    """Rotation in the plane of the two points; nothing changes orthogonally to it."""
    direction = reference_log(end, base)
    angle = mpmath.sqrt(inner(direction, direction))
    direction, base, vector = direction / angle, unit(exact(base)), exact(vector)
    along = inner(direction, vector)
    return vector + (mpmath.cos(angle) - 1) * along * direction - mpmath.sin(angle) * along * base


def reference_exp(vector, base):
    base, vector = exact(base), exact(vector)
    length = mpmath.sqrt(inner(vector, vector))
    return unit(mpmath.cos(length) * base + mpmath.sin(length) / length * vector)


def gap(actual, reference):
    """Largest error, relative to the largest entry of the reference."""
    reference = list(reference)
    worst = max(abs(mpmath.mpf(float(a)) - r) for a, r in zip(actual, reference))
    return float(worst / max(abs(r) for r in reference))


def make_geometry(dim, retraction="exponential"):
    reference = random_unit(np.random.default_rng(100 + dim), dim)
    return Geometry(Hypersphere(dim=dim), reference, retraction=retraction)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize(("angle", "tolerance"), ANGLES)
def test_log_and_distance_against_mpmath(dim, angle, tolerance, closed_forms):
    closed = closed_forms(make_geometry(dim))
    for seed in range(5):
        base, point = points_at(angle, dim, seed)
        with mpmath.workdps(50):
            reference = reference_log(point, base)
            length = mpmath.sqrt(inner(reference, reference))
            log = closed.log(point, base)
            assert gap(log, reference) < tolerance
            assert gap([closed.dist(point, base)], [length]) < tolerance


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize(("angle", "tolerance"), ANGLES)
def test_transport_against_mpmath(dim, angle, tolerance, closed_forms):
    closed = closed_forms(make_geometry(dim))
    for seed in range(5):
        base, point = points_at(angle, dim, seed)
        vector = np.random.default_rng(50 + seed).normal(size=dim + 1)
        vector -= vector @ base * base
        vector -= vector @ base * base
        with mpmath.workdps(50):
            reference = reference_transport(vector, base, point)
            moved = closed.transport(vector, base, point)
            assert gap(moved, reference) < tolerance


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("angle", [1e-8, 0.7, 2.4, math.pi - 1e-6])
def test_exp_against_mpmath(dim, angle, closed_forms):
    closed = closed_forms(make_geometry(dim))
    for seed in range(5):
        base, point = points_at(angle, dim, seed)
        with mpmath.workdps(50):
            vector = np.array([float(entry) for entry in reference_log(point, base)])
            # Entries of a unit vector: a few roundings each, whatever the angle.
            out = closed.exp(vector, base)
            assert gap(out, reference_exp(vector, base)) < 2e-15


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("angle", [0.7, 2.4, math.pi - 1e-6])
def test_lift_and_lower_against_mpmath(dim, angle, closed_forms):
    base, point = points_at(angle, dim, seed=3)
    geometry = Geometry(Hypersphere(dim=dim), base)
    closed = closed_forms(geometry)
    coords = np.random.default_rng(dim).normal(size=dim)
    tolerance = 1e-12 if angle < 3 else 1e-8
    with mpmath.workdps(50):
        columns = [reference_transport(vector, base, point) for vector in geometry.basis]
        reference = columns[0] * mpmath.mpf(coords[0])
        for value, column in zip(coords[1:], columns[1:]):
            reference += column * mpmath.mpf(value)
        lifted = closed.lift(coords, point)
        assert gap(lifted, reference) < tolerance
        # rounded from the exact vector: a normal part is amplified by 1 / (pi - angle) twice
        tangent = np.array([float(entry) for entry in reference])
        assert gap(closed.coordinates(tangent, point), coords) < tolerance


@pytest.mark.parametrize("dim", DIMS)
def test_logarithm_of_the_point_itself_is_zero(dim, closed_forms):
    closed, point = closed_forms(make_geometry(dim)), random_unit(np.random.default_rng(dim), dim)
    assert not closed.log(point, point).any()
    assert closed.dist(point, point) == 0.0
    # exp of nothing normalises once more: one rounding
    moved = closed.exp(np.zeros(dim + 1), point)
    np.testing.assert_allclose(moved, point, rtol=4e-16)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("retraction", ["exponential", "projection"])
def test_closed_forms_equal_the_geomstats_path(dim, retraction, closed_forms):
    geometry = make_geometry(dim, retraction)
    closed, rng, size = closed_forms(geometry), np.random.default_rng(dim), dim + 1
    for _ in range(20):
        base, end = random_unit(rng, dim), random_unit(rng, dim)
        if max(-base @ end, -base @ geometry.reference) > 0.99:
            continue  # conditioning 1 / sin(angle) of the logarithm stays under 10
        ambient, coords = rng.normal(size=size), rng.normal(size=dim)
        tangent = ambient - ambient @ base * base
        pairs = [
            (closed.exp(tangent, base), geometry.exp(tangent, base)),
            (closed.log(end, base), geometry.log(end, base)),
            (
                closed.transport(tangent, base, end),
                geometry.transport(tangent, base, end),
            ),
            (
                closed.retract(tangent, base),
                geometry.retract(tangent, base),
            ),
            (
                closed.to_tangent(ambient, base),
                geometry.to_tangent(ambient, base),
            ),
            (closed.lift(coords, base), geometry.lift(coords, base)),
            (
                closed.coordinates(tangent, base),
                geometry.coordinates(tangent, base),
            ),
            (closed.dist(base, end), geometry.dist(base, end)),
        ]
        for closed_form, through_geomstats in pairs:
            # about ten roundings of numbers of size 10, times the conditioning
            np.testing.assert_allclose(closed_form, through_geomstats, rtol=0, atol=1e-12)
