"""Rotations and subspaces: guards at the cut locus, and constants in the metric of geomstats."""

import math

import mpmath
import numpy as np
import pytest
from geomstats.geometry.grassmannian import Grassmannian
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

from geomstats_ldp.exceptions import CutLocusError, ProtocolError
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.registry import geometry_class
from geomstats_ldp.geometry.spaces import space_from_spec, space_to_spec

SPACES = {
    **{f"rotations{n}": SpecialOrthogonal(n) for n in (2, 3, 4, 5)},
    **{f"subspaces{n}{p}": Grassmannian(n, p) for n, p in [(2, 1), (4, 1), (4, 3), (4, 2), (5, 2)]},
}


def point_of(space, seed):
    rng = np.random.default_rng(seed)
    factor = np.linalg.qr(rng.normal(size=space.shape))[0]
    if isinstance(space, Grassmannian):
        return factor[:, : space.p] @ factor[:, : space.p].T
    factor[:, 0] *= np.sign(np.linalg.det(factor))
    return factor


def make(name, seed=0):
    return Geometry(SPACES[name], point_of(SPACES[name], seed))


def unit_vectors(geometry, n, seed):
    coords = np.random.default_rng(seed).normal(size=(n, geometry.dim))
    coords /= np.linalg.norm(coords, axis=1, keepdims=True)
    return np.tensordot(coords, geometry.basis, axes=1)


def shortest_cut(geometry):
    """Unit vector along which the cut locus is nearest: one plane, or one principal angle."""
    reference = geometry.reference
    if isinstance(geometry.space, Grassmannian):
        vectors = np.linalg.eigh(reference)[1]
        tangent = np.outer(vectors[:, 0], vectors[:, -1])
        return (tangent + tangent.T) / math.sqrt(2)
    spin = np.zeros(geometry.shape)
    spin[0, 1], spin[1, 0] = -1.0, 1.0
    return reference @ spin


@pytest.mark.parametrize("name", SPACES)
def test_exp_log_transport_and_frames(name):
    geometry = make(name)
    base = geometry.reference
    for tangent in unit_vectors(geometry, 6, seed=1):
        point = geometry.exp(1.3 * tangent, base)
        assert geometry.is_on(point, 1e-14)
        np.testing.assert_allclose(geometry.log(point, base), 1.3 * tangent, atol=1e-13)
        assert abs(geometry.dist(base, point) - 1.3) < 1e-14
        assert abs(geometry.dist(point, base) - 1.3) < 1e-14
        frame = geometry.lift(np.eye(geometry.dim), point)
        gram = [[geometry.inner(a, b, point) for a in frame] for b in frame]
        np.testing.assert_allclose(gram, np.eye(geometry.dim), atol=1e-13)
        np.testing.assert_allclose(
            geometry.coordinates(frame, point), np.eye(geometry.dim), atol=1e-13
        )
        # transport keeps the velocity of the geodesic
        moved = geometry.transport(tangent, base, point)
        np.testing.assert_allclose(geometry.exp(-1.3 * moved, point), base, atol=1e-13)


@pytest.mark.parametrize("name", SPACES)
def test_logarithm_inverts_exp_up_to_the_injectivity_radius_and_no_further(name):
    geometry = make(name)
    base, radius = geometry.reference, geometry.injectivity_radius
    directions = [*unit_vectors(geometry, 10, seed=2), shortest_cut(geometry)]
    for tangent in directions:
        vector = 0.999 * radius * tangent
        np.testing.assert_allclose(
            geometry.log(geometry.exp(vector, base), base), vector, atol=1e-9
        )
    beyond = geometry.exp(1.01 * radius * shortest_cut(geometry), base)
    assert geometry.dist(beyond, base) < 0.995 * radius


@pytest.mark.parametrize("name", SPACES)
def test_the_cut_locus_raises(name):
    geometry = make(name)
    base, radius = geometry.reference, geometry.injectivity_radius
    for slack in (0.0, 1e-9, 1e-7, 1e-6):
        point = geometry.exp((radius - slack) * shortest_cut(geometry), base)
        assert abs(geometry.dist(point, base) - (radius - slack)) < 1e-7
        with pytest.raises(CutLocusError, match=geometry.name):
            geometry.log(point, base)
        with pytest.raises(CutLocusError):
            geometry.transport(geometry.basis, base, point)
        with pytest.raises(CutLocusError):
            geometry.log(np.stack([base, point]), base)
        inverse = geometry.inverse_retract(np.stack([base, point]), base)
        np.testing.assert_array_equal(np.isnan(inverse).all(axis=(1, 2)), [False, True])
    near = (radius - 1e-4) * shortest_cut(geometry)
    np.testing.assert_allclose(geometry.log(geometry.exp(near, base), base), near, atol=1e-9)


def sectional_curvature(geometry, first, second, step=0.02):
    """From the distance of two ends: d^2 = step^2 |u - v|^2 - K step^4 / 3 for orthonormal u, v."""
    base = geometry.reference
    ends = [geometry.exp(step * vector, base) for vector in (first, second)]
    squared = geometry.space.metric.dist(*ends) ** 2
    return float(3 * (2 * step**2 - squared) / step**4)


