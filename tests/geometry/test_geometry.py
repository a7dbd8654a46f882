"""The door to geomstats: frames, retractions, and the guards against its known faults."""

import math

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.grassmannian import Grassmannian
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDLogEuclideanMetric, SPDMatrices
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

from geomstats_ldp.exceptions import CutLocusError, ProtocolError
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.spaces import (
    euclidean,
    hyperbolic,
    spd_affine,
    spd_log_euclidean,
    sphere,
)

# Orthonormality and inverses: some ten roundings of numbers of size one.
ROUNDING = 1e-12


def log_euclidean(size):
    space = SPDMatrices(size, equip=False)
    space.equip_with_metric(SPDLogEuclideanMetric)
    return space


SPACES = {
    "sphere1": Hypersphere(dim=1),
    "sphere2": Hypersphere(dim=2),
    "sphere3": Hypersphere(dim=3),
    "sphere9": Hypersphere(dim=9),
    "euclidean": Euclidean(dim=3),
    "spd": SPDMatrices(2),
    "spd3": SPDMatrices(3),
    "log_euclidean2": log_euclidean(2),
    "log_euclidean3": log_euclidean(3),
    "hyperboloid1": Hyperboloid(1),
    "hyperboloid2": Hyperboloid(2),
    "hyperboloid5": Hyperboloid(5),
    "rotations3": SpecialOrthogonal(3),
    "subspaces": Grassmannian(4, 2),
}


def reference_point(space):
    if isinstance(space, SPDMatrices):
        return np.array([[1.5, 0.4, 0.1], [0.4, 0.8, -0.2], [0.1, -0.2, 1.1]])[: space.n, : space.n]
    if isinstance(space, Hyperboloid):
        spatial = 1.0 / np.arange(1.0, space.dim + 1)
        return np.array([math.sqrt(1 + spatial @ spatial), *spatial])
    if len(space.shape) == 2:
        mixed = np.eye(space.n) + np.triu(np.full(space.shape, 0.5), 1)
        factor = np.linalg.qr(mixed)[0]
        if isinstance(space, Grassmannian):
            return factor[:, : space.p] @ factor[:, : space.p].T
        # a factor of determinant -1 becomes a rotation by the sign of one column
        return factor * np.where(np.arange(space.n) == 0, np.linalg.det(factor), 1.0)
    point = 1.0 / np.arange(1.0, space.shape[0] + 1)
    return point / np.linalg.norm(point)


def make(name, **options):
    return Geometry(SPACES[name], reference_point(SPACES[name]), **options)


def points_of(geometry, n, seed=0, length=1.2):
    """Points at the given distance from the reference, by the exponential of geomstats."""
    directions = np.random.default_rng(seed).normal(size=(n, geometry.dim))
    directions *= length / np.linalg.norm(directions, axis=1, keepdims=True)
    vectors = np.tensordot(directions, geometry.basis, axes=1)
    metric = geometry.space.metric
    return [metric.exp(vector, geometry.reference) for vector in vectors]


def frame_at(geometry, point):
    return np.stack([geometry.lift(row, point) for row in np.eye(geometry.dim)])


@pytest.mark.parametrize("name", SPACES)
def test_frames_are_orthonormal_and_tangent_everywhere(name):
    geometry = make(name)
    for point in [geometry.reference, *points_of(geometry, 10)]:
        frame = frame_at(geometry, point)
        metric = geometry.space.metric
        gram = [[metric.inner_product(a, b, point) for b in frame] for a in frame]
        np.testing.assert_allclose(gram, np.eye(geometry.dim), atol=ROUNDING)
        np.testing.assert_allclose(geometry.space.to_tangent(frame, point), frame, atol=ROUNDING)


@pytest.mark.parametrize("name", SPACES)
def test_frame_is_the_transported_basis(name):
    geometry = make(name)
    for point in points_of(geometry, 5, seed=1):
        for vector, transported in zip(geometry.basis, frame_at(geometry, point)):
            expected = geometry.space.metric.parallel_transport(
                vector, geometry.reference, end_point=point
            )
            np.testing.assert_allclose(transported, expected, atol=ROUNDING)


