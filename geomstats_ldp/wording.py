"""What errors about arrays share: the shape that was expected, the place of what is wrong."""

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


def refuse_first(expected, is_bad):
    """Raise ProtocolError with the place of the first bad point, if there is one.

    The point itself is left out: it may be a datum, and error texts end up in logs.

    Parameters
    ----------
    expected : str
        What must hold, with the name of the argument.
    is_bad : array of bool, shape [...]
    """
    if is_bad.any():
        raise ProtocolError(f"{expected}; this fails{place_text(is_bad)}")


def as_floats(name, values):
    """Return values as a float array; ProtocolError that leaves them out if they are no numbers.

    Parameters
    ----------
    name : str
    values : array-like
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind != "c":  # only a warning would tell of the imaginary part
            return array.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass  # the text of this error would quote the value, as would a chained one
    raise ProtocolError(f"{name} must be an array of real numbers; got something else")
