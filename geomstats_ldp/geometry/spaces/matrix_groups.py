"""Rotation matrices, for which the compiled engine has no twin, and subspaces.

Both logarithms of geomstats are matrix logarithms. Next to the cut locus they are complex matrices,
wrong branches or an error of its own, depending on the size; `log` raises CutLocusError there.
"""

from __future__ import annotations

import numpy as np
from geomstats.geometry.grassmannian import Grassmannian, GrassmannianCanonicalMetric
from geomstats.geometry.invariant_metric import BiInvariantMetric
from geomstats.geometry.special_orthogonal import (
    SpecialOrthogonal,
    _SpecialOrthogonalMatrices,
)

from geomstats_ldp.exceptions import CutLocusError
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.spaces import rotations
from geomstats_ldp.geometry.spaces.axes import axes_of
from geomstats_ldp.geometry.spaces.grassmann import GrassmannTwin
from geomstats_ldp.geometry.spaces.rotations import transposed

#: Angle to the cut locus under which geomstats may fail (rotations of the plane: from 1e-6 on).
_CUT_MARGIN = 1e-5


class _MatrixGroup(Geometry):
    """Logarithm and transport that stop at the cut locus."""

    #: Angle at which a rotation or a principal angle reaches the cut locus.
    cut_angle: float

    def angles(self, point_a, point_b):
        """Rotation or principal angles between two points, ascending, shape [..., n_angles]."""
        raise NotImplementedError

    def log(self, point, base_point):
        """Riemannian logarithm.

        Raises
        ------
        CutLocusError
            If a point is in the cut locus of its base point, or within 1e-5 of it.
        """
        self._check_cut(point, base_point)
        return self.to_tangent(self._log_inside(point, base_point), base_point)

    def _check_cut(self, point, base_point):
        if np.any(self.at_cut_locus(point, base_point)):
            angle = self.angles(base_point, point)[..., -1]
            raise CutLocusError(
                f"the logarithm on {self.name} is undefined at an angle of {self.cut_angle}; "
                f"got an angle of {float(np.max(angle))}"
            )

    def _log_inside(self, point, base_point):
        """Logarithm of a point that is known to be inside the cut locus."""
        return np.real(self.space.metric.log(point, base_point))

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the minimising geodesic from `base_point` to `end_point`."""
        direction = self.log(end_point, base_point)
        moved = self.space.metric.parallel_transport(tangent_vec, base_point, direction=direction)
        return self.to_tangent(moved, end_point)

    def at_cut_locus(self, point, base_point):
        """Whether an angle is at the cut locus, or within 1e-5 of it."""
        return self.angles(base_point, point)[..., -1] > self.cut_angle - _CUT_MARGIN

    def inverse_retract(self, point, base_point):
        """Logarithm, or NaN where it is undefined."""
        cut = np.asarray(self.at_cut_locus(point, base_point))[..., None, None]
        # Any point will do in place of one whose logarithm is masked out.
        return np.where(cut, np.nan, self.log(np.where(cut, base_point, point), base_point))


class RotationGeometry(_MatrixGroup):
    """Rotation matrices with the bi-invariant metric |V|^2 = tr(V^T V) / 2.

    In this scale a rotation by an angle of t in one plane is at distance t. The sectional curvature
    is |[U, V]|^2 / 4 for orthonormal U, V of the Lie algebra: zero for n = 2, 1/4 for n = 3, and
    between 0 and 1/2 for n >= 4 (Bloch and Iserles, "Commutators of skew-symmetric matrices",
    2005: the Frobenius norm of [U, V] is at most the product of those of U and V). A geodesic
    stops being minimising where an angle passes pi. Rotations of space have closed forms.
    """

    name = "SpecialOrthogonal"
    injectivity_radius = np.pi
    cut_angle = np.pi

    def _prepare(self, reference):
        self.curvature = {2: (0.0, 0.0), 3: (0.25, 0.25)}.get(self.shape[0], (0.0, 0.5))

    @classmethod
    def accepts(cls, space):
        """Rotations as matrices."""
        return type(space) is _SpecialOrthogonalMatrices and type(space.metric) is BiInvariantMetric

    @classmethod
    def to_spec(cls, space):
        """Plain record, for JSON."""
        return {"name": cls.name, "n": int(space.n)}

    @classmethod
    def from_spec(cls, spec):
        """Build the space."""
        return SpecialOrthogonal(int(spec["n"]))

    @classmethod
    def origin(cls, space):
        """Identity matrix."""
        return np.eye(int(space.n))

    def is_on(self, points, rtol):
        """Whether matrices are orthogonal, to `rtol` in each Gram entry, with determinant 1."""
        gap = np.abs(transposed(points) @ points - np.eye(self.shape[0])).max(axis=(-2, -1))
        return (gap <= rtol) & (np.linalg.det(points) > 0)

    @property
    def _is_space(self):
        return self.shape[0] == 3

    def to_tangent(self, vector, base_point):
        """Base point times the skew part of what it takes to the vector."""
        return base_point @ rotations.skew_part(transposed(base_point) @ vector)

    def inner(self, tangent_vec_a, tangent_vec_b, base_point):
        """Half the Frobenius product."""
        return 0.5 * np.sum(np.multiply(tangent_vec_a, tangent_vec_b), axis=(-2, -1))

    def exp(self, tangent_vec, base_point):
        """Riemannian exponential."""
        if self._is_space:
            return self.settle(rotations.exp(tangent_vec, base_point))
        return super().exp(tangent_vec, base_point)

    def _log_inside(self, point, base_point):
        if self._is_space:
            return rotations.log(point, base_point)
        return super()._log_inside(point, base_point)

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the minimising geodesic from `base_point` to `end_point`."""
        if not self._is_space:
            return super().transport(tangent_vec, base_point, end_point)
        self._check_cut(end_point, base_point)
        moved = rotations.transport(tangent_vec, base_point, end_point)
        return self.to_tangent(moved, end_point)

    def settle(self, point):
        """One Newton-Schulz step towards the orthogonal polar factor, which squares the drift."""
        return 1.5 * point - 0.5 * point @ transposed(point) @ point

    def angles(self, point_a, point_b):
        """Absolute arguments of the eigenvalues of the rotation between them: each angle twice."""
        rotation = transposed(point_a) @ point_b
        if self._is_space:
            return rotations.angle(rotation)[..., None] * np.array([0.0, 1.0, 1.0])
        eigenvalues = np.linalg.eigvals(rotation)
        return np.sort(np.abs(np.angle(eigenvalues)), axis=-1)

    def dist(self, point_a, point_b):
        """Root of the sum of squared rotation angles; defined at the cut locus too."""
        return np.linalg.norm(self.angles(point_a, point_b), axis=-1) / np.sqrt(2)


