"""Closed forms on the hyperboloid for batches of points, free of Minkowski cancellation.

Points p = (t, x) have shape [..., dim + 1], tangent vectors (x.w / t, w) too; vectors at the
origin of the sheet are given by their spatial part, shape [..., dim].
"""

from __future__ import annotations

import numpy as np

#: A squared length under this says that a point is the origin, whose plane with others is free.
TINY = 1e-200
#: Rounding of a Minkowski product, relative to the sum of its absolute terms and per coordinate.
ROUNDING = 4e-16


def _dot(a, b):
    return np.sum(a * b, axis=-1, keepdims=True)


def _split(point):
    point = np.asarray(point, dtype=float)
    return point[..., :1], point[..., 1:]


def on_sheet(spatial):
    """Point with the given spatial coordinates."""
    time = np.sqrt(1 + _dot(spatial, spatial))
    return np.concatenate([time, spatial], axis=-1)


def tangent(spatial, base_point):
    """Tangent vector with the given spatial part."""
    time, x = _split(base_point)
    first = _dot(x, spatial) / time
    return np.concatenate([first, np.broadcast_to(spatial, (*first.shape[:-1], x.shape[-1]))], -1)


def to_tangent(vector, base_point):
    """Minkowski-orthogonal projection v + <v, p> p, with the time coordinate of a tangent vector.

    A product <v, p> that is rounding only counts as zero: far out the multiple of p would be
    large, and a tangent vector would not be left as it is.
    """
    vector, base_point = np.asarray(vector, dtype=float), np.asarray(base_point, dtype=float)
    terms = vector * base_point
    product = np.sum(terms[..., 1:], axis=-1, keepdims=True) - terms[..., :1]
    size = np.sum(np.abs(terms), axis=-1, keepdims=True)
    noise = np.abs(product) <= ROUNDING * terms.shape[-1] * size
    spatial = vector[..., 1:] + np.where(noise, 0.0, product) * base_point[..., 1:]
    return tangent(spatial, base_point)


def gap(point_a, point_b):
    """Squared Minkowski length m of the difference of two points, shape [..., 1].

    With the difference d and the sum s of the spatial parts and T the sum of the times, the
    difference of the times is d.s / T and the Minkowski length of the sum is -(4 + m). Splitting
    d along and across s gives m (T^2 - d_along^2) = T^2 |d_across|^2 + 4 d_along^2, without a
    difference of nearly equal numbers. For points on opposite sides of the origin, where s may
    vanish, m = 2 (cosh - 1) with a sum of positive terms for cosh.
    """
    (time_a, a), (time_b, b) = _split(point_a), _split(point_b)
    delta, sigma, times, product = b - a, b + a, time_a + time_b, _dot(a, b)
    along, plus = _dot(delta, sigma), _dot(sigma, sigma)
    plus = np.where(product > 0, plus, 1.0)
    side = delta - along / plus * sigma
    radial = along**2 / plus
    with np.errstate(divide="ignore", invalid="ignore"):
        same = (_dot(side, side) * times**2 + 4 * radial) / (times**2 - radial)
    cosine = time_a * time_b - product
    opposite = np.where(cosine > 2, 2 * (cosine - 1), _dot(delta, delta) - (along / times) ** 2)
    return np.where(product > 0, same, opposite)


def exp(tangent_vec, base_point):
    """Riemannian exponential."""
    x, w = _split(base_point)[1], _split(tangent_vec)[1]
    at_origin = to_origin(tangent_vec, base_point)
    length = np.sqrt(_dot(at_origin, at_origin))
    safe = np.where(length > 0, length, 1.0)
    return on_sheet(np.cosh(length) * x + np.where(length > 0, np.sinh(safe) / safe, 1.0) * w)


def log(point, base_point):
    """Riemannian logarithm: the part of point - base_point across base_point, rescaled."""
    m = gap(point, base_point)
    safe = np.where(m > 0, m, 1.0)
    scale = 2 * np.arcsinh(np.sqrt(safe) / 2) / np.sqrt(safe * (1 + safe / 4))
    x, y = _split(base_point)[1], _split(point)[1]
    return tangent(np.where(m > 0, scale, 1.0) * ((y - x) - m / 2 * x), base_point)


def to_origin(tangent_vec, base_point):
    """Parallel transport to the origin, w - (x.w) x / (t (1 + t)); an isometry to R^dim."""
    (time, x), (_, w) = _split(base_point), _split(tangent_vec)
    return w - _dot(x, w) / (time * (1 + time)) * x


def from_origin(vector, end_point):
    """Parallel transport from the origin."""
    time, y = _split(end_point)
    first = _dot(y, vector)
    return np.concatenate([first, vector + first / (1 + time) * y], axis=-1)


def turn(vector, base_point, end_point):
    """Turn at the origin that transport from x to y differs by from the way over the origin.

    In the plane of x and y it is z^2 / |z|^2 for z = (1 + t_x)(1 + t_y) - x.y + i |x ^ y|, twice
    the area of the hyperbolic triangle in the half angle. The wedge x ^ y is that of x and the
    part of y - x across x.
    """
    (time, x), (end_time, y) = _split(base_point), _split(end_point)
    square = _dot(x, x)
    safe = np.where(square > TINY, square, 1.0)
    side = (y - x) - np.where(square > TINY, _dot(x, y - x) / safe, 0.0) * x
    across = _dot(side, side)
    real = (1 + time) * (1 + end_time) - _dot(x, y)
    along_x, along_side = _dot(x, vector), _dot(side, vector)
    factor = 2 / (real**2 + square * across)
    on_x = factor * (real * along_side - across * along_x)
    on_side = -factor * (real * along_x + square * along_side)
    return vector + on_x * x + on_side * side


def transport(tangent_vec, base_point, end_point):
    """Parallel transport along the geodesic from `base_point` to `end_point`."""
    at_origin = to_origin(tangent_vec, base_point)
    return from_origin(turn(at_origin, base_point, end_point), end_point)
