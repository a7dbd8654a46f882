"""Closed forms on the hyperboloid against 60-digit arithmetic and against geomstats."""

import mpmath
import numpy as np
import pytest
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.hyperboloid import Hyperboloid

from geomstats_ldp import PrivateFrechetMean, Tuning
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, origin_of, orthonormal_basis
from geomstats_ldp.geometry.spaces import space_from_spec, space_to_spec
from geomstats_ldp.geometry.spaces.hyperbolic import on_sheet

DIMS = [1, 2, 3, 5]
# Distance of the base point from the origin, displacement, relative tolerance. Coordinates are
# known to cosh(distance) * 1e-16, which is 1e-12 at distance 10, 1e-6 of a displacement of 1e-6.
CASES = [
    (0.0, 0.7, 1e-12),
    (0.5, 3.0, 1e-12),
    (1.5, 1.0, 1e-12),
    (2.0, 1e-8, 1e-8),
    (0.0, 1e-8, 1e-8),
    (10.0, 1e-6, 1e-6),
    (10.0, 1.0, 1e-10),
]


def exact(point):
    """Point of the sheet with the given spatial coordinates, which are doubles."""
    spatial = [mpmath.mpf(float(entry)) for entry in point[1:]]
    return [mpmath.sqrt(1 + mpmath.fsum(x * x for x in spatial)), *spatial]


def product(a, b):
    return mpmath.fsum(x * y for x, y in zip(a[1:], b[1:])) - a[0] * b[0]


def combine(*terms):
    """Sum of coefficient * vector."""
    return [mpmath.fsum(entries) for entries in zip(*([c * x for x in v] for c, v in terms))]


def tangent_of(spatial, base):
    """Exact tangent vector with the given spatial part."""
    spatial = [mpmath.mpf(float(entry)) for entry in spatial]
    return [mpmath.fsum(x * w for x, w in zip(base[1:], spatial)) / base[0], *spatial]


def reference_log(point, base):
    cosine = -product(point, base)
    angle = mpmath.acosh(cosine)
    scale = angle / mpmath.sinh(angle) if angle else mpmath.mpf(1)
    return combine((scale, point), (-scale * cosine, base))


def reference_exp(vector, base):
    length = mpmath.sqrt(product(vector, vector))
    return combine((mpmath.cosh(length), base), (mpmath.sinh(length) / length, vector))


def reference_transport(vector, base, end):
    scale = product(vector, end) / (1 - product(base, end))
    return combine((1, vector), (scale, base), (scale, end))


def to_double(vector):
    return np.array([float(entry) for entry in vector])


def gap(actual, reference, base):
    """Riemannian length of the error, relative to that of the reference."""
    error = tangent_of([mpmath.mpf(float(a)) - r for a, r in zip(actual[1:], reference[1:])], base)
    error = combine((1, tangent_of(actual[1:], base)), (-1, reference))
    return float(mpmath.sqrt(abs(product(error, error) / product(reference, reference))))


def random_pair(dim, distance, displacement, seed):
    """Two points of the sheet in doubles: exponentials at the origin and at the first point."""
    rng = np.random.default_rng(seed)
    with mpmath.workdps(60):
        direction = rng.normal(size=dim)
        base = on_sheet(np.sinh(distance) * direction / np.linalg.norm(direction))
        vector = tangent_of(rng.normal(size=dim), exact(base))
        length = mpmath.sqrt(product(vector, vector))
        point = reference_exp(combine((displacement / length, vector)), exact(base))
        return base, on_sheet(to_double(point)[1:])


def make_geometry(dim, distance=0.8):
    direction = 1.0 / np.arange(1.0, dim + 1)
    reference = np.sinh(distance) * direction / np.linalg.norm(direction)
    return Geometry(Hyperboloid(dim=dim), on_sheet(reference))


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize(("distance", "displacement", "tolerance"), CASES)
def test_log_distance_and_exp_against_mpmath(dim, distance, displacement, tolerance, closed_forms):
    geometry = make_geometry(dim)
    closed = closed_forms(geometry)
    for seed in range(5):
        base, point = random_pair(dim, distance, displacement, seed)
        with mpmath.workdps(60):
            at = exact(base)
            reference = reference_log(exact(point), at)
            length = float(mpmath.sqrt(product(reference, reference)))
            by_form = closed.log(point, base)
            for log in (by_form, geometry.log(point, base)):
                assert gap(log, reference, at) < tolerance
            for found in (closed.dist(point, base), geometry.dist(point, base)):
                assert abs(found / length - 1) < tolerance
            vector = to_double(reference)
            landed = reference_exp(tangent_of(vector[1:], at), at)
            by_form = closed.exp(vector, base)
            for end in (by_form, geometry.exp(vector, base)):
                miss = reference_log(exact(end), landed)
                # the coordinates of the end point, and 1e-12 of the way
                limit = 4e-16 * float(landed[0]) * float(landed[0]) ** 0.5 + 1e-12 * displacement
                assert float(mpmath.sqrt(abs(product(miss, miss)))) < limit


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize(("distance", "displacement", "tolerance"), CASES)
def test_transport_and_frame_against_mpmath(dim, distance, displacement, tolerance, closed_forms):
    for seed in range(3):
        base, point = random_pair(dim, distance, displacement, seed)
        geometry = Geometry(Hyperboloid(dim=dim), base)
        closed, rng = closed_forms(geometry), np.random.default_rng(40 + seed)
        spatial, coords = rng.normal(size=dim), rng.normal(size=dim)
        with mpmath.workdps(60):
            at, end = exact(base), exact(point)
            reference = reference_transport(tangent_of(spatial, at), at, end)
            vector = np.array([base[1:] @ spatial / base[0], *spatial])
            by_form = closed.transport(vector, base, point)
            for moved in (by_form, geometry.transport(vector, base, point)):
                assert gap(moved, reference, end) < (1e-11 if distance > 5 else 1e-13)
            columns = [tangent_of(row[1:], at) for row in geometry.basis]
            vector = combine(*((mpmath.mpf(c), v) for c, v in zip(coords, columns)))
            reference = reference_transport(vector, at, end)
            for lifted in (
                closed.lift(coords, point),
                geometry.lift(coords, point),
            ):
                assert gap(lifted, reference, end) < (1e-11 if distance > 5 else 1e-13)
            back = closed.coordinates(to_double(reference), point)
            atol = 1e-11 if distance > 5 else 1e-13
            np.testing.assert_allclose(back, coords, rtol=0, atol=atol)


