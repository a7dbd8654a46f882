"""Loops over coordinates that the compiler can unroll.

A loop over the length of an array costs more in preparation than a vector of three numbers takes.
Twins of low-dimensional spaces carry their axes as a tuple, whose length is part of the type: each
of these dimensions is compiled for itself, all others together.
"""

from __future__ import annotations

from numba.extending import register_jitable

#: Largest number of ambient coordinates that is compiled for itself.
_MOST = 4


def axes_of(width):
    """Numbers of the ambient coordinates, or nothing if they are many."""
    return tuple(range(width)) if width <= _MOST else ()


@register_jitable(forceinline=True)
def width_of(axes, vector):
    """Length of an ambient vector, a constant where there are axes."""
    return len(axes) if len(axes) > 0 else vector.shape[0]
