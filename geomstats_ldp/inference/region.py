"""What confidence regions on a manifold share: coordinates, tests, size and pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, UserCoordinates
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.inference.calibration import ONE_LOOK, Calibration
from geomstats_ldp.validation import check_real, check_shape, real_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

#: Boundary points used to see whether a region stays inside the working region.
_N_PROBES = 512


def check_level(level):
    """Return a nominal coverage in (0, 1) as a float, or raise as `check_real`."""
    return check_real("level", level, "in (0, 1)", lambda number: 0 < number < 1)


class TangentRegion(ABC):
    r"""Confidence region that is a set of frame coordinates at the estimate.

    It holds the points x of the working region for which the hypothesis that x is the parameter
    is not rejected: whose statistic is at most :math:`\chi^2_{d, level}`, or what the calibration
    says instead. The parameters are those of `WaldRegion`.
    """

    #: What the region is called in pictures and messages.
    kind: ClassVar[str]

    #: Tangent lengths and unit directions of the semi-axes, and frame coordinates of the midpoint.
    semi_axis_lengths: np.ndarray
    semi_axes: np.ndarray
    midpoint: np.ndarray

    def __init__(
        self,
        geometry: Geometry,
        center: np.ndarray,
        level: float,
        working_region: WorkingRegion,
        coordinates: UserCoordinates | None = None,
        calibration: Calibration = ONE_LOOK,
    ):
        self.level = check_level(level)
        self.geometry = geometry
        self._outer = coordinates
        self._inner_center = np.asarray(center)
        self.center = self._from_inner(self._inner_center)
        self.working_region = working_region
        self.dim = geometry.dim
        self.calibration = calibration
        self.threshold = calibration.quantile(self.level, self.dim)

    @abstractmethod
    def statistic_at(self, coords: np.ndarray) -> np.ndarray:
        """Statistic of points by their frame coordinates, shape [..., dim]; see `statistic`."""

    @abstractmethod
    def marginal_intervals(self) -> np.ndarray:
        """Intervals of the single frame coordinates at the nominal level, shape [dim, 2].

        Each covers on its own; together they do not. The estimate has coordinates zero.
        """

    def _from_inner(self, points):
        return points if self._outer is None else self._outer.from_internal(points)

    # ---------------------------------------------------------------- coordinates

    @property
    def internal(self) -> Self:
        """The same region, with points in the coordinates that the package computes on."""
        region = copy(self)
        region._outer, region.center = None, self._inner_center
        return region

    def to_internal(self, points: ArrayLike) -> np.ndarray:
        """Points in the coordinates that the package computes on, checked.

        Parameters
        ----------
        points : array-like, shape [..., *point_shape]
            In the coordinates of the user.

        Returns
        -------
        points : array, shape [..., *point_shape]

        Raises
        ------
        ProtocolError
            If the shape is wrong, or naming a point that is not finite or not on the manifold.
        """
        points = real_array("points", points)
        check_shape("points", points, (..., *np.shape(self.center)))
        if self._outer is not None:
            points = self._outer.to_internal(points)
        return self.geometry.check_points(points)

    def coordinates(self, points: ArrayLike) -> np.ndarray:
        """Frame coordinates V(x) of points.

        Parameters
        ----------
        points : array-like, shape [..., *point_shape]
            In the coordinates of the user.

        Returns
        -------
        coords : array, shape [..., dim]
            NaN where the inverse retraction is not defined.

        Raises
        ------
        ProtocolError
            Naming a point that is not finite or not on the manifold; so do the other methods.
        """
        return self._frame_coordinates(self.to_internal(points))

    def _frame_coordinates(self, points):
        shape = self.geometry.shape
        # Geomstats takes lists of points, and on some spaces no arrays of more dimensions.
        rows = points.reshape(-1, *shape)
        tangent_vec = self.geometry.inverse_retract(rows, self._inner_center)
        coords = self.geometry.coordinates(tangent_vec, self._inner_center)
        return coords.reshape(*points.shape[: points.ndim - len(shape)], self.dim)

    def points_at(self, coords: ArrayLike) -> np.ndarray:
        """Points with the given frame coordinates.

        The inverse of `coordinates` within the range of the retraction.

        Parameters
        ----------
        coords : array-like, shape [..., dim]

        Returns
        -------
        points : array, shape [..., *point_shape]
            In the coordinates of the user.

        Raises
        ------
        ProtocolError
            If a point is out of reach of floating point.
        """
        coords = np.asarray(coords, dtype=float)
        with np.errstate(over="ignore", invalid="ignore"):
            # A list, as in `_frame_coordinates`.
            points = self._retract(coords.reshape(-1, self.dim))
        if not np.isfinite(points).all():
            distances = self.geometry.retracted_distance(np.linalg.norm(coords, axis=-1))
            raise ProtocolError(
                f"points at distances up to {np.max(distances):.3g} of the centre are too far out "
                "for floating point: the region is uninformative"
            )
        return self._from_inner(points.reshape(*coords.shape[:-1], *self.geometry.shape))

    # ---------------------------------------------------------------- statistic

    def statistic(self, points: ArrayLike) -> np.ndarray:
        """Statistic of the hypothesis that the parameter is a given point.

        Parameters
        ----------
        points : array-like, shape [..., *point_shape]
            In the coordinates of the user.

        Returns
        -------
        statistic : array, shape [...]
            Infinite where the inverse retraction is not defined.
        """
        return self._defined(self._level_free_statistic_at(self.coordinates(points)))

    def _level_free_statistic_at(self, coords):
        """What p-values are made of: `statistic_at`, unless that depends on the level."""
        return self.statistic_at(coords)

    @staticmethod
    def _defined(statistic):
        return np.where(np.isnan(statistic), np.inf, statistic)[()]

    def pvalue(self, points: ArrayLike) -> np.ndarray:
        """P-value of the test that the parameter is a given point.

        Parameters
        ----------
        points : array-like, shape [..., *point_shape]
            In the coordinates of the user.

        Returns
        -------
        pvalue : array, shape [...]
            Probability under chi^2_d of a statistic at least as large, or the anytime p-value.
        """
        return self.calibration.pvalue(self.statistic(points), self.dim)

    def contains(self, points: ArrayLike) -> np.ndarray:
        """Whether points lie in the region.

        Parameters
        ----------
        points : array-like, shape [..., *point_shape]
            In the coordinates of the user.

        Returns
        -------
        inside : array of bool, shape [...]
        """
        points = self.to_internal(points)
        statistic = self._defined(self.statistic_at(self._frame_coordinates(points)))
        inside = statistic <= self.threshold
        return inside & self.working_region.contains(self.geometry, points)

    # ---------------------------------------------------------------- size and shape

    @property
    def angular_radii(self) -> np.ndarray:
        """Geodesic distance to the end of each semi-axis, shape [dim]."""
        return self._radii(self.semi_axis_lengths)

    def _radii(self, semi_axis_lengths):
        """Geodesic distance to the farther end of axes of given lengths about the midpoint."""
        ends = semi_axis_lengths[:, None] * self.semi_axes
        sides = self.midpoint + np.stack([ends, -ends])
        return self.geometry.retracted_distances(sides, self._inner_center).max(axis=0)

    @property
    def largest_radius(self) -> float:
        """Geodesic distance from the centre to the farthest end of a semi-axis."""
        return float(np.max(self.angular_radii))

    @property
    def is_open(self) -> bool:
        """Whether the region has no end of its own in some direction."""
        return False

    @property
    def is_informative(self) -> bool:
        """Whether the whole region stays inside the working region."""
        reach = self.largest_radius
        if reach <= self.working_region.depth(self.geometry, self._inner_center):
            return True
        if reach >= 2 * self.working_region.radius:
            return False
        directions = [np.eye(self.dim), -np.eye(self.dim), spread_directions(self.dim, _N_PROBES)]
        coords = self.outline(np.concatenate(directions))
        return bool(np.all(self.working_region.contains(self.geometry, self._retract(coords))))

    def outline(self, directions: np.ndarray) -> np.ndarray:
        """Frame coordinates of the boundary in unit directions along the semi-axes.

        Parameters
        ----------
        directions : array, shape [..., dim]
            Longest semi-axis first.

        Returns
        -------
        coords : array, shape [..., dim]
        """
        return self.midpoint + directions @ (self.semi_axis_lengths[:, None] * self.semi_axes)

    def boundary(self, n_points: int = 100) -> np.ndarray:
        """Points of the boundary, before the restriction to the working region.

        Parameters
        ----------
        n_points : int
            Ignored when dim is 1: the boundary is two points.

        Returns
        -------
        points : array, shape [n_points, *point_shape]
            In order along the curve when dim is 2, spread evenly otherwise.

        Raises
        ------
        ProtocolError
            If the region is so large that its boundary is out of reach of floating point.
        """
        return self.points_at(self.boundary_coordinates(n_points))

    def boundary_coordinates(self, n_points: int = 100) -> np.ndarray:
        """Frame coordinates of the points of `boundary`.

        Parameters
        ----------
        n_points : int

        Returns
        -------
        coords : array, shape [n_points, dim]
        """
        return self.outline(spread_directions(self.dim, int(n_points)))

    def _retract(self, coords):
        tangent_vec = self.geometry.lift(coords, self._inner_center)
        return self.geometry.retract(tangent_vec, self._inner_center)

    # ---------------------------------------------------------------- display

    def plot(self, ax: Axes | None = None, view: str = "tangent", **kwargs: Any) -> Axes:
        """Draw the region, as `boundary` has it: before the restriction to the working region.

        Parameters
        ----------
        ax : Axes, optional
        view : {"tangent", "manifold"}, default="tangent"
            The ellipse of the first two frame coordinates, or a picture of the manifold:
            ``Hypersphere(1)``, ``Hypersphere(2)``, ``Hyperbolic(2)`` or ``SPDMatrices(2)``.
        **kwargs
            Passed to the function of `geomstats_ldp.plotting` that draws it, such as `points`.

        Returns
        -------
        ax : Axes

        Raises
        ------
        PlotError
            If there is no such view, no picture of the manifold, or `ax` has the wrong number of
            dimensions.
        """
        from geomstats_ldp.plotting.views import plot_region

        return plot_region(self, view, ax=ax, **kwargs)

    def __repr__(self):
        note = self.calibration.note
        if not self.is_informative:
            note += ", uninformative: reaches the working region's edge"
        return (
            f"{type(self).__name__}(level={self.level}, dim={self.dim}, "
            f"largest_radius={self.largest_radius:.4g}{note})"
        )


def spread_directions(dim, n_points):
    """Directions on the unit sphere of R^dim: in order for a circle, even otherwise."""
    if dim == 1:
        return np.array([[1.0], [-1.0]])
    if dim == 2:
        angles = np.linspace(0, 2 * np.pi, n_points, endpoint=False)
        return np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    # A low-discrepancy normal sample, so that the same points come out every time.
    uniform = stats.qmc.Halton(dim, scramble=False).random(n_points + 1)[1:]
    normal = stats.norm.ppf(uniform)
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)
