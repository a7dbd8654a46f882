"""Directions given as vectors of any length."""

from __future__ import annotations

from typing import Any

import numpy as np
from geomstats.geometry.hypersphere import Hypersphere
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.validation import real_array


def sphere_of_width(width: int) -> Any:
    """Unit sphere of directions in R^width.

    Parameters
    ----------
    width : int
        Number of coordinates, at least two.

    Returns
    -------
    space : Hypersphere

    Raises
    ------
    ProtocolError
        If the width is less.
    """
    if width < 2:
        raise ProtocolError(f"n_features must be at least 2; got {width}")
    return Hypersphere(dim=width - 1)


def unit_vector(direction: ArrayLike | None, width: int, name: str = "initial_point") -> np.ndarray:
    """Unit vector along a public direction, (1, ..., 1) by default.

    Parameters
    ----------
    direction : array-like, shape [width], or None
    width : int
    name : str
        What to call it in an error.

    Returns
    -------
    vector : array, shape [width]

    Raises
    ------
    ProtocolError
        If it is not a finite non-zero vector of the right length.
    """
    vector = np.ones(width) if direction is None else np.array(real_array(name, direction))
    if vector.shape != (width,) or not np.isfinite(vector).all() or not vector.any():
        raise ProtocolError(
            f"{name} must be a finite non-zero vector of length {width}; got {direction!r}"
        )
    return vector / np.linalg.norm(vector)
