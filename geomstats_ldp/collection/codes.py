"""How messages are kept in columns, and arrays made of columns."""

from __future__ import annotations

import numpy as np

#: Databases have signed integers of 64 bits, candidates are unsigned.
_SHIFT = 2**63


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


def message_coords(mechanism, candidates, grids):
    """Messages in frame coordinates, of columns of reports.

    Parameters
    ----------
    mechanism : Mechanism
    candidates : list of int or None
    grids : list of bytes or None

    Returns
    -------
    coords : array, shape [n, dim]
    """
    if len(candidates) == 0:
        return np.empty((0, mechanism.dim))
    if mechanism.candidate_width is None:
        rows = [tuple(np.frombuffer(grid, dtype="<i8").tolist()) for grid in grids]
        return np.array([mechanism.candidate_vector(row) for row in rows])
    # Adding 2^63 flips the top bit.
    numbers = np.array(candidates, dtype=np.int64).view(np.uint64) ^ np.uint64(_SHIFT)
    return mechanism.point_vector(mechanism.candidate_points(numbers))
