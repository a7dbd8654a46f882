"""Transforms that keep the interval of a function of the parameter within its range."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.validation import check_choice

#: Relative error of ``inverse(forward(value))`` that is rounding.
_ROUNDING = 1e-6

#: Step of a numerical derivative relative to the standard error, and to the value.
_STEP, _SMALLEST_STEP = 1e-4, 1e-8


class Transform(NamedTuple):
    """A smooth monotone function g of one number, applied to each component.

    Attributes
    ----------
    forward, inverse : callable
    slope : callable or None
        Derivative of `forward`; None for central differences.
    """

    forward: Callable
    inverse: Callable
    slope: Callable | None = None

    def slopes(self, values: np.ndarray, errors: np.ndarray) -> np.ndarray:
        """Derivatives at values with given standard errors, shape [r]."""
        with np.errstate(all="ignore"):
            if self.slope is not None:
                return self.slope(values)
            steps = np.maximum(_STEP * errors, _SMALLEST_STEP * np.abs(values))
            steps = np.where(steps > 0, steps, _SMALLEST_STEP)
            rise = np.asarray(self.forward(values + steps)) - self.forward(values - steps)
            return rise / (2 * steps)


_NAMED = {
    "log": Transform(np.log, np.exp, lambda value: 1 / value),
    "logit": Transform(special.logit, special.expit, lambda value: 1 / (value * (1 - value))),
}


def make_transform(transform: Any, values: np.ndarray, errors: np.ndarray) -> Transform | None:
    """Return the transform that is asked for, seen to work at the estimates and standard errors.

    Raises
    ------
    ProtocolError
        If it is something else, or has no value, slope or inverse at the estimate.
    """
    if transform is None:
        return None
    if isinstance(transform, (tuple, list)):
        if len(transform) != 2 or not all(callable(part) for part in transform):
            raise ProtocolError(
                f"transform must be a pair of functions, g and its inverse; got {transform!r}"
            )
        chosen = Transform(*transform)
    else:
        chosen = _NAMED[check_choice("transform", transform, _NAMED)]
    with np.errstate(all="ignore"):
        mapped = np.asarray(chosen.forward(values), dtype=float)
        back = np.asarray(chosen.inverse(mapped), dtype=float)
    slopes = chosen.slopes(values, errors)
    if not (np.isfinite(mapped).all() and np.isfinite(slopes).all() and np.all(slopes != 0)):
        raise ProtocolError(
            f"transform must be defined at the estimate of h, with a slope; h is {values} there"
        )
    if not np.allclose(back, values, rtol=_ROUNDING, atol=0.0):
        raise ProtocolError("transform must be a pair (g, inverse of g); the inverse is another")
    return chosen