@pytest.mark.parametrize("name", SPACES)
def test_curvature_lies_within_the_stated_bounds(name):
    geometry = make(name)
    low, high = geometry.curvature
    if geometry.dim == 1:
        assert (low, high) == (0.0, 0.0)
        return
    rng = np.random.default_rng(3)
    values = []
    for _ in range(30):
        pair = np.linalg.qr(rng.normal(size=(geometry.dim, 2)))[0].T
        values.append(sectional_curvature(geometry, *np.tensordot(pair, geometry.basis, axes=1)))
    # next order step^2 = 4e-4 of the curvature; rounding 1e-15 / step^4
    assert low - 1e-3 < min(values) and max(values) < high + 1e-3


def test_curvature_bounds_are_attained():
    """Two units of the quaternions in so(4), and the corresponding planes in four dimensions."""
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    first = np.kron(turn, np.eye(2)) / math.sqrt(2)
    second = np.kron(np.diag([1.0, -1.0]), turn) / math.sqrt(2)
    rotations = Geometry(SpecialOrthogonal(4), np.eye(4))
    assert abs(sectional_curvature(rotations, first, second) - 0.5) < 1e-3

    planes = Geometry(Grassmannian(4, 2), np.diag([1.0, 1.0, 0.0, 0.0]))
    zero = np.zeros((2, 2))
    first, second = (np.block([[zero, b.T], [b, zero]]) / 2 for b in (np.eye(2), turn))
    assert abs(sectional_curvature(planes, first, second) - 1.0) < 1e-3


@pytest.mark.parametrize("name", SPACES)
def test_points_off_the_space_are_refused_and_drift_is_removed(name):
    geometry = make(name)
    noise = 1e-10 * np.random.default_rng(4).normal(size=geometry.shape)
    settled = geometry.check_point(geometry.reference + noise)
    assert geometry.is_on(settled, 1e-15 * 10)
    for bad in (1.01 * geometry.reference, np.zeros(geometry.shape), geometry.reference + 1e-4):
        with pytest.raises(ProtocolError, match=geometry.name):
            geometry.check_point(bad)


def test_reflections_and_subspaces_of_another_dimension_are_refused():
    with pytest.raises(ProtocolError):
        make("rotations3").check_point(np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(ProtocolError):
        make("subspaces42").check_point(np.diag([1.0, 1.0, 1.0, 0.0]))


@pytest.mark.parametrize("name", SPACES)
def test_records_read_back_and_only_subspaces_have_closed_forms(name):
    spec = space_to_spec(SPACES[name])
    assert space_to_spec(space_from_spec(spec)) == spec
    assert (make(name).twin() is not None) == name.startswith("subspaces")
    assert geometry_class(SPACES[name]).name == spec["name"]


def test_rotations_as_vectors_are_refused():
    with pytest.raises(ProtocolError):
        Geometry(SpecialOrthogonal(3, point_type="vector"))


def rotation_reference(base, tangent):
    """Exponential at a rotation with many digits."""
    matrix = mpmath.matrix(base.tolist())
    return matrix * mpmath.expm(matrix.T * mpmath.matrix(tangent.tolist()), method="taylor")


def as_array(matrix):
    return np.array(matrix.tolist(), dtype=float)


@pytest.mark.parametrize(
    ("length", "tolerance"), [(1e-8, 1e-8), (0.7, 1e-13), (2.4, 1e-12), (math.pi - 1e-4, 1e-10)]
)
def test_closed_forms_of_rotations_against_mpmath(length, tolerance):
    geometry = make("rotations3")
    # The reference as rounded is orthogonal to 1e-16 only, which is 1e-8 of a length of 1e-8.
    for tangent in unit_vectors(geometry, 5, seed=7):
        vector = length * tangent
        with mpmath.workdps(40):
            point = as_array(rotation_reference(geometry.reference, vector))
            half = rotation_reference(geometry.reference, vector / 2)
            frame = mpmath.matrix(geometry.reference.T.tolist())
            right = frame * half  # exp of half the way in the Lie algebra
            other = unit_vectors(geometry, 1, seed=8)[0]
            moved = as_array(half * (frame * mpmath.matrix(other.tolist())) * right)
        np.testing.assert_allclose(geometry.exp(vector, geometry.reference), point, atol=1e-14)
        error = geometry.log(point, geometry.reference) - vector
        assert np.abs(error).max() < tolerance * length
        transported = geometry.transport(other, geometry.reference, point)
        np.testing.assert_allclose(transported, moved, atol=max(tolerance, 1e-14))


def test_closed_forms_of_rotations_equal_geomstats():
    geometry = make("rotations3")
    metric, base = geometry.space.metric, geometry.reference
    tangents = unit_vectors(geometry, 20, seed=9) * np.linspace(0.1, 3.0, 20)[:, None, None]
    points = geometry.exp(tangents, base)
    other = unit_vectors(geometry, 20, seed=10)
    np.testing.assert_allclose(points, metric.exp(tangents, base), atol=1e-12)
    for tangent, point, vector in zip(tangents, points, other):
        np.testing.assert_allclose(geometry.log(point, base), metric.log(point, base), atol=1e-10)
        theirs = metric.parallel_transport(vector, base, direction=tangent)
        np.testing.assert_allclose(geometry.transport(vector, base, point), theirs, atol=1e-10)
        product = metric.inner_product(tangent, vector, base)
        assert math.isclose(geometry.inner(tangent, vector, base), product, abs_tol=1e-12)
    np.testing.assert_allclose(
        geometry.log(points, base), tangents, atol=1e-12
    )  # many points at once
