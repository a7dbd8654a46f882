r"""How the expected message depends on the query point.

In the chart at a centre c the expected message at q, carried to c, is a linear function of the
gradient g and the Hessian K of the population loss at c: exactly so where scores are linear in a
moment of the data, and to first order for all other losses.

* No moment: :math:`g + K y` with y the coordinates of q, up to a remainder of second order.
* "quadratic", a loss that is quadratic on a flat space: the same without a remainder.
* First moment, scores :math:`-P_q m` on the sphere with :math:`P_q = I - q q^\top`: the moment is
  :math:`m = \kappa c - B_c g`, and the Hessian the scalar :math:`\kappa`.
* Second moment, scores :math:`-P_q S q` on the sphere: modulo the identity, which no score sees,
  :math:`S = -(c (B_c g)^\top + B_c g c^\top) - B_c K B_c^\top`.
* Second moment on the Grassmannian: see `subspaces`.
"""

from __future__ import annotations

import math

import numpy as np

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.schedules import round_radius
from geomstats_ldp.score_regression import subspaces

#: Moments in which scores can be linear; None for none. "covariance" is for `single_query` only.
MOMENTS = (None, "first", "second", "quadratic", "covariance")


def symmetric_basis(dim, is_isotropic):
    """Orthonormal basis of the Hessians there can be, shape [n_basis, dim, dim].

    Symmetric matrices, or multiples of the identity, in the Frobenius inner product.
    """
    if is_isotropic:
        return np.eye(dim)[None] / math.sqrt(dim)
    basis = []
    for i in range(dim):
        for j in range(i + 1):
            matrix = np.zeros((dim, dim))
            matrix[i, j] = matrix[j, i] = 1.0 if i == j else math.sqrt(0.5)
            basis.append(matrix)
    return np.stack(basis)


def hessian_basis(geometry, moment, is_isotropic=False):
    """Orthonormal basis of the Hessians that a loss can have, in coordinates of the public frame.

    Scores of a first moment have multiples of the identity only, as where `is_isotropic` asks for
    no more, and those of a second moment on the Grassmannian the differences of two symmetric
    blocks. Shape [n_basis, dim, dim].
    """
    if moment == "second" and not is_isotropic and _is_of_subspaces(geometry):
        return subspaces.hessian_basis(geometry)
    return symmetric_basis(geometry.dim, is_isotropic or moment == "first")


def _is_of_subspaces(geometry):
    return geometry.name == "Grassmannian"


def chart(geometry, points, center, vector, unit, coords, frames, carried):
    """Coordinates of query points in the chart at a centre, and their frames carried there.

    Compiled only; the other engine is in `charted`. `geometry` is a twin, `vector` and `unit` are
    scratch. `coords`, shape [n, dim], receive the frame coordinates of the logarithms, `frames`,
    shape [n, dim, *point_shape], the frame vectors at the points, and `carried`, shape
    [n, dim, dim], row by row, the coordinates at the centre of each of them.
    """
    for k in range(points.shape[0]):
        dispatch.log_coords(geometry, points[k], center, vector, coords[k])
        for j in range(coords.shape[1]):
            for i in range(coords.shape[1]):
                unit[i] = 1.0 if i == j else 0.0
            dispatch.lift(geometry, unit, points[k], frames[k, j])
            dispatch.transport(geometry, frames[k, j], points[k], center, vector)
            dispatch.coordinates(geometry, vector, center, carried[k, j])


_compiled_chart = cached_njit(chart, allocates=False)


def charted(geometry, twin, points, center):
    """Coordinates of points in the chart at a centre, and the maps that carry messages there.

    Returns
    -------
    coords : array, shape [n, dim]
    maps : array, shape [n, dim, dim]
        Matrices that take frame coordinates at a point to those at the centre.
    frames : array, shape [n, dim, *point_shape]
        Frame vectors at the points.
    """
    n, dim = len(points), geometry.dim
    if twin is None:
        # Calls of geomstats are what costs time here: one for all frame vectors of all points.
        coords = geometry.coordinates(geometry.log(points, center), center)
        at, units = np.repeat(points, dim, axis=0), np.tile(np.eye(dim), (n, 1))
        frames = geometry.lift(units, at)
        carried = geometry.coordinates(geometry.transport(frames, at, center), center)
        frames, carried = frames.reshape(n, dim, *geometry.shape), carried.reshape(n, dim, dim)
    else:
        coords, carried = np.empty((n, dim)), np.empty((n, dim, dim))
        frames = np.empty((n, dim, *geometry.shape))
        scratch = np.zeros(geometry.shape), np.zeros(dim)
        _compiled_chart(twin, points, center, *scratch, coords, frames, carried)
    return coords, np.swapaxes(carried, 1, 2), frames


