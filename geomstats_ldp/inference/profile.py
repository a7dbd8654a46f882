"""Functions of the parameter by the score test: profiles instead of the delta method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from geomstats_ldp.inference.functional import check_function, check_value, check_values
from geomstats_ldp.inference.region import check_level
from geomstats_ldp.inference.score import ScoreRegion

#: Rays whose ends an optimisation may start from, and how many of them it does.
_N_RAYS = 256
_N_STARTS = 3

#: The same where a value of h is given.
_N_RAYS_OF_VALUE = 8

_TINY = np.finfo(float).tiny

#: Constraints, relative to their size, are kept to this.
_SLACK = 1e-6

#: Steps of derivatives, relative to the way that is searched: the root of the rounding.
_STEP = 1.5e-8


class ProfiledFunctional:
    r"""A function h of the parameter, tested by the least score statistic among its level sets.

    The hypothesis h(x) = c has the statistic :math:`\min \{T(x): h(x) = c\}` with T that of the
    score region, and :math:`\chi^2_r` for its law. So an interval is the range of h over the
    points whose T is at most the quantile of chi-squared with *one* degree of freedom. It holds
    however badly the Hessian is known, and is wider than that of the delta method where it is.

    Parameters
    ----------
    h : callable
        Maps a point in the coordinates of the user to a number or a vector of length r.
    region : ScoreRegion

    Attributes
    ----------
    estimate : array, shape [r]
        h at the estimate.

    Raises
    ------
    ProtocolError
        If `h` is not callable.
    ValueError
        If it does not return a finite number or vector.
    """

    def __init__(self, h: Callable, region: ScoreRegion):
        check_function(h)
        self._h, self._region = h, region
        self.estimate = self._values(np.zeros((1, region.dim)))[0]

    def _values(self, coords):
        """H at points with given frame coordinates, shape [n, dim]: shape [n, r]."""
        # An optimiser may try points far beyond anything a region can hold, and lose its way.
        lengths = np.linalg.norm(coords, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            return np.full((len(coords), len(self.estimate)), np.nan)
        longest = self._region.longest
        points = self._region.points_at(coords * (longest / np.maximum(lengths, longest)))
        return np.array([check_values(self._h(point)) for point in points])

    def interval(self, level: float = 0.95) -> np.ndarray:
        """Confidence interval of each component.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
            Coverage of each interval on its own, not of all together.

        Returns
        -------
        interval : array, shape [r, 2]
            Lower and upper ends. Where the score region is open they are those within the working
            region; NaN where no point of it lies in the working region.

        Raises
        ------
        ProtocolError
            If the level is not a number in (0, 1).
        """
        region = self._region.for_one_number(level)
        coords = np.concatenate([region.midpoint[None], region.boundary_coordinates(_N_RAYS)])
        coords = np.concatenate([coords, *self._linear_ends(region)])
        coords = coords[np.min(region.room(coords), axis=1) >= -_SLACK]
        if len(coords) == 0:
            return np.full((len(self.estimate), 2), np.nan)
        values = self._values(coords)
        ends = [
            [self._extreme(region, i, side, coords, values[:, i]) for side in (1.0, -1.0)]
            for i in range(len(self.estimate))
        ]
        return np.array(ends)

    def _extreme(self, region, component, side, coords, values):
        """Smallest (side 1) or largest (side -1) value of a component, known at some points."""
        best = float(np.min(side * values))
        for start in coords[np.argsort(side * values)[:_N_STARTS]]:
            best = min(best, self._polished(region, component, side, start, best))
        return side * best

    def _linear_ends(self, region):
        """Where linear functions with the gradients at the midpoint are largest and smallest."""
        if region.is_open:
            return []
        _, gradients = _with_slopes(self._values, region.midpoint, np.eye(region.dim))
        root = (region.semi_axis_lengths[:, None] * region.semi_axes).T
        along = gradients @ root
        ends = along @ root.T / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), _TINY)
        return [region.midpoint + ends, region.midpoint - ends]

    def _polished(self, region, component, side, start, best):
        found, end = _least(
            lambda coords: side * self._values(coords)[:, component],
            ("ineq", region.room),
            start,
            _unit(region),
        )
        is_fine = np.isfinite(end).all() and np.min(region.room(end)) >= -_SLACK
        return float(found.fun) if is_fine else best

    def statistic(self, value: ArrayLike) -> float:
        """Least score statistic of the points at which h has a given value.

        Parameters
        ----------
        value : array-like, shape [r]

        Returns
        -------
        statistic : float
            Infinite if no such point was found.

        Raises
        ------
        ProtocolError
            If the shape is wrong.
        """
        value = check_value(value, self.estimate)
        statistic, unit, best = self._region.prediction.statistic, _unit(self._region), np.inf
        for start in self._starts(value, unit):
            if np.array_equal(self._values(start[None])[0], value):
                # Where h does not change there is nothing to follow.
                best = min(best, float(statistic(start)))
            constraint = "eq", lambda coords: self._values(coords) - value
            found, _ = _least(statistic, constraint, start, unit)
            if found.success and np.isfinite(found.fun):
                best = min(best, float(found.fun))
        return best

    def _starts(self, value, unit):
        """Points from which h, if it were linear, would reach a value at the least statistic.

        All of an open region, whose statistic is far from quadratic.
        """
        middle = self._region.midpoint
        rays = middle + 0.5 * (self._region.boundary_coordinates(_N_RAYS_OF_VALUE) - middle)
        starts, lengths = np.concatenate([middle[None], rays]), []
        if self._region.is_open:
            return starts
        for start in starts:
            found, slopes = _with_slopes(self._values, start, unit)
            place = np.linalg.solve(unit, start - middle)
            end = np.linalg.lstsq(slopes, value - found + slopes @ place, rcond=None)[0]
            lengths.append(np.linalg.norm(end))
        return starts[np.argsort(lengths)[:_N_STARTS]]

    def pvalue(self, value: ArrayLike) -> float:
        """P-value of the test that h of the parameter is `value`; see `statistic`."""
        calibration = self._region.calibration
        return float(calibration.pvalue(max(self.statistic(value), 0.0), len(self.estimate)))

    def contains(self, value: ArrayLike, level: float = 0.95) -> bool:
        """Whether the hypothesis that h is `value` is not rejected.

        Parameters
        ----------
        value : array-like, shape [r]
        level : float in (0, 1), default=0.95

        Returns
        -------
        inside : bool
        """
        quantile = self._region.calibration.quantile(check_level(level), len(self.estimate))
        return bool(self.statistic(value) <= quantile)


def _with_slopes(function, coords, unit):
    """Values at a point, shape [...], and derivatives along the columns of a matrix, [..., dim].

    By forward differences, all at once: calls of the geometry are what costs time.
    """
    value, *moved = function(coords + _STEP * np.concatenate([np.zeros((1, len(coords))), unit.T]))
    return value, (np.array(moved) - value).T / _STEP


def _unit(region):
    """Semi-axes of a region, one a column: in units of these a region is about a ball."""
    radius = region.working_region.radius
    lengths = np.clip(region.semi_axis_lengths, _STEP * radius, radius)
    return (lengths[:, None] * region.semi_axes).T


def _least(function, constraint, start, unit):
    """Least value of a function of points about a start, under a constraint, by SLSQP.

    Parameters
    ----------
    function : callable
        Maps coordinates, shape [n, dim], to numbers, shape [n].
    constraint : pair of str and callable
        "eq" or "ineq", and a function from coordinates to vectors, shape [n, n_constraints].
    start : array, shape [dim]
    unit : array, shape [dim, dim]
        Columns of which the steps are multiples.

    Returns
    -------
    found : OptimizeResult
    end : array, shape [dim]
    """
    kind, bounded = constraint

    def slopes(function):
        return lambda steps: _with_slopes(function, start + unit @ steps, unit)

    with np.errstate(all="ignore"):
        found = optimize.minimize(
            slopes(function),
            np.zeros(len(start)),
            jac=True,
            method="SLSQP",
            constraints={
                "type": kind,
                "fun": lambda steps: bounded((start + unit @ steps)[None])[0],
                "jac": lambda steps: slopes(bounded)(steps)[1],
            },
        )
    return found, start + unit @ found.x
