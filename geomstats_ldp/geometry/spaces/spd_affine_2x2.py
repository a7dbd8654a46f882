r"""The affine-invariant metric on 2 x 2 matrices, in closed form.

The public frame at X comes with a root :math:`R_X = F M^{1/2}` of X, where F is the Cholesky
factor of the reference and :math:`M = F^{-1} X F^{-T}`. With it :math:`X = R_X R_X^T`, the vector
of coordinates U is :math:`R_X U R_X^T`, and the geodesic along it :math:`R_X \exp(tU) R_X^T`.
Parallel transport from X to Y turns coordinates by the rotation in the polar decomposition of
:math:`R_X^{-1} R_Y`, so that nothing but `symmetric_2x2` is needed. Arguments named ``out`` are
overwritten and must not share memory with the inputs.
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
    exp_parts,
    log_near_identity,
    log_parts,
    parts,
)
from geomstats_ldp.twins import compile_for_twin


class SPD2AffineTwin(NamedTuple):
    """What the compiled functions need to know about the space and its public frame.

    Because of `last`, a twin must not be shared between threads.

    Attributes
    ----------
    factor : array, shape [2, 2]
        Cholesky factor of the reference.
    frame : array, shape [3, 3]
        Parts of the basis at the reference, moved to the identity; one matrix a row.
    last : array, shape [8]
        Entries of the point that was asked for last, of its root, and the determinant of this.
    """

    factor: np.ndarray
    frame: np.ndarray
    last: np.ndarray


def make_twin(reference, basis):
    """Twin for a basis at a reference point."""
    factor = np.linalg.cholesky(reference)
    inverse = np.linalg.inv(factor)
    frame = np.array([parts(vector) for vector in inverse @ basis @ inverse.T])
    return SPD2AffineTwin(factor, frame, np.full(8, np.nan))


@register_jitable
def _find_root(twin, point):
    """Bring `twin.last` to a point; a participant and a round ask for the same one many times.

    With s = sqrt(det M), M^(1/2) = (M + s) / sqrt(tr M + 2 s) by Cayley and Hamilton.
    """
    last, a, b, c = twin.last, point[0, 0], point[0, 1], point[1, 1]
    if last[0] == a and last[1] == b and last[2] == c:
        return
    first, below, second = twin.factor[0, 0], twin.factor[1, 0], twin.factor[1, 1]
    ratio, det = below / first, math.sqrt(a * c - b * b)
    tail, shift = b - ratio * a, det / (first * second)
    m_a, m_b = a / (first * first), tail / (first * second)
    m_c = (c - ratio * (b + tail)) / (second * second)
    scale = 1.0 / math.sqrt(m_a + m_c + 2.0 * shift)
    m_a, m_b, m_c = scale * (m_a + shift), scale * m_b, scale * (m_c + shift)
    last[0], last[1], last[2] = a, b, c
    last[3], last[4] = first * m_a, first * m_b
    last[5], last[6] = below * m_a + second * m_b, below * m_b + second * m_c
    last[7] = det


@register_jitable
def _leave(twin, point, a, b, c):
    """Parts of R^-1 V R^-T, for the root at a point and the entries of V."""
    _find_root(twin, point)
    last, scale = twin.last, 1.0 / twin.last[7]
    p, q, r, s = scale * last[6], -scale * last[4], -scale * last[5], scale * last[3]
    return _parts_of_congruence(p, q, r, s, a, b, c)


@register_jitable
def _parts_of_congruence(p, q, r, s, a, b, c):
    """Parts of K V K^T, for the matrices K of entries p, q, r, s and V of entries a, b, c."""
    top = p * p * a + 2.0 * p * q * b + q * q * c
    bottom = r * r * a + 2.0 * r * s * b + s * s * c
    side = p * r * a + (p * s + q * r) * b + q * s * c
    return 0.5 * (top + bottom), 0.5 * (top - bottom), side


@register_jitable
def _arrive(twin, point, mean, d, b, out):
    """Write R U R^T, for the root at a point and the parts of U."""
    _find_root(twin, point)
    p, q, r, s = twin.last[3], twin.last[4], twin.last[5], twin.last[6]
    mean, d, b = _parts_of_congruence(p, q, r, s, mean + d, b, mean - d)
    assemble(mean, d, b, out)


@register_jitable
def _exp_from(twin, point, mean, d, b, out):
    """Write R exp(U) R^T as a Gram matrix, for the root at a point and the parts of U."""
    _find_root(twin, point)
    p, q, r, s = twin.last[3], twin.last[4], twin.last[5], twin.last[6]
    exp_parts(mean, d, b, out)
    mean, d, b = _parts_of_congruence(p, q, r, s, out[0, 0], out[0, 1], out[1, 1])
    assemble(mean, d, b, out)


@register_jitable
def _log_parts(twin, point, base_point):
    """Parts of log(R^-1 Y R^-T), by the difference of the points where these are close."""
    a, c = point[0, 0] - base_point[0, 0], point[1, 1] - base_point[1, 1]
    mean, d, b = _leave(twin, base_point, a, point[0, 1] - base_point[0, 1], c)
    if 2.0 * (mean * mean + d * d + b * b) < 0.25:
        return log_near_identity(mean, d, b)
    mean, d, b = _leave(twin, base_point, point[0, 0], point[0, 1], point[1, 1])
    ratio = math.sqrt(point[0, 0] * point[1, 1] - point[0, 1] * point[0, 1]) / twin.last[7]
    return log_parts(mean, d, b, ratio * ratio)


@register_jitable
def _exp(twin, tangent_vec, base_point, out):
    mean, d, b = parts(tangent_vec)
    mean, d, b = _leave(twin, base_point, mean + d, b, mean - d)
    _exp_from(twin, base_point, mean, d, b, out)


@register_jitable
def _log(twin, point, base_point, out):
    mean, d, b = _log_parts(twin, point, base_point)
    _arrive(twin, base_point, mean, d, b, out)


@register_jitable
def _dist(twin, point_a, point_b):
    mean, d, b = _log_parts(twin, point_b, point_a)
    return math.sqrt(2.0 * (mean * mean + d * d + b * b))


@register_jitable
def _transported(twin, vector, base_point, end_point):
    """Parts at the end of the coordinates of a vector, by the rotation of the polar decomposition.

    That of a matrix A of positive determinant is A plus its cofactors, scaled.
    """
    mean, d, b = parts(vector)
    mean, d, b = _leave(twin, base_point, mean + d, b, mean - d)
    p, q, r, s = twin.last[3], twin.last[4], twin.last[5], twin.last[6]
    _find_root(twin, end_point)
    p_y, q_y, r_y, s_y = twin.last[3], twin.last[4], twin.last[5], twin.last[6]
    # A times the determinant of the first root
    cosine = s * p_y - q * r_y + p * s_y - r * q_y
    sine = p * r_y - r * p_y - (s * q_y - q * s_y)
    scale = 1.0 / (cosine * cosine + sine * sine)
    twice_cosine = scale * (cosine - sine) * (cosine + sine)
    twice_sine = scale * 2.0 * cosine * sine
    return mean, twice_cosine * d + twice_sine * b, twice_cosine * b - twice_sine * d


@register_jitable
def _transport(twin, tangent_vec, base_point, end_point, out):
    mean, d, b = _transported(twin, tangent_vec, base_point, end_point)
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
    mean, d, b = _leave(twin, point, mean + d, b, mean - d)
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
    _exp_from(twin, point, mean, d, b, out)


@register_jitable
def _retract_both_ways(twin, coords, point, vector, plus, minus):
    mean, d, b = combine_parts(coords, twin.frame)
    _exp_from(twin, point, mean, d, b, plus)
    _exp_from(twin, point, -mean, -d, -b, minus)


@register_jitable
def _log_coords(twin, point, base_point, vector, out):
    mean, d, b = _log_parts(twin, point, base_point)
    coordinates_of_parts(mean, d, b, twin.frame, out)


@register_jitable
def _carry(twin, message, query, point, vectors, out):
    mean, d, b = _transported(twin, message, query, point)
    coordinates_of_parts(mean, d, b, twin.frame, out)


@register_jitable
def _interpolate(twin, start, end, weight, vector, out):
    mean, d, b = _log_parts(twin, end, start)
    _exp_from(twin, start, weight * mean, weight * d, weight * b, out)


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
    compile_for_twin(_operation, SPD2AffineTwin, _kernel, is_small=False)
