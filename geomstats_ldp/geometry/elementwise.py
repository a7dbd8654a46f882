"""Entry by entry operations, for the source that both engines run.

Compiled whole-array assignments make a copy in case the arrays overlap; these loops do not.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from geomstats_ldp.twins import KERNEL_OPTIONS, jitable


def assign(values, out):
    """Write values to out."""
    out[...] = values


def scale(factor, out):
    """Multiply out by a number."""
    out *= factor


def choose(condition, value, other):
    """Either of two numbers; of two arrays, entry by entry. Both are always computed."""
    return np.where(condition, value, other)


@jitable
def _choose_number(condition, value, other):
    return value if condition else other


@jitable
def _assign_vector(values, out):
    for i in range(out.shape[0]):
        out[i] = values[i]


@jitable
def _assign_matrix(values, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = values[i, j]


@jitable
def _scale_vector(factor, out):
    for i in range(out.shape[0]):
        out[i] *= factor


@jitable
def _scale_matrix(factor, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] *= factor


@overload(assign, strict=False, jit_options={"forceinline": True, **KERNEL_OPTIONS})
def _choose_assign(values, out):
    return _assign_vector if out.ndim == 1 else _assign_matrix


@overload(scale, strict=False, jit_options={"forceinline": True, **KERNEL_OPTIONS})
def _choose_scale(factor, out):
    return _scale_vector if out.ndim == 1 else _scale_matrix


@overload(choose, strict=False, jit_options={"forceinline": True, **KERNEL_OPTIONS})
def _choose_choose(condition, value, other):
    return _choose_number
