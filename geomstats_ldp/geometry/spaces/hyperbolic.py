"""Hyperbolic space as the upper sheet of the hyperboloid; the first coordinate is time-like.

On the sheet everything can be read off the spatial coordinates x, with t = sqrt(1 + |x|^2). A
Minkowski product is a difference of numbers of size t^2, which loses all digits for nearly
coincident points and t^2 roundings far out. The closed forms below avoid such differences: sinh of
half the distance is a root of a sum of squares; tangent vectors are transported to the origin of
the sheet, where the metric is the Euclidean one of the spatial coordinates; the triangle of two
points and the origin turns a transported vector in the plane of the points; and the vector is
transported out again. Each step loses at most t roundings, which is what the coordinates themselves
lose. Arguments named ``out`` are overwritten and must not share memory with the inputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from geomstats.geometry.hyperboloid import Hyperboloid, HyperboloidMetric

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import choose
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.metric_space import SURELY_ON
from geomstats_ldp.geometry.spaces.axes import (
    axes_of,
    combine,
    coordinates_first,
    on_batches,
    products,
    width_of,
)
from geomstats_ldp.twins import jitable

#: Where geomstats keeps twelve digits: displacement, and time coordinates of what enters.
_TRUSTED_LENGTHS = (0.1, 3.0)
_TRUSTED_TIME = 10.0

#: Rounding of a Minkowski product, relative to the sum of its absolute terms and per coordinate.
_ROUNDING = 4e-16


def on_sheet(spatial):
    """Points of the sheet, shape [..., dim + 1], with the given spatial coordinates."""
    spatial = np.asarray(spatial, dtype=float)
    time = np.sqrt(1 + np.sum(spatial * spatial, axis=-1, keepdims=True))
    return np.concatenate([time, spatial], axis=-1)


class HyperbolicGeometry(Geometry):
    """Extrinsic hyperbolic space.

    The answers of geomstats are taken near the origin and at moderate displacement. Elsewhere its
    Minkowski norms turn negative, which gives NaN, or lose digits, and the closed forms step in.
    """

    name = "Hyperboloid"
    space_class = Hyperboloid
    metric_class = HyperboloidMetric
    curvature = (-1.0, -1.0)

    @classmethod
    def origin(cls, space):
        """Apex of the sheet, the centre of the Poincare ball."""
        return np.eye(int(space.dim) + 1)[0]

    def is_on(self, points, rtol):
        """Whether the time coordinate is that of the spatial ones, to relative `rtol`."""
        time = self.settle(points)[..., 0]
        return np.abs(points[..., 0] - time) <= rtol * time

    def settle(self, point):
        """Recompute the time coordinate."""
        return on_sheet(np.asarray(point)[..., 1:])

    def to_tangent(self, vector, base_point):
        """Minkowski-orthogonal projection, with the time coordinate of a tangent vector."""
        return on_batches(_to_tangent, _ANY, vector, base_point)

    def basis_at(self, reference):
        """Coordinate vectors at the origin of the sheet, transported to the point.

        Gram-Schmidt on projected coordinate vectors, of norm up to t, would lose t^2 roundings.
        """
        at_origin = np.eye(self.dim + 1)[1:]
        return on_batches(_transport, _ANY, at_origin, self.origin(self.space), reference)

    def inner(self, tangent_vec_a, tangent_vec_b, base_point):
        """Riemannian inner product, taken at the origin of the sheet."""
        a = on_batches(_to_origin, _ANY, tangent_vec_a, base_point)
        b = on_batches(_to_origin, _ANY, tangent_vec_b, base_point)
        return np.sum(a[..., 1:] * b[..., 1:], axis=-1)

    def exp(self, tangent_vec, base_point):
        """Riemannian exponential."""
        length = self.norm(tangent_vec, base_point)
        return self._choose(
            _is_trusted(length, base_point),
            lambda: super(HyperbolicGeometry, self).exp(tangent_vec, base_point),
            lambda: on_batches(_exp, _ANY, tangent_vec, base_point),
        )

    def log(self, point, base_point):
        """Riemannian logarithm."""
        return self._choose(
            _is_trusted(self.dist(point, base_point), base_point, point),
            lambda: self.space.metric.log(point, base_point),
            lambda: on_batches(_log, _ANY, point, base_point),
        )

    def dist(self, point_a, point_b):
        """Geodesic distance, accurate for close and for far points."""
        return _dist(_ANY, coordinates_first(point_a), coordinates_first(point_b))

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the geodesic from `base_point` to `end_point`."""
        return self._choose(
            _is_trusted(self.dist(end_point, base_point), base_point, end_point),
            lambda: super(HyperbolicGeometry, self).transport(tangent_vec, base_point, end_point),
            lambda: on_batches(_transport, _ANY, tangent_vec, base_point, end_point),
        )

    def twin(self):
        """Select the closed forms below."""
        frame = on_batches(_to_origin, _ANY, self.basis, self.reference)
        work = np.zeros(self.shape)
        return HyperbolicTwin(
            self.reference, np.ascontiguousarray(frame), work, axes_of(self.dim + 1)
        )


