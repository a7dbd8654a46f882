"""Symmetric positive definite matrices with the affine-invariant metric.

With X = L L^T (Cholesky) the congruence by L^-1 moves X to the identity. There one symmetric
eigenproblem, of M = L^-1 Y L^-T, gives logarithm, distance and transport. Arguments named ``out``
are overwritten and must not share memory with the inputs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from geomstats.geometry.spd_matrices import SPDAffineMetric

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.spaces import symmetric_matrices as dense
from geomstats_ldp.geometry.spaces.axes import axes_of, transposed, width_of
from geomstats_ldp.geometry.spaces.spd import (
    SPDGeometry,
    congruent,
    coordinate_matrices,
    dim,
    eigh,
    frobenius,
    gram,
    is_graded,
    settle,
    symmetric_part,
    to_tangent,
)
from geomstats_ldp.twins import jitable

#: Smallest eigenvalue, relative to the largest, of a matrix at the edge of the cone: farther out
#: than regions in use reach, and inside of it in floating point.
_EDGE = 1e-10


class SPDAffineGeometry(SPDGeometry):
    """Affine-invariant metric <U, V>_X = tr(X^-1 U X^-1 V)."""

    name = "SPDAffineInvariant"
    metric_class = SPDAffineMetric
    #: Non-positive; the smallest sectional curvature is -1/2.
    curvature = (-0.5, 0.0)

    def basis_at(self, reference):
        """Coordinate matrices, made orthonormal one after the other."""
        factor = np.linalg.cholesky(reference)
        flat = _whitened(factor, coordinate_matrices(self.shape[0]))
        columns, triangle = np.linalg.qr(flat.reshape(self.dim, -1).T)
        columns *= np.sign(np.diagonal(triangle))
        return congruent(factor, columns.T.reshape(flat.shape))

    def flat(self, tangent_vec, base_point):
        """Congruence that takes the base point to the identity."""
        return _whitened(np.linalg.cholesky(base_point), tangent_vec)

    def dist(self, point_a, point_b):
        """Length of the logarithms of the relative eigenvalues."""
        return frobenius(_relative(point_a, point_b)[2][..., None])

    def closed_exp(self, tangent_vec, base_point):
        """L exp(L^-1 V L^-T) L^T."""
        factor = np.linalg.cholesky(base_point)
        values, vectors = np.linalg.eigh(_whitened(factor, tangent_vec))
        return gram(factor @ vectors, values)

    def closed_log(self, point, base_point):
        """L log(M) L^T."""
        factor, vectors, logs = _relative(base_point, point)
        return congruent(factor @ vectors, logs[..., None] * np.eye(self.shape[0]))

    def closed_transport(self, tangent_vec, base_point, end_point):
        """E V E^T with E = (Y X^-1)^(1/2) = L M^(1/2) L^-1."""
        factor, vectors, logs = _relative(base_point, end_point)
        root = gram(vectors, logs / 2)
        return congruent(factor @ root, _whitened(factor, tangent_vec))

    def twin(self):
        """Select the closed forms below."""
        return SPDAffineTwin(
            self.reference,
            np.linalg.cholesky(self.reference),
            np.ascontiguousarray(self.flat(self.basis, self.reference)),
            np.zeros((5, *self.shape)),
            axes_of(self.shape[0]),
        )


class SecondMomentChart(SPDAffineGeometry):
    """The same space, with sums of matrices for its retraction.

    What is linear in a matrix is linear in frame coordinates then. It agrees with the exponential
    to first order only: a chart for regions, and not a way to ask.
    """

    def retract(self, tangent_vec, base_point):
        """Sum; where that is out of the cone, a matrix at its edge, far from all others."""
        factor = np.linalg.cholesky(base_point)
        values, vectors = np.linalg.eigh(_whitened(factor, tangent_vec))
        edge = _EDGE * np.maximum(1.0 + values[..., -1:], 1.0)
        inside = np.maximum(1.0 + values, edge)[..., None] * np.eye(self.shape[0])
        return congruent(factor @ vectors, inside)

    def inverse_retract(self, point, base_point):
        """Difference."""
        return point - base_point

    def retracted_distances(self, coords, base_point):
        """Length of the logarithms of the relative eigenvalues; infinite out of the cone."""
        factor = np.linalg.cholesky(base_point)
        values = np.linalg.eigvalsh(_whitened(factor, self.lift(coords, base_point)))
        with np.errstate(divide="ignore"):
            return np.linalg.norm(np.log1p(np.maximum(values, -1.0)), axis=-1)


def _whitened(factor, matrix):
    """L^-1 V L^-T for lower triangular L; substitution, unlike elimination, minds no units."""
    return symmetric_part(_solved(factor, transposed(_solved(factor, matrix))))


def _solved(factor, matrix):
    batch = np.broadcast_shapes(factor.shape, np.shape(matrix))
    out = np.empty(batch)
    for i in range(batch[-1]):
        known = factor[..., i, None, :i] @ out[..., :i, :]
        out[..., i, :] = (matrix[..., i, :] - known[..., 0, :]) / factor[..., i, i, None]
    return out


def _relative(base_point, point):
    """L with X = L L^T, eigenvectors of M = L^-1 Y L^-T, and the logarithms of its eigenvalues.

    If M is close to the identity they are found from those of M - 1, so that small displacements
    keep their digits.
    """
    factor = np.linalg.cholesky(base_point)
    difference = _whitened(factor, np.subtract(point, base_point))
    close = np.sum(difference**2, axis=(-2, -1)) < 0.25
    relative = np.where(close[..., None, None], difference, _whitened(factor, point))
    values, vectors = eigh(relative, lambda values: is_graded(values) & ~close)
    close = close[..., None]
    logs = np.where(
        close, np.log1p(np.where(close, values, 0.0)), np.log(np.where(close, 1.0, values))
    )
    return factor, vectors, logs


class SPDAffineTwin(NamedTuple):
    """What the compiled functions need to know about the space and its public frame.

    Because of `work`, a twin must not be shared between threads.

    Attributes
    ----------
    reference : array, shape [m, m]
        Point at which the frame is given.
    factor : array, shape [m, m]
        Its Cholesky factor.
    frame : array, shape [dim, m, m]
        Basis at the reference, moved to the identity: orthonormal in the Frobenius product.
    work : array, shape [5, m, m]
        Scratch.
    axes : tuple of int
        See `axes_of`.
    """

    reference: np.ndarray
    factor: np.ndarray
    frame: np.ndarray
    work: np.ndarray
    axes: tuple


_closed_form = dispatch.closed_forms(SPDAffineTwin, is_small=False)


@jitable
def _relative_spectrum(twin, factor, base_point, point, difference, spectrum, vectors):
    """Eigenvalues of M = L^-1 Y L^-T on the diagonal of `spectrum`, and its eigenvectors.

    If M is close to the identity the eigenvalues are those of M - 1, from the difference of the
    points, so that small displacements keep their digits; returns whether it was.
    """
    dense.subtract(twin.axes, point, base_point, difference)
    dense.whiten(twin.axes, factor, difference, spectrum)
    size = 0.0
    for i in range(width_of(twin.axes, spectrum)):
        for j in range(width_of(twin.axes, spectrum)):
            size += spectrum[i, j] ** 2
    close = size < 0.25
    if not close:
        dense.whiten(twin.axes, factor, point, spectrum)
    dense.eigen(twin.axes, spectrum, vectors)
    return close


@jitable
def _log_value(value, close):
    return math.log1p(value) if close else math.log(value)


@jitable
def _root(twin, factor, base_point, point, is_inverse, out):
    """Write M^(1/2) for M = L^-1 Y L^-T, or its inverse; overwrites `twin.work[1:4]`."""
    spectrum, vectors, scratch = twin.work[1], twin.work[2], twin.work[3]
    close = _relative_spectrum(twin, factor, base_point, point, scratch, spectrum, vectors)
    for j in range(width_of(twin.axes, out)):
        root = math.sqrt(1.0 + spectrum[j, j] if close else spectrum[j, j])
        spectrum[j, j] = 1.0 / root if is_inverse else root
    dense.from_spectrum(twin.axes, vectors, spectrum, scratch, out)


@_closed_form
def _exp(twin, tangent_vec, base_point, out):
    factor, spectrum, vectors, frame = twin.work[0], twin.work[1], twin.work[2], twin.work[3]
    dense.cholesky(twin.axes, base_point, factor)
    dense.whiten(twin.axes, factor, tangent_vec, spectrum)
    dense.eigen(twin.axes, spectrum, vectors)
    dense.product(twin.axes, factor, vectors, frame)
    dense.exp_congruence(twin.axes, frame, spectrum, twin.work[4], out)


@_closed_form
def _log(twin, point, base_point, out):
    factor, spectrum, vectors, frame = twin.work[0], twin.work[1], twin.work[2], twin.work[3]
    scratch = twin.work[4]
    dense.cholesky(twin.axes, base_point, factor)
    close = _relative_spectrum(twin, factor, base_point, point, scratch, spectrum, vectors)
    dense.product(twin.axes, factor, vectors, frame)
    for j in range(width_of(twin.axes, out)):
        spectrum[j, j] = _log_value(spectrum[j, j], close)
    dense.from_spectrum(twin.axes, frame, spectrum, scratch, out)


@_closed_form
def _dist(twin, point_a, point_b):
    factor, spectrum = twin.work[0], twin.work[1]
    dense.cholesky(twin.axes, point_a, factor)
    close = _relative_spectrum(twin, factor, point_a, point_b, twin.work[4], spectrum, twin.work[2])
    largest = 0.0
    for j in range(width_of(twin.axes, spectrum)):
        spectrum[j, j] = _log_value(spectrum[j, j], close)
        largest = max(largest, abs(spectrum[j, j]))
    # Scaled before squaring, so that no square leaves the range of doubles.
    unit = largest if largest > 0.0 else 1.0
    squared = 0.0
    for j in range(width_of(twin.axes, spectrum)):
        squared += (spectrum[j, j] / unit) ** 2
    return largest * math.sqrt(squared)


@jitable
def _arrive(twin, factor, base_point, end_point, out):
    """Write E V E^T, E = (Y X^-1)^(1/2) = L M^(1/2) L^-1, for L^-1 V L^-T in `twin.work[4]`."""
    root = out
    _root(twin, factor, base_point, end_point, False, root)
    dense.product(twin.axes, factor, root, twin.work[1])
    dense.congruence(twin.axes, twin.work[1], twin.work[4], twin.work[2], out)


@_closed_form
def _transport(twin, tangent_vec, base_point, end_point, out):
    dense.cholesky(twin.axes, base_point, twin.work[0])
    dense.whiten(twin.axes, twin.work[0], tangent_vec, twin.work[4])
    _arrive(twin, twin.work[0], base_point, end_point, out)


@_closed_form
def _lift(twin, coords, point, out):
    dense.combine(twin.axes, dim(twin), coords, twin.frame, twin.work[4])
    _arrive(twin, twin.factor, twin.reference, point, out)


@_closed_form
def _coordinates(twin, tangent_vec, point, out):
    whitened, root, moved = twin.work[0], twin.work[4], twin.work[2]
    dense.whiten(twin.axes, twin.factor, tangent_vec, whitened)
    _root(twin, twin.factor, twin.reference, point, True, root)
    dense.congruence(twin.axes, root, whitened, twin.work[1], moved)
    dense.coordinates(twin.axes, dim(twin), moved, twin.frame, out)


_closed_form(to_tangent, "to_tangent")
_closed_form(settle, "settle")
_closed_form(dim, "dim")
_closed_form(_exp, "retract")
