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


def column_of(mechanism):
    """Column that holds the messages of a mechanism: "candidate", or "grid" for the Gaussian."""
    return "grid" if mechanism.candidate_width is None else "candidate"


def to_columns(candidate):
    """Columns of what a message holds, an integer in [0, 2^64) or a tuple of those of the grid."""
    if isinstance(candidate, (tuple, list)):
        return {"candidate": None, "grid": np.array(candidate, dtype="<i8").tobytes()}
    return {"candidate": candidate - _SHIFT, "grid": None}


def from_columns(candidate, grid):
    """What a message held, of its columns: an integer, or a list of those of the grid."""
    return candidate + _SHIFT if grid is None else np.frombuffer(grid, dtype="<i8").tolist()


def coords_of(mechanism, candidates):
    """Messages in frame coordinates, shape [n, dim], of what they held, which may be anything.

    One that the mechanism does not release raises TypeError or ValueError.
    """
    for candidate in candidates:
        check_candidate_of(mechanism, candidate)
    column = column_of(mechanism)
    return column_coords(mechanism, [to_columns(candidate)[column] for candidate in candidates])


def column_coords(mechanism, held):
    """Messages in frame coordinates, shape [n, dim], of entries of their column."""
    if len(held) == 0:
        return np.empty((0, mechanism.dim))
    if column_of(mechanism) == "grid":
        return np.array([mechanism.candidate_vector(from_columns(None, grid)) for grid in held])
    # Adding 2^63 flips the top bit.
    candidates = np.array(held, dtype=np.int64).view(np.uint64) ^ np.uint64(_SHIFT)
    return mechanism.point_vector(mechanism.candidate_points(candidates))
