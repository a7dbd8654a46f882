"""Loops over coordinates: compiled for one point, or interpreted for many at once.

A loop over the length of an array costs more in preparation than a vector of three numbers takes.
Twins of low-dimensional spaces carry their axes as a tuple, whose length is part of the type: each
of these dimensions is compiled for itself, all others together.

A closed form that takes coordinates ``point[i]`` serves a batch as well, if these are arrays: the
geomstats engine runs it so where geomstats loses digits.
"""

from __future__ import annotations

import numpy as np

from geomstats_ldp.geometry.elementwise import choose
from geomstats_ldp.twins import jitable_inline

#: Largest number of ambient coordinates that is compiled for itself.
_MOST = 4


def axes_of(width):
    """Numbers of the ambient coordinates, or nothing if they are many."""
    return tuple(range(width)) if width <= _MOST else ()


@jitable_inline
def width_of(axes, vector):
    """Length of an ambient vector, a constant where there are axes."""
    return len(axes) if len(axes) > 0 else vector.shape[0]


@jitable_inline
def distance_between(axes, a, b):
    """Euclidean distance; scaled before squaring, so that no square leaves the range of doubles."""
    largest = 0.0
    for i in range(width_of(axes, a)):
        largest = np.maximum(largest, np.abs(a[i] - b[i]))
    unit = choose(largest > 0.0, largest, 1.0)
    squared = 0.0
    for i in range(width_of(axes, a)):
        squared += ((a[i] - b[i]) / unit) ** 2
    return largest * np.sqrt(squared)


@jitable_inline
def combine(axes, dim, coords, basis, out):
    """Write the combination of the vectors of a basis, one a row, to out."""
    for i in range(width_of(axes, out)):
        entry = 0.0
        for j in range(dim):
            entry += coords[j] * basis[j, i]
        out[i] = entry


@jitable_inline
def products(axes, dim, vector, basis, out):
    """Write the Euclidean products with the vectors of a basis, one a row, to out."""
    for j in range(dim):
        entry = 0.0
        for i in range(width_of(axes, vector)):
            entry += basis[j, i] * vector[i]
        out[j] = entry


def transposed(matrix):
    """Transpose of the last two axes."""
    return np.swapaxes(matrix, -1, -2)


def coordinates_first(array):
    """The array with its coordinates along the first axis."""
    return np.moveaxis(np.asarray(array, dtype=float), -1, 0)


def on_batches(kernel, twin, *arrays):
    """Run a closed form on points and vectors of shape [..., width], which broadcast."""
    arrays = [coordinates_first(array) for array in arrays]
    batch = np.broadcast_shapes(*(array.shape[1:] for array in arrays))
    out = np.empty((arrays[0].shape[0], *batch))
    kernel(twin, *arrays, out)
    return np.moveaxis(out, 0, -1)
