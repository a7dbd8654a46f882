"""What errors about arrays share: the shape that was expected, the first entry that is wrong."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.exceptions import ProtocolError


def shape_text(*entries):
    """Entries of a shape for the eye, "n, 3": a tuple with one entry would end in a comma.

    Parameters
    ----------
    *entries : int or str
    """
    return ", ".join(map(str, entries))


def place_text(is_bad):
    """Say where the first of some flags is set: " at index 3", or "" for a flag on its own.

    Parameters
    ----------
    is_bad : array of bool, shape [...]
    """
    index = np.unravel_index(np.argmax(is_bad), np.shape(is_bad))
    if not index:
        return ""
    return f" at index {index[0] if len(index) == 1 else tuple(map(int, index))}"


def refuse_first(expected, points, is_bad):
    """Raise ProtocolError with the first bad point, if there is one, and its place.

    Parameters
    ----------
    expected : str
        What must hold, with the name of the argument.
    points : array, shape [..., *point_shape]
    is_bad : array of bool, shape [...]
    """
    if is_bad.any():
        raise ProtocolError(f"{expected}; got {points[is_bad][0]}{place_text(is_bad)}")
