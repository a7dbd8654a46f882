"""Hyperbolic space as the upper sheet of the hyperboloid; the first coordinate is time-like.

Geomstats where it keeps its digits, the closed forms of `lorentz` elsewhere.
"""

from __future__ import annotations

import numpy as np
from geomstats.geometry.hyperboloid import Hyperboloid, HyperboloidMetric

from geomstats_ldp.geometry.spaces import lorentz
from geomstats_ldp.geometry.spaces.axes import axes_of
from geomstats_ldp.geometry.spaces.base import GuardedSpace
from geomstats_ldp.geometry.spaces.hyperboloid_kernels import HyperboloidTwin

#: Where geomstats keeps twelve digits: displacement, and time coordinates of what enters.
_TRUSTED_LENGTHS = (0.1, 3.0)
_TRUSTED_TIME = 10.0


class GuardedHyperboloid(GuardedSpace):
    """Extrinsic hyperbolic space.

    The answers of geomstats are taken near the origin and at moderate displacement. Elsewhere its
    Minkowski norms turn negative, which gives NaN, or lose digits, and the closed forms step in.
    """

    name = "Hyperboloid"
    curvature = (-1.0, -1.0)

    @classmethod
    def accepts(cls, space):
        """Hyperbolic space in extrinsic coordinates, with its own metric."""
        return type(space) is Hyperboloid and type(space.metric) is HyperboloidMetric

    def to_spec(self):
        """Plain record, for JSON."""
        return {"name": self.name, "dim": self.dim}

    @classmethod
    def from_spec(cls, spec):
        """Build the space."""
        return Hyperboloid(dim=int(spec["dim"]))

    def is_on(self, point, rtol):
        """Whether the time coordinate is that of the spatial ones, to relative `rtol`."""
        time = lorentz.on_sheet(point[1:])[0]
        return bool(abs(point[0] - time) <= rtol * time)

    def origin(self):
        """Apex of the sheet, the centre of the Poincare ball."""
        return np.eye(self.dim + 1)[0]

    def settle(self, point):
        """Recompute the time coordinate."""
        return lorentz.on_sheet(np.asarray(point)[..., 1:])

    def to_tangent(self, vector, base_point):
        """Minkowski-orthogonal projection, with the time coordinate of a tangent vector."""
        return lorentz.to_tangent(vector, base_point)

    def basis_at(self, reference):
        """Coordinate vectors at the origin of the sheet, transported to the point.

        Gram-Schmidt on projected coordinate vectors, of norm up to t, would lose t^2 roundings.
        """
        return lorentz.from_origin(np.eye(self.dim), reference)

    def inner(self, tangent_vec_a, tangent_vec_b, base_point):
        """Riemannian inner product, taken at the origin of the sheet."""
        a = lorentz.to_origin(tangent_vec_a, base_point)
        return np.sum(a * lorentz.to_origin(tangent_vec_b, base_point), axis=-1)

    def exp(self, tangent_vec, base_point):
        """Riemannian exponential."""
        length = self.norm(tangent_vec, base_point)
        return self._choose(
            _trusted(length, base_point),
            lambda: self.settle(self.space.metric.exp(tangent_vec, base_point)),
            lambda: lorentz.exp(tangent_vec, base_point),
        )

    def log(self, point, base_point):
        """Riemannian logarithm."""
        return self._choose(
            _trusted(self.dist(point, base_point), base_point, point),
            lambda: self.space.metric.log(point, base_point),
            lambda: lorentz.log(point, base_point),
        )

    def dist(self, point_a, point_b):
        """Geodesic distance, accurate for close and for far points."""
        gap = lorentz.gap(np.asarray(point_a), np.asarray(point_b))[..., 0]
        return 2 * np.arcsinh(np.sqrt(gap) / 2)

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the geodesic from `base_point` to `end_point`."""
        return self._choose(
            _trusted(self.dist(end_point, base_point), base_point, end_point),
            lambda: super(GuardedHyperboloid, self).transport(tangent_vec, base_point, end_point),
            lambda: lorentz.transport(tangent_vec, base_point, end_point),
        )

    @staticmethod
    def _choose(trusted, theirs, ours):
        if np.all(trusted):
            return theirs()
        if not np.any(trusted):
            return ours()
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.where(trusted[..., None], theirs(), ours())

    def twin(self, reference, basis, retraction):
        """Select the closed forms of `hyperboloid_kernels`."""
        frame = lorentz.to_origin(basis, reference)
        return HyperboloidTwin(reference, np.ascontiguousarray(frame), axes_of(len(reference)))


def _trusted(length, *points):
    low, high = _TRUSTED_LENGTHS
    trusted = (length > low) & (length < high)
    for point in points:
        trusted = trusted & (np.asarray(point)[..., 0] < _TRUSTED_TIME)
    return trusted
