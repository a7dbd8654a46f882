"""Products of spaces, factor by factor; geomstats itself has no product transport."""

from __future__ import annotations

import math

import numpy as np
from geomstats.geometry.product_manifold import ProductManifold, ProductRiemannianMetric

from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.registry import origin_of, space_from_spec, space_to_spec


class ProductGeometry(Geometry):
    r"""Product of spaces with the product metric.

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

    def _prepare(self, reference):
        parts = split(self.space, reference)
        self.factors = [Geometry(*factor) for factor in zip(self.space.factors, parts)]
        bounds = [factor.curvature for factor in self.factors if factor.dim > 1]
        self.curvature = (
            min([0.0, *(low for low, _ in bounds)]),
            max([0.0, *(high for _, high in bounds)]),
        )
        self.injectivity_radius = min(factor.injectivity_radius for factor in self.factors)

    @classmethod
    def accepts(cls, space):
        """Products of geomstats, with their product metric."""
        return type(space) is ProductManifold and type(space.metric) is ProductRiemannianMetric

    @classmethod
    def to_spec(cls, space):
        """Plain record, for JSON."""
        factors = [space_to_spec(factor) for factor in space.factors]
        return {"name": cls.name, "factors": factors, "is_stacked": _is_stacked(space)}

    @classmethod
    def from_spec(cls, spec):
        """Build the factors and their product."""
        factors = [space_from_spec(factor) for factor in spec["factors"]]
        return ProductManifold(factors, point_ndim=None if spec["is_stacked"] else 1)

    @classmethod
    def origin(cls, space):
        """Origins of the factors."""
        return join(space, [origin_of(factor) for factor in space.factors])

    def simple_factors(self):
        """Factors in the order of frame coordinates; those of a factor that is a product itself."""
        parts = []
        for factor in self.factors:
            is_product = isinstance(factor, ProductGeometry)
            parts.extend(factor.simple_factors() if is_product else [factor])
        return parts

    # ---------------------------------------------------------------- layout

    def split(self, array):
        """Parts of points or vectors, shape [..., *point_shape], one for each factor."""
        return split(self.space, array)

    def join(self, parts):
        """Inverse of `split`; leading dimensions broadcast."""
        return join(self.space, parts)

    def _each(self, method, *arrays):
        """Results of a method of every factor on its parts of the arrays."""
        columns = zip(self.factors, *(self.split(array) for array in arrays))
        return [getattr(factor, method)(*parts) for factor, *parts in columns]

    # ---------------------------------------------------------------- points and vectors

    def is_on(self, points, rtol):
        """Whether every part lies on its factor."""
        parts = zip(self.factors, self.split(points))
        return np.all(np.stack([factor.is_on(part, rtol) for factor, part in parts]), axis=0)

    def settle(self, point):
        """Remove the drift off each factor."""
        return self.join(self._each("settle", point))

    def to_tangent(self, vector, base_point):
        """Projection onto each tangent space."""
        return self.join(self._each("to_tangent", vector, base_point))

    def basis_at(self, reference):
        """Bases of the factors, one after the other."""
        basis = []
        zeros = [np.zeros(factor.shape) for factor in self.factors]
        for i, (factor, part) in enumerate(zip(self.factors, self.split(reference))):
            for vector in factor.basis_at(part):
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

    def inverse_retract(self, point, base_point):
        """Logarithm, or NaN where that of a factor is undefined."""
        return self.join(self._each("inverse_retract", point, base_point))


def _is_stacked(space):
    return len(space.shape) > 1


def split(space, array):
    """Parts of an array, shape [..., *point_shape], for each factor of a product."""
    array = np.asarray(array, dtype=float)
    if _is_stacked(space):
        return list(np.moveaxis(array, -len(space.shape), 0))
    cuts = np.cumsum([math.prod(factor.shape) for factor in space.factors])[:-1]
    parts = zip(np.split(array, cuts, axis=-1), space.factors)
    return [part.reshape(*part.shape[:-1], *factor.shape) for part, factor in parts]


def join(space, parts):
    """Inverse of `split`; leading dimensions broadcast."""
    shapes = [tuple(factor.shape) for factor in space.factors]
    batches = [np.shape(part)[: np.ndim(part) - len(s)] for part, s in zip(parts, shapes)]
    batch = np.broadcast_shapes(*batches)
    parts = [np.broadcast_to(part, (*batch, *s)) for part, s in zip(parts, shapes)]
    if _is_stacked(space):
        return np.stack(parts, axis=-len(space.shape))
    return np.concatenate([part.reshape(*batch, -1) for part in parts], axis=-1)