@pytest.mark.parametrize("name", SPACES)
def test_lift_and_lower_are_inverse_isometries(name):
    geometry = make(name)
    rng = np.random.default_rng(2)
    for point in [geometry.reference, *points_of(geometry, 5, seed=2)]:
        coords = rng.normal(size=(4, geometry.dim))
        vectors = geometry.lift(coords, point)
        np.testing.assert_allclose(geometry.coordinates(vectors, point), coords, atol=ROUNDING)
        np.testing.assert_allclose(
            geometry.norm(vectors, point), np.linalg.norm(coords, axis=1), rtol=ROUNDING
        )
        tangent = geometry.to_tangent(rng.normal(size=geometry.shape), point)
        back = geometry.lift(geometry.coordinates(tangent, point), point)
        np.testing.assert_allclose(back, tangent, atol=ROUNDING)


@pytest.mark.parametrize("name", SPACES)
def test_exp_inverts_log_and_dist_is_its_length(name):
    geometry = make(name)
    points = points_of(geometry, 6, seed=3)
    for base, point in zip(points, points[1:]):
        tangent = geometry.log(point, base)
        np.testing.assert_allclose(geometry.exp(tangent, base), point, atol=ROUNDING)
        np.testing.assert_allclose(
            geometry.dist(base, point), geometry.norm(tangent, base), rtol=1e-10
        )


# ------------------------------------------------------------------------ retractions


@pytest.mark.parametrize("retraction", ["exponential", "projection"])
@pytest.mark.parametrize("name", ["sphere1", "sphere2", "sphere3", "sphere9"])
def test_inverse_retraction_inverts_the_retraction(name, retraction):
    geometry = make(name, retraction=retraction)
    base = points_of(geometry, 1, seed=4)[0]
    for length in (1e-6, 0.3, 1.5):
        coords = np.random.default_rng(5).normal(size=(6, geometry.dim))
        coords *= length / np.linalg.norm(coords, axis=1, keepdims=True)
        vectors = geometry.lift(coords, base)
        points = geometry.retract(vectors, base)
        # a point is known to 1e-16, so a vector of length 1e-6 to a relative 1e-10
        np.testing.assert_allclose(
            geometry.inverse_retract(points, base), vectors, rtol=0, atol=1e-15 + 1e-12 * length
        )
        np.testing.assert_allclose(
            geometry.dist(points, base), geometry.retracted_distance(length), rtol=1e-9
        )


def test_projection_retraction_is_of_second_order():
    geometry = make("sphere3", retraction="projection")
    base = geometry.reference
    direction = geometry.lift(np.array([0.6, 0.0, -0.8]), base)
    lengths = np.array([0.2, 0.1, 0.05, 0.025])
    gaps = np.array(
        [
            geometry.dist(geometry.retract(t * direction, base), geometry.exp(t * direction, base))
            for t in lengths
        ]
    )
    # both stay on one great circle, at angles arctan(t) and t: the gap is t^3/3 + O(t^5)
    np.testing.assert_allclose(gaps, lengths - np.arctan(lengths), rtol=1e-9)
    slopes = np.diff(np.log(gaps)) / np.diff(np.log(lengths))
    assert np.all(np.abs(slopes - 3) < 0.03)  # the O(t^5) term, 3 t^2 / 5, at t = 0.2


def test_inverse_projection_is_nan_outside_the_hemisphere():
    geometry = make("sphere2", retraction="projection")
    base = geometry.reference
    direction = geometry.lift(np.array([0.6, 0.8]), base)
    points = np.array([geometry.exp(angle * direction, base) for angle in (0.0, 1.57, 1.58, 3.0)])
    vectors = geometry.inverse_retract(points, base)
    np.testing.assert_array_equal(np.isnan(vectors).all(axis=1), [False, False, True, True])
    # tan is 1256 at 1.57, with a derivative of its square: 1.6e6 roundings of 2e-16
    np.testing.assert_allclose(vectors[1], math.tan(1.57) * direction, rtol=1e-8)
    assert np.isnan(geometry.inverse_retract(-base, base)).all()


def test_inverse_exponential_is_nan_at_the_cut_locus():
    geometry = make("sphere2")
    points = np.array([-geometry.reference, geometry.reference])
    vectors = geometry.inverse_retract(points, geometry.reference)
    assert np.isnan(vectors[0]).all()
    np.testing.assert_allclose(vectors[1], 0.0, atol=1e-15)


