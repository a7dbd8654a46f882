"""Checks of the parameters and of the arrays that mechanisms take."""

from __future__ import annotations

import math
import numbers

import numpy as np
from numpy.typing import ArrayLike

EPSILON_RANGE = (1e-3, 700.0)  # exp(epsilon) and its reciprocal are doubles up to here
BOUND_RANGE = (1e-100, 1e100)  # squares of bounds stay far from overflow and underflow


def check_integer(name, value, minimum):
    """Return ``value`` as an int of at least ``minimum``, or raise an error that names it."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer of at least {minimum}; got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}; got {value!r}")
    return int(value)


def check_real(name, value, allowed, is_allowed):
    """Return ``value`` as a float for which ``is_allowed`` holds, or raise naming ``allowed``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a real number, {allowed}; got {value!r}")
    value = float(value)
    if not is_allowed(value):  # NaN fails every comparison, so it ends here too
        raise ValueError(f"{name} must be {allowed}; got {value!r}")
    return value


def check_epsilon(epsilon):
    """Return ``epsilon`` as a float in the supported range or ``inf``."""
    low, high = EPSILON_RANGE
    return check_real(
        "epsilon", epsilon, "in [1e-3, 700] or inf", lambda e: low <= e <= high or e == math.inf
    )


def check_delta(delta):
    """Return ``delta`` as a float in [0, 1)."""
    return check_real("delta", delta, "in [0, 1)", lambda value: 0.0 <= value < 1.0)


def check_rows(name: str, values: ArrayLike, width: int) -> np.ndarray:
    """Return ``values`` as a finite float array of shape [..., width], or raise naming it."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":  # refuses booleans, strings, complex numbers and objects
        raise TypeError(f"{name} must be an array of real numbers; got dtype {array.dtype}")
    if array.ndim == 0 or array.shape[-1] != width:
        raise ValueError(f"{name} must have shape [..., {width}]; got {list(array.shape)}")
    array = array.astype(np.float64, order="C")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; got NaN or infinite entries")
    return array
