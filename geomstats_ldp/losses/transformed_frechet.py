"""Centres of a transform of the distance that the user brings along."""

from __future__ import annotations

import hashlib
from typing import Callable, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.losses.radial import RadialLoss, hessian_comparison
from geomstats_ldp.registry import Registry

#: Number of distances at which a transform is examined.
_GRID = 4097

#: Where two transforms of one name are compared.
_PROBES = np.geomspace(1e-6, 1e3, 91)


class Psi(NamedTuple):
    """A transform psi and its derivatives, functions of arrays of half squared distances."""

    psi: Callable
    psi_prime: Callable
    psi_second: Callable

    def at(self, t: np.ndarray) -> np.ndarray:
        """Values of the three functions, shape [3, ...]."""
        return np.array([np.broadcast_to(function(t), np.shape(t)) for function in self])


def _facts(transform):
    """What two transforms of one name must share: their values."""
    with np.errstate(all="ignore"):
        values = transform.at(_PROBES).tobytes()
    return f"a transform with values of digest {hashlib.sha256(values).hexdigest()[:12]}"


_TRANSFORMS = Registry("transform", _facts)


def register_transform(name: str, psi: Callable, psi_prime: Callable, psi_second: Callable) -> None:
    """Make a transform known by name, so that a protocol that uses it can be rebuilt.

    Every process that rebuilds such a protocol, a participant's device for one, has to register
    the transform first: a record holds the name, never the code.

    Parameters
    ----------
    name : str
        The name must mean the same transform everywhere.
    psi, psi_prime, psi_second : callable
        The transform of :math:`t = d^2 / 2` and its first two derivatives, of arrays.

    Raises
    ------
    ProtocolError
        If the name is taken by a transform with other values.
    """
    _TRANSFORMS.add(name, Psi(psi, psi_prime, psi_second))


class TransformedFrechetLoss(RadialLoss):
    r"""Loss :math:`\psi(d(x, y)^2 / 2)` for a registered psi (section S.1.2 of the paper).

    It runs in the geomstats engine; `PseudoHuberLoss` is a compiled special case.

    Parameters
    ----------
    center : array-like, shape [*point_shape]
        Public centre of the ball of data.
    data_radius : float
        Public geodesic radius of that ball.
    transform : str
        Name given to `register_transform`.

    Raises
    ------
    ProtocolError
        If no transform of that name is registered.

    See Also
    --------
    RadialLoss : what data and queries must satisfy, in particular on curved spaces.

    Examples
    --------
    >>> from geomstats_ldp.losses import TransformedFrechetLoss, register_transform
    >>> register_transform(
    ...     "log", lambda t: np.log1p(t), lambda t: 1 / (1 + t), lambda t: -1 / (1 + t) ** 2
    ... )
    >>> TransformedFrechetLoss(center=[0.0, 0.0], data_radius=0.5, transform="log")
    TransformedFrechetLoss(center=(0.0, 0.0), data_radius=0.5, transform='log')
    """

    name = "transformed_frechet"

    def __init__(self, *, center: ArrayLike, data_radius: float, transform: str):
        super().__init__(center=center, data_radius=data_radius)
        _TRANSFORMS.find(transform)
        self.transform = transform

    def psi(self, t: np.ndarray) -> np.ndarray:
        """Registered function."""
        return _TRANSFORMS.find(self.transform).psi(t)

    def psi_prime(self, t: np.ndarray) -> np.ndarray:
        """Registered derivative."""
        return _TRANSFORMS.find(self.transform).psi_prime(t)

    def psi_second(self, t: np.ndarray) -> np.ndarray:
        """Registered second derivative."""
        return _TRANSFORMS.find(self.transform).psi_second(t)

    def check_transform(self, largest: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Examine the condition of the paper up to a distance, and return the values found.

        The condition is :math:`\psi'(t) + 2 t \min(\psi''(t), 0) > 0` for
        :math:`0 \le t \le D^2 / 2`, examined on a fine grid.

        Parameters
        ----------
        largest : float
            Distance D.

        Returns
        -------
        distance, slope, bend : array, shape [4097]
            Distances s from 0 to D, and :math:`\psi', \psi''` at :math:`s^2 / 2`.

        Raises
        ------
        ProtocolError
            Naming the place where the condition fails.
        """
        distance = np.linspace(0.0, largest, _GRID)
        with np.errstate(all="ignore"):
            _, slope, bend = _TRANSFORMS.find(self.transform).at(distance**2 / 2)
            condition = slope + distance**2 * np.minimum(bend, 0.0)
        fails = ~(np.isfinite(slope) & np.isfinite(bend) & (condition > 0))
        if np.any(fails):
            place = np.argmax(fails)
            raise ProtocolError(
                f"transform {self.transform!r} must keep psi'(t) + 2 t min(psi''(t), 0) positive "
                f"for distances up to {largest:.6g}; it is {condition[place]:.6g} at "
                f"t={distance[place] ** 2 / 2:.6g}, distance {distance[place]:.6g}. "
                "Choose a smaller data_radius or working region"
            )
        return distance, slope, bend

    def score_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Return D psi'(D^2 / 2), after examining the condition that makes it the largest norm."""
        self.check_transform(self.largest_distance(geometry, query_region))
        return super().score_bound(geometry, query_region)

    def hessian_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Largest eigenvalue, radial or across, over the distances up to D."""
        largest = self.largest_distance(geometry, query_region)
        distance, slope, bend = self.check_transform(largest)
        across = slope * hessian_comparison(geometry, distance)
        return float(np.max(np.maximum(across, slope + distance**2 * bend)))