# ------------------------------------------------------------------------ guards


@pytest.mark.parametrize("name", ["sphere1", "sphere2", "sphere9"])
def test_antipodal_logarithm_raises(name):
    geometry = make(name)
    for base in points_of(geometry, 3, seed=6):
        with pytest.raises(CutLocusError, match="antipodal"):
            geometry.log(-base, base)
        with pytest.raises(CutLocusError):
            geometry.log(np.stack([base, -base]), base)
        assert abs(geometry.dist(base, -base) - math.pi) < 1e-15


def test_distance_is_accurate_for_close_points(closed_forms):
    geometry = make("sphere2")
    base, closed = geometry.reference, closed_forms(geometry)
    for length in (1e-3, 1e-6, 1e-9):
        point = geometry.exp(geometry.lift(np.array([0.6 * length, 0.8 * length]), base), base)
        # one rounding of the point's coordinates against the distance
        assert abs(geometry.dist(point, base) - length) < 4e-16
        assert abs(closed.dist(point, base) - length) < 4e-16
        log = geometry.log(point, base)
        np.testing.assert_allclose(np.linalg.norm(log), length, rtol=0, atol=4e-16)


@pytest.mark.parametrize(
    ("point", "match"),
    [
        ([1.0, 0.0], "shape"),
        ([[1.0, 0.0, 0.0]], "shape"),
        ([np.nan, 0.0, 1.0], "finite"),
        ([np.inf, 0.0, 1.0], "finite"),
        ([1.0, 0.0, 1e-3], "Hypersphere"),
        ([0.0, 0.0, 0.0], "Hypersphere"),
    ],
)
def test_bad_points_are_named(point, match):
    with pytest.raises(ProtocolError, match=match) as caught:
        make("sphere2").check_point(point, "the start")
    assert "the start" in str(caught.value)


@pytest.mark.parametrize(
    ("points", "place"),
    [
        ([2.0, 0.0, 0.0], "$"),
        ([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [3.0, 0.0, 0.0]], " at index 1$"),
        ([[[1.0, 0.0, 0.0], [0.0, 0.0, np.inf]]], r" at index \(0, 1\)$"),
    ],
)
def test_the_first_bad_point_of_many_is_named(points, place):
    with pytest.raises(ProtocolError, match="the data must .*" + place):
        make("sphere2").check_points(points, "the data")


def test_shapes_of_vectors_read_as_shapes():
    with pytest.raises(ProtocolError, match=r"must have shape \[\.\.\., 3\]; got \(2, 2\)"):
        make("sphere2").check_points(np.ones((2, 2)))


def test_check_point_returns_an_independent_point_on_the_sphere():
    geometry = make("sphere2")
    point = np.array([0.6, 0.8 + 1e-9, 0.0])
    settled = geometry.check_point(point)
    assert settled is not point
    assert abs(np.linalg.norm(settled) - 1) < 4e-16
    np.testing.assert_allclose(settled, point, atol=2e-9)


def test_bad_constructions_are_refused():
    with pytest.raises(ProtocolError, match="retraction must be one of"):
        make("sphere2", retraction="cayley")
    with pytest.raises(ProtocolError, match=r"one of \('exponential',\); got 'projection'"):
        make("euclidean", retraction="projection")
    basis = make("sphere2").basis
    with pytest.raises(ProtocolError, match="shape"):
        make("sphere2", basis=basis[:1])
    with pytest.raises(ProtocolError, match="orthonormal"):
        make("sphere2", basis=2 * basis)
    with pytest.raises(ProtocolError, match="orthonormal"):
        make("sphere2", basis=np.eye(3)[:2])  # orthonormal, but not tangent


def test_twins_are_of_the_class_of_their_space():
    assert isinstance(make("sphere2").twin(), sphere.SphereTwin)
    assert isinstance(make("euclidean").twin(), euclidean.EuclideanTwin)
    assert isinstance(make("hyperboloid2").twin(), hyperbolic.HyperbolicTwin)
    assert isinstance(make("spd").twin(), spd_affine.SPDAffineTwin)
    assert isinstance(make("log_euclidean2").twin(), spd_log_euclidean.SPDLogEuclideanTwin)
