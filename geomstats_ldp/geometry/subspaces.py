"""Subspaces given by rows that span them, and the angles between two of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import subspace_angles

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.validation import finite_array

#: Smallest singular value, relative to the largest, of rows that are independent.
_INDEPENDENT = 1e-8


def projection_on(rows: ArrayLike, name: str = "rows") -> np.ndarray:
    """Orthogonal projection on the span of rows.

    Parameters
    ----------
    rows : array-like, shape [k, p]
    name : str
        What to call them in an error.

    Returns
    -------
    projection : array, shape [p, p]

    Raises
    ------
    ProtocolError
        If the rows are not finite or not independent.
    """
    rows = finite_array(name, rows, ("n", "n"))
    sizes, directions = np.linalg.svd(rows, full_matrices=False)[1:]
    if rows.size == 0 or len(rows) > rows.shape[1] or sizes[-1] <= _INDEPENDENT * sizes[0]:
        raise ProtocolError(f"{name} must be independent; got singular values {sizes}")
    return directions.T @ directions


def principal_angles(subspace: ArrayLike) -> Callable[[np.ndarray], np.ndarray]:
    """Angles of a subspace or direction to a given one, as a function for `functional`.

    Parameters
    ----------
    subspace : array-like, shape [k, p]
        Rows that span the given subspace, of the same dimension as the estimated one.

    Returns
    -------
    h : callable
        Takes a projection, shape [p, p], or a unit vector, shape [p], to the principal angles in
        radians, ascending, shape [k]. Not differentiable where an angle is zero or two are equal.

    Raises
    ------
    ProtocolError
        If the rows are not finite or not independent.
    """
    given = _span(projection_on(subspace, "subspace"))

    def h(point: np.ndarray) -> np.ndarray:
        spanned = point[:, None] if point.ndim == 1 else _span(point)
        return np.sort(subspace_angles(given, spanned))

    return h


def _span(projection):
    """Orthonormal columns that span the image of a projection."""
    rank = round(float(np.trace(projection)))
    return np.linalg.eigh(projection)[1][:, -rank:]
