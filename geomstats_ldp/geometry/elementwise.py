"""Entry by entry operations on points of any shape, for the source that both engines run.

Compiled whole-array assignments make a copy in case the arrays overlap; these loops do not.
"""

from __future__ import annotations

from numba.extending import overload, register_jitable


def assign(values, out):
    """Write values to out."""
    out[...] = values


def scale(factor, out):
    """Multiply out by a number."""
    out *= factor


@register_jitable
def _assign_vector(values, out):
    for i in range(out.shape[0]):
        out[i] = values[i]


@register_jitable
def _assign_matrix(values, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = values[i, j]


@register_jitable
def _scale_vector(factor, out):
    for i in range(out.shape[0]):
        out[i] *= factor


@register_jitable
def _scale_matrix(factor, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] *= factor


@overload(assign, strict=False, jit_options={"forceinline": True})
def _choose_assign(values, out):
    return _assign_vector if out.ndim == 1 else _assign_matrix


@overload(scale, strict=False, jit_options={"forceinline": True})
def _choose_scale(factor, out):
    return _scale_vector if out.ndim == 1 else _scale_matrix
