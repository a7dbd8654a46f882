"""Rotation matrices; those of space in closed form.

The general matrix logarithm takes milliseconds; Rodrigues' formula needs the angle of a rotation
and its axis only. Tangent vectors at R are R times a skew matrix, whose square root of half the
sum of squares is the angle per unit of time. The compiled engine has no twin of these spaces.
"""

from __future__ import annotations

import numpy as np
from geomstats.geometry.invariant_metric import BiInvariantMetric
from geomstats.geometry.special_orthogonal import _SpecialOrthogonalMatrices

from geomstats_ldp.geometry.spaces.angular import AngularGeometry
from geomstats_ldp.geometry.spaces.axes import transposed


class RotationGeometry(AngularGeometry):
    """Rotation matrices with the bi-invariant metric |V|^2 = tr(V^T V) / 2.

    In this scale a rotation by an angle of t in one plane is at distance t. The sectional curvature
    is |[U, V]|^2 / 4 for orthonormal U, V of the Lie algebra: zero for n = 2, 1/4 for n = 3, and
    between 0 and 1/2 for n >= 4 (Bloch and Iserles, "Commutators of skew-symmetric matrices",
    2005: the Frobenius norm of [U, V] is at most the product of those of U and V). A geodesic
    stops being minimising where an angle passes pi. Rotations of space have closed forms.
    """

    name = "SpecialOrthogonal"
    space_class = _SpecialOrthogonalMatrices
    metric_class = BiInvariantMetric
    sizes = ("n",)
    injectivity_radius = np.pi
    cut_angle = np.pi

    def _prepare(self, reference):
        self.curvature = {2: (0.0, 0.0), 3: (0.25, 0.25)}.get(self.shape[0], (0.0, 0.5))

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
        return base_point @ _skew_part(transposed(base_point) @ vector)

    def inner(self, tangent_vec_a, tangent_vec_b, base_point):
        """Half the Frobenius product."""
        return 0.5 * np.sum(np.multiply(tangent_vec_a, tangent_vec_b), axis=(-2, -1))

    def exp(self, tangent_vec, base_point):
        """Riemannian exponential."""
        if self._is_space:
            return self.settle(_exp(tangent_vec, base_point))
        return super().exp(tangent_vec, base_point)

    def _log_inside(self, point, base_point):
        if self._is_space:
            return _log(point, base_point)
        return super()._log_inside(point, base_point)

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the minimising geodesic from `base_point` to `end_point`."""
        if not self._is_space:
            return super().transport(tangent_vec, base_point, end_point)
        self._check_cut(end_point, base_point)
        moved = _transport(tangent_vec, base_point, end_point)
        return self.to_tangent(moved, end_point)

    def settle(self, point):
        """One Newton-Schulz step towards the orthogonal polar factor, which squares the drift."""
        return 1.5 * point - 0.5 * point @ transposed(point) @ point

    def angles(self, point_a, point_b):
        """Absolute arguments of the eigenvalues of the rotation between them: each angle twice."""
        rotation = transposed(point_a) @ point_b
        if self._is_space:
            return _angle(rotation)[..., None] * np.array([0.0, 1.0, 1.0])
        eigenvalues = np.linalg.eigvals(rotation)
        return np.sort(np.abs(np.angle(eigenvalues)), axis=-1)

    def dist(self, point_a, point_b):
        """Root of the sum of squared rotation angles; defined at the cut locus too."""
        return np.linalg.norm(self.angles(point_a, point_b), axis=-1) / np.sqrt(2)


def _skew_part(matrix):
    """Half the difference from the transpose."""
    return 0.5 * (matrix - transposed(matrix))


def _angle(rotation):
    """Angle of rotations in [0, pi], shape [...], accurate at both ends."""
    sine = _length(_skew_part(rotation))
    cosine = 0.5 * (np.trace(rotation, axis1=-2, axis2=-1) - 1.0)
    return np.arctan2(sine, cosine)


def _length(skew):
    return np.sqrt(0.5 * np.sum(skew * skew, axis=(-2, -1)))


def _exponential(skew):
    theta = _length(skew)[..., None, None]
    # sin(t)/t and (1 - cos t)/t^2, by numpy's sinc(x) = sin(pi x) / (pi x).
    sine, half_sine = np.sinc(theta / np.pi), np.sinc(theta / (2 * np.pi))
    return np.eye(3) + sine * skew + 0.5 * half_sine**2 * (skew @ skew)


def _exp(tangent_vec, base_point):
    """Riemannian exponential."""
    return base_point @ _exponential(_skew_part(transposed(base_point) @ tangent_vec))


def _log(point, base_point):
    """Riemannian logarithm; its relative error grows as 1e-16 / (pi - angle) next to the cut."""
    rotation = transposed(base_point) @ point
    skew = _skew_part(rotation)
    sine = _length(skew)[..., None, None]
    theta = _angle(rotation)[..., None, None]
    # Below 1e-8 the angle is its own sine.
    ratio = np.where(sine > 1e-150, theta / np.where(sine > 1e-150, sine, 1.0), 1.0)
    return base_point @ (ratio * skew)


def _transport(tangent_vec, base_point, end_point):
    r"""Parallel transport along the minimising geodesic from R to R exp(S).

    It takes :math:`R A` to :math:`R e^{S/2} A e^{S/2}`, a left and a right translation by half of
    the way each.
    """
    inverse = transposed(base_point)
    half = _exponential(0.5 * (inverse @ _log(end_point, base_point)))
    return base_point @ half @ (inverse @ tangent_vec) @ half
