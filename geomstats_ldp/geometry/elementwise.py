"""Entry by entry operations, for the source that both engines run.

Compiled whole-array assignments make a copy in case the arrays overlap; these loops do not.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from geomstats_ldp.twins import KERNEL_OPTIONS, jitable, jitable_inline


@jitable_inline
def assign(values, out):
    """Write values to out, an array of the same shape."""
    for i in range(out.size):
        out.flat[i] = values.flat[i]


@jitable_inline
def scale(factor, out):
    """Multiply out by a number."""
    for i in range(out.size):
        out.flat[i] *= factor


def choose(condition, value, other):
    """Either of two numbers; of two arrays, entry by entry. Both are always computed."""
    return np.where(condition, value, other)


@jitable
def _choose_number(condition, value, other):
    return value if condition else other


@overload(choose, strict=False, jit_options={"forceinline": True, **KERNEL_OPTIONS})
def _choose_choose(condition, value, other):
    return _choose_number
