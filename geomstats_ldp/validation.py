"""Checks of arguments, whose errors name the argument, what was allowed and what came.

The conventions are those of `check_scalar` and `check_array` of scikit-learn: a scalar of another
type is a TypeError, everything else that is not allowed a ValueError; of this package's own classes
`ArgumentTypeError` is both, and `ProtocolError` the latter. Their code is not used. A participant's
device runs these checks and need not have scikit-learn. And an array may be a datum, of any number
of dimensions, where `check_array` allows two or any, and quotes a text that it finds in place of a
number. Errors end up in logs: no check here quotes an array, and scalars are public parameters.
Rows given to an estimator pass scikit-learn's validation before these checks.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, Callable

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ArgumentTypeError, ProtocolError

#: Sizes of data, in their unit: bounds, radii, concentrations.
SCALE_RANGE = (1e-40, 1e40)

#: Asymmetry of a symmetric matrix that is rounding, relative to its largest entry.
_ROUNDING = 1e-10

# ---------------------------------------------------------------- scalars


def check_integer(name: str, value: Any, low: int = 1, high: int | None = None) -> int:
    """Return an integer from `low` to `high`, both allowed, as an int; a bool is none."""
    allowed = f"of at least {low}" if high is None else f"from {low} to {high}"
    value = _scalar(name, value, Integral, f"an integer {allowed}")
    if value < low or (high is not None and value > high):
        raise ProtocolError(f"{name} must be an integer {allowed}; got {reprlib.repr(int(value))}")
    return int(value)


def check_real(name: str, value: Any, allowed: str, is_allowed: Callable[[float], bool]) -> float:
    """Return a real number as a float; a bool is none.

    `allowed` says in words what `is_allowed` does. Comparisons refuse NaN.
    """
    value = _scalar(name, value, Real, f"a real number, {allowed}")
    try:
        value = float(value)
    except OverflowError:  # an integer or a fraction
        value = math.inf if value > 0 else -math.inf
    if not is_allowed(value):
        raise ProtocolError(f"{name} must be {allowed}; got {value!r}")
    return value


def check_positive(name: str, value: Any) -> float:
    """Return a positive finite number as a float, or raise as `check_real`."""
    return check_real(name, value, "positive and finite", lambda number: 0 < number < math.inf)


def check_scale(name: str, value: Any) -> float:
    """Return a size in the unit of the data as a float, or raise as `check_real`.

    Powers of sizes up to the sixth enter gains and radii, and are doubles in this range.
    """
    low, high = SCALE_RANGE
    return check_real(name, value, "in [1e-40, 1e40]", lambda number: low <= number <= high)


def check_non_negative(name: str, value: Any) -> float:
    """Return a finite number from zero on as a float, or raise as `check_real`."""
    return check_real(name, value, "non-negative and finite", lambda number: 0 <= number < math.inf)


def check_bool(name: str, value: Any) -> bool:
    """Return a bool of Python or numpy as one of Python, or raise ArgumentTypeError."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(f"{name} must be True or False; got {reprlib.repr(value)}")
    return bool(value)


def check_choice(name: str, value: Any, choices: Iterable[str | None]) -> Any:
    """Return one of a few names, or raise ProtocolError."""
    choices = tuple(choices)
    if not (value is None or isinstance(value, str)) or value not in choices:
        raise ProtocolError(f"{name} must be one of {choices}; got {reprlib.repr(value)}")
    return value


def _scalar(name, value, kind, wanted):
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]  # numpy and geomstats return numbers as such arrays
    if isinstance(value, bool) or not isinstance(value, kind):
        raise ArgumentTypeError(f"{name} must be {wanted}; got {reprlib.repr(value)}")
    return value


# ---------------------------------------------------------------- arrays


def finite_array(
    name: str, values: ArrayLike, shape: tuple, error: type[ValueError] = ProtocolError
) -> np.ndarray:
    """Return values as a float array with finite entries, of a shape as for `check_shape`.

    The class of the error is ValueError, or a kind of it.
    """
    values = real_array(name, values, error)
    check_shape(name, values, shape, error)
    is_finite = np.isfinite(values)
    if not is_finite.all():
        n_stacked = values.ndim - sum(entry not in (..., "n") for entry in shape)
        is_finite = is_finite.all(axis=tuple(range(n_stacked, values.ndim)))
        raise error(f"{name} must be finite; it contains NaN or inf{place_text(~is_finite)}")
    return values


def symmetric_matrix(name: str, values: ArrayLike, dim: int | None = None) -> np.ndarray:
    """Return the symmetric part of a matrix that differs from it by rounding only.

    Rounding is relative to the largest entry, so that no unit of the data matters. Any size is
    taken where `dim` is None.
    """
    matrix = finite_array(name, values, ("n" if dim is None else dim,) * 2)
    check_shape(name, matrix, (len(matrix),) * 2)
    if np.abs(matrix - matrix.T).max() > _ROUNDING * np.abs(matrix).max():
        raise ProtocolError(f"{name} must be symmetric")
    return (matrix + matrix.T) / 2


def definite_matrix(name: str, values: ArrayLike, dim: int) -> np.ndarray:
    """Return values as a symmetric positive definite matrix; see `symmetric_matrix`."""
    matrix = symmetric_matrix(name, values, dim)
    if np.linalg.eigvalsh(matrix)[0] <= 0:
        raise ProtocolError(f"{name} must be positive definite")
    return matrix


def real_array(name: str, values: ArrayLike, error: type[ValueError] = ProtocolError) -> np.ndarray:
    """Return values as a float array, or raise `error`; bools, texts and the like are refused."""
    try:
        values = np.asarray(values)
    except (TypeError, ValueError):  # the text would quote the values, as would a chained error
        values = np.empty(0, dtype=object)
    if values.dtype.kind not in "fiu":
        raise error(f"{name} must be an array of real numbers; got something else")
    return np.asarray(values, dtype=float, order="C")


def check_shape(
    name: str, values: ArrayLike, shape: tuple, error: type[ValueError] = ProtocolError
) -> None:
    """Raise `error` unless an array has a shape.

    "n" stands for a length of any size, and ``...`` in front for any number of dimensions.
    """
    came = np.shape(values)
    is_open = shape[:1] == (...,)
    entries = shape[1:] if is_open else shape
    n_more = len(came) - len(entries)
    fits = n_more >= 0 if is_open else n_more == 0
    if not fits or any(entry not in ("n", length) for entry, length in zip(entries, came[n_more:])):
        raise error(f"{name} must have shape {shape_text(shape)}; got {came}")


def shape_text(shape: tuple) -> str:
    """A shape in words; "n" and ``...`` as for `check_shape`."""
    if shape[:1] == (...,):
        return f"[{', '.join(('...', *map(str, shape[1:])))}]"
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def check_all(expected: str, is_good: np.ndarray) -> None:
    """Raise ProtocolError with the place of the first point that fails, if there is one.

    `expected` is what must hold, with the name of the argument. The point itself is left out: it
    may be a datum, and error texts end up in logs.
    """
    if not np.all(is_good):
        raise ProtocolError(f"{expected}; this fails{place_text(np.logical_not(is_good))}")


def place_text(is_bad: np.ndarray) -> str:
    """Say where the first of some flags is set: " at index 3", or "" for a flag on its own."""
    index = np.unravel_index(np.argmax(is_bad), np.shape(is_bad))
    if not index:
        return ""
    return f" at index {index[0] if len(index) == 1 else tuple(map(int, index))}"
