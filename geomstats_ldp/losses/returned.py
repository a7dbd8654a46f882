"""What the methods of a loss return, checked: a loss may be anybody's own.

No text holds anything of a datum. On a device the errors are caught, and the score is zero.
"""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np

from geomstats_ldp.exceptions import ProtocolError


def checked(loss, method, found, shape):
    """Return what a method of a loss returned, as finite floats, or raise ProtocolError.

    Parameters
    ----------
    loss : Loss
    method : str
    found : array-like
    shape : tuple of int
        That it must have.

    Returns
    -------
    found : array of float, shape [*shape]
    """
    name = f"{type(loss).__name__}.{method}"
    found = np.asarray(found)
    if found.shape != shape or found.dtype.kind not in "fiub":
        raise ProtocolError(
            f"{name} must return an array of numbers of shape {shape}; got one of shape "
            f"{found.shape} and type {found.dtype}"
        )
    if not np.isfinite(found).all():
        what = "NaN" if np.isnan(found).any() else "infinity"
        raise ProtocolError(
            f"{name} must return finite numbers for every datum and query; got {what}"
        )
    return found.astype(float, copy=False)


def checked_scores(loss, geometry, point, data):
    """Checked scores of clipped data, shape [..., *data_shape]: shape [..., *point_shape]."""
    n_axes = data.ndim - len(loss.data_shape(geometry))
    found = loss.score(geometry, point, data)
    return checked(loss, "score", found, data.shape[:n_axes] + geometry.shape)


def error_of_compiled(loss):
    """What to raise where the compiled score of a loss was not finite."""
    return ProtocolError(
        f"the compiled score of {type(loss).__name__} must be finite for every datum and query; "
        "got NaN or infinity"
    )


@contextmanager
def compiled_scores(loss):
    """Name the loss where compiled code finds that what it randomises is not finite."""
    try:
        yield
    except ValueError as error:
        if type(error) is not ValueError:  # the errors of the package say themselves what is wrong
            raise
        raise error_of_compiled(loss) from None
