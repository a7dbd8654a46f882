"""Hyperbolic space for the compiled engine: the closed forms of `lorentz`, point by point.

On the sheet everything can be read off the spatial coordinates x, with t = sqrt(1 + |x|^2). A
Minkowski product is a difference of numbers of size t^2, which loses all digits for nearly
coincident points and t^2 roundings far out. The forms below avoid such differences by three
steps: tangent vectors are transported to the origin of the sheet, where the metric is the
Euclidean one of the spatial coordinates; the triangle of two points and the origin turns a
transported vector in the plane of the points; and the vector is transported out again. Each step
loses at most t roundings, which is what the coordinates themselves lose. Arguments named ``out``
are overwritten and must not share memory with the inputs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.spaces import lorentz
from geomstats_ldp.geometry.spaces.axes import width_of
from geomstats_ldp.geometry.spaces.base import SURELY_ON
from geomstats_ldp.twins import compile_for_twin


class HyperboloidTwin(NamedTuple):
    """What the compiled functions need to know about a hyperboloid and its public frame.

    Attributes
    ----------
    reference : array, shape [dim + 1]
        Point at which the frame is given.
    frame : array, shape [dim, dim]
        Its basis transported to the origin of the sheet, an orthogonal matrix, one vector a row.
    axes : tuple of int
        See `axes_of`.
    """

    reference: np.ndarray
    frame: np.ndarray
    axes: tuple


@register_jitable
def _width(twin):
    return width_of(twin.axes, twin.reference)


@register_jitable
def _dim(twin):
    return _width(twin) - 1


@register_jitable
def _spatial_dot(twin, a, b):
    total = 0.0
    for i in range(1, _width(twin)):
        total += a[i] * b[i]
    return total


@register_jitable
def _settle(twin, out):
    out[0] = math.sqrt(1.0 + _spatial_dot(twin, out, out))


@register_jitable
def _gap(twin, p, q):
    """Squared Minkowski length of q - p, as in `lorentz.gap`."""
    product = 0.0
    along = 0.0
    plus = 0.0
    minus = 0.0
    for i in range(1, _width(twin)):
        delta = q[i] - p[i]
        sigma = q[i] + p[i]
        product += p[i] * q[i]
        along += delta * sigma
        plus += sigma * sigma
        minus += delta * delta
    times = p[0] + q[0]
    if product <= 0.0:
        cosine = p[0] * q[0] - product
        return 2.0 * (cosine - 1.0) if cosine > 2.0 else minus - (along / times) ** 2
    across = 0.0
    for i in range(1, _width(twin)):
        side = (q[i] - p[i]) - along / plus * (q[i] + p[i])
        across += side * side
    radial = along * along / plus
    return (across * times * times + 4.0 * radial) / (times * times - radial)


@register_jitable
def _dist(twin, point_a, point_b):
    return 2.0 * math.asinh(0.5 * math.sqrt(_gap(twin, point_a, point_b)))


@register_jitable
def _is_near(twin, point_a, point_b, distance):
    # The chord 2 sinh(distance / 2) is longer.
    return _gap(twin, point_a, point_b) <= distance * distance and distance >= 0.0


@register_jitable
def _cosh_and_sinh(length):
    """Both from one call."""
    growth = math.expm1(length)
    ratio = growth / (1.0 + growth) if growth < 1e16 else 1.0
    return 1.0 + 0.5 * growth * ratio, 0.5 * (growth + ratio)


@register_jitable
def _shift(twin, tangent_vec, base_point):
    """Multiple of the point that a transport to the origin takes off the spatial coordinates."""
    along = _spatial_dot(twin, base_point, tangent_vec)
    return along / (base_point[0] * (1.0 + base_point[0]))


@register_jitable
def _exp_factors(twin, tangent_vec, base_point):
    """Hyperbolic cosine of the length of a vector, and sine divided by it."""
    shift = _shift(twin, tangent_vec, base_point)
    squared = 0.0
    for i in range(1, _width(twin)):
        squared += (tangent_vec[i] - shift * base_point[i]) ** 2
    length = math.sqrt(squared)
    cosine, sine = _cosh_and_sinh(length)
    return cosine, sine / length if length > 0.0 else 1.0


@register_jitable
def _sum_on_sheet(twin, cosine, base_point, factor, tangent_vec, out):
    for i in range(1, _width(twin)):
        out[i] = cosine * base_point[i] + factor * tangent_vec[i]
    _settle(twin, out)


@register_jitable
def _exp(twin, tangent_vec, base_point, out):
    cosine, sinc = _exp_factors(twin, tangent_vec, base_point)
    _sum_on_sheet(twin, cosine, base_point, sinc, tangent_vec, out)


@register_jitable
def _log(twin, point, base_point, out):
    gap = _gap(twin, point, base_point)
    scale = 1.0
    if gap > 0.0:
        scale = 2.0 * math.asinh(0.5 * math.sqrt(gap)) / math.sqrt(gap * (1.0 + 0.25 * gap))
    for i in range(1, _width(twin)):
        out[i] = scale * ((point[i] - base_point[i]) - 0.5 * gap * base_point[i])
    out[0] = _spatial_dot(twin, base_point, out) / base_point[0]


@register_jitable
def _turn_plane(twin, p, q):
    """Numbers that `_turn` needs of the plane of p and q, as in `lorentz.turn`."""
    square = _spatial_dot(twin, p, p)
    product = 0.0
    along = 0.0
    for i in range(1, _width(twin)):
        product += p[i] * q[i]
        along += p[i] * (q[i] - p[i])
    along = along / square if square > lorentz.TINY else 0.0
    across = 0.0
    for i in range(1, _width(twin)):
        across += ((q[i] - p[i]) - along * p[i]) ** 2
    return square, along, across, (1.0 + p[0]) * (1.0 + q[0]) - product


@register_jitable
def _turn(square, across, real, along_p, along_side):
    """Coefficients of p and of the side in what the turn adds to a vector at the origin."""
    factor = 2.0 / (real * real + square * across)
    return (
        factor * (real * along_side - across * along_p),
        -factor * (real * along_p + square * along_side),
    )


@register_jitable
def _turn_at_origin(twin, p, q, out):
    """Turn the vector out[1:] at the origin for the way from p to q."""
    square, along, across, real = _turn_plane(twin, p, q)
    along_p = 0.0
    along_side = 0.0
    for i in range(1, _width(twin)):
        along_p += p[i] * out[i]
        along_side += ((q[i] - p[i]) - along * p[i]) * out[i]
    on_p, on_side = _turn(square, across, real, along_p, along_side)
    for i in range(1, _width(twin)):
        out[i] += on_p * p[i] + on_side * ((q[i] - p[i]) - along * p[i])


@register_jitable
def _turn_and_leave(twin, p, q, out):
    """Turn the vector out[1:] at the origin for the way from p to q, and transport it to q."""
    _turn_at_origin(twin, p, q, out)
    out[0] = _spatial_dot(twin, q, out)
    scale = out[0] / (1.0 + q[0])
    for i in range(1, _width(twin)):
        out[i] += scale * q[i]


@register_jitable
def _transport(twin, tangent_vec, base_point, end_point, out):
    shift = _shift(twin, tangent_vec, base_point)
    for i in range(1, _width(twin)):
        out[i] = tangent_vec[i] - shift * base_point[i]
    _turn_and_leave(twin, base_point, end_point, out)


@register_jitable
def _retract(twin, tangent_vec, base_point, out):
    _exp(twin, tangent_vec, base_point, out)


@register_jitable
def _to_tangent(twin, vector, base_point, out):
    product = -vector[0] * base_point[0]
    size = abs(product)
    for i in range(1, _width(twin)):
        product += vector[i] * base_point[i]
        size += abs(vector[i] * base_point[i])
    if abs(product) <= lorentz.ROUNDING * _width(twin) * size:
        product = 0.0
    for i in range(1, _width(twin)):
        out[i] = vector[i] + product * base_point[i]
    out[0] = _spatial_dot(twin, out, base_point) / base_point[0]


@register_jitable
def _lift(twin, coords, point, out):
    for i in range(1, _width(twin)):
        entry = 0.0
        for j in range(_dim(twin)):
            entry += coords[j] * twin.frame[j, i - 1]
        out[i] = entry
    _turn_and_leave(twin, twin.reference, point, out)


@register_jitable
def _lower(twin, tangent_vec, point, out):
    end = twin.reference
    square, along, across, real = _turn_plane(twin, point, end)
    shift = _shift(twin, tangent_vec, point)
    along_p = 0.0
    along_side = 0.0
    for i in range(1, _width(twin)):
        at_origin = tangent_vec[i] - shift * point[i]
        along_p += at_origin * point[i]
        along_side += at_origin * ((end[i] - point[i]) - along * point[i])
    on_p, on_side = _turn(square, across, real, along_p, along_side)
    for j in range(_dim(twin)):
        entry = 0.0
        for i in range(1, _width(twin)):
            side = (end[i] - point[i]) - along * point[i]
            moved = (tangent_vec[i] - shift * point[i]) + (on_p * point[i] + on_side * side)
            entry += twin.frame[j, i - 1] * moved
        out[j] = entry


@register_jitable
def _settle_point(twin, point, out):
    for i in range(1, _width(twin)):
        out[i] = point[i]
    _settle(twin, out)
    return abs(point[0] - out[0]) < SURELY_ON * out[0]


@register_jitable
def _retract_both_ways(twin, coords, point, vector, plus, minus):
    _lift(twin, coords, point, vector)
    cosine, sinc = _exp_factors(twin, vector, point)
    _sum_on_sheet(twin, cosine, point, sinc, vector, plus)
    _sum_on_sheet(twin, cosine, point, -sinc, vector, minus)


@register_jitable
def _carry(twin, message, query, point, vectors, out):
    # At the origin all the way: what leaves for `point` would only come back.
    tangent, moved = vectors[0], vectors[1]
    _to_tangent(twin, message, query, tangent)
    shift = _shift(twin, tangent, query)
    for i in range(1, _width(twin)):
        moved[i] = tangent[i] - shift * query[i]
    _turn_at_origin(twin, query, point, moved)
    _turn_at_origin(twin, point, twin.reference, moved)
    for j in range(_dim(twin)):
        entry = 0.0
        for i in range(1, _width(twin)):
            entry += twin.frame[j, i - 1] * moved[i]
        out[j] = entry


@register_jitable
def _interpolate(twin, start, end, weight, vector, out):
    gap = _gap(twin, end, start)
    # As in the logarithm, of length sinh(distance).
    for i in range(1, _width(twin)):
        vector[i] = (end[i] - start[i]) - 0.5 * gap * start[i]
    distance = 2.0 * math.asinh(0.5 * math.sqrt(gap))
    cosine, sine = _cosh_and_sinh(weight * distance)
    share = sine / math.sqrt(gap * (1.0 + 0.25 * gap)) if gap > 0.0 else weight
    _sum_on_sheet(twin, cosine, start, share, vector, out)


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
    (dispatch.settle, _settle_point),
    (dispatch.dim, _dim),
    (dispatch.retract_both_ways, _retract_both_ways),
    (dispatch.carry, _carry),
    (dispatch.interpolate, _interpolate),
):
    compile_for_twin(_operation, HyperboloidTwin, _kernel)