class GrassmannGeometry(_MatrixGroup):
    """Subspaces as orthogonal projections, with the Frobenius metric |V|^2 = tr(V V).

    In this scale a principal angle of t is a distance of sqrt(2) t, so that the injectivity radius
    is pi / sqrt(2); the pi / 2 that geomstats states is that of the metric without the factor 2.
    The sectional curvature is half that of Wong ("Sectional curvatures of Grassmann manifolds",
    1968): between 0 and 1, and 1/2 for lines and hyperplanes (real projective space).
    """

    name = "Grassmannian"
    injectivity_radius = np.pi / np.sqrt(2)
    cut_angle = np.pi / 2

    def _prepare(self, reference):
        self.p = int(self.space.p)
        if self.dim == 1:
            self.curvature = (0.0, 0.0)
        else:
            projective = min(self.p, self.shape[0] - self.p) == 1
            self.curvature = (0.5, 0.5) if projective else (0.0, 1.0)

    @classmethod
    def accepts(cls, space):
        """Proper subspaces, as projections."""
        return (
            type(space) is Grassmannian
            and type(space.metric) is GrassmannianCanonicalMetric
            and space.dim > 0
        )

    @classmethod
    def to_spec(cls, space):
        """Plain record, for JSON."""
        return {"name": cls.name, "n": int(space.n), "p": int(space.p)}

    @classmethod
    def from_spec(cls, spec):
        """Build the space."""
        return Grassmannian(int(spec["n"]), int(spec["p"]))

    def is_on(self, points, rtol):
        """Whether matrices are symmetric, idempotent, and of rank p, to `rtol` in each entry."""
        gap = np.maximum(np.abs(points - transposed(points)), np.abs(points @ points - points))
        rank = np.trace(points, axis1=-2, axis2=-1)
        return (gap.max(axis=(-2, -1)) <= rtol) & (np.abs(rank - self.p) < 0.5)

    def settle(self, point):
        """One step P <- 3 P^2 - 2 P^3 towards the nearest projection, which squares the drift."""
        point = (point + transposed(point)) / 2
        squared = point @ point
        settled = 3 * squared - 2 * squared @ point
        return (settled + transposed(settled)) / 2

    def angles(self, point_a, point_b):
        """Principal angles, accurate at both ends."""
        basis = np.linalg.eigh(point_b)[1][..., -self.p :]
        inside = point_a @ basis
        cosines = np.linalg.svd(inside, compute_uv=False)
        sines = np.linalg.svd(basis - inside, compute_uv=False)
        return np.arctan2(sines[..., ::-1], cosines)

    def dist(self, point_a, point_b):
        """sqrt(2) times the length of the principal angles; defined at the cut locus too."""
        return np.sqrt(2) * np.linalg.norm(self.angles(point_a, point_b), axis=-1)

    def twin(self):
        """Select the closed forms of `grassmann`."""
        frame = np.ascontiguousarray(self.basis)
        return GrassmannTwin(
            self.reference, frame, np.zeros((7, *self.shape)), axes_of(self.shape[0])
        )
