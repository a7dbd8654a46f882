"""Confidence regions by a test of the score, which hold however badly the Hessian is known."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import numpy as np

from geomstats_ldp.geometry import Geometry, UserCoordinates
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.inference.calibration import ONE_LOOK, Calibration
from geomstats_ldp.inference.region import TangentRegion, check_level
from geomstats_ldp.score_regression import PredictedScore

#: Eigenvalues of the quadratic form that are this small next to the largest are not positive.
_RELATIVE_ZERO = 1e-12

#: Steps by which a point of low statistic is sought, and halvings that find where a ray ends.
_N_STEPS = 64
_N_HALVINGS = 60

#: Farthest tangent length at which a ray is followed, in radii of the working region.
_FARTHEST = 20.0


class ScoreRegion(TangentRegion):
    r"""Confidence region of the points at which the predicted mean score may be zero.

    With g(u) the score that the regression predicts at frame coordinates u about the estimate, and
    C its covariance at the pivot p, the region holds the points of the working region with

    .. math:: \frac{g(u)^\top C^{-1} g(u)}{1 + s\,(u - p)^\top V (u - p)} \le \chi^2_{d, level}.

    V is the squared error of the Hessian along each direction. Errors of a symmetric matrix are
    half as large across, so that less of V has to be counted: the share s that gives a region with
    this level, see `PredictedScore.share_of_growth`.

    No inverse of the Hessian enters: the region covers however small or badly known its
    eigenvalues are. It is an ellipsoid where all of them are known well, and close to the Wald
    region where they are known very well. Otherwise it is open in some directions, about which
    the messages say too little, and is cut by the working region.

    Parameters
    ----------
    geometry : Geometry
        Its retraction maps frame coordinates to points.
    center : array, shape [*point_shape]
        The estimate.
    prediction : PredictedScore
        About the estimate.
    level : float in (0, 1)
        Nominal coverage.
    working_region : GeodesicBall, LogBox or SpectralBand
        Region K_s that holds the iterates.
    coordinates : UserCoordinates, optional
        Coordinates of the user, where they differ from those of `geometry`.
    calibration : OneLook or BiasedLook, optional
        What the statistic is compared with. Default the law of one look.

    Attributes
    ----------
    midpoint : array, shape [dim]
        Frame coordinates of the midpoint of the ellipsoid, which is not the estimate.
    semi_axis_lengths : array, shape [dim]
        Tangent lengths of the semi-axes, longest first; infinite where the region is open. In an
        open region those of the other axes are half the chord through the zero of the score.
    semi_axes : array, shape [dim, dim]
        Their unit directions in frame coordinates, one a row.
    open_directions : array, shape [n_open, dim]
        Unit directions, in frame coordinates, in which the region has no end of its own.
    angular_radii : array, shape [dim]
        Geodesic distance from the estimate to the farther end of each semi-axis, cut by the
        working region where that is open; radians on the sphere.
    largest_radius : float
        The largest of them.
    is_informative : bool
        False when the region is open, or reaches the edge of the working region.

    Raises
    ------
    ProtocolError
        If the level is not a number in (0, 1).
    """

    kind = "score"

    def __init__(
        self,
        geometry: Geometry,
        center: np.ndarray,
        prediction: PredictedScore,
        level: float,
        working_region: WorkingRegion,
        coordinates: UserCoordinates | None = None,
        calibration: Calibration = ONE_LOOK,
    ):
        super().__init__(geometry, center, level, working_region, coordinates, calibration)
        self.prediction = prediction
        # The laws of other statistics than that of one look allow for the whole covariance.
        if calibration != ONE_LOOK:
            self.prediction = replace(prediction, weights=None)
        self._share = float(self.prediction.share_of_growth(np.asarray(self.threshold)))
        form, linear, constant = self.quadric(self.threshold)
        values, vectors = np.linalg.eigh(form)
        is_open = values <= _RELATIVE_ZERO * np.max(np.abs(values))
        self.semi_axes = vectors.T
        self.open_directions = self.semi_axes[is_open]
        with np.errstate(divide="ignore"):
            if not np.any(is_open):
                self.midpoint = -np.linalg.solve(form, linear)
                size = self.midpoint @ form @ self.midpoint - constant
                self.semi_axis_lengths = np.sqrt(max(size, 0.0) / values)
            else:
                self.midpoint = self._inside()
                _, slope, rest = self._along(self.semi_axes)
                chord = np.sqrt(np.maximum(slope**2 - values * rest, 0.0)) / values
                self.semi_axis_lengths = np.where(is_open, np.inf, chord)

    def quadric(self, threshold: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Quadratic form of the points whose statistic is at most a threshold.

        Parameters
        ----------
        threshold : float

        Returns
        -------
        form : array, shape [dim, dim]
        linear : array, shape [dim]
        constant : float
            Points u with u^T form u + 2 linear^T u + constant <= 0.
        """
        known, growth = self.prediction, threshold * self._share * self.prediction.growth
        weighted = np.linalg.solve(known.covariance, known.slope).T
        form = weighted @ known.slope - growth
        linear = weighted @ known.value + growth @ known.pivot
        size = known.value @ np.linalg.solve(known.covariance, known.value)
        constant = size - threshold - known.pivot @ growth @ known.pivot
        return (form + form.T) / 2, linear, float(constant)

    def statistic_at(self, coords: np.ndarray) -> np.ndarray:
        """Score statistic g^T C^-1 g over one and the growth of C that this level counts."""
        return self.prediction.statistic(coords, self._share)

    def _level_free_statistic_at(self, coords):
        return self.prediction.least_threshold(coords)

    def _inside(self):
        """Coordinates of a point of the region: near the zero of the score, in the working one."""
        zero = -np.linalg.lstsq(self.prediction.slope, self.prediction.value, rcond=None)[0]
        steps = np.linspace(1.0, 0.0, _N_STEPS)[:, None] * zero
        is_low = self.statistic_at(steps) < self.threshold / 2
        near = np.linalg.norm(steps, axis=1) <= self.longest
        allowed = steps[is_low & near]
        inside = allowed[self._depths(allowed) >= 0]
        return inside[0] if len(inside) else (allowed[-1] if len(allowed) else zero)

    # ---------------------------------------------------------------- size and shape

    @property
    def is_open(self) -> bool:
        """Whether the region has no end of its own in some direction."""
        return len(self.open_directions) > 0

    @property
    def angular_radii(self) -> np.ndarray:
        """Geodesic distance to the end of each semi-axis, cut by the working region."""
        has_no_end = np.isinf(self.semi_axis_lengths)
        radii = self._radii(np.where(has_no_end, 0.0, self.semi_axis_lengths))
        return np.where(has_no_end, self._reach(), radii)

    def _reach(self):
        """Distance from the estimate within which the whole working region lies."""
        place = self.geometry.dist(self._inner_center, self.working_region.center)
        return float(self.working_region.radius + place)

    @property
    def is_informative(self) -> bool:
        """Whether the region is closed and stays inside the working region."""
        return not self.is_open and super().is_informative

    def outline(self, directions: np.ndarray) -> np.ndarray:
        """Frame coordinates of the boundary in unit directions along the semi-axes.

        Those of an open region are where rays from its midpoint leave it or the working region.
        """
        if not self.is_open:
            return super().outline(directions)
        rays = np.reshape(directions @ self.semi_axes, (-1, self.dim))
        square, slope, rest = self._along(rays)
        roots = np.array([_first_root(a, b, rest) for a, b in zip(square, slope)])
        ends = self.midpoint + self._cut(rays, roots)[:, None] * rays
        return ends.reshape(directions.shape)

    def _along(self, rays):
        """Coefficients of the quadric, square t^2 + 2 slope t + rest, t along each unit ray."""
        form, linear, constant = self.quadric(self.threshold)
        square = np.sum(rays * (rays @ form), axis=1)
        slope = rays @ (form @ self.midpoint + linear)
        rest = self.midpoint @ (form @ self.midpoint + 2 * linear) + constant
        return square, slope, rest

    def _cut(self, rays, lengths):
        """Lengths at which rays from the midpoint leave the region or the working region."""
        lengths = np.minimum(lengths, self.longest)
        is_out = self._depths(self.midpoint + lengths[:, None] * rays) < 0
        if self._depths(self.midpoint) < 0 or not np.any(is_out):
            return lengths
        high = lengths[is_out]
        low = np.zeros_like(high)
        for _ in range(_N_HALVINGS):
            middle = (low + high) / 2
            is_inside = self._depths(self.midpoint + middle[:, None] * rays[is_out]) >= 0
            low, high = np.where(is_inside, middle, low), np.where(is_inside, high, middle)
        lengths[is_out] = low
        return lengths

    @property
    def longest(self) -> float:
        """Tangent length beyond which nothing of the region is looked for."""
        return _FARTHEST * self.working_region.radius

    def room(self, coords: np.ndarray) -> np.ndarray:
        """How far inside the region points are, in parts of its size; negative outside.

        Parameters
        ----------
        coords : array, shape [..., dim]

        Returns
        -------
        room : array, shape [..., 1] or [..., 2]
            By the statistic and, where it matters, by the working region.
        """
        room = [1 - self.statistic_at(coords) / self.threshold]
        if not self._is_whole:
            room.append(self._depths(coords) / self.working_region.radius)
        return np.stack(room, axis=-1)

    def for_one_number(self, level: float) -> ScoreRegion:
        """Region of the points whose statistic is at most what an interval of one number allows.

        Parameters
        ----------
        level : float in (0, 1)
            Of the interval.

        Returns
        -------
        region : ScoreRegion
            With the quantile of one degree of freedom for its threshold, and the level
            that this is for a region.
        """
        quantile = self.calibration.quantile(check_level(level), 1)
        level = 1 - float(self.calibration.pvalue(quantile, self.dim))
        # The bound on the least statistic of a level set counts all of V.
        whole = replace(self.prediction, weights=None)
        place = self.geometry, self._inner_center, whole, level, self.working_region
        return ScoreRegion(*place, self._outer, self.calibration)

    @cached_property
    def _is_whole(self):
        return self.is_informative

    def _depths(self, coords):
        """Depth in the working region of the points at given coordinates, shape [...]."""
        with np.errstate(all="ignore"):
            points = self._retract(coords.reshape(-1, self.dim))
            depths = self.working_region.depth(self.geometry, points).reshape(coords.shape[:-1])
        return np.where(np.isfinite(depths), depths, -np.inf)

    def marginal_intervals(self) -> np.ndarray:
        """Intervals of the single frame coordinates, shape [dim, 2].

        Each is the range of a coordinate over the points whose statistic is at most
        chi-squared with one degree of freedom allows; infinite where these are not bounded.
        """
        region = self.for_one_number(self.level)
        if region.is_open:
            return np.tile([-np.inf, np.inf], (self.dim, 1))
        half = np.linalg.norm(region.semi_axis_lengths[:, None] * region.semi_axes, axis=0)
        return np.stack([region.midpoint - half, region.midpoint + half], axis=-1)

    def __repr__(self):
        if not self.is_open:
            return super().__repr__()
        return (
            f"ScoreRegion(level={self.level}, dim={self.dim}, open in "
            f"{len(self.open_directions)} of {self.dim} directions, which are cut by the working "
            "region)"
        )


def _first_root(square, slope, constant):
    """Smallest positive root of square t^2 + 2 slope t + constant, with constant negative."""
    inner = slope**2 - square * constant
    if inner < 0 or (square <= 0 and slope <= 0):
        return math.inf
    # The form without cancellation, whichever the signs.
    return -constant / (slope + math.sqrt(inner)) if slope + math.sqrt(inner) > 0 else math.inf
