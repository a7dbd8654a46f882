"""Finite differences, along geodesics too."""

from __future__ import annotations

import numpy as np

#: Step of the differences. Their error is of order step^4 and 1e-16 / step.
_STEP = 1e-3


def central_difference(function):
    """Derivative at zero of a function of a number, by differences of fourth order."""
    one, minus_one, two, minus_two = (
        np.asarray(function(factor * _STEP), dtype=float) for factor in (1.0, -1.0, 2.0, -2.0)
    )
    return (8 * (one - minus_one) - (two - minus_two)) / (12 * _STEP)


def derivatives_along_frame(geometry, point, function):
    """Derivatives of a function of a point along the frame, shape [..., dim]."""
    columns = []
    for axis in np.eye(geometry.dim):
        tangent = geometry.lift(axis, point)
        columns.append(
            central_difference(lambda s, v=tangent: function(geometry.exp(s * v, point)))
        )
    return np.stack(columns, axis=-1)
