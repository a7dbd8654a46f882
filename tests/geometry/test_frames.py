"""Orthonormal bases at the reference point."""

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDMatrices

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, orthonormal_basis


def on_sphere(dim, seed):
    point = np.random.default_rng(seed).normal(size=dim + 1)
    return point / np.linalg.norm(point)


def spd_point(size, seed):
    root = np.random.default_rng(seed).normal(size=(size, size))
    return root @ root.T + 0.1 * np.eye(size)


CASES = [
    *[(Hypersphere(dim=d), on_sphere(d, d)) for d in (1, 2, 3, 9)],
    (Hypersphere(dim=2), np.array([0.0, 1.0, 0.0])),
    (Euclidean(dim=4), np.zeros(4)),
    (SPDMatrices(2), spd_point(2, 0)),
    (SPDMatrices(3), spd_point(3, 1)),
]


@pytest.mark.parametrize(("space", "point"), CASES)
def test_basis_is_orthonormal_and_tangent(space, point):
    basis = orthonormal_basis(Geometry(space, point), point)
    assert basis.shape == (space.dim, *space.shape)
    gram = [[space.metric.inner_product(a, b, point) for b in basis] for a in basis]
    # twice-is-enough Gram-Schmidt: rounding, times the condition number 1e2 of the SPD points
    np.testing.assert_allclose(gram, np.eye(space.dim), atol=1e-12)
    np.testing.assert_allclose(space.to_tangent(basis, point), basis, atol=1e-12)
    np.testing.assert_array_equal(basis, orthonormal_basis(Geometry(space, point), point))


def test_euclidean_basis_is_the_coordinate_basis():
    np.testing.assert_array_equal(
        orthonormal_basis(Geometry(Euclidean(dim=3)), np.ones(3)), np.eye(3)
    )


def test_sphere_basis_starts_with_the_projected_first_coordinate():
    point = on_sphere(3, 5)
    expected = np.eye(4)[0] - point[0] * point
    basis = orthonormal_basis(Geometry(Hypersphere(dim=3), point), point)
    np.testing.assert_allclose(basis[0], expected / np.linalg.norm(expected), atol=1e-14)
    # a coordinate that is normal at the reference is passed over
    np.testing.assert_array_equal(
        orthonormal_basis(Geometry(Hypersphere(dim=2), [0.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0])),
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
    )


def test_a_space_with_too_few_tangent_directions_is_refused():
    space = Geometry(Euclidean(dim=3))
    space.dim = 4
    with pytest.raises(ProtocolError, match="found 3 independent"):
        orthonormal_basis(space, np.zeros(3))
