"""What the two metrics of symmetric positive definite matrices have in common."""

from __future__ import annotations

import math

import numpy as np
from geomstats.geometry.spd_matrices import SPDMatrices
from numba.extending import register_jitable

from geomstats_ldp.geometry.geometry import SURELY_ON, Geometry
from geomstats_ldp.geometry.spaces.axes import width_of
from geomstats_ldp.geometry.spaces.symmetric_matrices import cholesky, copy, symmetrise


def _symmetric(matrix):
    return (matrix + np.swapaxes(matrix, -1, -2)) / 2


class SPDGeometry(Geometry):
    """Matrix products leave the cone by rounding: results are made symmetric again.

    On 1x1 matrices geomstats fails, which takes powers of them to be numbers. There both metrics
    are uv / x^2, that of the logarithm, and the closed forms step in.
    """

    metric_class: type

    @property
    def _is_number(self):
        return self.shape == (1, 1)

    @classmethod
    def accepts(cls, space):
        """SPD matrices equipped with this very metric."""
        return type(space) is SPDMatrices and type(space.metric) is cls.metric_class

    @classmethod
    def to_spec(cls, space):
        """Plain record, for JSON."""
        return {"name": cls.name, "n": int(space.n)}

    @classmethod
    def from_spec(cls, spec):
        """Build the space and equip it."""
        space = SPDMatrices(int(spec["n"]), equip=False)
        space.equip_with_metric(cls.metric_class)
        return space

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
        gap = np.max(np.abs(unit - np.swapaxes(unit, -1, -2)), axis=(-2, -1))
        return is_good & (gap <= rtol) & (np.linalg.eigvalsh(_symmetric(unit))[..., 0] > 0)

    def settle(self, point):
        """Symmetric part."""
        return _symmetric(point)

    def to_tangent(self, vector, base_point):
        """Symmetric part."""
        return _symmetric(vector)

    def inner(self, tangent_vec_a, tangent_vec_b, base_point):
        """Riemannian inner product."""
        if self._is_number:
            product = np.multiply(tangent_vec_a, tangent_vec_b) / np.square(base_point)
            return product[..., 0, 0]
        return super().inner(tangent_vec_a, tangent_vec_b, base_point)

    def products(self, tangent_vec, basis, base_point):
        """Inner products with each vector of a basis, shape [..., dim], in one call."""
        shape = np.shape(base_point)
        pairs = np.broadcast_arrays(np.expand_dims(tangent_vec, -3), basis)
        flat = self.inner(*(vectors.reshape(-1, *shape) for vectors in pairs), base_point)
        return flat.reshape(pairs[0].shape[:-2])

    def exp(self, tangent_vec, base_point):
        """Riemannian exponential."""
        if self._is_number:
            return base_point * np.exp(np.divide(tangent_vec, base_point))
        return super().exp(tangent_vec, base_point)

    def log(self, point, base_point):
        """Riemannian logarithm, made symmetric."""
        if self._is_number:
            return base_point * np.log(np.divide(point, base_point))
        return _symmetric(self.space.metric.log(point, base_point))

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the minimising geodesic, made symmetric."""
        if self._is_number:
            return np.multiply(tangent_vec, np.divide(end_point, base_point))
        return _symmetric(super().transport(tangent_vec, base_point, end_point))


@register_jitable
def settle(axes, point, factor, out):
    """Write the symmetric part to out; return whether it is positive definite for certain.

    The Cholesky pivots decide: one that is tiny against its diagonal entry needs a closer look.
    """
    n = width_of(axes, out)
    for i in range(n):
        for j in range(i):
            size = math.sqrt(abs(point[i, i])) * math.sqrt(abs(point[j, j]))
            if not abs(point[i, j] - point[j, i]) <= SURELY_ON * size:
                return False
    copy(axes, point, out)
    symmetrise(axes, out)
    cholesky(axes, out, factor)
    for i in range(n):
        if not factor[i, i] * factor[i, i] > SURELY_ON * out[i, i]:
            return False
    return True


@register_jitable
def to_tangent(twin, vector, base_point, out):
    """Symmetric part, for the compiled engine."""
    copy(twin.axes, vector, out)
    symmetrise(twin.axes, out)
