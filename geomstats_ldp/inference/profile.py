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

_TINY = np.finfo(float).tiny

#: Constraints, relative to their size, are kept to this.
_SLACK = 1e-6


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
        self.estimate = self._value(np.zeros(region.dim))

    def _value(self, coords):
        # An optimiser may try points far beyond anything a region can hold.
        length = np.linalg.norm(coords)
        if length > self._region.longest:
            coords = coords * (self._region.longest / length)
        return check_values(self._h(self._region.points_at(coords)))

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
            region.

        Raises
        ------
        ProtocolError
            If the level is not a number in (0, 1).
        """
        region = self._region.for_one_number(level)
        ends = [
            [self._extreme(region, lambda u, i=i: self._value(u)[i], side) for side in (1.0, -1.0)]
            for i in range(len(self.estimate))
        ]
        return np.array(ends)

    def _extreme(self, region, value, side):
        """Smallest (side 1) or largest (side -1) value of a function of coordinates."""
        coords = np.concatenate([region.midpoint[None], region.boundary_coordinates(_N_RAYS)])
        coords = np.concatenate([coords, self._linear_ends(region, value)])
        coords = coords[[np.min(region.room(one)) >= -_SLACK for one in coords]]
        values = np.array([side * value(one) for one in coords])
        best = float(values.min())
        for start in coords[np.argsort(values)[:_N_STARTS]]:
            best = min(best, self._polished(region, value, side, start, best))
        return side * best

    def _linear_ends(self, region, value):
        """Where a linear function with the gradient at the midpoint is largest and smallest."""
        if region.is_open:
            return np.empty((0, region.dim))
        gradient = optimize.approx_fprime(region.midpoint, value, 1e-6)
        root = (region.semi_axis_lengths[:, None] * region.semi_axes).T
        along = root.T @ gradient
        end = root @ along / max(float(np.linalg.norm(along)), _TINY)
        return np.stack([region.midpoint + end, region.midpoint - end])

    def _polished(self, region, value, side, start, best):
        scale = max(float(np.linalg.norm(start - region.midpoint)), _TINY)

        def place(steps):
            return start + scale * steps

        with np.errstate(all="ignore"):
            found = optimize.minimize(
                lambda steps: side * value(place(steps)),
                np.zeros(region.dim),
                method="SLSQP",
                constraints={"type": "ineq", "fun": lambda steps: region.room(place(steps))},
            )
        end = place(found.x)
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
        region, best = self._region, np.inf
        lengths = region.semi_axis_lengths[np.isfinite(region.semi_axis_lengths)]
        scale = float(max(lengths, default=region.working_region.radius))
        rays = region.midpoint + 0.5 * (region.boundary_coordinates(8) - region.midpoint)
        for start in np.concatenate([region.midpoint[None], rays]):
            if np.array_equal(self._value(start), value):
                # Where h does not change there is nothing to follow.
                best = min(best, float(region.prediction.statistic(start)))
            with np.errstate(all="ignore"):
                found = optimize.minimize(
                    lambda steps, start=start: region.prediction.statistic(start + scale * steps),
                    np.zeros(region.dim),
                    method="SLSQP",
                    constraints={
                        "type": "eq",
                        "fun": lambda steps, start=start: (
                            self._value(start + scale * steps) - value
                        ),
                    },
                )
            if found.success and np.isfinite(found.fun):
                best = min(best, float(found.fun))
        return best

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
