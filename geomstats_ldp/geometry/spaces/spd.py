"""What the two metrics of symmetric positive definite matrices have in common."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np
from geomstats.geometry.spd_matrices import SPDMatrices

from geomstats_ldp.geometry.elementwise import assign
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.metric_space import SURELY_ON
from geomstats_ldp.geometry.spaces.axes import transposed, width_of
from geomstats_ldp.geometry.spaces.symmetric_matrices import (
    cholesky,
    eigen,
    symmetrise,
)
from geomstats_ldp.twins import jitable

#: Where geomstats keeps twelve digits: eigenvalues of the points, and their distance. It compares
#: eigenvalues absolutely, and takes powers of 1 x 1 matrices to be numbers.
_TRUSTED_VALUES = (0.03, 30.0)
_TRUSTED_LENGTHS = (0.1, 3.0)

#: Quotient of eigenvalues from which on LAPACK leaves less than ten digits of the smallest.
_GRADED = 1e6


def symmetric_part(matrix):
    """Half the sum with the transpose."""
    return (matrix + transposed(matrix)) / 2


def congruent(factor, matrix):
    """Product factor matrix factor^T, made symmetric."""
    return symmetric_part(factor @ matrix @ transposed(factor))


def gram(factor, values):
    """Product factor diag(exp(values)) factor^T; never indefinite."""
    half = factor * np.exp(values / 2)[..., None, :]
    return half @ transposed(half)


def eigh(matrix, is_graded):
    """Eigenvalues and vectors of symmetric matrices, in no order.

    LAPACK, but Jacobi rotations for the matrices, shape [...], where `is_graded` says of the
    eigenvalues that the small ones would lose too many digits.
    """
    values, vectors = np.linalg.eigh(matrix)
    for index in np.argwhere(is_graded(values)):
        at = tuple(index)
        spectrum = np.array(matrix[at])
        eigen((), spectrum, vectors[at])
        values[at] = np.diagonal(spectrum)
    return values, vectors


def is_graded(values):
    """Whether eigenvalues of positive matrices, ascending, differ by orders of magnitude."""
    return values[..., -1] > _GRADED * values[..., 0]


def frobenius(matrix):
    """Length of matrices, shape [...], scaled before squaring."""
    size = np.max(np.abs(matrix), axis=(-2, -1))
    unit = np.where(size > 0, size, 1.0)[..., None, None]
    return size * np.linalg.norm(matrix / unit, axis=(-2, -1))


class SPDGeometry(Geometry):
    """Results of matrix products are made symmetric again, and positive where they must be.

    Geomstats is called for points of moderate eigenvalues; the closed forms serve all units.
    """

    space_class = SPDMatrices
    sizes = ("n",)

    @classmethod
    def origin(cls, space):
        """Identity matrix."""
        return np.eye(int(space.n))

    def is_on(self, points, rtol):
        """Whether matrices are symmetric to relative `rtol`, and positive definite.

        Judged with a unit diagonal, so that the units of the variables make no difference.
        """
        with np.errstate(all="ignore"):
            scales = np.sqrt(np.diagonal(points, axis1=-2, axis2=-1))
            unit = points / scales[..., :, None] / scales[..., None, :]
        # An eigenvalue problem takes no NaN, which comes of a diagonal that is not positive.
        is_good = np.isfinite(unit).all(axis=(-2, -1))
        unit = np.where(is_good[..., None, None], unit, np.eye(self.shape[0]))
        gap = np.max(np.abs(unit - transposed(unit)), axis=(-2, -1))
        return is_good & (gap <= rtol) & (np.linalg.eigvalsh(symmetric_part(unit))[..., 0] > 0)

    def settle(self, point):
        """Symmetric part."""
        return symmetric_part(point)

    def to_tangent(self, vector, base_point):
        """Symmetric part."""
        return symmetric_part(vector)

    # ---------------------------------------------------------------- metric

    @abstractmethod
    def flat(self, tangent_vec, base_point):
        """Isometry of a tangent space to the symmetric matrices with the Frobenius product."""

    def inner(self, tangent_vec_a, tangent_vec_b, base_point):
        """Riemannian inner product."""
        a, b = self.flat(tangent_vec_a, base_point), self.flat(tangent_vec_b, base_point)
        return np.sum(a * b, axis=(-2, -1))

    def products(self, tangent_vec, basis, base_point):
        """Inner products with each vector of a basis, shape [..., dim]."""
        vector, basis = self.flat(tangent_vec, base_point), self.flat(basis, base_point)
        return np.tensordot(vector, basis, axes=((-2, -1), (-2, -1)))

    def exp(self, tangent_vec, base_point):
        """Riemannian exponential."""
        return self._choose(
            self._is_trusted(frobenius(self.flat(tangent_vec, base_point)), base_point),
            lambda: super(SPDGeometry, self).exp(tangent_vec, base_point),
            lambda: self.closed_exp(tangent_vec, base_point),
        )

    def log(self, point, base_point):
        """Riemannian logarithm."""
        return self._choose(
            self._is_trusted(self.dist(point, base_point), point, base_point),
            lambda: symmetric_part(self.space.metric.log(point, base_point)),
            lambda: self.closed_log(point, base_point),
        )

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the minimising geodesic from `base_point` to `end_point`."""
        return self._choose(
            self._is_trusted(self.dist(base_point, end_point), base_point, end_point),
            lambda: symmetric_part(
                super(SPDGeometry, self).transport(tangent_vec, base_point, end_point)
            ),
            lambda: self.closed_transport(tangent_vec, base_point, end_point),
        )

    def _is_trusted(self, length, *points):
        trusted = (length > _TRUSTED_LENGTHS[0]) & (length < _TRUSTED_LENGTHS[1])
        for point in points:
            values = np.linalg.eigvalsh(point)
            low, high = values[..., 0] > _TRUSTED_VALUES[0], values[..., -1] < _TRUSTED_VALUES[1]
            trusted = trusted & low & high
        return trusted & (self.shape[0] > 1)

    @abstractmethod
    def closed_exp(self, tangent_vec, base_point):
        """Riemannian exponential, in all units."""

    @abstractmethod
    def closed_log(self, point, base_point):
        """Riemannian logarithm, in all units."""

    @abstractmethod
    def closed_transport(self, tangent_vec, base_point, end_point):
        """Parallel transport, in all units."""


