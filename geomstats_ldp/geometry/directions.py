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


def unit_vector(initial_point: ArrayLike | None, width: int) -> np.ndarray:
    """Unit vector along a public direction, (1, ..., 1) by default.

    Parameters
    ----------
    initial_point : array-like, shape [width], or None
    width : int

    Returns
    -------
    vector : array, shape [width]

    Raises
    ------
    ProtocolError
        If it is not a finite non-zero vector of the right length.
    """
    if initial_point is None:
        initial_point = np.ones(width)
    vector = np.array(real_array("initial_point", initial_point))
    if vector.shape != (width,) or not np.isfinite(vector).all() or not vector.any():
        raise ProtocolError(
            f"initial_point must be a finite non-zero vector of length {width}; "
            f"got {initial_point!r}"
        )
    return vector / np.linalg.norm(vector)
