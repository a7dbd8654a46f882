"""Directions given as vectors of any length."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.exceptions import ProtocolError


def unit_vector(direction, width, name="initial_point"):
    """Unit vector along a public direction, (1, ..., 1) by default.

    Parameters
    ----------
    direction : array-like, shape [width], or None
    width : int
    name : str
        What to call it in an error.

    Raises
    ------
    ProtocolError
        If it is not a finite non-zero vector of the right length.
    """
    vector = np.ones(width) if direction is None else np.array(direction, dtype=float)
    if vector.shape != (width,) or not np.isfinite(vector).all() or not vector.any():
        raise ProtocolError(
            f"{name} must be a finite non-zero vector of length {width}; got {direction!r}"
        )
    return vector / np.linalg.norm(vector)
