"""Vectors as points of the unit ball, with the same rounding whoever computes them."""

from __future__ import annotations

import math

import numpy as np

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.twins import jitable

_TINY = 1e-150  # relative size of an entry that is as good as zero


@jitable
def unit_ball_point(vector, bound, dim, point):
    """Write ``vector / bound``, projected radially to the unit ball, into ``point[:dim]``.

    Returns the squared norm of the point and whether it had to be projected. The entries are
    divided by the larger of the bound and the largest entry, so that no square overflows.
    """
    largest = 0.0
    for i in range(dim):
        entry = abs(vector[i])
        if not entry < np.inf:
            raise ValueError("vector must be finite; got NaN or infinite entries")
        largest = max(largest, entry)
    unit = max(largest, bound)
    square = 0.0
    for i in range(dim):
        point[i] = vector[i] / unit
        square += point[i] * point[i]
    if largest <= bound and square <= 1.0:
        return square, False
    norm = math.sqrt(square)
    for i in range(dim):
        point[i] /= norm
    return 1.0, True


def settled_ball_point(vector, bound, point):
    """Run `unit_ball_point` interpreted, on one vector, and flush entries that cost more time."""
    square, _ = unit_ball_point(vector, bound, len(vector), point)
    # Products with subnormal numbers are slow on many processors.
    point[np.abs(point) < _TINY] = 0.0
    return square


@cached_njit
def unit_ball_rows(vectors, bound, points):
    """Run `unit_ball_point` on each row."""
    for row in range(vectors.shape[0]):
        unit_ball_point(vectors[row], bound, vectors.shape[1], points[row])
