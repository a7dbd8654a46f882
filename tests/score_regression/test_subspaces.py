"""What scores on the Grassmannian tell of a second moment."""

import numpy as np
import pytest

from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import SubspaceLoss
from geomstats_ldp.score_regression.moments import (
    charted,
    design_matrices,
    hessian_basis,
    second_moments,
)


def geometry_of(n, p, seed=0):
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, n)))[0][:, :p]
    return Geometry(space_from_spec({"name": "Grassmannian", "n": n, "p": p}), axes @ axes.T)


def points_about(geometry, n, reach, rng):
    coords = rng.normal(size=(n, geometry.dim))
    coords *= (rng.uniform(0.1, reach, n) / np.linalg.norm(coords, axis=1))[:, None]
    return geometry.exp(geometry.lift(coords, geometry.reference), geometry.reference)


@pytest.mark.parametrize(("n", "p"), [(3, 1), (3, 2), (4, 2)])
def test_scores_know_the_moment_up_to_a_multiple_of_the_identity(n, p):
    """Regression of noiseless scores at wide offsets gives back the moment they were made of."""
    rng, geometry = np.random.default_rng(1), geometry_of(n, p)
    rows = rng.normal(size=(50, n))
    moment, loss = rows.T @ rows / 50, SubspaceLoss(norm_bound=100.0)
    points = points_about(geometry, 2 * n, 1.2, rng)
    scores = [loss.score(geometry, point, rows).mean(axis=0) for point in points]
    center = points[0]
    coords, maps, frames = charted(geometry, None, points, center)
    basis = hessian_basis(geometry, "second")
    design = design_matrices("second", geometry, points, center, coords, maps, frames, basis)
    values = [
        transport @ geometry.coordinates(score, point)
        for transport, score, point in zip(maps, scores, points)
    ]
    matrix = design.reshape(-1, design.shape[2])
    solution, _, rank, _ = np.linalg.lstsq(matrix, np.ravel(values), rcond=None)
    np.testing.assert_allclose(matrix @ solution, np.ravel(values), atol=1e-12)
    # All of the moment but its trace, and not a number more.
    assert rank == matrix.shape[1] == n * (n + 1) // 2 - 1
    found = np.tensordot(solution, second_moments(geometry, center, basis), axes=1)
    gap = found - moment
    np.testing.assert_allclose(gap, gap[0, 0] * np.eye(n), atol=1e-10)


@pytest.mark.parametrize(("n", "p"), [(3, 1), (4, 2)])
def test_the_basis_of_hessians_is_orthonormal_and_spans_their_derivatives(n, p):
    """Hessians by finite differences of scores lie in the span, for moments of any kind."""
    geometry, rng, step = geometry_of(n, p, seed=2), np.random.default_rng(3), 1e-5
    basis, loss = hessian_basis(geometry, "second"), SubspaceLoss(norm_bound=100.0)
    flat = basis.reshape(len(basis), -1)
    np.testing.assert_allclose(flat @ flat.T, np.eye(len(basis)), atol=1e-12)
    at = points_about(geometry, 1, 0.8, rng)[0]
    rows, columns = rng.normal(size=(20, n)), []
    for axis in np.eye(geometry.dim):
        ends = [geometry.exp(s * step * geometry.lift(axis, at), at) for s in (1, -1)]
        sides = [
            geometry.coordinates(
                geometry.transport(loss.score(geometry, end, rows).mean(axis=0), end, at), at
            )
            for end in ends
        ]
        columns.append((sides[0] - sides[1]) / (2 * step))
    hessian = np.array(columns).ravel()
    # Central differences: step^2 times a third derivative of size 10, and rounding over step.
    np.testing.assert_allclose(flat.T @ (flat @ hessian), hessian, atol=1e-8)
