"""Radial clipping of vectors, safe for entries of any finite size."""

from __future__ import annotations

import numpy as np

#: Squared norms in this range, and all terms of the sum, are neither over- nor underflown.
_SAFE_SQUARES = (1e-200, 1e200)


def clip_to_norm(data, norm_bound):
    """Scale vectors, shape [..., m], that are longer than `norm_bound` back to it."""
    squares = squared_norms(data)
    if not np.all(squares <= _SAFE_SQUARES[1]) or not 1e-100 < norm_bound < 1e100:
        return _clip_any_size(data, norm_bound)
    length = np.sqrt(squares)
    is_long = length > norm_bound
    if not np.any(is_long):
        return data
    return data * np.where(is_long, norm_bound / np.where(is_long, length, 1.0), 1.0)[..., None]


def unit_directions(data):
    """Scale vectors, shape [..., m], to unit length; the zero vector stays as it is."""
    squares = squared_norms(data)
    if np.all((squares > _SAFE_SQUARES[0]) & (squares < _SAFE_SQUARES[1])):
        return data / np.sqrt(squares)[..., None]
    # Dividing by the largest entry first keeps the squares of huge and tiny ones in range.
    largest = np.max(np.abs(data), axis=-1, keepdims=True)
    scaled = data / np.where(largest > 0, largest, 1.0)
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return scaled / np.where(length > 0, length, 1.0)


def squared_norms(data):
    """Squared norms of vectors, shape [..., m]; inf where they overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.einsum("...i,...i->...", data, data)


def _clip_any_size(data, norm_bound):
    # Dividing by the largest entry first keeps the square of a huge one finite.
    unit = np.maximum(np.max(np.abs(data), axis=-1, keepdims=True), norm_bound)
    scaled = data / unit
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    is_long = length > norm_bound / unit
    return np.where(is_long, scaled * (norm_bound / np.where(is_long, length, 1.0)), data)
