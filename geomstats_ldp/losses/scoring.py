"""Scores written in place, of one datum and of many; compiled for losses that have a twin."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.losses.returned import checked_scores, error_of_compiled
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
    out[...] = checked_scores(loss, geometry, point, datum)


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


def frame_scores(loss, geometry, points, indices, data, twin=None):
    """Scores of clipped data in frame coordinates, each at its query point.

    A kernel that also randomised them would be compiled for each pair of a loss and a mechanism.

    Parameters
    ----------
    loss : Loss
    geometry : Geometry
    points : array, shape [n_points, *point_shape]
    indices : array of int, shape [n]
        Of the query point of each datum.
    data : array, shape [n, *data_shape]
    twin : NamedTuple, optional
        Twin of the geometry, for a compiled loop if the loss has a twin too.

    Returns
    -------
    scores : array, shape [n, dim]
    """
    scores, vector = np.empty((len(data), geometry.dim)), np.zeros(geometry.shape)
    if twin is None or loss.twin() is None:
        _score_rows(loss, geometry, points, indices, data, vector, scores)
    else:
        # Points that may not be written to would be compiled for once more.
        asked = np.array(points), indices, data
        _compiled_score_rows(loss.twin(), twin, *asked, vector, scores)
        if not np.isfinite(scores).all():
            raise error_of_compiled(loss)
    return scores


def _score_rows(loss, geometry, points, indices, data, vector, scores):
    for i in range(data.shape[0]):
        score_coords(loss, geometry, points[indices[i]], data[i], vector, scores[i])


_compiled_score_rows = cached_njit(_score_rows, allocates=False)