@pytest.mark.parametrize("dim", DIMS)
def test_closed_forms_equal_geomstats_at_generic_points(dim, closed_forms):
    geometry = make_geometry(dim)
    closed, rng, size = closed_forms(geometry), np.random.default_rng(dim), dim + 1
    metric = geometry.space.metric
    for _ in range(30):
        base, end = on_sheet(rng.normal(size=(2, dim)))
        ambient, coords = rng.normal(size=size), rng.normal(size=dim)
        tangent = geometry.space.to_tangent(ambient, base)
        # long vectors lead where geomstats has few digits left
        ambient, tangent = (v / metric.norm(tangent, base) for v in (ambient, tangent))
        moved = metric.parallel_transport(tangent, base, end_point=end)
        pairs = [
            (closed.exp(tangent, base), metric.exp(tangent, base)),
            (closed.exp(tangent, base), metric.exp(tangent, base)),
            (closed.log(end, base), metric.log(end, base)),
            (closed.transport(tangent, base, end), moved),
            (closed.to_tangent(ambient, base), tangent),
            (closed.dist(base, end), metric.dist(base, end)),
            (closed.lift(coords, base), geometry.lift(coords, base)),
            (
                closed.coordinates(tangent, base),
                geometry.coordinates(tangent, base),
            ),
        ]
        for closed_form, through_geomstats in pairs:
            np.testing.assert_allclose(closed_form, through_geomstats, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dim", DIMS)
def test_transport_is_an_isometry_and_frames_are_orthonormal_far_out(dim, closed_forms):
    geometry = make_geometry(dim)
    closed = closed_forms(geometry)
    for distance in (0.0, 1.0, 5.0, 10.0):
        base, end = random_pair(dim, distance, 2.0, seed=9)
        frame = [closed.lift(row, base) for row in np.eye(dim)]
        gram = geometry.inner(np.array(frame)[:, None], np.array(frame), base)
        # coordinates are known to cosh(distance) roundings
        atol = 1e-15 * (4 + np.cosh(distance)) * 10
        np.testing.assert_allclose(gram, np.eye(dim), atol=atol)
        lowered = [closed.coordinates(row, base) for row in frame]
        np.testing.assert_allclose(lowered, np.eye(dim), atol=atol)
        moved = [closed.transport(row, base, end) for row in frame]
        gram = geometry.inner(np.array(moved)[:, None], np.array(moved), end)
        np.testing.assert_allclose(gram, np.eye(dim), atol=1e-15 * (4 + end[0]) * 10)


def test_nothing_is_nan_for_nearly_coincident_points(closed_forms):
    rng = np.random.default_rng(0)
    geometry = make_geometry(2)
    n = 20_000
    spatial = rng.normal(size=(n, 2)) * 10 ** rng.uniform(-12, 4, size=(n, 1))
    nudge = rng.normal(size=(n, 2)) * 10 ** rng.uniform(-20, -7, size=(n, 1))
    base = on_sheet(spatial)
    point = on_sheet(spatial * (1 + nudge))
    vectors = geometry.to_tangent(rng.normal(size=(n, 3)), base)
    distance = geometry.dist(point, base)
    assert np.isfinite(distance).all()
    np.testing.assert_allclose(distance, geometry.dist(base, point), rtol=1e-13)
    for result in (
        geometry.norm(vectors, base),
        geometry.log(point, base),
        geometry.exp(geometry.log(point, base), base),
        geometry.transport(vectors, base, point),
        geometry.lift(rng.normal(size=(n, 2)), point),
        geometry.coordinates(vectors, base),
    ):
        assert np.isfinite(result).all()
    closed = closed_forms(geometry)
    for i in range(0, n, 50):
        log = closed.log(point[i], base[i])
        np.testing.assert_allclose(log, geometry.log(point[i], base[i]), rtol=1e-9, atol=1e-300)
        assert np.isfinite(closed.transport(vectors[i], base[i], point[i])).all()


@pytest.mark.parametrize("dim", DIMS)
def test_a_point_and_itself(dim, closed_forms):
    closed, point = closed_forms(make_geometry(dim)), random_pair(dim, 1.0, 1.0, 3)[0]
    assert not closed.log(point, point).any()
    assert closed.dist(point, point) == 0.0
    moved = closed.exp(np.zeros(dim + 1), point)
    np.testing.assert_allclose(moved, point, rtol=4e-16)


def test_batches_broadcast_over_a_single_base_point():
    geometry = make_geometry(3)
    points = on_sheet(np.random.default_rng(1).normal(size=(20, 3)))
    points[0] = geometry.reference
    logs = geometry.log(points, geometry.reference)
    assert logs.shape == (20, 4)
    np.testing.assert_allclose(geometry.exp(logs, geometry.reference), points, atol=1e-12)
    assert geometry.dist(points, geometry.reference).shape == (20,)
    assert geometry.coordinates(geometry.lift(np.eye(3), points[3]), points[3]).shape == (3, 3)


def test_points_are_judged_relative_to_their_size():
    geometry = make_geometry(2)
    far = on_sheet(np.array([3e5, -2e5]))
    np.testing.assert_array_equal(geometry.check_point(far), far)
    drifted = far * np.array([1 + 1e-10, 1.0, 1.0])
    np.testing.assert_array_equal(geometry.check_point(drifted), far)
    for point in (far * [1.001, 1, 1], far * [-1, 1, 1], [0.0, 0.0, 0.0]):
        with pytest.raises(ProtocolError, match="Hyperboloid"):
            geometry.check_point(point)


def test_record_reads_back_and_other_coordinates_are_refused():
    space = Hyperbolic(dim=4)
    assert space_to_spec(space) == {"name": "Hyperboloid", "dim": 4}
    assert Geometry(space_from_spec(space_to_spec(space))).dim == 4
    assert Geometry(space).curvature == (-1.0, -1.0)
    with pytest.raises(ProtocolError):
        Geometry(Hyperbolic(dim=4, coords_type="ball"))


@pytest.mark.parametrize("distance", [0.0, 2.0, 6.0, 9.0, 12.0, 15.0])
def test_bases_are_orthonormal_far_out(distance):
    direction = np.array([2.0, -1.0, 2.0]) / 3.0
    reference = on_sheet(np.sinh(distance) * direction)
    basis = Geometry(Hyperboloid(3)).basis_at(reference)
    vectors = [tangent_of(vector[1:], exact(reference)) for vector in basis]
    gram = [[float(product(a, b)) for b in vectors] for a in vectors]
    # coordinates of size t known to 1e-16 give entries known to t^2 1e-16, in exact arithmetic
    np.testing.assert_allclose(gram, np.eye(3), atol=1e-14 * max(1.0, np.cosh(distance) ** 2))
    # the inner product, which reads vectors at the origin, keeps all but t roundings
    geometry = Geometry(Hyperboloid(3), reference)
    gram = [[geometry.inner(a, b, reference) for b in basis] for a in basis]
    np.testing.assert_allclose(gram, np.eye(3), atol=1e-15 * np.cosh(distance) * 10)
    np.testing.assert_allclose(geometry.coordinates(basis, reference), np.eye(3), atol=1e-8)


def test_the_basis_at_the_origin_is_that_of_the_coordinates():
    geometry = Geometry(Hyperboloid(3))
    np.testing.assert_array_equal(geometry.reference, origin_of(geometry.space))
    np.testing.assert_array_equal(geometry.basis, np.eye(4)[1:])
    np.testing.assert_array_equal(orthonormal_basis(geometry, geometry.reference), geometry.basis)


def test_a_mean_far_out_is_the_mean_at_the_origin_moved_there():
    """The boost to a reference moves its frame, hence every query and message, along."""
    distance, space = 8.0, Hyperboloid(2)
    origin = Geometry(space)
    reference = origin.exp(distance * origin.basis[0], origin.reference)
    far = Geometry(space, reference)
    coords = np.random.default_rng(0).normal([0.2, -0.1], 0.2, size=(120, 2))
    fits = []
    for geometry in (origin, far):
        tangent = np.tensordot(coords, geometry.basis, axes=1)
        rows = geometry.exp(tangent, geometry.reference)
        mean = PrivateFrechetMean(
            space,
            initial_point=geometry.reference,
            epsilon=8.0,
            random_state=0,
            tuning=Tuning(engine="geomstats"),
        ).fit(rows)
        log = geometry.log(mean.estimate_, geometry.reference)
        fits.append((geometry.coordinates(log, geometry.reference), mean.covariance_))
    # coordinates at distance 8 are known to cosh(9) 1e-16
    np.testing.assert_allclose(fits[0][0], fits[1][0], atol=1e-10)
    np.testing.assert_allclose(fits[0][1], fits[1][1], rtol=1e-6)
