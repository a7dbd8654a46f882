r"""The log-Euclidean metric on 2 x 2 matrices, in closed form.

The same as `spd_log_euclidean`, by `symmetric_2x2` instead of eigenvectors. With mean m, deviator
p and r = |p| of a point X, log X has the mean :math:`\tfrac12 \log\det X` and the deviator G p,
where G is the divided difference of log. Along p its differential acts on the mean and the length
of the deviator as the matrix :math:`[[m, -r], [-r, m]] / \det X`, across p as G. Arguments named
``out`` are overwritten and must not share memory with the inputs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.spaces.spd import settle_2x2
from geomstats_ldp.geometry.spaces.symmetric_2x2 import (
    assemble,
    combine_parts,
    coordinates_of_parts,
    determinant,
    exp_parts,
    half_log_ratio,
    log_slope,
    parts,
)
from geomstats_ldp.twins import compile_for_twin


class SPD2LogEuclideanTwin(NamedTuple):
    """What the compiled functions need to know about the space and its public frame.

    Because of `last`, a twin must not be shared between threads.

    Attributes
    ----------
    frame : array, shape [3, 3]
        Parts of the basis at the reference, moved to the logarithms; one matrix a row.
    last : array, shape [4]
        Entries of the point that was asked for last, and G there.
    """

    frame: np.ndarray
    last: np.ndarray


def make_twin(reference, basis):
    """Twin for a basis at a reference point."""
    twin = SPD2LogEuclideanTwin(np.zeros((3, 3)), np.full(4, np.nan))
    for vector, image in zip(basis, twin.frame):
        image[:] = _differential(twin, reference, *parts(vector))
    return twin


@register_jitable
def _slope_at(twin, point, mean, radius, det):
    """G at a point; a participant and a round ask for the same one several times."""
    last, a, b, c = twin.last, point[0, 0], point[0, 1], point[1, 1]
    if last[0] != a or last[1] != b or last[2] != c:
        last[0], last[1], last[2] = a, b, c
        last[3] = log_slope(mean, radius, det)
    return last[3]


@register_jitable
def _log_at(twin, point):
    """Parts of log X."""
    mean, d, b = parts(point)
    det = determinant(point)
    slope = _slope_at(twin, point, mean, math.sqrt(d * d + b * b), det)
    return 0.5 * math.log(det), slope * d, slope * b


@register_jitable
def _differential(twin, point, v_mean, v_d, v_b):
    """Differential of log at a point, from parts to parts."""
    mean, d, b = parts(point)
    squared, det = d * d + b * b, determinant(point)
    slope = _slope_at(twin, point, mean, math.sqrt(squared), det)
    along = d * v_d + b * v_b
    shift = -v_mean / det
    if squared > 0.0:
        shift += (mean / det - slope) * along / squared
    return (mean * v_mean - along) / det, slope * v_d + shift * d, slope * v_b + shift * b


@register_jitable
def _arrive(twin, point, u_mean, u_d, u_b, out):
    """Write what the differential of exp makes of parts at the logarithm of a point."""
    mean, d, b = parts(point)
    squared = d * d + b * b
    across = 1.0 / _slope_at(twin, point, mean, math.sqrt(squared), determinant(point))
    along = d * u_d + b * u_b
    shift = u_mean
    if squared > 0.0:
        shift += (mean - across) * along / squared
    assemble(mean * u_mean + along, across * u_d + shift * d, across * u_b + shift * b, out)


@register_jitable
def _log_difference(twin, point, base_point):
    """Parts of log Y - log X, from the difference of the points, so that nothing cancels."""
    mean, d, b = parts(base_point)
    radius, det = math.sqrt(d * d + b * b), determinant(base_point)
    slope = _slope_at(twin, base_point, mean, radius, det)
    mean_y, d_y, b_y = parts(point)
    radius_y, det_y = math.sqrt(d_y * d_y + b_y * b_y), determinant(point)
    # From differences of entries, which are exact for close points.
    d_a, d_c = point[0, 0] - base_point[0, 0], point[1, 1] - base_point[1, 1]
    d_mean, d_d, d_b = 0.5 * (d_a + d_c), 0.5 * (d_a - d_c), b_y - b
    deviation = d_d * (d + d_y) + d_b * (b + b_y)
    growth = d_mean * (mean + mean_y) - deviation
    if abs(growth) < 0.5 * det:
        half_log_det = 0.5 * math.log1p(growth / det)
    else:
        half_log_det = 0.5 * math.log(det_y / det)
    both = radius + radius_y
    d_radius = deviation / both if both > 0.0 else 0.0
    turn = d_radius * mean - radius * d_mean
    # m m' - r r', by the smaller eigenvalues
    room = 0.5 * (
        det / (mean + radius) * (mean_y + radius_y) + (mean + radius) * det_y / (mean_y + radius_y)
    )
    if abs(turn) < 0.5 * room:
        d_angle = 0.5 * math.log1p(2.0 * turn / (room - turn))
    else:
        d_angle = half_log_ratio(mean_y, radius_y, det_y) - radius * slope
    # G' p' - G p about the smaller of the deviators, where the quotients stay bounded
    if radius_y >= radius:
        d_slope = (d_angle - slope * d_radius) / radius_y if radius_y > 0.0 else 0.0
        slope_y = slope + d_slope
        return half_log_det, slope_y * d_d + d_slope * d, slope_y * d_b + d_slope * b
    slope_y = log_slope(mean_y, radius_y, det_y)
    d_slope = (d_angle - slope_y * d_radius) / radius
    return half_log_det, slope * d_d + d_slope * d_y, slope * d_b + d_slope * b_y


@register_jitable
def _exp(twin, tangent_vec, base_point, out):
    mean, d, b = parts(tangent_vec)
    mean, d, b = _differential(twin, base_point, mean, d, b)
    start, start_d, start_b = _log_at(twin, base_point)
    exp_parts(start + mean, start_d + d, start_b + b, out)


@register_jitable
def _log(twin, point, base_point, out):
    mean, d, b = _log_difference(twin, point, base_point)
    _arrive(twin, base_point, mean, d, b, out)


@register_jitable
def _dist(twin, point_a, point_b):
    mean, d, b = _log_difference(twin, point_b, point_a)
    return math.sqrt(2.0 * (mean * mean + d * d + b * b))


@register_jitable
def _transport(twin, tangent_vec, base_point, end_point, out):
    mean, d, b = parts(tangent_vec)
    mean, d, b = _differential(twin, base_point, mean, d, b)
    _arrive(twin, end_point, mean, d, b, out)


@register_jitable
def _retract(twin, tangent_vec, base_point, out):
    _exp(twin, tangent_vec, base_point, out)


@register_jitable
def _to_tangent(twin, vector, base_point, out):
    mean, d, b = parts(vector)
    assemble(mean, d, b, out)


@register_jitable
def _lift(twin, coords, point, out):
    mean, d, b = combine_parts(coords, twin.frame)
    _arrive(twin, point, mean, d, b, out)


@register_jitable
def _lower(twin, tangent_vec, point, out):
    mean, d, b = parts(tangent_vec)
    mean, d, b = _differential(twin, point, mean, d, b)
    coordinates_of_parts(mean, d, b, twin.frame, out)


@register_jitable
def _settle(twin, point, out):
    return settle_2x2(point, out)


@register_jitable
def _dim(twin):
    return 3


@register_jitable
def _retract_coords(twin, coords, point, vector, out):
    mean, d, b = combine_parts(coords, twin.frame)
    start, start_d, start_b = _log_at(twin, point)
    exp_parts(start + mean, start_d + d, start_b + b, out)


@register_jitable
def _retract_both_ways(twin, coords, point, vector, plus, minus):
    mean, d, b = combine_parts(coords, twin.frame)
    start, start_d, start_b = _log_at(twin, point)
    exp_parts(start + mean, start_d + d, start_b + b, plus)
    exp_parts(start - mean, start_d - d, start_b - b, minus)


@register_jitable
def _log_coords(twin, point, base_point, vector, out):
    mean, d, b = _log_difference(twin, point, base_point)
    coordinates_of_parts(mean, d, b, twin.frame, out)


@register_jitable
def _carry(twin, message, query, point, vectors, out):
    # Flat: the coordinates are the same all along.
    _lower(twin, message, query, out)


@register_jitable
def _interpolate(twin, start, end, weight, vector, out):
    mean, d, b = _log_difference(twin, end, start)
    from_mean, from_d, from_b = _log_at(twin, start)
    exp_parts(from_mean + weight * mean, from_d + weight * d, from_b + weight * b, out)


for _operation, _kernel in (
    (dispatch.exp, _exp),
    (dispatch.log, _log),
    (dispatch.transport, _transport),
    (dispatch.retract, _retract),
    (dispatch.to_tangent, _to_tangent),
    (dispatch.lift, _lift),
    (dispatch.lower, _lower),
    (dispatch.dist, _dist),
    (dispatch.settle, _settle),
    (dispatch.dim, _dim),
    (dispatch.retract_coords, _retract_coords),
    (dispatch.retract_both_ways, _retract_both_ways),
    (dispatch.log_coords, _log_coords),
    (dispatch.carry, _carry),
    (dispatch.interpolate, _interpolate),
):
    compile_for_twin(_operation, SPD2LogEuclideanTwin, _kernel, is_small=False)
