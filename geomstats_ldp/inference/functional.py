"""Inference for smooth functions of the parameter, by the delta method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, UserCoordinates
from geomstats_ldp.inference.calibration import ONE_LOOK, Calibration
from geomstats_ldp.inference.region import check_level
from geomstats_ldp.inference.transforms import Transform, make_transform
from geomstats_ldp.validation import check_shape, finite_array, real_array

#: Step of the numerical derivative relative to the spread of the estimate.
_STEP = 1e-2

#: Steps are at least this many times the rounding of the point, so that its error stays small.
_SMALLEST_STEP = 1e8

#: Changes of h up to here, relative to its largest component, are rounding.
_ROUNDING = 1e-9


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
    bend : array, shape [r], optional
        How far h is from its tangent one standard deviation away from the estimate, in standard
        errors of h. The delta method needs this to be small.
    transform : Transform or None
        Scale on which the estimate is taken to be normal; None for that of h.
    calibration : OneLook, AnyLook or BiasedLook
        What statistics are compared with.
    """

    estimate: np.ndarray
    covariance: np.ndarray
    jacobian: np.ndarray
    bend: np.ndarray | None = None
    transform: Transform | None = None
    calibration: Calibration = ONE_LOOK

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
            Lower and upper ends; with a transform they lie in its domain.

        Raises
        ------
        ProtocolError
            If the level is not a number in (0, 1).
        """
        quantile = np.sqrt(self.calibration.quantile(check_level(level), 1))
        if self.transform is None:
            half = quantile * self.standard_error
            return np.stack([self.estimate - half, self.estimate + half], axis=-1)
        middle = self.transform.forward(self.estimate)
        half = quantile * np.abs(self._slopes()) * self.standard_error
        with np.errstate(over="ignore"):
            ends = self.transform.inverse(np.stack([middle - half, middle + half], axis=-1))
        return np.sort(ends, axis=-1)

    def _slopes(self):
        """Derivative of the transform at the estimate, shape [r]."""
        if self.transform is None:
            return np.ones(len(self.estimate))
        return self.transform.slopes(self.estimate, self.standard_error)

    def statistic(self, value: ArrayLike) -> float:
        """Wald statistic of a value of h, on the scale of the transform if there is one.

        Parameters
        ----------
        value : array-like, shape [r]

        Returns
        -------
        statistic : float
            Infinite for a value on which the transform is not defined.

        Raises
        ------
        ProtocolError
            If the shape is wrong, or the covariance is singular, as for r > dim.
        """
        value = check_value(value, self.estimate)
        if np.linalg.matrix_rank(self.covariance) < len(value):
            raise ProtocolError(
                "covariance is singular: the components of h are dependent at the estimate; "
                f"it has rank {np.linalg.matrix_rank(self.covariance)} of {len(value)}"
            )
        gap = value - self.estimate
        if self.transform is not None:
            with np.errstate(all="ignore"):
                gap = self.transform.forward(value) - self.transform.forward(self.estimate)
            gap = gap / self._slopes()
        if not np.isfinite(gap).all():
            return np.inf
        return float(gap @ np.linalg.solve(self.covariance, gap))

    def pvalue(self, value: ArrayLike) -> float:
        """P-value of the Wald test that h of the parameter is `value`; see `statistic`."""
        return float(self.calibration.pvalue(self.statistic(value), len(self.estimate)))

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
        quantile = self.calibration.quantile(check_level(level), len(self.estimate))
        return self.statistic(value) <= quantile


def check_function(h):
    """Raise ProtocolError unless `h` can be called."""
    if not callable(h):
        raise ProtocolError(f"h must be a function of a point; got {h!r}")


def check_values(values):
    """Return what a function of the parameter returned, shape [r], or raise ProtocolError."""
    values = np.atleast_1d(np.asarray(values, dtype=float))
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ProtocolError(f"h must return a finite number or vector; got {values}")
    return values


def check_value(value: ArrayLike, estimate: np.ndarray) -> np.ndarray:
    """Return a hypothetical value of h, shape [r], or raise ProtocolError."""
    value = np.atleast_1d(real_array("value", value))
    check_shape("value", value, estimate.shape)
    return value


def smooth_functional(
    h: Callable,
    geometry: Geometry,
    center: np.ndarray,
    covariance: np.ndarray,
    coordinates: UserCoordinates | None = None,
    jacobian: ArrayLike | None = None,
    transform: Any = None,
    calibration: Calibration = ONE_LOOK,
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
    transform : None, "log", "logit" or pair of callables
        Scale on which the estimate is taken to be normal: a monotone function of each component,
        and its inverse.
    calibration : OneLook, AnyLook or BiasedLook, optional
        What statistics are compared with. Default the law of one look.

    Returns
    -------
    functional : SmoothFunctional

    Raises
    ------
    ProtocolError
        If `h` is not callable or does not return a finite number or vector, the Jacobian has
        another shape, or the transform is not defined at the estimate.
    """
    check_function(h)

    def value(coords):
        point = geometry.exp(geometry.lift(coords, center), center)
        outer = point if coordinates is None else coordinates.from_internal(point)
        return np.atleast_1d(np.asarray(h(outer), dtype=float))

    dim = geometry.dim
    estimate = check_values(value(np.zeros(dim)))
    if jacobian is None:
        smallest = _SMALLEST_STEP * geometry.rounding(center)
        steps = np.maximum(_STEP * np.sqrt(np.diag(covariance)), smallest)
        steps = np.where(steps > 0, steps, _STEP)
        columns = [
            (value(step * axis) - value(-step * axis)) / (2 * step)
            for step, axis in zip(steps, np.eye(dim))
        ]
        jacobian = np.stack(columns, axis=-1)
    jacobian = finite_array("jacobian", jacobian, (len(estimate), dim))
    variance = jacobian @ covariance @ jacobian.T
    errors = np.sqrt(np.diag(variance))
    bend = _bend(value, estimate, jacobian, covariance, errors)
    chosen = make_transform(transform, estimate, errors)
    return SmoothFunctional(estimate, variance, jacobian, bend, chosen, calibration)


def _bend(value, estimate, jacobian, covariance, errors):
    """Distance of h from its tangent at the ends of the axes of one standard deviation.

    Relative to the standard errors; infinite where h has no value.
    """
    spreads, axes = np.linalg.eigh(covariance)
    ends = (axes * np.sqrt(np.maximum(spreads, 0.0))).T
    gaps = np.zeros(len(estimate))
    for coords in (*ends, *-ends):
        try:
            with np.errstate(all="ignore"):
                gap = np.abs(value(coords) - estimate - jacobian @ coords)
        except (ValueError, ArithmeticError):  # h, or the point itself, is out of its range
            gap = np.full(len(estimate), np.inf)
        gaps = np.maximum(gaps, np.where(np.isnan(gap), np.inf, gap))
    gaps[gaps <= _ROUNDING * np.max(np.abs(estimate))] = 0.0  # components that are constant
    return np.divide(gaps, errors, out=np.where(gaps > 0, np.inf, 0.0), where=errors > 0)
