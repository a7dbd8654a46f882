"""Comparing the parameters of groups that were estimated apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, UserCoordinates, geodesic_ball
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.inference.calibration import ONE_LOOK
from geomstats_ldp.inference.functional import SmoothFunctional, check_function, smooth_functional
from geomstats_ldp.inference.wald import WaldRegion
from geomstats_ldp.validation import check_integer

#: Most steps to the common point, and the length relative to its uncertainty that ends them.
_MOST_STEPS, _SHORT = 50, 1e-6


class Group(NamedTuple):
    """Estimate of one group, with its uncertainty.

    Attributes
    ----------
    geometry : Geometry
        Its frame is that of the covariance.
    point : array, shape [*point_shape]
        The estimate, in the coordinates of `geometry`.
    covariance : array, shape [dim, dim]
    working_region : GeodesicBall, LogBox or SpectralBand
    coordinates : UserCoordinates or None
        Of the user, where they differ.
    sign : float
        -1 if the group stands for the opposite of its point, as axes have no sign of their own.
    """

    geometry: Geometry
    point: np.ndarray
    covariance: np.ndarray
    working_region: WorkingRegion
    coordinates: UserCoordinates | None = None
    sign: float = 1.0

    @property
    def aligned(self) -> np.ndarray:
        """The point with its sign, shape [*point_shape]."""
        return self.sign * self.point

    def delta(self, h: Callable) -> SmoothFunctional:
        """Delta method for a function of the aligned point; see `smooth_functional`.

        Parameters
        ----------
        h : callable
            Maps a point in the coordinates of the geometry to a number or a vector.

        Returns
        -------
        functional : SmoothFunctional
        """
        return smooth_functional(
            lambda point: h(self.sign * point), self.geometry, self.point, self.covariance
        )

    def outer(self, point: np.ndarray) -> np.ndarray:
        """A point in the coordinates of the user.

        Parameters
        ----------
        point : array, shape [*point_shape]
            In those of the geometry.

        Returns
        -------
        point : array, shape [*point_shape]
        """
        return point if self.coordinates is None else self.coordinates.from_internal(point)


class Comparison:
    r"""Whether the parameters of groups are equal, and by how much they differ.

    The difference of group b from group a is the logarithm
    :math:`\delta_{ab} = B_a^{-1}\mathrm{Log}_{x_a} x_b` of one parameter at the other, in the
    public frame of the first group there: its length is the distance of the two. Its covariance is

    .. math:: J_a C_a J_a^\top + J_b C_b J_b^\top

    by the delta method, with the derivatives of the logarithm, and of the frame, in both
    arguments. The covariances of the groups need not be equal.

    Parameters
    ----------
    groups : sequence of Group

    Attributes
    ----------
    estimates : array, shape [n_groups, *point_shape]
        Of the groups, in the coordinates of the user; axes with the sign of the first.
    statistic : float
        Wald statistic of equality: the differences of all groups from the first, weighted by the
        inverse of their joint covariance.
    degrees_of_freedom : int
        (n_groups - 1) dim.
    pvalue : float
        Probability under chi-squared of a statistic at least as large.
    """

    def __init__(self, groups: Sequence[Group]):
        self.groups = tuple(groups)
        self.estimates = np.stack([group.outer(group.aligned) for group in self.groups])
        self._dim = self.groups[0].geometry.dim
        others = [self._log(0, b) for b in range(1, len(self.groups))]
        shift = np.concatenate([base.estimate for base, _ in others])
        # The estimate of the first group is in all differences, those of the others in one each.
        jacobian = np.concatenate([base.jacobian for base, _ in others])
        joint = jacobian @ self.groups[0].covariance @ jacobian.T
        for i, (_, end) in enumerate(others):
            block = slice(i * self._dim, (i + 1) * self._dim)
            joint[block, block] += end.covariance
        self.statistic = float(shift @ np.linalg.solve(joint, shift))
        self.degrees_of_freedom = len(shift)
        self.pvalue = float(ONE_LOOK.pvalue(self.statistic, self.degrees_of_freedom))

    def _log(self, a, b):
        """The logarithm of group b at group a, as a function of a, and as one of b."""
        first, second = self.groups[a], self.groups[b]
        geometry = first.geometry

        def difference(base, end):
            return geometry.coordinates(geometry.log(end, base), base)

        start, end = first.aligned, second.aligned
        return (
            first.delta(lambda base: difference(base, end)),
            second.delta(lambda point: difference(start, point)),
        )

    def _check_pair(self, first, second):
        last = len(self.groups) - 1
        check_integer("first", first, 0, last)
        check_integer("second", second, 0, last)
        if first == second:
            raise ProtocolError(f"first and second must be two groups; got {first} twice")

    def difference(self, level: float = 0.95, first: int = 0, second: int = 1) -> WaldRegion:
        """Confidence region of the difference of two groups.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
        first, second : int
            Their places among the arguments of the comparison.

        Returns
        -------
        region : WaldRegion
            Of vectors, shape [dim]: frame coordinates at the estimate of the first group of the
            logarithm of the second. ``region.center`` is the estimated difference,
            ``region.contains`` and ``region.pvalue`` ask about others, and zero is equality.

        Raises
        ------
        ProtocolError
            If the level is not in (0, 1), or the places are not those of two groups.
        """
        self._check_pair(first, second)
        base, end = self._log(first, second)
        flat = Geometry(space_from_spec({"name": "Euclidean", "dim": self._dim}))
        regions = [self.groups[i].working_region for i in (first, second)]
        away = float(np.linalg.norm(base.estimate))
        # No two points of the working regions are farther apart.
        ball = geodesic_ball(np.zeros(self._dim), away + 2 * sum(one.radius for one in regions))
        return WaldRegion(flat, base.estimate, base.covariance + end.covariance, level, ball)

    def functional(self, h: Callable, first: int = 0, second: int = 1) -> SmoothFunctional:
        """Estimate and intervals of the difference of a function, h(second) - h(first).

        Parameters
        ----------
        h : callable
            Maps a point, shape [*point_shape], to a number or a vector of length r. Axes have the
            sign of the first group.
        first, second : int
            Places of the two groups among the arguments of the comparison.

        Returns
        -------
        functional : SmoothFunctional
            Its `jacobian` has the derivatives for the first group and then those for the second,
            shape [r, 2 dim].

        Raises
        ------
        ProtocolError
            If `h` is not callable or does not return finite numbers, or the places are not those
            of two groups.
        """
        check_function(h)
        self._check_pair(first, second)
        chosen = [self.groups[i] for i in (first, second)]
        less, more = (group.delta(lambda x, g=group: h(g.outer(x))) for group in chosen)
        covariance = less.covariance + more.covariance
        errors = np.sqrt(np.diag(covariance))
        return SmoothFunctional(
            more.estimate - less.estimate,
            covariance,
            np.concatenate([-less.jacobian, more.jacobian], axis=-1),
            _share(less, errors) + _share(more, errors),
        )

    @cached_property
    def common_point(self) -> np.ndarray:
        r"""Estimate of the parameter if all groups share one, shape [*point_shape].

        The point m at which the logarithms of the estimates, weighted by the inverses of their
        covariances, sum to zero.
        """
        return self.groups[0].outer(self.common[0])

    @cached_property
    def common(self) -> tuple[np.ndarray, np.ndarray]:
        """The common point in the coordinates of the first geometry, and its covariance there.

        The covariance is the inverse of the sum of the inverses, shape [dim, dim], in the frame of
        the first group.
        """
        geometry, point = self.groups[0].geometry, self.groups[0].aligned
        for _ in range(_MOST_STEPS):
            logs = [
                group.delta(lambda x, m=point: geometry.coordinates(geometry.log(x, m), m))
                for group in self.groups
            ]
            weights = [np.linalg.inv(log.covariance) for log in logs]
            total = np.sum(weights, axis=0)
            pull = np.sum([w @ log.estimate for w, log in zip(weights, logs)], axis=0)
            step = np.linalg.solve(total, pull)
            point = geometry.exp(geometry.lift(step, point), point)
            if step @ total @ step < _SHORT**2:
                break
        return point, np.linalg.inv(total)

    def __repr__(self):
        return (
            f"Comparison(n_groups={len(self.groups)}, statistic={self.statistic:.4g}, "
            f"degrees_of_freedom={self.degrees_of_freedom}, pvalue={self.pvalue:.3g})"
        )


def _share(functional, errors):
    """Distance of one part of a difference from its tangent, in standard errors of the whole."""
    bend = functional.bend * functional.standard_error
    return np.divide(bend, errors, out=np.zeros_like(errors), where=errors > 0)
