"""The score of one datum, written in place; compiled for losses that have a twin."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.twins import jitable_inline, operation


@operation
def score_into(
    loss: Any, geometry: Geometry, point: np.ndarray, datum: np.ndarray, out: np.ndarray
) -> None:
    """Write the score of one datum; compiled for losses that have a twin.

    Parameters
    ----------
    loss : Loss or its twin
    geometry : Geometry or its twin
    point : array, shape [*point_shape]
    datum : array, shape [*data_shape]
        Clipped datum.
    out : array, shape [*point_shape]
        Receives the score.
    """
    out[...] = loss.score(geometry, point, datum)


@jitable_inline
def score_coords(
    loss: Any,
    geometry: Geometry,
    point: np.ndarray,
    datum: np.ndarray,
    vector: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write the score of one datum in coordinates of the public frame.

    Parameters
    ----------
    loss : Loss or its twin
    geometry : Geometry or its twin
    point : array, shape [*point_shape]
    datum : array, shape [*data_shape]
        Clipped datum.
    vector : array, shape [*point_shape]
        Scratch.
    out : array, shape [dim]
        Receives the coordinates.
    """
    score_into(loss, geometry, point, datum, vector)
    dispatch.coordinates(geometry, vector, point, out)
