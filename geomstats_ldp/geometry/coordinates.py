"""The user's coordinates of hyperbolic space, and those the package computes in.

Points of the Poincare ball and of the half-space are converted to the hyperboloid and back; every
other space is computed on as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.poincare_ball import PoincareBall
from geomstats.geometry.poincare_half_space import PoincareHalfSpace
from numpy.typing import ArrayLike

from geomstats_ldp.geometry.spaces.hyperbolic import on_sheet
from geomstats_ldp.validation import check_all, check_choice, finite_array

#: Names by which a protocol calls the models of hyperbolic space.
_MODELS = {"poincare_ball": PoincareBall, "half_space": PoincareHalfSpace}


def to_ball(points: np.ndarray) -> np.ndarray:
    """Points of the Poincare ball, shape [..., dim], of points of the hyperboloid."""
    return points[..., 1:] / (1 + points[..., :1])


def _from_ball(points, name):
    # Near the boundary 1 - r^2 cancels: extended precision, where the platform has it, leaves
    # only the rounding of the given coordinates.
    margin = 1 - np.sum(points.astype(np.longdouble) ** 2, axis=-1, keepdims=True)
    check_all(f"{name} must lie inside the unit ball", margin[..., 0] > 0)
    return on_sheet(2 * points / margin.astype(float))


def _from_half_space(points, name):
    flat, height = points[..., :-1], points[..., -1:]
    check_all(f"{name} must have a positive last coordinate", height[..., 0] > 0)
    last = (np.sum(flat**2, axis=-1, keepdims=True) + (height - 1) * (height + 1)) / (2 * height)
    return on_sheet(np.concatenate([flat / height, last], axis=-1))


def _to_half_space(points):
    time, flat, last = points[..., :1], points[..., 1:-1], points[..., -1:]
    # The height is 1 / (t - last), and (t - last)(t + last) = 1 + |flat|^2.
    positive = (time + last) / (1 + np.sum(flat**2, axis=-1, keepdims=True))
    height = np.where(last > 0, positive, 1 / np.where(last > 0, 1.0, time - last))
    return np.concatenate([flat * height, height], axis=-1)


class UserCoordinates:
    """The space of the data, and conversions to and from that on which the package computes.

    Parameters
    ----------
    space : geomstats manifold

    Attributes
    ----------
    space, internal_space : geomstats manifold
    """

    def __init__(self, space: Any):
        self.space = space
        self.internal_space = Hyperboloid(dim=int(space.dim)) if self.name else space

    @classmethod
    def from_name(cls, name: str | None, internal_space: Any) -> UserCoordinates:
        """Coordinates that a protocol names.

        Parameters
        ----------
        name : {"poincare_ball", "half_space"} or None
            None for those of `internal_space`.
        internal_space : geomstats manifold

        Returns
        -------
        coordinates : UserCoordinates

        Raises
        ------
        ProtocolError
            If there is no such model of the space.
        """
        known = (None, *_MODELS) if type(internal_space) is Hyperboloid else (None,)
        check_choice("coordinates", name, known)
        return cls(internal_space if name is None else _MODELS[name](int(internal_space.dim)))

    @property
    def name(self) -> str | None:
        """Name for a protocol, None where nothing is converted."""
        names = {model: name for name, model in _MODELS.items()}
        return names.get(type(self.space))

    def to_internal(self, points: ArrayLike, name: str = "points") -> Any:
        """Convert points of `space` to points of `internal_space`.

        Parameters
        ----------
        points : array-like, shape [..., *point_shape]
            Of the Poincare models, shape [..., dim].
        name : str
            What to call them in an error.

        Returns
        -------
        points : array, shape [..., *point_shape]
            Of the Poincare models, shape [..., dim + 1].

        Raises
        ------
        ProtocolError
            With the place of the first point of a Poincare model that is not finite, lies outside
            the open ball, or has a last half-space coordinate that is not positive.
        """
        if self.name is None:
            return points
        name = f"{name} of {type(self.space).__name__}"
        points = finite_array(name, points, (..., int(self.space.dim)))
        return (_from_ball if self.name == "poincare_ball" else _from_half_space)(points, name)

    def from_internal(self, points: ArrayLike) -> Any:
        """Convert points of `internal_space` back to points of `space`; see `to_internal`."""
        if self.name is None:
            return points
        name = f"points of {type(self.space).__name__}"
        points = finite_array(name, points, (..., int(self.space.dim) + 1))
        return to_ball(points) if self.name == "poincare_ball" else _to_half_space(points)
