"""Guarded calls to one geomstats space: what every space offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.frames import orthonormal_basis

#: Points this close to the cut locus of another have no usable direction from it.
CUT_MARGIN = 1e-6


#: Entries from here on have squares that overflow.
_LARGEST = 1e154

#: Relative distance off the manifold within which a point is certainly meant to lie on it.
SURELY_ON = 1e-7


class GuardedSpace(ABC):
    """A geomstats space whose known faults are guarded, and its plain record.

    Points and tangent vectors are in the shapes of the space and may carry leading batch
    dimensions. A subclass overrides what needs a guard; the defaults call geomstats as it is.

    Parameters
    ----------
    space : geomstats manifold
        Space with a metric that has exponential, logarithm and parallel transport.
    """

    name: ClassVar[str]
    #: Names of the retractions the space offers.
    retractions: ClassVar[tuple] = ("exponential",)
    #: Lower and upper bound on the sectional curvature.
    curvature: ClassVar[tuple] = (-np.inf, np.inf)
    #: Distance within which every pair of points has one minimising geodesic.
    injectivity_radius: ClassVar[float] = np.inf

    def __init__(self, space):
        self.space = space
        self.dim = int(space.dim)
        self.shape = tuple(space.shape)

    @classmethod
    @abstractmethod
    def accepts(cls, space):
        """Whether this class guards `space`, metric included."""

    @abstractmethod
    def to_spec(self):
        """Plain record from which `space_from_spec` builds the space again."""

    @classmethod
    @abstractmethod
    def from_spec(cls, spec):
        """Build the geomstats space of a record."""

    @property
    def is_flat(self):
        """Whether the curvature is known to be zero."""
        return tuple(self.curvature) == (0.0, 0.0)

    # ---------------------------------------------------------------- points and vectors

    def origin(self):
        """Point to start from when none is given.

        Raises
        ------
        ProtocolError
            If no point of the space is more natural than others.
        """
        raise ProtocolError(f"initial_point must be given on {self.name}, which has no origin")

    def is_on(self, point, rtol):
        """Whether a finite array of the right shape lies on the manifold, to relative `rtol`."""
        largest = float(np.max(np.abs(point)))
        # Nothing can be said of a point whose square overflows.
        return largest < _LARGEST and bool(
            self.space.belongs(point, atol=rtol * max(1.0, largest**2))
        )

    def belongs(self, points, atol):
        """Whether points of moderate size lie on the manifold, to absolute `atol`, shape [...]."""
        return self.space.belongs(points, atol=atol)

    def settle(self, point):
        """Remove the drift off the manifold that rounding causes."""
        return point

    def to_tangent(self, vector, base_point):
        """Orthogonal projection of an ambient vector onto the tangent space."""
        return self.space.to_tangent(vector, base_point)

    def basis_at(self, reference):
        """Orthonormal basis of a tangent space, shape [dim, *point_shape].

        A deterministic function of the point; by default `orthonormal_basis`.
        """
        return orthonormal_basis(self, reference)

    def check_reference(self, reference, basis):  # noqa: B027 - most spaces need no check
        """Raise ProtocolError unless the space can be used about a reference point."""

    # ---------------------------------------------------------------- metric

    def inner(self, tangent_vec_a, tangent_vec_b, base_point):
        """Riemannian inner product."""
        return self.space.metric.inner_product(tangent_vec_a, tangent_vec_b, base_point)

    def products(self, tangent_vec, basis, base_point):
        """Inner products with each vector of a basis, shape [..., dim]."""
        return np.stack([self.inner(tangent_vec, vector, base_point) for vector in basis], axis=-1)

    def norm(self, tangent_vec, base_point):
        """Riemannian norm."""
        squared = self.inner(tangent_vec, tangent_vec, base_point)
        return np.sqrt(np.maximum(squared, 0.0))

    def exp(self, tangent_vec, base_point):
        """Riemannian exponential."""
        return self.settle(self.space.metric.exp(tangent_vec, base_point))

    def log(self, point, base_point):
        """Riemannian logarithm."""
        return self.space.metric.log(point, base_point)

    def dist(self, point_a, point_b):
        """Geodesic distance."""
        return self.norm(self.log(point_b, point_a), point_a)

    def at_cut_locus(self, point, base_point):
        """Whether a point is so close to the cut locus of another that no logarithm is usable."""
        return self.dist(point, base_point) > self.injectivity_radius - CUT_MARGIN

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the minimising geodesic from `base_point` to `end_point`."""
        return self.space.metric.parallel_transport(tangent_vec, base_point, end_point=end_point)

    # ---------------------------------------------------------------- retraction

    def check_retraction(self, retraction):
        """Raise ProtocolError unless the space offers this retraction."""
        if retraction not in self.retractions:
            raise ProtocolError(
                f"retraction must be one of {self.retractions} on {self.name}; got {retraction!r}"
            )

    def retract(self, retraction, tangent_vec, base_point):
        """Second-order retraction of the given name."""
        return self.exp(tangent_vec, base_point)

    def inverse_retract(self, retraction, point, base_point):
        """Inverse of `retract`; NaN where the point is out of its range."""
        return self.log(point, base_point)

    def retracted_distance(self, retraction, length):
        """Geodesic distance covered by the retraction of a vector of the given length.

        No more than the injectivity radius, past which a geodesic is no longer the shortest way.
        """
        return np.minimum(length, self.injectivity_radius)

    # ---------------------------------------------------------------- compiled engine

    def twin(self, reference, basis, retraction):
        """Record that selects the closed forms of this space, or None if it has none."""
        return None
