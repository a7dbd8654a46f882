"""The one door to geomstats."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.spaces import guard_space
from geomstats_ldp.wording import refuse_first, shape_text


class Geometry:
    """Exponential, logarithm, transport, retraction and public frame of a geomstats space.

    Every call that the package makes to geomstats passes here and through the guard of the space,
    so that known faults are handled in one place. Points and tangent vectors are in the shapes of
    the space and may carry leading batch dimensions.

    Parameters
    ----------
    space : geomstats manifold
        Space with a metric that has exponential, logarithm and parallel transport.
    reference : array-like, shape [*point_shape]
        Public point at which the frame is given.
    basis : array-like, shape [dim, *point_shape], optional
        Orthonormal basis of the tangent space at `reference`. By default that of the guard of the
        space; most project the coordinate vectors of the ambient space and orthonormalise them.
    retraction : str, default="exponential"
        Second-order retraction of queries and updates. On the sphere "projection" adds the vector
        in the ambient space and normalises.

    Notes
    -----
    The frame `B_x` is the parallel transport of `basis` along the geodesic from `reference` to
    `x`. Because transport is an isometry, coordinates at `x` are inner products at `reference`
    of the vector transported back, which takes one transport instead of `dim`.
    """

    def __init__(self, space, reference, basis=None, retraction="exponential"):
        self.guard = guard_space(space)
        self.guard.check_retraction(retraction)
        self.space = space
        self.retraction = retraction
        self.dim = self.guard.dim
        self.shape = self.guard.shape
        self.reference = self.check_point(reference, "reference")
        if basis is None:
            basis = self.guard.basis_at(self.reference)
        self.basis = self._check_basis(basis)
        self.guard.check_reference(self.reference, self.basis)

    def _check_basis(self, basis):
        basis = np.array(basis, dtype=float)
        if basis.shape != (self.dim, *self.shape):
            raise ProtocolError(
                f"basis must have shape {(self.dim, *self.shape)}; got {basis.shape}"
            )
        gram = [[self.guard.inner(a, b, self.reference) for b in basis] for a in basis]
        tangent = self.to_tangent(basis, self.reference)
        if not (
            np.allclose(np.reshape(gram, (self.dim, self.dim)), np.eye(self.dim), atol=1e-8)
            and np.allclose(tangent, basis, atol=1e-8)
        ):
            raise ProtocolError("basis must be orthonormal and tangent at the reference point")
        return basis

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
        if not self.guard.is_on(point, rtol):
            raise ProtocolError(f"{name} must lie on {self.guard.name}; got {point}")
        return self.guard.settle(point)

    def check_points(self, points, name="points", rtol=1e-6):
        """Return points, shape [..., *point_shape], as a float array without their drift.

        Raises
        ------
        ProtocolError
            If the shape is wrong, or naming the first point that is not finite or off the
            manifold.
        """
        points = np.array(points, dtype=float)
        if points.ndim < len(self.shape) or points.shape[-len(self.shape) :] != self.shape:
            raise ProtocolError(
                f"{name} must have shape [{shape_text('...', *self.shape)}]; got {points.shape}"
            )
        rows = points.reshape(-1, *self.shape)
        leading = points.shape[: points.ndim - len(self.shape)]
        is_bad = ~np.isfinite(rows).all(axis=tuple(range(1, rows.ndim)))
        refuse_first(f"{name} must be finite", points, is_bad.reshape(leading))
        is_bad = ~self._quickly_on(rows, rtol)
        for index in np.flatnonzero(is_bad):
            with np.errstate(all="ignore"):
                is_bad[index] = not self.guard.is_on(rows[index], rtol)
            if is_bad[index]:
                break
        expected = f"{name} must lie on {self.guard.name}"
        refuse_first(expected, points, is_bad.reshape(leading))
        return points

    def _quickly_on(self, rows, rtol):
        """Which rows lie on the manifold for certain, judged all at once.

        Rounding makes far points of an unbounded space fail here: they need a closer look.
        """
        if len(rows) == 0:
            return np.ones(0, dtype=bool)
        axes = tuple(range(1, rows.ndim))
        with np.errstate(all="ignore"):
            settled = self.guard.settle(rows)
            moved, scale = np.abs(settled - rows).max(axis=axes), np.abs(rows).max(axis=axes)
            return (moved <= rtol * scale) & self.guard.belongs(settled, rtol)

    def to_tangent(self, vector, base_point):
        """Project an ambient vector onto the tangent space at `base_point`."""
        return self.guard.to_tangent(vector, base_point)

    def norm(self, tangent_vec, base_point):
        """Riemannian norm of a tangent vector."""
        return self.guard.norm(tangent_vec, base_point)

    # ---------------------------------------------------------------- metric

    def exp(self, tangent_vec, base_point):
        """Riemannian exponential."""
        return self.guard.exp(tangent_vec, base_point)

    def log(self, point, base_point):
        """Riemannian logarithm; raises CutLocusError where it is undefined."""
        return self.guard.log(point, base_point)

    def dist(self, point_a, point_b):
        """Geodesic distance."""
        return self.guard.dist(point_a, point_b)

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the minimising geodesic from `base_point` to `end_point`."""
        return self.guard.transport(tangent_vec, base_point, end_point)

    # ---------------------------------------------------------------- retraction

    def retract(self, tangent_vec, base_point):
        """Public retraction R_x(v)."""
        return self.guard.retract(self.retraction, tangent_vec, base_point)

    def inverse_retract(self, point, base_point):
        """Inverse of the retraction; NaN where the point is out of its range."""
        return self.guard.inverse_retract(self.retraction, point, base_point)

    def retracted_distance(self, length):
        """Geodesic distance covered by the retraction of a vector of the given length."""
        return self.guard.retracted_distance(self.retraction, length)

    # ---------------------------------------------------------------- frame

    def lift(self, coords, point):
        """Tangent vector at `point` with coordinates `coords` in the public frame: B_x c."""
        at_reference = np.tensordot(coords, self.basis, axes=1)
        return self.transport(at_reference, self.reference, point)

    def lower(self, tangent_vec, point):
        """Coordinates in the public frame of a tangent vector at `point`: B_x^{-1} v."""
        at_reference = self.transport(tangent_vec, point, self.reference)
        return self.guard.products(at_reference, self.basis, self.reference)

    # ---------------------------------------------------------------- compiled engine

    def twin(self):
        """Record that selects the closed forms of this space, or None if it has none."""
        return self.guard.twin(self.reference, self.basis, self.retraction)
