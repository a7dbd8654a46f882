"""Symmetric positive definite matrices with the log-Euclidean metric.

The matrix logarithm is an isometry to the symmetric matrices with the Frobenius product, so
everything is flat in its image. Its differential at X = P diag(l) P^T is the entrywise product with
the divided differences of log in the eigenbasis (Daleckii-Krein); the differential of exp at log X
is its inverse, the entrywise quotient. Arguments named ``out`` are overwritten and must not share
memory with the inputs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from geomstats.geometry.spd_matrices import SPDLogEuclideanMetric

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import choose
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

#: A rotation of the eigenvectors must leave half of the digits of the smallest eigenvalue.
_LARGEST_CONDITION = 1e8


class SPDLogEuclideanGeometry(SPDGeometry):
    """Log-Euclidean metric: the Frobenius metric of matrix logarithms."""

    name = "SPDLogEuclidean"
    metric_class = SPDLogEuclideanMetric
    curvature = (0.0, 0.0)

    def basis_at(self, reference):
        """Basis that has, wherever it is, the entries of the matrix logarithm as coordinates.

        Transport does not depend on the path, so this is the frame given at the identity; entries
        off the diagonal are those of the logarithm times the square root of two.

        Raises
        ------
        ProtocolError
            If the eigenvalues of the reference differ so much that doubles cannot hold matrices of
            other eigenvectors next to it.
        """
        identity = coordinate_matrices(self.shape[0])
        identity /= frobenius(identity)[:, None, None]
        values, vectors = _spectrum(reference)
        condition = np.max(values) / np.min(values)
        if not condition < _LARGEST_CONDITION:
            raise ProtocolError(
                f"reference must have a condition number under {_LARGEST_CONDITION:g} with the "
                f"log-Euclidean metric; got {condition:.3g}. Bring the variables to units of like "
                "size, or use the affine-invariant metric, which does not depend on them"
            )
        return _from_flat(identity, (values, vectors))

    def flat(self, tangent_vec, base_point):
        """Differential of the logarithm."""
        values, vectors = _spectrum(base_point)
        inner = transposed(vectors) @ tangent_vec @ vectors
        return congruent(vectors, inner * _slopes(values, values))

    def dist(self, point_a, point_b):
        """Frobenius distance of the logarithms."""
        return frobenius(_log_gap(_spectrum(point_a), _spectrum(point_b), point_a, point_b))

    def closed_exp(self, tangent_vec, base_point):
        """Exponential of the sum of the logarithm and a vector, in the eigenbasis of the point."""
        values, vectors = _spectrum(base_point)
        inner = transposed(vectors) @ tangent_vec @ vectors * _slopes(values, values)
        inner = symmetric_part(inner + np.log(values)[..., None] * np.eye(self.shape[0]))
        logs, turn = eigh(inner, lambda logs: is_graded(np.exp(logs - logs[..., -1:])))
        return gram(vectors @ turn, logs)

    def closed_log(self, point, base_point):
        """Differential of exp at the difference of the logarithms."""
        spectrum = _spectrum(base_point)
        return _from_flat(_log_gap(spectrum, _spectrum(point), base_point, point), spectrum)

    def closed_transport(self, tangent_vec, base_point, end_point):
        """Out of the logarithms what went in."""
        return _from_flat(self.flat(tangent_vec, base_point), _spectrum(end_point))

    def twin(self):
        """Select the closed forms below."""
        frame = np.ascontiguousarray(self.flat(self.basis, self.reference))
        return SPDLogEuclideanTwin(frame, np.zeros((6, *self.shape)), axes_of(self.shape[0]))


def _spectrum(point):
    return eigh(point, is_graded)


def _slopes(values, others):
    return _log_slope(values[..., :, None], others[..., None, :])


def _from_flat(vector, spectrum):
    """Differential of exp at the logarithm of a point with the given eigenvalues and vectors."""
    values, vectors = spectrum
    return congruent(vectors, transposed(vectors) @ vector @ vectors / _slopes(values, values))


def _log_gap(base_spectrum, spectrum, base_point, point):
    """Log Y - log X, see `_log_difference`."""
    (base_values, base_vectors), (values, vectors) = base_spectrum, spectrum
    inner = transposed(base_vectors) @ np.subtract(point, base_point) @ vectors
    inner = inner * _slopes(base_values, values)
    return symmetric_part(base_vectors @ inner @ transposed(vectors))


class SPDLogEuclideanTwin(NamedTuple):
    """What the compiled functions need to know about the space and its public frame.

    Because of `work`, a twin must not be shared between threads.

    Attributes
    ----------
    frame : array, shape [dim, m, m]
        Basis at the reference, moved to the logarithms: orthonormal in the Frobenius product.
    work : array, shape [6, m, m]
        Scratch.
    axes : tuple of int
        See `axes_of`.
    """

    frame: np.ndarray
    work: np.ndarray
    axes: tuple


_closed_form = dispatch.closed_forms(SPDLogEuclideanTwin, is_small=False)


@jitable
def _log_slope(a, b):
    """Divided difference (log a - log b) / (a - b), also for nearly equal arguments."""
    difference = a - b
    ratio = difference / b
    near = np.abs(ratio) < 0.5
    rise = choose(near, np.log1p(choose(near, ratio, 0.0)), np.log(a) - np.log(b))
    return choose(difference == 0.0, 1.0 / a, rise / choose(difference == 0.0, 1.0, difference))


@jitable
def _times_slopes(twin, vector, is_inverse, out):
    """Write a vector in the eigenbasis of `twin.work[:2]`, times or over the differences of log."""
    spectrum, vectors, scratch = twin.work[0], twin.work[1], twin.work[2]
    dense.product(twin.axes, vector, vectors, scratch)
    dense.product(twin.axes, vectors.T, scratch, out)
    for i in range(width_of(twin.axes, out)):
        for j in range(width_of(twin.axes, out)):
            slope = _log_slope(spectrum[i, i], spectrum[j, j])
            out[i, j] = out[i, j] / slope if is_inverse else out[i, j] * slope


@jitable
def _differential(twin, vector, is_inverse, out):
    """Differential of log at the point of the eigenbasis in `twin.work[:2]`, or its inverse."""
    _times_slopes(twin, vector, is_inverse, twin.work[3])
    dense.congruence(twin.axes, twin.work[1], twin.work[3], twin.work[2], out)


@jitable
def _to_logarithms(twin, tangent_vec, point, out):
    dense.eigenbasis(twin.axes, point, twin.work[0], twin.work[1])
    _differential(twin, tangent_vec, False, out)


@jitable
def _from_logarithms(twin, vector, point, out):
    dense.eigenbasis(twin.axes, point, twin.work[0], twin.work[1])
    _differential(twin, vector, True, out)


@jitable
def _log_difference(twin, point, base_point):
    """Write log Y - log X to `twin.work[5]`; leaves the eigenbasis of X in `twin.work[:2]`.

    With X = P diag(l) P^T and Y = Q diag(k) Q^T it is P (G o (P^T (Y - X) Q)) Q^T, where G_ij is
    the divided difference of log at l_i and k_j. So the logarithms need not cancel.
    """
    spectrum, vectors = twin.work[0], twin.work[1]
    end_spectrum, end_vectors, scratch, out = twin.work[2], twin.work[3], twin.work[4], twin.work[5]
    dense.eigenbasis(twin.axes, base_point, spectrum, vectors)
    dense.eigenbasis(twin.axes, point, end_spectrum, end_vectors)
    dense.subtract(twin.axes, point, base_point, out)
    dense.product(twin.axes, out, end_vectors, scratch)
    dense.product(twin.axes, vectors.T, scratch, out)
    for i in range(width_of(twin.axes, out)):
        for j in range(width_of(twin.axes, out)):
            out[i, j] *= _log_slope(spectrum[i, i], end_spectrum[j, j])
    dense.product(twin.axes, vectors, out, scratch)
    dense.product(twin.axes, scratch, end_vectors.T, out)
    dense.symmetrise(twin.axes, out)


@_closed_form
def _exp(twin, tangent_vec, base_point, out):
    spectrum, vectors, scratch, inner = twin.work[0], twin.work[1], twin.work[2], twin.work[3]
    dense.eigenbasis(twin.axes, base_point, spectrum, vectors)
    # In the eigenbasis of the point, where a short vector leaves it nearly diagonal.
    _times_slopes(twin, tangent_vec, False, inner)
    for i in range(width_of(twin.axes, out)):
        inner[i, i] += math.log(spectrum[i, i])
    dense.symmetrise(twin.axes, inner)
    dense.eigen(twin.axes, inner, twin.work[4])
    dense.product(twin.axes, vectors, twin.work[4], scratch)
    dense.exp_congruence(twin.axes, scratch, inner, spectrum, out)


@_closed_form
def _log(twin, point, base_point, out):
    _log_difference(twin, point, base_point)
    _differential(twin, twin.work[5], True, out)


@_closed_form
def _dist(twin, point_a, point_b):
    _log_difference(twin, point_b, point_a)
    largest = 0.0
    for i in range(width_of(twin.axes, point_a)):
        for j in range(width_of(twin.axes, point_a)):
            largest = max(largest, abs(twin.work[5, i, j]))
    # Scaled before squaring, so that no square leaves the range of doubles.
    unit = largest if largest > 0.0 else 1.0
    squared = 0.0
    for i in range(width_of(twin.axes, point_a)):
        for j in range(width_of(twin.axes, point_a)):
            squared += (twin.work[5, i, j] / unit) ** 2
    return largest * math.sqrt(squared)


@_closed_form
def _transport(twin, tangent_vec, base_point, end_point, out):
    _to_logarithms(twin, tangent_vec, base_point, twin.work[4])
    _from_logarithms(twin, twin.work[4], end_point, out)


@_closed_form
def _lift(twin, coords, point, out):
    dense.combine(twin.axes, dim(twin), coords, twin.frame, twin.work[4])
    _from_logarithms(twin, twin.work[4], point, out)


@_closed_form
def _coordinates(twin, tangent_vec, point, out):
    _to_logarithms(twin, tangent_vec, point, twin.work[4])
    dense.coordinates(twin.axes, dim(twin), twin.work[4], twin.frame, out)


_closed_form(to_tangent, "to_tangent")
_closed_form(settle, "settle")
_closed_form(dim, "dim")
_closed_form(_exp, "retract")