def _is_trusted(length, *points):
    low, high = _TRUSTED_LENGTHS
    trusted = (length > low) & (length < high)
    for point in points:
        trusted = trusted & (np.asarray(point)[..., 0] < _TRUSTED_TIME)
    return trusted


class HyperbolicTwin(NamedTuple):
    """What the compiled functions need to know about a hyperboloid and its public frame.

    Because of `work`, a twin must not be shared between threads.

    Attributes
    ----------
    reference : array, shape [dim + 1]
        Point at which the frame is given.
    frame : array, shape [dim, dim + 1]
        Its basis transported to the origin of the sheet, one vector a row.
    work : array, shape [dim + 1]
        Scratch.
    axes : tuple of int
        See `axes_of`.
    """

    reference: np.ndarray | None
    frame: np.ndarray | None
    work: np.ndarray | None
    axes: tuple


_closed_form = dispatch.closed_forms(HyperbolicTwin)


#: Closed forms of points need no frame; without axes they take points of any dimension.
_ANY = HyperbolicTwin(None, None, None, ())


@_closed_form
def _dim(twin):
    return width_of(twin.axes, twin.reference) - 1


@jitable
def _spatial_dot(twin, a, b):
    total = 0.0
    for i in range(1, width_of(twin.axes, a)):
        total += a[i] * b[i]
    return total


@jitable
def _plane(twin, p, q):
    """What the shorter spatial vector b and the part of the other across it span.

    Taken across the shorter, the part has no cancellation but that of the angle between them.
    Everything is scaled before squaring, so that no square leaves the range of doubles.

    Returns
    -------
    flip : bool
        Whether q is the shorter.
    along : float
        The part across is (other - b) - along * b.
    square, across : float
        Squared lengths of b and of the part.
    half : float
        Hyperbolic sine of half the distance. In polar coordinates its square is
        sinh^2((r - s) / 2) + |x| |y| sin^2(angle / 2), where
        sinh(r - s) = (|x|^2 - |y|^2) / (|x| t_y + |y| t_x).
    """
    largest = 0.0
    for i in range(1, width_of(twin.axes, p)):
        largest = np.maximum(largest, np.maximum(np.abs(p[i]), np.abs(q[i])))
    unit = choose(largest > 0.0, largest, 1.0)
    shrink = 1.0 / unit
    p_square, q_square, product, p_along, q_along, gap = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(1, width_of(twin.axes, p)):
        a, b, delta = shrink * p[i], shrink * q[i], shrink * (q[i] - p[i])
        p_square += a * a
        q_square += b * b
        product += a * b
        p_along += a * delta
        q_along -= b * delta
        gap += delta * (a + b)
    flip = q_square < p_square
    square = choose(flip, q_square, p_square)
    along = choose(flip, q_along, p_along) / choose(square > 0.0, square, 1.0)
    across = 0.0
    for i in range(1, width_of(twin.axes, p)):
        across += (shrink * _side(flip, along, p[i], q[i])) ** 2
    p_length, q_length = np.sqrt(p_square), np.sqrt(q_square)
    times = p_length * q[0] + q_length * p[0]
    radial = gap / choose(times > 0.0, times, 1.0)
    half_radial = radial * radial / (2.0 + 2.0 * np.sqrt(1.0 + (unit * radial) ** 2))
    # |x| |y| (1 - cos) is the wedge squared over |x| |y| (1 + cos), where that does not cancel.
    lengths = p_length * q_length
    plus = choose(product > 0.0, lengths + product, 1.0)
    turned = choose(product > 0.0, square * across / plus, lengths - product)
    half = unit * np.sqrt(half_radial + 0.5 * turned)
    return flip, along, unit * unit * square, unit * unit * across, half


@jitable
def _side(flip, along, p_i, q_i):
    """Coordinate of the part across, see `_plane`."""
    return choose(flip, (p_i - q_i) - along * q_i, (q_i - p_i) - along * p_i)


@_closed_form
def _dist(twin, point_a, point_b):
    return 2.0 * np.arcsinh(_plane(twin, point_a, point_b)[4])


@jitable
def _to_origin(twin, tangent_vec, base_point, out):
    """Parallel transport to the origin of the sheet; an isometry to the spatial coordinates."""
    along = _spatial_dot(twin, base_point, tangent_vec)
    shift = along / (base_point[0] * (1.0 + base_point[0]))
    out[0] = 0.0
    for i in range(1, width_of(twin.axes, base_point)):
        out[i] = tangent_vec[i] - shift * base_point[i]


