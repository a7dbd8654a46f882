"""Small dense linear algebra for compiled kernels on symmetric matrices.

Nothing is allocated: results go to ``out`` or overwrite an argument, as each function says, and
``out`` must not share memory with the inputs. The first argument is that of `width_of`, empty for
matrices of any size.
"""

from __future__ import annotations

import math

import numpy as np

from geomstats_ldp.geometry.elementwise import assign
from geomstats_ldp.geometry.spaces.axes import width_of
from geomstats_ldp.twins import jitable

_EPSILON = float(np.finfo(float).eps)
#: Cyclic Jacobi converges quadratically: five to eight sweeps do for the sizes in use.
_MAX_SWEEPS = 30


@jitable
def subtract(axes, a, b, out):
    """Write a - b to out."""
    for i in range(width_of(axes, a)):
        for j in range(width_of(axes, a)):
            out[i, j] = a[i, j] - b[i, j]


@jitable
def symmetrise(axes, out):
    """Replace a matrix by its symmetric part."""
    for i in range(width_of(axes, out)):
        for j in range(i):
            out[i, j] = 0.5 * (out[i, j] + out[j, i])
            out[j, i] = out[i, j]


@jitable
def product(axes, a, b, out):
    """Write a b to out."""
    for i in range(width_of(axes, a)):
        for j in range(width_of(axes, a)):
            total = 0.0
            for k in range(width_of(axes, a)):
                total += a[i, k] * b[k, j]
            out[i, j] = total


@jitable
def congruence(axes, a, b, scratch, out):
    """Write the symmetric part of a b a^T to out."""
    product(axes, a, b, scratch)
    product(axes, scratch, a.T, out)
    symmetrise(axes, out)


@jitable
def combine(axes, dim, coords, matrices, out):
    """Write the sum of coords[j] * matrices[j] to out."""
    for i in range(width_of(axes, out)):
        for k in range(width_of(axes, out)):
            total = 0.0
            for j in range(dim):
                total += coords[j] * matrices[j, i, k]
            out[i, k] = total


@jitable
def coordinates(axes, dim, matrix, matrices, out):
    """Write the Frobenius products of matrix with each of matrices to out."""
    for j in range(dim):
        total = 0.0
        for i in range(width_of(axes, matrix)):
            for k in range(width_of(axes, matrix)):
                total += matrix[i, k] * matrices[j, i, k]
        out[j] = total


@jitable
def cholesky(axes, matrix, out):
    """Write the lower triangular L with L L^T = matrix to out; NaN where it is not positive."""
    for j in range(width_of(axes, matrix)):
        for i in range(j + 1):
            out[i, j] = 0.0
        for i in range(j, matrix.shape[0]):
            total = matrix[i, j]
            for k in range(j):
                total -= out[i, k] * out[j, k]
            if i == j:
                out[j, j] = math.sqrt(total) if total > 0.0 else math.nan
            else:
                out[i, j] = total / out[j, j]


@jitable
def whiten(axes, factor, matrix, out):
    """Write L^-1 matrix L^-T to out, for the lower triangular L in factor."""
    n = width_of(axes, matrix)
    for j in range(n):
        for i in range(n):
            total = matrix[i, j]
            for k in range(i):
                total -= factor[i, k] * out[k, j]
            out[i, j] = total / factor[i, i]
    for i in range(n):
        for j in range(n):
            total = out[i, j]
            for k in range(j):
                total -= out[i, k] * factor[j, k]
            out[i, j] = total / factor[j, j]
    symmetrise(axes, out)


@jitable
def eigen(axes, matrix, vectors):
    """Diagonalise a symmetric matrix in place; its diagonal is then that of the eigenvalues.

    Columns of vectors are the eigenvectors. Cyclic Jacobi: entries are rotated away until they are
    negligible against both diagonal entries, not only the largest, so that small eigenvalues of
    graded matrices keep their digits, and eigenvalues may be equal. One rotation is the closed
    form for 2 x 2.
    """
    n = width_of(axes, matrix)
    for i in range(n):
        for j in range(n):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(_MAX_SWEEPS):
        rotated = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                size = math.sqrt(abs(matrix[p, p])) * math.sqrt(abs(matrix[q, q]))
                if abs(matrix[p, q]) > 0.25 * _EPSILON * size:
                    _rotate(axes, matrix, vectors, p, q)
                    rotated = True
        if n == 2 or not rotated:
            break


@jitable
def eigenbasis(axes, matrix, spectrum, vectors):
    """Eigenvalues on the diagonal of `spectrum`, and eigenvectors; see `eigen`."""
    assign(matrix, spectrum)
    eigen(axes, spectrum, vectors)


@jitable
def _rotate(axes, matrix, vectors, p, q):
    """One Jacobi rotation, which makes entry (p, q) zero."""
    entry = matrix[p, q]
    difference = matrix[q, q] - matrix[p, p]
    # tan of the angle, the smaller root; a quotient that overflows leaves nothing to rotate
    quotient = difference / (2.0 * entry)
    tangent = 1.0 / (abs(quotient) + math.sqrt(1.0 + quotient * quotient))
    if quotient < 0.0:
        tangent = -tangent
    cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    ratio = sine / (1.0 + cosine)
    matrix[p, p] -= tangent * entry
    matrix[q, q] += tangent * entry
    matrix[p, q] = 0.0
    matrix[q, p] = 0.0
    for k in range(width_of(axes, matrix)):
        if k != p and k != q:
            at_p, at_q = matrix[k, p], matrix[k, q]
            matrix[k, p] = at_p - sine * (at_q + ratio * at_p)
            matrix[k, q] = at_q + sine * (at_p - ratio * at_q)
            matrix[p, k] = matrix[k, p]
            matrix[q, k] = matrix[k, q]
        at_p, at_q = vectors[k, p], vectors[k, q]
        vectors[k, p] = at_p - sine * (at_q + ratio * at_p)
        vectors[k, q] = at_q + sine * (at_p - ratio * at_q)


@jitable
def from_spectrum(axes, vectors, spectrum, scratch, out):
    """Write vectors diag(values) vectors^T to out, for the values on the diagonal of spectrum."""
    for i in range(width_of(axes, out)):
        for j in range(width_of(axes, out)):
            scratch[i, j] = vectors[i, j] * spectrum[j, j]
    product(axes, scratch, vectors.T, out)
    symmetrise(axes, out)


@jitable
def exp_congruence(axes, vectors, spectrum, scratch, out):
    """Write vectors diag(exp(values)) vectors^T to out, for the values on the diagonal of spectrum.

    A Gram matrix: symmetric to the last bit and not negative. `vectors` need not be orthogonal.
    """
    for j in range(width_of(axes, out)):
        scale = math.exp(0.5 * spectrum[j, j])
        for i in range(width_of(axes, out)):
            scratch[i, j] = scale * vectors[i, j]
    product(axes, scratch, scratch.T, out)