def design_matrices(moment, geometry, points, center, coords, maps, frames, basis):
    """Expected messages, carried to the centre, for unit gradients and the Hessians of a basis.

    `coords`, `maps` and `frames` are from `charted`. Shape [n, dim, dim + n_basis].
    """
    dim = geometry.dim
    if moment in (None, "quadratic"):
        gradients = np.broadcast_to(np.eye(dim), (len(points), dim, dim))
        return np.concatenate([gradients, np.einsum("kij,nj->nik", basis, coords)], axis=2)
    moments = unit_moments(moment, geometry, center, basis)
    scores = mean_scores(moment, geometry, moments, points)
    return maps @ (frames.reshape(len(points), dim, -1) @ np.swapaxes(scores, 1, 2))


def unit_moments(moment, geometry, center, basis):
    """Moments of unit gradients and of the Hessians of a basis at a centre.

    Shape [dim + n_basis, p], or [dim + n_basis, p, p] of second moments, modulo the identity.
    """
    if moment == "second":
        return second_moments(geometry, center, basis)
    # The Hessian kappa I is kappa sqrt(d) units.
    axes = geometry.lift(np.eye(geometry.dim), center)
    return np.concatenate([-axes, center[None] / math.sqrt(len(axes))])


def mean_scores(moment, geometry, moments, points):
    """Scores at query points, where they are, of people with each of the `unit_moments` on average.

    Shape [n, n_moments, size of a point].
    """
    if _is_of_subspaces(geometry):
        return subspaces.mean_scores(moments, points).reshape(len(points), len(moments), -1)
    if moment == "second":
        seen = points @ moments.reshape(-1, points.shape[1]).T
        return -_tangential(seen.reshape(len(points), *moments.shape[:2]), points)
    return -_tangential(np.broadcast_to(moments, (len(points), *moments.shape)), points)


def unsaturated(protocol, answers, center, coords, twin):
    """Coordinates at which query points would be if scores that saturate were linear.

    A query at distance h from the centre of its round counts as one at h / (1 + c h^2), with c from
    the plan. `coords`, shape [n, dim], are those in the chart at `center`.
    """
    rate = protocol.rounds.saturation
    if rate == 0:
        return coords
    centers, _, _ = charted(protocol.geometry, twin, answers.centers, center)
    radii = _radii(protocol, answers.rounds)
    return centers + (coords - centers) / (1 + rate * radii**2)[:, None]


def _radii(protocol, rounds):
    return np.array([round_radius(protocol.radius, number) for number in rounds])


def third_derivative_design(protocol, rounds):
    """Shift h^2 t / 2 of the expected messages by the mean third derivative t, one column each.

    A query is at the distance h from the centre of its round. Shape [n, dim, dim], with no column
    where the plan takes t for zero.
    """
    dim = protocol.dim
    if protocol.rounds.third_derivative == 0:
        return np.empty((len(rounds), dim, 0))
    return _radii(protocol, rounds)[:, None, None] ** 2 / 2 * np.eye(dim)


def _second_moments_of_directions(axes, center, basis):
    """S modulo the identity, shape [dim + n_basis, dim + 1, dim + 1]."""
    mixed = -np.einsum("a,jb->jab", center, axes)
    mixed = mixed + np.swapaxes(mixed, 1, 2)
    return np.concatenate([mixed, -(axes.T @ basis @ axes)])


def second_moments(geometry, center, basis):
    """Second moments, modulo the identity, of unit gradients and the Hessians of a basis.

    On sphere or Grassmannian, shape [dim + n_basis, p, p]. A matrix of the basis that no second
    moment gives stands for the one nearest to it that does.
    """
    axes = geometry.lift(np.eye(geometry.dim), center)
    of_subspaces = _is_of_subspaces(geometry)
    find = subspaces.second_moments if of_subspaces else _second_moments_of_directions
    return find(axes, center, basis)


def _tangential(vectors, points):
    """Tangent parts at points, shape [n, p], of vectors, shape [n, k, p]."""
    normal = vectors @ points[:, :, None]
    return vectors - normal * points[:, None, :]
