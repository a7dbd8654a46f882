"""The unit sphere.

The compiled functions are twins of the methods of the class, written so that they stay accurate
where the textbook formula cancels: nearby points, and points close to antipodal. Arguments named
``out`` are overwritten and must not share memory with the inputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp.exceptions import CutLocusError
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import choose
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.metric_space import SURELY_ON
from geomstats_ldp.geometry.spaces.axes import (
    axes_of,
    combine,
    coordinates_first,
    distance_between,
    on_batches,
    products,
    width_of,
)
from geomstats_ldp.twins import jitable

#: An angle this close to pi leaves no digits for the direction of the logarithm.
_ANTIPODAL_MARGIN = 1e-7

#: Angles between which geomstats keeps twelve digits of logarithm and transport.
_TRUSTED = (0.1, 3.0)


class SphereGeometry(Geometry):
    """Unit vectors.

    Geomstats loses digits of the logarithm and the transport between nearby and nearly antipodal
    points, and gives zeros at the antipode; there the closed forms below step in.
    """

    name = "Hypersphere"
    space_class = Hypersphere
    metric_class = Hypersphere.default_metric()
    retractions = ("exponential", "projection")
    curvature = (1.0, 1.0)
    injectivity_radius = np.pi

    @classmethod
    def accepts(cls, space):
        """Hypersphere in extrinsic coordinates."""
        return super().accepts(space) and tuple(space.shape) == (space.dim + 1,)

    def is_on(self, points, rtol):
        """Whether the squared length is one, to `rtol`."""
        return np.abs(np.sum(np.square(points), axis=-1) - 1.0) <= rtol

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
        angle = self.dist(point, base_point)
        if np.any(angle > np.pi - _ANTIPODAL_MARGIN):
            raise CutLocusError(
                "the logarithm is undefined between antipodal points of the sphere; "
                f"got an angle of {float(np.max(angle))}"
            )
        return self._choose(
            _is_trusted(angle),
            lambda: self.space.metric.log(point, base_point),
            lambda: on_batches(_log, _ANY, point, base_point),
        )

    def dist(self, point_a, point_b):
        """Angle, accurate at both ends."""
        return _dist(_ANY, coordinates_first(point_a), coordinates_first(point_b))

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the minimising geodesic from `base_point` to `end_point`.

        Raises
        ------
        CutLocusError
            If an end point is antipodal to its base point.
        """
        angle = self.dist(base_point, end_point)
        if np.any(angle >= np.pi):
            raise CutLocusError("the transport is undefined between antipodal points of the sphere")
        return self._choose(
            _is_trusted(angle),
            lambda: super(SphereGeometry, self).transport(tangent_vec, base_point, end_point),
            lambda: on_batches(_transport, _ANY, tangent_vec, base_point, end_point),
        )

    def retract(self, tangent_vec, base_point):
        """Geodesic, or "projection": normalise the sum."""
        if self.retraction == "projection":
            return self.settle(np.add(base_point, tangent_vec))
        return self.exp(tangent_vec, base_point)

    def inverse_retract(self, point, base_point):
        """Inverse on the open hemisphere for "projection", off the antipode for "exponential"."""
        if self.retraction == "projection":
            cosine = np.sum(np.multiply(point, base_point), axis=-1, keepdims=True)
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(cosine > 0, point / cosine - base_point, np.nan)
        cut = np.asarray(self.dist(point, base_point) > np.pi - _ANTIPODAL_MARGIN)[..., None]
        # Any point will do in place of an antipode whose logarithm is masked out.
        return np.where(cut, np.nan, self.log(np.where(cut, base_point, point), base_point))

    def retracted_distance(self, length):
        """A tangent length l is the angle arctan(l) under "projection"."""
        if self.retraction == "projection":
            return np.arctan(length)
        return super().retracted_distance(length)

    def twin(self):
        """Select the closed forms below."""
        is_projection = self.retraction == "projection"
        work = np.zeros(self.shape)
        return SphereTwin(self.reference, self.basis, work, is_projection, axes_of(self.dim + 1))


def _is_trusted(angle):
    low, high = _TRUSTED
    return (angle > low) & (angle < high)


