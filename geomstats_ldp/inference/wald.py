"""The Wald confidence region on a manifold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, UserCoordinates
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.validation import check_real, check_shape, real_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Boundary points used to see whether a region stays inside the working region.
_N_PROBES = 512


def check_level(level):
    """Return a nominal coverage in (0, 1) as a float, or raise as `check_real`."""
    return check_real("level", level, "in (0, 1)", lambda number: 0 < number < 1)


class WaldRegion:
    r"""Confidence ellipsoid in the tangent frame of the estimate, mapped to the manifold.

    The region holds the points x of the working region with
    :math:`V(x)^T C^{-1} V(x) \le \chi^2_{d, level}`, where V(x) are the frame coordinates of the
    inverse retraction of x at the centre (equation (Wald region) of the paper).

    Parameters
    ----------
    geometry : Geometry
    center : array, shape [*point_shape]
        The estimate.
    covariance : array, shape [dim, dim]
        Covariance of the estimate in frame coordinates, that is divided by n.
    level : float in (0, 1)
        Nominal coverage.
    working_region : GeodesicBall, LogBox or SpectralBand
        Region K_s that holds the iterates.
    coordinates : UserCoordinates, optional
        Coordinates of the user, where they differ from those of `geometry`: points go in and out
        in these. `center` is given in those of `geometry`.

    Attributes
    ----------
    semi_axis_lengths : array, shape [dim]
        Tangent lengths of the semi-axes, longest first.
    semi_axes : array, shape [dim, dim]
        Their unit directions in frame coordinates, one a row.
    angular_radii : array, shape [dim]
        Geodesic distance from the centre to the end of each semi-axis, through the retraction in
        use; radians on the sphere.
    largest_radius : float
        The largest of them.
    is_informative : bool
        False when the ellipsoid reaches the edge of the working region.

    Raises
    ------
    ProtocolError
        If the level is not a number in (0, 1).
    """

    def __init__(
        self,
        geometry: Geometry,
        center: np.ndarray,
        covariance: np.ndarray,
        level: float,
        working_region: WorkingRegion,
        coordinates: UserCoordinates | None = None,
    ):
        level = check_level(level)
        self.geometry = geometry
        self._outer = coordinates
        self._inner_center = np.asarray(center)
        self.center = self._from_inner(self._inner_center)
        self.covariance = np.asarray(covariance)
        self.level = level
        self.working_region = working_region
        self.dim = geometry.dim
        values, vectors = np.linalg.eigh(self.covariance)
        # The chi-squared quantile, without the half millisecond of scipy.stats.
        self.threshold = float(special.chdtri(self.dim, 1 - self.level))
        self.semi_axis_lengths = np.sqrt(values[::-1] * self.threshold)
        self.semi_axes = vectors.T[::-1]
        self._root = vectors * np.sqrt(values)

    def _from_inner(self, points):
        return points if self._outer is None else self._outer.from_internal(points)

    # ---------------------------------------------------------------- coordinates

    @property
    def internal(self) -> WaldRegion:
        """The same region, with points in the coordinates that the package computes on."""
        return WaldRegion(
            self.geometry, self._inner_center, self.covariance, self.level, self.working_region
        )

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
        """Wald statistic of the hypothesis that the parameter is a given point.

        Parameters
        ----------
        points : array-like, shape [..., *point_shape]
            In the coordinates of the user.

        Returns
        -------
        statistic : array, shape [...]
            Infinite where the inverse retraction is not defined.
        """
        return self._statistic(self.to_internal(points))

    def _statistic(self, points):
        coords = self._frame_coordinates(points)
        whitened = np.linalg.solve(self._root, coords[..., None])[..., 0]
        statistic = np.sum(whitened**2, axis=-1)
        return np.where(np.isnan(statistic), np.inf, statistic)[()]

    def pvalue(self, points: ArrayLike) -> np.ndarray:
        """P-value of the Wald test that the parameter is a given point.

        Parameters
        ----------
        points : array-like, shape [..., *point_shape]
            In the coordinates of the user.

        Returns
        -------
        pvalue : array, shape [...]
            Probability under chi^2_d of a statistic at least as large.
        """
        return stats.chi2.sf(self.statistic(points), self.dim)

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
        inside = self._statistic(points) <= self.threshold
        return inside & self.working_region.contains(self.geometry, points)

    # ---------------------------------------------------------------- size and shape

    @property
    def angular_radii(self) -> np.ndarray:
        """Geodesic distance to the end of each semi-axis, shape [dim]."""
        return self.geometry.retracted_distance(self.semi_axis_lengths)

    @property
    def largest_radius(self) -> float:
        """Geodesic distance from the centre to the farthest point of the region."""
        return float(self.angular_radii[0])

    @property
    def is_informative(self) -> bool:
        """Whether the whole ellipsoid stays inside the working region."""
        reach = self.angular_radii[0]
        if reach <= self.working_region.depth(self.geometry, self._inner_center):
            return True
        if reach >= 2 * self.working_region.radius:
            return False
        ends = np.concatenate([self.semi_axes, -self.semi_axes])
        ends = ends * np.tile(self.semi_axis_lengths, 2)[:, None]
        coords = np.concatenate([ends, self._boundary_coordinates(_N_PROBES)])
        return bool(np.all(self.working_region.contains(self.geometry, self._retract(coords))))

    def boundary(self, n_points: int = 100) -> np.ndarray:
        """Points of the boundary ellipsoid, before the restriction to the working region.

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
        return self.points_at(self._boundary_coordinates(int(n_points)))

    def _boundary_coordinates(self, n_points):
        directions = _unit_directions(self.dim, n_points)
        return math.sqrt(self.threshold) * directions @ self._root.T

    def marginal_intervals(self) -> np.ndarray:
        """Intervals of the single frame coordinates at the nominal level, shape [dim, 2].

        Each covers on its own; together they do not. The estimate has coordinates zero.
        """
        half = stats.norm.ppf((1 + self.level) / 2) * np.sqrt(np.diag(self.covariance))
        return np.stack([-half, half], axis=-1)

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
        note = "" if self.is_informative else ", uninformative: reaches the working region's edge"
        return (
            f"WaldRegion(level={self.level}, dim={self.dim}, "
            f"largest_radius={self.largest_radius:.4g}{note})"
        )


def _unit_directions(dim, n_points):
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
