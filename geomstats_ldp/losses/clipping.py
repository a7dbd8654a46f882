"""Radial clipping of vectors, safe for entries of any finite size."""

from __future__ import annotations

import numpy as np


def clip_to_norm(data, norm_bound):
    """Scale vectors, shape [..., m], that are longer than `norm_bound` back to it."""
    # Dividing by the largest entry first keeps the square of a huge one finite.
    unit = np.maximum(np.max(np.abs(data), axis=-1, keepdims=True), norm_bound)
    scaled = data / unit
    length = np.linalg.norm(scaled, axis=-1, keepdims=True)
    is_long = length > norm_bound / unit
    return np.where(is_long, scaled * (norm_bound / np.where(is_long, length, 1.0)), data)
