"""Products of guarded spaces, factor by factor; geomstats itself has no product transport."""

from __future__ import annotations

import math

import numpy as np
from geomstats.geometry.product_manifold import ProductManifold, ProductRiemannianMetric

from geomstats_ldp.geometry.spaces.base import GuardedSpace
from geomstats_ldp.geometry.spaces.registry import guard_space, space_from_spec


class GuardedProduct(GuardedSpace):
    r"""Product of guarded spaces with the product metric.

    Points are laid out as geomstats does: stacked along a new first axis if the factors have one
    shape, else flattened and strung together. Distances add up as squares.

    Notes
    -----
    For tangent vectors u, v the curvature is :math:`\sum_i K_i |u_i \wedge v_i|^2 /
    |u \wedge v|^2` with :math:`\sum_i |u_i \wedge v_i|^2 \le |u \wedge v|^2`, so it lies
    between the least and the largest bound of the factors and zero; factors of dimension one
    have no curvature. A point is in the cut locus of another if it is so in a factor, so that the
    injectivity radius is the least of the factors.
    """

    name = "Product"

    def __init__(self, space):
        super().__init__(space)
        self.factors = [guard_space(factor) for factor in space.factors]
        bounds = [guard.curvature for guard in self.factors if guard.dim > 1]
        self.curvature = (
            min([0.0, *(low for low, _ in bounds)]),
            max([0.0, *(high for _, high in bounds)]),
        )
        self.injectivity_radius = min(guard.injectivity_radius for guard in self.factors)
        self._is_stacked = len(self.shape) > 1
        sizes = [math.prod(guard.shape) for guard in self.factors]
        self._cuts = np.cumsum(sizes)[:-1]

    @classmethod
    def accepts(cls, space):
        """Products of geomstats, with their product metric."""
        return type(space) is ProductManifold and type(space.metric) is ProductRiemannianMetric

    def to_spec(self):
        """Plain record, for JSON."""
        factors = [guard.to_spec() for guard in self.factors]
        return {"name": self.name, "factors": factors, "is_stacked": self._is_stacked}

    @classmethod
    def from_spec(cls, spec):
        """Build the factors and their product."""
        factors = [space_from_spec(factor) for factor in spec["factors"]]
        return ProductManifold(factors, point_ndim=None if spec["is_stacked"] else 1)

    # ---------------------------------------------------------------- layout

    def split(self, array):
        """Parts of points or vectors, shape [..., *point_shape], one for each factor."""
        array = np.asarray(array, dtype=float)
        if self._is_stacked:
            return list(np.moveaxis(array, -len(self.shape), 0))
        parts = np.split(array, self._cuts, axis=-1)
        return [
            part.reshape(*part.shape[:-1], *guard.shape) for part, guard in zip(parts, self.factors)
        ]

    def join(self, parts):
        """Inverse of `split`; leading dimensions broadcast."""
        batches = [
            np.shape(part)[: np.ndim(part) - len(guard.shape)]
            for part, guard in zip(parts, self.factors)
        ]
        batch = np.broadcast_shapes(*batches)
        parts = [
            np.broadcast_to(part, (*batch, *guard.shape))
            for part, guard in zip(parts, self.factors)
        ]
        if self._is_stacked:
            return np.stack(parts, axis=-len(self.shape))
        return np.concatenate([part.reshape(*batch, -1) for part in parts], axis=-1)

    def _each(self, method, *arrays, first=()):
        """Results of a method of every factor on its parts of the arrays."""
        columns = zip(self.factors, *(self.split(array) for array in arrays))
        return [getattr(guard, method)(*first, *parts) for guard, *parts in columns]

    # ---------------------------------------------------------------- points and vectors

    def origin(self):
        """Origins of the factors."""
        return self.join([guard.origin() for guard in self.factors])

    def is_on(self, point, rtol):
        """Whether every part lies on its factor."""
        return all(guard.is_on(part, rtol) for guard, part in zip(self.factors, self.split(point)))

    def belongs(self, points, atol):
        """Whether every part lies on its factor, shape [...]."""
        parts = zip(self.factors, self.split(points))
        return np.all(np.stack([guard.belongs(part, atol) for guard, part in parts]), axis=0)

    def settle(self, point):
        """Remove the drift off each factor."""
        return self.join(self._each("settle", point))

    def to_tangent(self, vector, base_point):
        """Projection onto each tangent space."""
        return self.join(self._each("to_tangent", vector, base_point))

    def basis_at(self, reference):
        """Bases of the factors, one after the other."""
        basis = []
        zeros = [np.zeros(guard.shape) for guard in self.factors]
        for i, (guard, part) in enumerate(zip(self.factors, self.split(reference))):
            for vector in guard.basis_at(part):
                basis.append(self.join([*zeros[:i], vector, *zeros[i + 1 :]]))
        return np.stack(basis)

    # ---------------------------------------------------------------- metric

    def inner(self, tangent_vec_a, tangent_vec_b, base_point):
        """Sum of the inner products."""
        return sum(self._each("inner", tangent_vec_a, tangent_vec_b, base_point))

    def exp(self, tangent_vec, base_point):
        """Exponential of each factor."""
        return self.join(self._each("exp", tangent_vec, base_point))

    def log(self, point, base_point):
        """Logarithm of each factor; raises CutLocusError where one is undefined."""
        return self.join(self._each("log", point, base_point))

    def dist(self, point_a, point_b):
        """Root of the sum of squared distances."""
        return np.linalg.norm(np.stack(self._each("dist", point_a, point_b)), axis=0)

    def transport(self, tangent_vec, base_point, end_point):
        """Transport in each factor."""
        return self.join(self._each("transport", tangent_vec, base_point, end_point))

    def at_cut_locus(self, point, base_point):
        """Whether some part is at the cut locus in its factor."""
        return np.any(np.stack(self._each("at_cut_locus", point, base_point)), axis=0)

    def inverse_retract(self, retraction, point, base_point):
        """Logarithm, or NaN where that of a factor is undefined."""
        return self.join(self._each("inverse_retract", point, base_point, first=(retraction,)))
