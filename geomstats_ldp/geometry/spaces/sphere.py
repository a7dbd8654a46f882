"""The unit sphere.

The compiled functions are twins of the guarded geomstats calls, written so that they stay accurate
where the textbook formula cancels: nearby points, and points close to antipodal. Arguments named
``out`` are overwritten and must not share memory with the inputs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from geomstats.geometry.hypersphere import Hypersphere
from numba.extending import register_jitable

from geomstats_ldp.exceptions import CutLocusError
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.spaces.axes import axes_of, width_of
from geomstats_ldp.geometry.spaces.base import SURELY_ON, GuardedSpace
from geomstats_ldp.twins import compile_for_twin

#: An angle this close to pi leaves no digits for the direction of the logarithm.
_ANTIPODAL_MARGIN = 1e-7

#: Largest square of an angle relative to that of its chord, up to a right angle.
_ANGLE_OF_CHORD = math.pi**2 / 8


class GuardedSphere(GuardedSpace):
    """Unit vectors; the logarithm is guarded at the antipode, where geomstats returns zeros."""

    name = "Hypersphere"
    retractions = ("exponential", "projection")
    curvature = (1.0, 1.0)
    injectivity_radius = np.pi

    @classmethod
    def accepts(cls, space):
        """Hypersphere in extrinsic coordinates."""
        return type(space) is Hypersphere and tuple(space.shape) == (space.dim + 1,)

    def to_spec(self):
        """Plain record, for JSON."""
        return {"name": self.name, "dim": self.dim}

    @classmethod
    def from_spec(cls, spec):
        """Build the space."""
        return Hypersphere(dim=int(spec["dim"]))

    def settle(self, point):
        """Scale to unit length."""
        return point / np.linalg.norm(point, axis=-1, keepdims=True)

    def log(self, point, base_point):
        """Riemannian logarithm.

        Raises
        ------
        CutLocusError
            If a point is antipodal to its base point.
        """
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
        """Angle, accurate at both ends."""
        return 2 * np.arctan2(
            np.linalg.norm(np.subtract(point_a, point_b), axis=-1),
            np.linalg.norm(np.add(point_a, point_b), axis=-1),
        )

    def retract(self, retraction, tangent_vec, base_point):
        """Geodesic, or "projection": normalise the sum."""
        if retraction == "projection":
            return self.settle(np.add(base_point, tangent_vec))
        return self.exp(tangent_vec, base_point)

    def inverse_retract(self, retraction, point, base_point):
        """Inverse on the open hemisphere for "projection", off the antipode for "exponential"."""
        if retraction == "projection":
            cosine = np.sum(np.multiply(point, base_point), axis=-1, keepdims=True)
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(cosine > 0, point / cosine - base_point, np.nan)
        cut = np.asarray(self.dist(point, base_point) > np.pi - _ANTIPODAL_MARGIN)[..., None]
        # Any point will do in place of an antipode whose logarithm is masked out.
        return np.where(cut, np.nan, self.log(np.where(cut, base_point, point), base_point))

    def retracted_distance(self, retraction, length):
        """A tangent length l is the angle arctan(l) under "projection"."""
        return np.arctan(length) if retraction == "projection" else np.minimum(length, np.pi)

    def twin(self, reference, basis, retraction):
        """Select the closed forms below."""
        return SphereTwin(reference, basis, retraction == "projection", axes_of(len(reference)))


class SphereTwin(NamedTuple):
    """What the compiled functions need to know about a sphere and its public frame.

    Attributes
    ----------
    reference : array, shape [dim + 1]
        Point at which the frame is given.
    basis : array, shape [dim, dim + 1]
        Orthonormal basis of the tangent space at `reference`, one vector a row.
    projection : bool
        Whether the retraction normalises `point + tangent_vec` instead of following the geodesic.
    axes : tuple of int
        See `axes_of`.
    """

    reference: np.ndarray
    basis: np.ndarray
    projection: bool
    axes: tuple


@register_jitable
def _width(twin):
    return width_of(twin.axes, twin.reference)


@register_jitable
def _dim(twin):
    return _width(twin) - 1


@register_jitable
def _dot(twin, a, b):
    total = 0.0
    for i in range(_width(twin)):
        total += a[i] * b[i]
    return total


@register_jitable
def _normalised_sum(twin, factor_a, a, factor_b, b, out):
    squared = 0.0
    for i in range(_width(twin)):
        entry = factor_a * a[i] + factor_b * b[i]
        out[i] = entry
        squared += entry * entry
    scale = 1.0 / math.sqrt(squared)
    for i in range(_width(twin)):
        out[i] *= scale


@register_jitable
def _dist(twin, point_a, point_b):
    minus = 0.0
    plus = 0.0
    for i in range(_width(twin)):
        minus += (point_a[i] - point_b[i]) ** 2
        plus += (point_a[i] + point_b[i]) ** 2
    return 2.0 * math.atan2(math.sqrt(minus), math.sqrt(plus))


@register_jitable
def _is_near(twin, point_a, point_b, distance):
    minus = 0.0
    for i in range(_width(twin)):
        minus += (point_a[i] - point_b[i]) ** 2
    # Up to a right angle, chord sqrt(2), an angle is at most pi / sqrt(8) times its chord.
    return minus <= 2.0 and _ANGLE_OF_CHORD * minus <= distance * distance and distance >= 0.0


@register_jitable
def _exp(twin, tangent_vec, base_point, out):
    angle = math.sqrt(_dot(twin, tangent_vec, tangent_vec))
    cosine = math.cos(angle)
    sinc = math.sin(angle) / angle if angle > 0.0 else 1.0
    _normalised_sum(twin, cosine, base_point, sinc, tangent_vec, out)


@register_jitable
def _log(twin, point, base_point, out):
    minus = 0.0
    plus = 0.0
    for i in range(_width(twin)):
        minus += (point[i] - base_point[i]) ** 2
        plus += (point[i] + base_point[i]) ** 2
    # sin(angle) = |point - base| |point + base| / 2
    chord, other = math.sqrt(minus), math.sqrt(plus)
    sine = 0.5 * chord * other
    scale = 2.0 * math.atan2(chord, other) / sine if sine > 0.0 else 1.0
    # <base, point - base> = -|point - base|^2 / 2 on the unit sphere, without cancellation
    along = 0.5 * minus
    for i in range(_width(twin)):
        out[i] = scale * ((point[i] - base_point[i]) + along * base_point[i])


@register_jitable
def _transport(twin, tangent_vec, base_point, end_point, out):
    # 1 + <a, b> = |a + b|^2 / 2
    plus = 0.0
    for i in range(_width(twin)):
        plus += (base_point[i] + end_point[i]) ** 2
    scale = 2.0 * _dot(twin, end_point, tangent_vec) / plus
    for i in range(_width(twin)):
        out[i] = tangent_vec[i] - scale * (base_point[i] + end_point[i])


@register_jitable
def _retract(twin, tangent_vec, base_point, out):
    if twin.projection:
        _normalised_sum(twin, 1.0, base_point, 1.0, tangent_vec, out)
    else:
        _exp(twin, tangent_vec, base_point, out)


@register_jitable
def _to_tangent(twin, vector, base_point, out):
    radial = _dot(twin, vector, base_point)
    for i in range(_width(twin)):
        out[i] = vector[i] - radial * base_point[i]


@register_jitable
def _lift(twin, coords, point, out):
    plus = 0.0
    along = 0.0
    for i in range(_width(twin)):
        entry = 0.0
        for j in range(_dim(twin)):
            entry += coords[j] * twin.basis[j, i]
        out[i] = entry
        along += entry * point[i]
        plus += (twin.reference[i] + point[i]) ** 2
    scale = 2.0 * along / plus
    for i in range(_width(twin)):
        out[i] -= scale * (twin.reference[i] + point[i])


@register_jitable
def _lower(twin, tangent_vec, point, out):
    plus = 0.0
    along = 0.0
    for i in range(_width(twin)):
        along += tangent_vec[i] * twin.reference[i]
        plus += (twin.reference[i] + point[i]) ** 2
    scale = 2.0 * along / plus
    for j in range(_dim(twin)):
        entry = 0.0
        for i in range(_width(twin)):
            moved = tangent_vec[i] - scale * (twin.reference[i] + point[i])
            entry += twin.basis[j, i] * moved
        out[j] = entry


@register_jitable
def _settle(twin, point, out):
    norm = math.sqrt(_dot(twin, point, point))
    if not abs(norm - 1.0) < SURELY_ON:
        return False
    for i in range(_width(twin)):
        out[i] = point[i] / norm
    return True


@register_jitable
def _retract_both_ways(twin, coords, point, vector, plus, minus):
    _lift(twin, coords, point, vector)
    cosine, sinc = 1.0, 1.0
    if not twin.projection:
        angle = math.sqrt(_dot(twin, vector, vector))
        cosine = math.cos(angle)
        sinc = math.sin(angle) / angle if angle > 0.0 else 1.0
    _normalised_sum(twin, cosine, point, sinc, vector, plus)
    _normalised_sum(twin, cosine, point, -sinc, vector, minus)


@register_jitable
def _carry(twin, message, query, point, vectors, out):
    # Two transports: with <a, v> = 0 each takes 2 <b, v> / |a + b|^2 times a + b off v.
    radial = _dot(twin, message, query)
    moved, plus, along, other = vectors[0], 0.0, 0.0, 0.0
    for i in range(_width(twin)):
        plus += (query[i] + point[i]) ** 2
        other += (twin.reference[i] + point[i]) ** 2
        along += point[i] * (message[i] - radial * query[i])
    scale = 2.0 * along / plus
    along = 0.0
    for i in range(_width(twin)):
        moved[i] = (message[i] - radial * query[i]) - scale * (query[i] + point[i])
        along += twin.reference[i] * moved[i]
    scale = 2.0 * along / other
    for j in range(_dim(twin)):
        entry = 0.0
        for i in range(_width(twin)):
            entry += twin.basis[j, i] * (moved[i] - scale * (twin.reference[i] + point[i]))
        out[j] = entry


@register_jitable
def _interpolate(twin, start, end, weight, vector, out):
    minus = 0.0
    plus = 0.0
    for i in range(_width(twin)):
        minus += (end[i] - start[i]) ** 2
        plus += (end[i] + start[i]) ** 2
    chord, other = math.sqrt(minus), math.sqrt(plus)
    sine, angle = 0.5 * chord * other, 2.0 * math.atan2(chord, other)
    # As in the logarithm, of length sin(angle).
    along = 0.5 * minus
    for i in range(_width(twin)):
        vector[i] = (end[i] - start[i]) + along * start[i]
    share = math.sin(weight * angle) / sine if sine > 0.0 else weight
    _normalised_sum(twin, math.cos(weight * angle), start, share, vector, out)


for _operation, _kernel in (
    (dispatch.exp, _exp),
    (dispatch.log, _log),
    (dispatch.transport, _transport),
    (dispatch.retract, _retract),
    (dispatch.to_tangent, _to_tangent),
    (dispatch.lift, _lift),
    (dispatch.lower, _lower),
    (dispatch.dist, _dist),
    (dispatch.is_near, _is_near),
    (dispatch.settle, _settle),
    (dispatch.dim, _dim),
    (dispatch.retract_both_ways, _retract_both_ways),
    (dispatch.carry, _carry),
    (dispatch.interpolate, _interpolate),
):
    compile_for_twin(_operation, SphereTwin, _kernel)
