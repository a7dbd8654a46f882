"""The one door to geomstats."""

from __future__ import annotations

import numpy as np
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp.exceptions import CutLocusError, ProtocolError
from geomstats_ldp.geometry.frames import orthonormal_basis
from geomstats_ldp.geometry.sphere import SphereTwin

RETRACTIONS = ("exponential", "projection")

#: An angle this close to pi leaves no digits for the direction of the logarithm.
_ANTIPODAL_MARGIN = 1e-7


class Geometry:
    """Exponential, logarithm, transport, retraction and public frame of a geomstats space.

    Every call that the package makes to geomstats passes here, so that its known faults are
    guarded in one place. Points and tangent vectors are in the shapes of the space and may carry
    leading batch dimensions.

    Parameters
    ----------
    space : geomstats manifold
        Space with a metric that has exponential, logarithm and parallel transport.
    reference : array-like, shape [*point_shape]
        Public point at which the frame is given.
    basis : array-like, shape [dim, *point_shape], optional
        Orthonormal basis of the tangent space at `reference`. By default the coordinate vectors
        of the ambient space are projected and orthonormalised.
    retraction : {"exponential", "projection"}, default="exponential"
        Second-order retraction of queries and updates. "projection" adds the vector in the
        ambient space and projects back: on the sphere it normalises.

    Notes
    -----
    The frame `B_x` is the parallel transport of `basis` along the geodesic from `reference` to
    `x`. Because transport is an isometry, coordinates at `x` are inner products at `reference`
    of the vector transported back, which takes one transport instead of `dim`.
    """

    def __init__(self, space, reference, basis=None, retraction="exponential"):
        if retraction not in RETRACTIONS:
            raise ProtocolError(f"retraction must be one of {RETRACTIONS}; got {retraction!r}")
        if retraction == "projection" and not isinstance(space, Hypersphere):
            raise ProtocolError(
                "retraction='projection' is available on Hypersphere only; "
                f"got a space of type {type(space).__name__}"
            )
        self.space = space
        self.retraction = retraction
        self.dim = int(space.dim)
        self.shape = tuple(space.shape)
        self._is_sphere = isinstance(space, Hypersphere)
        self.reference = self.check_point(reference, "reference")
        if basis is None:
            basis = orthonormal_basis(space, self.reference)
        self.basis = self._check_basis(basis)

    def _check_basis(self, basis):
        basis = np.array(basis, dtype=float)
        if basis.shape != (self.dim, *self.shape):
            raise ProtocolError(
                f"basis must have shape {(self.dim, *self.shape)}; got {basis.shape}"
            )
        gram = self._pairwise_inner(basis, basis)
        tangent = self.to_tangent(basis, self.reference)
        if not (
            np.allclose(gram, np.eye(self.dim), atol=1e-8)
            and np.allclose(tangent, basis, atol=1e-8)
        ):
            raise ProtocolError("basis must be orthonormal and tangent at the reference point")
        return basis

    def _pairwise_inner(self, vectors, others):
        flat = [
            self.space.metric.inner_product(vector, others, self.reference) for vector in vectors
        ]
        return np.reshape(flat, (len(vectors), len(others)))

    # ---------------------------------------------------------------- points and vectors

    def check_point(self, point, name="point", rtol=1e-8):
        """Return a point as a float array, put back on the manifold to rounding.

        Raises
        ------
        ProtocolError
            If the shape is wrong, an entry is not finite, or the point is off the manifold.
        """
        point = np.array(point, dtype=float)
        if point.shape != self.shape:
            raise ProtocolError(f"{name} must have shape {self.shape}; got {point.shape}")
        if not np.isfinite(point).all():
            raise ProtocolError(f"{name} must be finite; got {point}")
        atol = rtol * max(1.0, float(np.max(np.abs(point))) ** 2)
        if not self.space.belongs(point, atol=atol):
            raise ProtocolError(f"{name} must lie on {type(self.space).__name__}; got {point}")
        return self._settle(point)

    def _settle(self, point):
        """Remove the rounding drift off the sphere."""
        if self._is_sphere:
            return point / np.linalg.norm(point, axis=-1, keepdims=True)
        return point

    def to_tangent(self, vector, base_point):
        """Project an ambient vector onto the tangent space at `base_point`."""
        return self.space.to_tangent(vector, base_point)

    def norm(self, tangent_vec, base_point):
        """Riemannian norm of a tangent vector."""
        return self.space.metric.norm(tangent_vec, base_point)

    # ---------------------------------------------------------------- metric

    def exp(self, tangent_vec, base_point):
        """Riemannian exponential."""
        return self._settle(self.space.metric.exp(tangent_vec, base_point))

    def log(self, point, base_point):
        """Riemannian logarithm.

        Raises
        ------
        CutLocusError
            If a point is antipodal to its base point, where geomstats silently returns zero.
        """
        if self._is_sphere:
            return self._sphere_log(point, base_point)
        return self.space.metric.log(point, base_point)

    def _sphere_log(self, point, base_point):
        angle = np.asarray(self.dist(point, base_point))
        if np.any(angle > np.pi - _ANTIPODAL_MARGIN):
            raise CutLocusError(
                "the logarithm is undefined between antipodal points of the sphere; "
                f"got an angle of {float(np.max(angle))}"
            )
        tangent_vec = self.to_tangent(self.space.metric.log(point, base_point), base_point)
        # The direction geomstats gives is right; its length loses digits at both ends.
        length = np.linalg.norm(tangent_vec, axis=-1)
        scale = np.where(length > 0, angle / np.where(length > 0, length, 1.0), 1.0)
        return tangent_vec * scale[..., None]

    def dist(self, point_a, point_b):
        """Geodesic distance."""
        if self._is_sphere:
            return 2 * np.arctan2(
                np.linalg.norm(np.subtract(point_a, point_b), axis=-1),
                np.linalg.norm(np.add(point_a, point_b), axis=-1),
            )
        return self.space.metric.dist(point_a, point_b)

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the minimising geodesic from `base_point` to `end_point`."""
        return self.space.metric.parallel_transport(tangent_vec, base_point, end_point=end_point)

    # ---------------------------------------------------------------- retraction

    def retract(self, tangent_vec, base_point):
        """Public retraction R_x(v)."""
        if self.retraction == "projection":
            return self._settle(np.add(base_point, tangent_vec))
        return self.exp(tangent_vec, base_point)

    def inverse_retract(self, point, base_point):
        """Inverse of the retraction; NaN where the point is out of its range.

        The normalising retraction on the sphere reaches the open hemisphere about `base_point`,
        the exponential everything but the cut locus.
        """
        if self.retraction == "exponential":
            return self._inverse_exponential(point, base_point)
        cosine = np.sum(np.multiply(point, base_point), axis=-1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            tangent_vec = np.where(cosine > 0, point / cosine - base_point, np.nan)
        return tangent_vec

    def _inverse_exponential(self, point, base_point):
        if not self._is_sphere:
            return self.log(point, base_point)
        cut = np.asarray(self.dist(point, base_point) > np.pi - _ANTIPODAL_MARGIN)[..., None]
        # Any point will do in place of an antipode whose logarithm is masked out.
        tangent_vec = self.log(np.where(cut, base_point, point), base_point)
        return np.where(cut, np.nan, tangent_vec)

    def retracted_distance(self, length):
        """Geodesic distance covered by the retraction of a vector of the given length."""
        return np.arctan(length) if self.retraction == "projection" else length

    # ---------------------------------------------------------------- frame

    def lift(self, coords, point):
        """Tangent vector at `point` with coordinates `coords` in the public frame: B_x c."""
        at_reference = np.tensordot(coords, self.basis, axes=1)
        return self.transport(at_reference, self.reference, point)

    def lower(self, tangent_vec, point):
        """Coordinates in the public frame of a tangent vector at `point`: B_x^{-1} v."""
        at_reference = self.transport(tangent_vec, point, self.reference)
        coords = [
            self.space.metric.inner_product(at_reference, vector, self.reference)
            for vector in self.basis
        ]
        return np.stack(coords, axis=-1)

    # ---------------------------------------------------------------- compiled engine

    def twin(self):
        """Record that selects the closed forms of this space, or None if it has none."""
        if self._is_sphere:
            return SphereTwin(self.reference, self.basis, self.retraction == "projection")
        return None
