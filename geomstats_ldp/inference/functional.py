"""Inference for smooth functions of the parameter, by the delta method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, UserCoordinates
from geomstats_ldp.inference.region import check_level
from geomstats_ldp.validation import finite_array

#: Step of the numerical derivative relative to the spread of the estimate.
_STEP = 1e-2

#: Steps are at least this long, so that rounding stays small.
_SMALLEST_STEP = 1e-5


@dataclass(frozen=True, eq=False)
class SmoothFunctional:
    """Estimate of h(x) with its covariance (Corollary on smooth functionals of the paper).

    Attributes
    ----------
    estimate : array, shape [r]
        h at the estimate.
    covariance : array, shape [r, r]
        J C J^T with C the covariance of the estimate in its frame.
    jacobian : array, shape [r, dim]
        Derivative J of h along the frame.
    """

    estimate: np.ndarray
    covariance: np.ndarray
    jacobian: np.ndarray

    @property
    def standard_error(self) -> np.ndarray:
        """Square roots of the variances, shape [r]."""
        return np.sqrt(np.diag(self.covariance))

    def interval(self, level: float = 0.95) -> np.ndarray:
        """Confidence interval of each component.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
            Coverage of each interval on its own, not of all together.

        Returns
        -------
        interval : array, shape [r, 2]
            Lower and upper ends.

        Raises
        ------
        ProtocolError
            If the level is not a number in (0, 1).
        """
        half = stats.norm.ppf((1 + check_level(level)) / 2) * self.standard_error
        return np.stack([self.estimate - half, self.estimate + half], axis=-1)

    def statistic(self, value: ArrayLike) -> float:
        """Wald statistic of a value of h.

        Parameters
        ----------
        value : array-like, shape [r]

        Returns
        -------
        statistic : float

        Raises
        ------
        ValueError
            If the shape is wrong, or the covariance is singular, as for r > dim.
        """
        value = np.atleast_1d(np.asarray(value, dtype=float))
        if value.shape != self.estimate.shape:
            raise ValueError(f"value must have shape {self.estimate.shape}; got {value.shape}")
        if np.linalg.matrix_rank(self.covariance) < len(value):
            raise ValueError(
                "covariance is singular: the components of h are dependent at the estimate; "
                f"it has rank {np.linalg.matrix_rank(self.covariance)} of {len(value)}"
            )
        gap = value - self.estimate
        return float(gap @ np.linalg.solve(self.covariance, gap))

    def pvalue(self, value: ArrayLike) -> float:
        """P-value of the Wald test that h of the parameter is `value`; see `statistic`."""
        return float(stats.chi2.sf(self.statistic(value), len(self.estimate)))

    def contains(self, value: ArrayLike, level: float = 0.95) -> bool:
        """Whether the Wald region contains a value of h.

        Parameters
        ----------
        value : array-like, shape [r]
        level : float in (0, 1), default=0.95

        Returns
        -------
        inside : bool
        """
        return self.statistic(value) <= stats.chi2.ppf(check_level(level), len(self.estimate))


def check_function(h):
    """Raise ProtocolError unless `h` can be called."""
    if not callable(h):
        raise ProtocolError(f"h must be a function of a point; got {h!r}")


def check_values(values):
    """Return what a function of the parameter returned, shape [r], or raise ValueError."""
    values = np.atleast_1d(np.asarray(values, dtype=float))
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError(f"h must return a finite number or vector; got {values}")
    return values


def smooth_functional(
    h: Callable,
    geometry: Geometry,
    center: np.ndarray,
    covariance: np.ndarray,
    coordinates: UserCoordinates | None = None,
    jacobian: ArrayLike | None = None,
) -> SmoothFunctional:
    """Delta method for h at the estimate.

    Parameters
    ----------
    h : callable
        Maps a point in the coordinates of the user to a number or a vector of length r.
    geometry : Geometry
    center : array, shape [*point_shape]
        The estimate, in the coordinates of `geometry`.
    covariance : array, shape [dim, dim]
        Of the estimate, in its frame.
    coordinates : UserCoordinates, optional
        Of the user, where they differ.
    jacobian : array-like, shape [r, dim], optional
        Default central differences of h along geodesics.

    Returns
    -------
    functional : SmoothFunctional

    Raises
    ------
    ProtocolError
        If `h` is not callable.
    ValueError
        If what it returns is not a finite number or vector, or the Jacobian has another shape.
    """
    check_function(h)

    def value(coords):
        point = geometry.exp(geometry.lift(coords, center), center)
        outer = point if coordinates is None else coordinates.from_internal(point)
        return np.atleast_1d(np.asarray(h(outer), dtype=float))

    dim = geometry.dim
    estimate = check_values(value(np.zeros(dim)))
    if jacobian is None:
        steps = np.maximum(_STEP * np.sqrt(np.diag(covariance)), _SMALLEST_STEP)
        columns = [
            (value(step * axis) - value(-step * axis)) / (2 * step)
            for step, axis in zip(steps, np.eye(dim))
        ]
        jacobian = np.stack(columns, axis=-1)
    jacobian = finite_array("jacobian", jacobian, (len(estimate), dim))
    return SmoothFunctional(estimate, jacobian @ covariance @ jacobian.T, jacobian)
