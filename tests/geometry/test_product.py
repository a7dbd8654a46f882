"""Products: layout as in geomstats, every operation that of the factors."""

import math

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.poincare_ball import PoincareBall
from geomstats.geometry.product_manifold import ProductManifold
from geomstats.geometry.spd_matrices import SPDMatrices
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

from geomstats_ldp.exceptions import CutLocusError, ProtocolError
from geomstats_ldp.geometry import Geometry, origin_of
from geomstats_ldp.geometry.spaces import space_from_spec, space_to_spec

SPACES = {
    "S2xR": ProductManifold([Hypersphere(2), Euclidean(1)]),
    "H2xS1": ProductManifold([Hyperboloid(2), Hypersphere(1)]),
    "S2xS2": ProductManifold([Hypersphere(2), Hypersphere(2)]),
    "S2xS2 flat": ProductManifold([Hypersphere(2), Hypersphere(2)], point_ndim=1),
    "SPD2xSO3": ProductManifold([SPDMatrices(2), SpecialOrthogonal(3)]),
    "(S2xR)xS1": ProductManifold([ProductManifold([Hypersphere(2), Euclidean(1)]), Hypersphere(1)]),
}


def make(name):
    space = SPACES[name]
    np.random.seed(3)  # noqa: NPY002 - geomstats draws from the global generator
    return Geometry(space, space.random_point(bound=0.5))


@pytest.fixture(params=list(SPACES))
def geometry(request):
    return make(request.param)


def vectors(geometry, lengths, seed=0):
    coords = np.random.default_rng(seed).normal(size=(len(lengths), geometry.dim))
    coords *= (np.asarray(lengths) / np.linalg.norm(coords, axis=1))[:, None]
    return np.tensordot(coords, geometry.basis, axes=1)


def test_layout_is_that_of_geomstats(geometry):
    space = geometry.space
    np.random.seed(4)  # noqa: NPY002
    points = space.random_point(n_samples=5, bound=0.5)
    np.testing.assert_array_equal(geometry.join(geometry.split(points)), points)
    np.testing.assert_array_equal(geometry.join(geometry.split(points[0])), points[0])
    if geometry.shape == (13,):
        return  # geomstats cuts by the dimension of SPD matrices, 3, not by their 4 entries
    for ours, theirs in zip(geometry.split(points), space.project_from_product(points)):
        np.testing.assert_array_equal(ours, theirs)


def test_operations_are_those_of_geomstats(geometry):
    metric, base = geometry.space.metric, geometry.reference
    tangent = vectors(geometry, np.full(6, 0.8))
    points = geometry.exp(tangent, base)
    for vector, point in zip(tangent, points):
        np.testing.assert_allclose(geometry.log(point, base), vector, atol=1e-9)
        assert geometry.dist(point, base) == pytest.approx(0.8, rel=1e-9)
        assert geometry.norm(vector, base) == pytest.approx(0.8, rel=1e-9)
        if geometry.shape != (13,):  # see above
            np.testing.assert_allclose(point, metric.exp(vector, base), atol=1e-12)
            assert metric.norm(vector, base) == pytest.approx(0.8, rel=1e-9)
    np.testing.assert_allclose(geometry.dist(points, base), 0.8, rtol=1e-9)
    assert geometry.check_points(points).shape == points.shape


def test_frames_and_transport(geometry):
    base, (tangent,) = geometry.reference, vectors(geometry, [0.9], seed=1)
    point = geometry.exp(tangent, base)
    frame = geometry.lift(np.eye(geometry.dim), point)
    gram = [[geometry.inner(a, b, point) for a in frame] for b in frame]
    np.testing.assert_allclose(gram, np.eye(geometry.dim), atol=1e-12)
    np.testing.assert_allclose(geometry.to_tangent(frame, point), frame, atol=1e-12)
    np.testing.assert_allclose(geometry.coordinates(frame, point), np.eye(geometry.dim), atol=1e-12)
    # transport keeps the velocity of the geodesic
    moved = geometry.transport(tangent, base, point)
    np.testing.assert_allclose(-geometry.log(base, point), moved, atol=1e-9)


def test_records_read_back(geometry):
    spec = space_to_spec(geometry.space)
    space = space_from_spec(spec)
    assert space_to_spec(space) == spec
    assert space.shape == geometry.space.shape
    assert geometry.twin() is None


def test_curvature_and_injectivity_radius():
    facts = {name: make(name) for name in SPACES}
    assert facts["S2xR"].curvature == facts["S2xS2"].curvature == (0.0, 1.0)
    assert facts["H2xS1"].curvature == (-1.0, 0.0)  # a circle has no curvature
    assert facts["SPD2xSO3"].curvature == (-0.5, 0.25)
    assert facts["(S2xR)xS1"].curvature == (0.0, 1.0)
    assert {geometry.injectivity_radius for geometry in facts.values()} == {math.pi}
    flat = Geometry(ProductManifold([Euclidean(1), Euclidean(2)]))
    assert flat.injectivity_radius == math.inf
    np.testing.assert_array_equal(flat.reference, np.zeros(3))


def test_the_cut_locus_of_a_factor():
    geometry = Geometry(SPACES["S2xR"], [0.0, 0.0, 1.0, 0.0])
    antipode, far = np.array([0.0, 0.0, -1.0, 0.5]), np.array([0.0, 0.0, 1.0, 10.0])
    with pytest.raises(CutLocusError):
        geometry.log(antipode, geometry.reference)
    inverse = geometry.inverse_retract(np.stack([antipode, far]), geometry.reference)
    np.testing.assert_array_equal(np.isnan(inverse).any(axis=1), [True, False])
    # beyond the injectivity radius, but no other way is as short
    cut = geometry.at_cut_locus(np.stack([antipode, far]), geometry.reference)
    np.testing.assert_array_equal(cut, [True, False])
    np.testing.assert_allclose(geometry.log(far, geometry.reference), [0, 0, 0, 10.0])


def test_what_is_refused():
    with pytest.raises(ProtocolError, match="PoincareBall"):
        Geometry(ProductManifold([PoincareBall(2), Euclidean(1)]))
    with pytest.raises(ProtocolError, match="no origin"):
        origin_of(SPACES["S2xR"])
    for bad in ([0.0, 0.0, 1.1, 0.0], [0.0, 0.0, 1.0, np.nan], [0.0, 1.0]):
        with pytest.raises(ProtocolError, match="reference must"):
            Geometry(SPACES["S2xR"], bad)
