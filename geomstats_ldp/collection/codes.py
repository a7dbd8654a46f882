"""How messages are kept in columns, and arrays made of columns."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.mechanisms.candidates import check_candidate

#: Databases have signed integers of 64 bits, candidates are unsigned.
_SHIFT = 2**63


def check_candidate_of(mechanism, candidate):
    """Raise TypeError or ValueError unless a mechanism releases such a candidate."""
    if mechanism.candidate_width is None:
        mechanism.candidate_vector(candidate)
    else:
        check_candidate(candidate)


def to_columns(candidate):
    """Columns `candidate` and `grid` of what a message holds.

    Parameters
    ----------
    candidate : int or tuple of int
        In [0, 2^64), or the integers of the Gaussian mechanism.

    Returns
    -------
    columns : dict
    """
    if isinstance(candidate, tuple):
        return {"candidate": None, "grid": np.array(candidate, dtype="<i8").tobytes()}
    return {"candidate": candidate - _SHIFT, "grid": None}


def candidate_coords(mechanism, numbers):
    """Messages in frame coordinates, shape [n, dim], of the column `candidate`.

    Parameters
    ----------
    mechanism : Mechanism
    numbers : array of int, shape [n]
    """
    if len(numbers) == 0:
        return np.empty((0, mechanism.dim))
    # Adding 2^63 flips the top bit.
    candidates = np.ascontiguousarray(numbers).view(np.uint64) ^ np.uint64(_SHIFT)
    return mechanism.point_vector(mechanism.candidate_points(candidates))


def grid_coords(mechanism, grids):
    """Messages in frame coordinates, shape [n, dim], of the column `grid`.

    Parameters
    ----------
    mechanism : Mechanism
    grids : list of bytes
    """
    coords = np.empty((len(grids), mechanism.dim))
    for row, grid in zip(coords, grids):
        row[:] = mechanism.candidate_vector(tuple(np.frombuffer(grid, dtype="<i8").tolist()))
    return coords