def coordinate_matrices(n):
    """Symmetric parts of the coordinate matrices, shape [n (n + 1) / 2, n, n]."""
    rows, columns = np.triu_indices(n)
    matrices = np.zeros((len(rows), n, n))
    matrices[np.arange(len(rows)), rows, columns] += 0.5
    matrices[np.arange(len(rows)), columns, rows] += 0.5
    return matrices


# ---------------------------------------------------------------- kernels of both metrics


@jitable
def settle(twin, point, out):
    """Write the symmetric part to out; return whether it is positive definite for certain.

    The Cholesky pivots decide: one that is tiny against its diagonal entry needs a closer look.
    """
    axes, factor = twin.axes, twin.work[0]
    n = width_of(axes, out)
    for i in range(n):
        for j in range(i):
            size = math.sqrt(abs(point[i, i])) * math.sqrt(abs(point[j, j]))
            if not abs(point[i, j] - point[j, i]) <= SURELY_ON * size:
                return False
    assign(point, out)
    symmetrise(axes, out)
    cholesky(axes, out, factor)
    for i in range(n):
        if not factor[i, i] * factor[i, i] > SURELY_ON * out[i, i]:
            return False
    return True


@jitable
def to_tangent(twin, vector, base_point, out):
    """Symmetric part, for the compiled engine."""
    assign(vector, out)
    symmetrise(twin.axes, out)


@jitable
def dim(twin):
    """Dimension of the space, for the compiled engine."""
    n = width_of(twin.axes, twin.work[0])
    return n * (n + 1) // 2
