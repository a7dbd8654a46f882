"""Finite differences along geodesics."""

from __future__ import annotations

import numpy as np

#: Step of the differences. Their error is of order step^4 and 1e-16 / step.
_STEP = 1e-3


def derivatives_along_frame(geometry, point, function):
    """Derivatives of a function of a point along the frame, by differences of fourth order.

    Parameters
    ----------
    geometry : Geometry
    point : array, shape [*point_shape]
    function : callable
        From a point to an array of shape [...].

    Returns
    -------
    derivatives : array, shape [..., dim]
    """
    columns = []
    for axis in np.eye(geometry.dim):
        tangent = _STEP * geometry.lift(axis, point)
        one, minus_one, two, minus_two = (
            np.asarray(function(geometry.exp(factor * tangent, point)), dtype=float)
            for factor in (1.0, -1.0, 2.0, -2.0)
        )
        columns.append((8 * (one - minus_one) - (two - minus_two)) / (12 * _STEP))
    return np.stack(columns, axis=-1)
