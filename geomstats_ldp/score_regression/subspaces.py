r"""Scores of a second moment on the Grassmannian, and what they say of the moment.

With the second moment S, the score at a projection Q is

.. math:: -\tfrac12\{Q S (I - Q) + (I - Q) S Q\}.

At a centre P the gradient g knows the block of S off the diagonal, :math:`S_{off} = -2 B_P g`, and
the Hessian the two blocks on it, up to a common multiple of the identity: along tangent vectors V
it is :math:`\operatorname{tr} V^2 P S P - \operatorname{tr} V^2 (I - P) S (I - P)`. So scores know
S modulo the identity, k(p - k) numbers by the gradient and (k(k + 1) + (p - k)(p - k + 1)) / 2 - 1
by the Hessian.
"""

from __future__ import annotations

import math

import numpy as np

#: Singular values up to here, relative to the largest, are those of the identity.
_NULL = 1e-9


def blocks(point):
    """Orthonormal basis of the symmetric matrices that a projection commutes with, [n, p, p]."""
    rank = round(float(np.trace(point)))
    vectors = np.linalg.eigh(point)[1]
    matrices = []
    for part in (vectors[:, len(point) - rank :], vectors[:, : len(point) - rank]):
        for i in range(part.shape[1]):
            for j in range(i + 1):
                matrix = np.outer(part[:, i], part[:, j])
                matrices.append((matrix + matrix.T) / (2.0 if i == j else math.sqrt(2.0)))
    return np.stack(matrices)


def hessians(axes, point, matrices):
    """Hessians at a projection for second moments that commute with it, shape [n, dim, dim].

    `axes`, shape [dim, p, p], are the frame vectors there.
    """
    signed = matrices @ (2 * point - np.eye(len(point)))
    symmetric = (signed + np.swapaxes(signed, 1, 2)) / 2
    return np.tensordot(symmetric[:, None] @ axes, axes, axes=([2, 3], [2, 1]))


def hessian_basis(geometry):
    """Orthonormal basis of the Hessians, shape [n_basis, dim, dim]; see `moments.hessian_basis`.

    Transport takes the frame and both subspaces along, so that it is the same at every point.
    """
    reference = geometry.reference
    found = hessians(geometry.basis, reference, blocks(reference))
    _, sizes, rows = np.linalg.svd(found.reshape(len(found), -1), full_matrices=False)
    kept = rows[sizes > _NULL * sizes[0]].reshape(-1, *found.shape[1:])
    return (kept + np.swapaxes(kept, 1, 2)) / 2


def second_moments(axes, center, basis):
    """Second moments, without a multiple of the identity, of unit gradients and of Hessians.

    The `basis` is from `hessian_basis`, or multiples of the identity, and `axes` are the frame
    vectors at the centre. Shape [dim + n_basis, p, p].
    """
    matrices = blocks(center)
    known = hessians(axes, center, matrices).reshape(len(matrices), -1)
    weights = np.linalg.lstsq(known.T, basis.reshape(len(basis), -1).T, rcond=_NULL)[0]
    diagonal = np.tensordot(weights.T, matrices, axes=1)
    return np.concatenate([-2 * axes, diagonal])


def mean_scores(moments, points):
    """Mean scores at points for second moments, shape [n, n_moments, p, p]."""
    points = points[:, None]
    mixed = points @ moments @ (np.eye(points.shape[-1]) - points)
    return -(mixed + np.swapaxes(mixed, 2, 3)) / 2