class SphereTwin(NamedTuple):
    """What the compiled functions need to know about a sphere and its public frame.

    Because of `work`, a twin must not be shared between threads.

    Attributes
    ----------
    reference : array, shape [dim + 1]
        Point at which the frame is given.
    basis : array, shape [dim, dim + 1]
        Orthonormal basis of the tangent space at `reference`, one vector a row.
    work : array, shape [dim + 1]
        Scratch.
    projection : bool
        Whether the retraction normalises `point + tangent_vec` instead of following the geodesic.
    axes : tuple of int
        See `axes_of`.
    """

    reference: np.ndarray | None
    basis: np.ndarray | None
    work: np.ndarray | None
    projection: bool
    axes: tuple


_closed_form = dispatch.closed_forms(SphereTwin)


#: Closed forms of points need no frame; without axes they take points of any dimension.
_ANY = SphereTwin(None, None, None, False, ())


@_closed_form
def _dim(twin):
    return width_of(twin.axes, twin.reference) - 1


@jitable
def _dot(twin, a, b):
    total = 0.0
    for i in range(width_of(twin.axes, a)):
        total += a[i] * b[i]
    return total


@jitable
def _normalised_sum(twin, factor_a, a, factor_b, b, out):
    squared = 0.0
    for i in range(_dim(twin) + 1):
        entry = factor_a * a[i] + factor_b * b[i]
        out[i] = entry
        squared += entry * entry
    scale = 1.0 / np.sqrt(squared)
    for i in range(_dim(twin) + 1):
        out[i] *= scale


@jitable
def _length_of_sum(twin, a, b):
    squared = 0.0
    for i in range(width_of(twin.axes, a)):
        squared += (a[i] + b[i]) ** 2
    return np.sqrt(squared)


@_closed_form
def _dist(twin, point_a, point_b):
    chord = distance_between(twin.axes, point_a, point_b)
    return 2.0 * np.arctan2(chord, _length_of_sum(twin, point_a, point_b))


@_closed_form
def _exp(twin, tangent_vec, base_point, out):
    angle = np.sqrt(_dot(twin, tangent_vec, tangent_vec))
    sinc = np.sin(angle) / angle if angle > 0.0 else 1.0
    _normalised_sum(twin, np.cos(angle), base_point, sinc, tangent_vec, out)


@_closed_form
def _log(twin, point, base_point, out):
    chord = distance_between(twin.axes, point, base_point)
    other = _length_of_sum(twin, point, base_point)
    # sin(angle) = |point - base| |point + base| / 2
    sine = 0.5 * chord * other
    safe = choose(sine > 0.0, sine, 1.0)
    scale = choose(sine > 0.0, 2.0 * np.arctan2(chord, other) / safe, 1.0)
    # <base, point - base> = -|point - base|^2 / 2 on the unit sphere, without cancellation
    along = 0.5 * chord * chord
    for i in range(width_of(twin.axes, point)):
        out[i] = scale * ((point[i] - base_point[i]) + along * base_point[i])


@_closed_form
def _transport(twin, tangent_vec, base_point, end_point, out):
    # 1 + <a, b> = |a + b|^2 / 2
    plus = 0.0
    for i in range(width_of(twin.axes, end_point)):
        plus += (base_point[i] + end_point[i]) ** 2
    scale = 2.0 * _dot(twin, end_point, tangent_vec) / plus
    for i in range(width_of(twin.axes, end_point)):
        out[i] = tangent_vec[i] - scale * (base_point[i] + end_point[i])


@_closed_form
def _retract(twin, tangent_vec, base_point, out):
    if twin.projection:
        _normalised_sum(twin, 1.0, base_point, 1.0, tangent_vec, out)
    else:
        _exp(twin, tangent_vec, base_point, out)


@_closed_form
def _to_tangent(twin, vector, base_point, out):
    radial = _dot(twin, vector, base_point)
    for i in range(_dim(twin) + 1):
        out[i] = vector[i] - radial * base_point[i]


@_closed_form
def _lift(twin, coords, point, out):
    combine(twin.axes, _dim(twin), coords, twin.basis, twin.work)
    _transport(twin, twin.work, twin.reference, point, out)


@_closed_form
def _coordinates(twin, tangent_vec, point, out):
    _transport(twin, tangent_vec, point, twin.reference, twin.work)
    products(twin.axes, _dim(twin), twin.work, twin.basis, out)


@_closed_form
def _settle(twin, point, out):
    norm = np.sqrt(_dot(twin, point, point))
    if not abs(norm - 1.0) < SURELY_ON:
        return False
    for i in range(_dim(twin) + 1):
        out[i] = point[i] / norm
    return True
