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


def from_columns(candidate, grid):
    """What a message held, of its columns: an integer, or a list of those of the grid."""
    return candidate + _SHIFT if grid is None else np.frombuffer(grid, dtype="<i8").tolist()


def coords_of(mechanism, candidates):
    """Messages in frame coordinates, shape [n, dim], of what they held.

    Parameters
    ----------
    mechanism : Mechanism
    candidates : list of int or list of list of int

    Raises
    ------
    TypeError, ValueError
        If one of them is none that the mechanism releases.
    """
    if mechanism.candidate_width is None:
        rows = [mechanism.candidate_vector(tuple(candidate)) for candidate in candidates]
        return np.array(rows).reshape(-1, mechanism.dim)
    numbers = [check_candidate(candidate) - _SHIFT for candidate in candidates]
    return candidate_coords(mechanism, np.array(numbers, dtype=np.int64))


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