@_closed_form
def _exp(twin, tangent_vec, base_point, out):
    _to_origin(twin, tangent_vec, base_point, out)
    length = np.sqrt(_spatial_dot(twin, out, out))
    cosine = np.cosh(length)
    sinc = choose(length > 0.0, np.sinh(length) / choose(length > 0.0, length, 1.0), 1.0)
    for i in range(1, width_of(twin.axes, base_point)):
        out[i] = cosine * base_point[i] + sinc * tangent_vec[i]
    out[0] = np.sqrt(1.0 + _spatial_dot(twin, out, out))


@_closed_form
def _log(twin, point, base_point, out):
    half = _plane(twin, point, base_point)[4]
    sine = 2.0 * half * np.sqrt(1.0 + half * half)
    safe = choose(sine > 0.0, sine, 1.0)
    scale = choose(sine > 0.0, 2.0 * np.arcsinh(half) / safe, 1.0)
    # The part of point - base_point across base_point; cosh - 1 is twice the square of half.
    for i in range(1, width_of(twin.axes, point)):
        out[i] = scale * ((point[i] - base_point[i]) - 2.0 * half * half * base_point[i])
    out[0] = _spatial_dot(twin, base_point, out) / base_point[0]


@jitable
def _turn(plane, p_time, q_time, along_base, along_side):
    """Coefficients of the base and the side in what a turn adds to a vector at the origin.

    Transport from x to y differs by this turn from the way over the origin. In the plane of x
    and y it is z^2 / |z|^2 for z = (1 + t_x)(1 + t_y) - x.y + i |x ^ y|, twice the area of the
    hyperbolic triangle in the half angle.
    """
    flip, _, square, across, half = plane
    real = 2.0 + p_time + q_time + 2.0 * half * half
    signed = choose(flip, -real, real)
    factor = 2.0 / (real * real + square * across)
    return (
        factor * (signed * along_side - across * along_base),
        -factor * (signed * along_base + square * along_side),
    )


@jitable
def _turn_for(twin, p, q, out):
    """Turn the vector out[1:] at the origin for the way from p to q."""
    plane = _plane(twin, p, q)
    flip, along = plane[0], plane[1]
    along_base, along_side = 0.0, 0.0
    for i in range(1, width_of(twin.axes, p)):
        along_base += choose(flip, q[i], p[i]) * out[i]
        along_side += _side(flip, along, p[i], q[i]) * out[i]
    on_base, on_side = _turn(plane, p[0], q[0], along_base, along_side)
    for i in range(1, width_of(twin.axes, p)):
        out[i] += on_base * choose(flip, q[i], p[i]) + on_side * _side(flip, along, p[i], q[i])


@jitable
def _leave_origin(twin, q, out):
    """Transport the vector out[1:] at the origin to q; the inverse of `_to_origin`."""
    out[0] = _spatial_dot(twin, q, out)
    scale = out[0] / (1.0 + q[0])
    for i in range(1, width_of(twin.axes, q)):
        out[i] += scale * q[i]


@_closed_form
def _transport(twin, tangent_vec, base_point, end_point, out):
    _to_origin(twin, tangent_vec, base_point, out)
    _turn_for(twin, base_point, end_point, out)
    _leave_origin(twin, end_point, out)


@_closed_form
def _to_tangent(twin, vector, base_point, out):
    product = -vector[0] * base_point[0]
    size = np.abs(product)
    for i in range(1, width_of(twin.axes, base_point)):
        product = product + vector[i] * base_point[i]
        size = size + np.abs(vector[i] * base_point[i])
    # A product that is rounding only counts as zero: far out the multiple of the point would be
    # large, and a tangent vector would not be left as it is.
    noise = np.abs(product) <= _ROUNDING * width_of(twin.axes, base_point) * size
    product = choose(noise, 0.0, product)
    for i in range(1, width_of(twin.axes, base_point)):
        out[i] = vector[i] + product * base_point[i]
    out[0] = _spatial_dot(twin, out, base_point) / base_point[0]


@_closed_form
def _lift(twin, coords, point, out):
    combine(twin.axes, _dim(twin), coords, twin.frame, out)
    _turn_for(twin, twin.reference, point, out)
    _leave_origin(twin, point, out)


@_closed_form
def _coordinates(twin, tangent_vec, point, out):
    _to_origin(twin, tangent_vec, point, twin.work)
    _turn_for(twin, point, twin.reference, twin.work)
    products(twin.axes, _dim(twin), twin.work, twin.frame, out)


@_closed_form
def _settle(twin, point, out):
    for i in range(1, _dim(twin) + 1):
        out[i] = point[i]
    out[0] = np.sqrt(1.0 + _spatial_dot(twin, out, out))
    return abs(point[0] - out[0]) < SURELY_ON * out[0]


_closed_form(_exp, "retract")
