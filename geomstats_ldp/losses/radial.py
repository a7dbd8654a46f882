"""What the centres of Fréchet type share: a loss of the distance, and data in a public ball."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError, warn
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.metric_space import CUT_MARGIN
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.losses.base import Loss
from geomstats_ldp.losses.moment_bounds import excess_bound
from geomstats_ldp.losses.target_hessian import TargetHessian
from geomstats_ldp.validation import check_scale, finite_array

#: Relative distance off the manifold that is taken for rounding of the data.
_ON_MANIFOLD = 1e-6


class RadialLoss(Loss):
    r"""Loss :math:`\psi(d(x, y)^2 / 2)` of data in a public geodesic ball.

    A subclass states psi and its first two derivatives, with :math:`\psi' > 0` and
    :math:`\psi'(t) + 2 t \psi''(t) > 0` up to half the square of the largest distance D.

    Parameters
    ----------
    center : array-like, shape [*point_shape]
        Public centre of the ball of data.
    data_radius : float
        Public geodesic radius of that ball. Data outside are moved to its edge along the geodesic
        to the centre, and the target is the centre of the data so moved.

    Raises
    ------
    ValueError
        If the radius is not in [1e-40, 1e40], or the centre not finite.

    Notes
    -----
    *Score.* Equation (S.1) of section S.1.2: :math:`-\psi'(d^2 / 2) \mathrm{Log}_x y`, of norm
    :math:`s \psi'(s^2 / 2)` at distance s. Its derivative in s is :math:`\psi' + 2 t \psi'' > 0`,
    so the norm is largest at s = D, the distance between the centres of the two balls plus their
    radii.

    *Hessian.* :math:`\psi' \mathrm{Hess}(d^2/2) + \psi'' \mathrm{Log}_x y \otimes \mathrm{Log}_x
    y`. The direction of y is an eigenvector, with eigenvalue :math:`\psi' + 2 t \psi''`; the
    others are at most :math:`\psi'` times `hessian_comparison`.

    *Positive curvature.* If the sectional curvature is at most k > 0, the mean of data in a ball
    of radius less than :math:`\min(\mathrm{inj}, \pi / \sqrt k) / 2` (pi/2 on the unit sphere) is
    unique (Afsari, 2011); `check_space` warns otherwise. The loss of a datum is convex as far as
    :math:`\pi / (2 \sqrt k)` from it, so that data and queries in one ball of half that radius
    (pi/4 on the unit sphere) make the whole problem convex. Beyond the injectivity radius the
    logarithm is not defined and the bounds raise.
    """

    #: Centres of data around them have alike eigenvalues, which shrinkage knows better.
    asks_curvature: ClassVar[bool] = False

    #: Lipschitz constant of psi'(|v|^2 / 2) v in v, None where none is known.
    _steepest: ClassVar[float | None] = None

    def __init__(self, *, center: ArrayLike, data_radius: float):
        self.center = np.array(finite_array("center", center, (...,)))
        self.center.setflags(write=False)
        self.data_radius = check_scale("data_radius", data_radius)

    @abstractmethod
    def psi(self, t: np.ndarray) -> np.ndarray:
        """Transform of half the squared distance.

        Parameters
        ----------
        t : array, shape [...]
            Half the squared distance.

        Returns
        -------
        value : array, shape [...]
        """

    @abstractmethod
    def psi_prime(self, t: np.ndarray) -> np.ndarray:
        """First derivative; see `psi`."""

    @abstractmethod
    def psi_second(self, t: np.ndarray) -> np.ndarray:
        """Second derivative; see `psi`."""

    # ---------------------------------------------------------------- space and data

    def check_space(self, geometry: Geometry) -> None:
        """Accept any space that holds `center`, and warn where the mean need not be unique.

        Raises
        ------
        ProtocolError
            If the centre is not a point of the space.
        """
        if self.center.shape != geometry.shape or not geometry.is_on(self.center, 1e-8):
            raise ProtocolError(
                f"center must be a point of {geometry.name}, shape {geometry.shape}; "
                f"got {self.center}"
            )
        limit = _uniqueness_radius(geometry)
        if not self.data_radius < limit:
            known = (
                f"it is for a radius under {limit:.6g}"
                if limit > 0
                else "its curvature has no known upper bound, which register_space takes"
            )
            warn(
                f"the centre of data in a ball of data_radius={self.data_radius:.6g} need not be "
                f"unique on {geometry.name}: {known}",
            )

    def data_shape(self, geometry: Geometry) -> tuple[int, ...]:
        """Points of the space."""
        return geometry.shape

    def check_data(self, geometry: Geometry, data: ArrayLike) -> np.ndarray:
        """Refuse data that are not points of the space; see `Loss.check_data`."""
        data = super().check_data(geometry, data)
        return geometry.check_points(data, "datum", rtol=_ON_MANIFOLD)

    def clip(self, geometry: Geometry, data: np.ndarray) -> np.ndarray:
        """Metric projection onto the ball of data.

        A datum at the cut locus of the centre, where every direction is as good, is moved along
        the first vector of the public frame.

        Raises
        ------
        ValueError
            If a datum is so far away that its logarithm is not a finite number.
        """
        with np.errstate(over="ignore"):
            data = geometry.settle(np.asarray(data, dtype=float))
        data = self._off_cut_locus(geometry, data)
        direction, length, unit = self._polar(geometry, data)
        is_outside = length > self.data_radius / unit
        scale = np.where(is_outside, self.data_radius / np.where(is_outside, length, 1.0), 0.0)
        return np.where(is_outside, geometry.exp(direction * scale, self.center), data)

    def clipping_change(
        self, geometry: Geometry, center: np.ndarray, data: np.ndarray, clipped: np.ndarray
    ) -> np.ndarray:
        """Scores are taken at the centre of the data, where a datum is clipped along its score.

        See `Loss.clipping_change`.
        """
        with np.errstate(all="ignore"):
            lengths = [geometry.dist(rows, self.center) for rows in (data, clipped)]
            norms = [length * self.psi_prime(length**2 / 2) for length in lengths]
            inwards = -geometry.coordinates(geometry.log(clipped, self.center), self.center)
            change = (norms[0] - norms[1]) / lengths[1] @ inwards
        return np.where(np.isfinite(change), change, np.inf)

    def score_change_bound(
        self, geometry: Geometry, point: np.ndarray, moment_bound: tuple[float, float]
    ) -> np.ndarray:
        """What clipping takes from the mean distance to the centre, times the slope of the score.

        On complete simply connected spaces of no positive curvature only, where the logarithm
        brings no two points closer than they are; see `Loss.score_change_bound`.
        """
        is_hadamard = geometry.curvature[1] <= 0 and math.isinf(geometry.injectivity_radius)
        if self._steepest is None or not is_hadamard:
            return super().score_change_bound(geometry, point, moment_bound)
        return self._steepest * excess_bound(self.data_radius, moment_bound) * np.eye(geometry.dim)

    def _polar(self, geometry, data):
        """Logarithm at the centre as `direction * unit`, the length of `direction`, and `unit`."""
        axes = tuple(range(-len(geometry.shape), 0))
        with np.errstate(all="ignore"):
            tangent = geometry.log(data, self.center)
            # Dividing by the largest entry first keeps the square of a huge one finite.
            largest = np.max(np.abs(tangent), axis=axes, keepdims=True)
            unit = np.where(largest > 0, largest, 1.0)
            direction = tangent / unit
            length = _spread(geometry, geometry.norm(direction, self.center))
        if not (np.isfinite(largest) & np.isfinite(length)).all():
            raise ValueError("datum is too far from center for its logarithm to be computed")
        return direction, length, unit

    def _off_cut_locus(self, geometry, data):
        if not math.isfinite(geometry.injectivity_radius):
            return data
        is_cut = geometry.at_cut_locus(data, self.center)
        if not np.any(is_cut):
            return data
        aside = self.data_radius * geometry.lift(np.eye(geometry.dim)[0], self.center)
        return np.where(_spread(geometry, is_cut), geometry.exp(aside, self.center), data)

    # ---------------------------------------------------------------- loss and score

    def value(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Loss of each datum, shape [...]; see `Loss.value`."""
        return self.psi(geometry.dist(point, data) ** 2 / 2)

    def score(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Riemannian gradient, shape [..., *point_shape]; see `Loss.score`."""
        weight = self.psi_prime(geometry.dist(point, data) ** 2 / 2)
        return -_spread(geometry, weight) * geometry.log(data, point)

    # ---------------------------------------------------------------- public bounds

    def largest_distance(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Bound D on the distance between a query of the region and a clipped datum.

        Parameters
        ----------
        geometry : Geometry
        query_region : GeodesicBall, LogBox or SpectralBand

        Returns
        -------
        largest : float

        Raises
        ------
        ProtocolError
            If it reaches the injectivity radius of the space.
        """
        largest = self._reach(geometry, query_region) + float(query_region.radius)
        if not largest < geometry.injectivity_radius - CUT_MARGIN:
            raise ProtocolError(
                "data_radius plus the reach of the queries must stay under the injectivity radius "
                f"{geometry.injectivity_radius:.6g} of {geometry.name}; got "
                f"data_radius={self.data_radius:.6g} and distances up to {largest:.6g}"
            )
        return largest

    def score_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Return D psi'(D^2 / 2), the norm of the score at the largest distance."""
        largest = self.largest_distance(geometry, query_region)
        return float(largest * self.psi_prime(np.asarray(largest**2 / 2)))

    @property
    def bending_length(self) -> float:
        r"""Square root of :math:`\psi'(0) / |\psi''(0)|`, the scale of a pseudo-Huber loss."""
        start = np.zeros(1)
        with np.errstate(all="ignore"):
            slope, bend = self.psi_prime(start).item(), abs(self.psi_second(start).item())
        return math.sqrt(slope / bend) if 0 < bend < math.inf else math.inf

    def largest_spread(self, geometry: Geometry, region: WorkingRegion) -> tuple[float, float]:
        """Bounds on the distances between the target and the clipped data.

        Parameters
        ----------
        geometry : Geometry
        region : GeodesicBall, LogBox or SpectralBand
            The working region.

        Returns
        -------
        mean_square : float
            Bound R^2 on the mean square distance of the squared loss: the target has a smaller one
            than the centre of the working region, from which no datum is farther than R.
        largest : float
            Bound on every distance.
        """
        reach = self._reach(geometry, region)
        return reach**2, reach + float(region.radius)

    def _reach(self, geometry, region):
        """Largest distance of a clipped datum from the centre of a region."""
        return float(geometry.dist(region.center, self.center)) + self.data_radius


def hessian_comparison(geometry, distance):
    r"""Largest eigenvalue that the Hessian of :math:`d^2 / 2` may have at the given distances.

    With sectional curvature at least :math:`-\omega^2` it is
    :math:`\omega d \coth(\omega d)`, and 1 where the curvature is not negative. A space that states
    no lower bound raises ProtocolError.
    """
    lowest = geometry.curvature[0]
    if lowest >= 0:
        return np.ones(np.shape(distance))
    if not math.isfinite(lowest):
        raise ProtocolError(
            f"curvature of {geometry.name} must have a known lower bound: state it to "
            "register_space(..., curvature=(lower, upper)), or hessian_bound to make_protocol"
        )
    scaled = math.sqrt(-lowest) * np.asarray(distance, dtype=float)
    return np.where(scaled > 0, scaled / np.tanh(np.where(scaled > 0, scaled, 1.0)), 1.0)


def mean_hessian(geometry, mean_square, largest):
    r"""Bounds on the population Hessian of :math:`d^2 / 2` at the mean, by comparison.

    `mean_square` is a bound R^2 on the mean square distance of the data from the mean, `largest` a
    bound D on every distance. The result is None if the space states no bounds on its curvature;
    one dimension is flat.

    The direction of a datum at distance s is an eigenvector of its Hessian with eigenvalue 1. The
    others lie between :math:`g_k(s^2)` at the highest sectional curvature k and at the lowest, with
    :math:`g_k(t) = \sqrt{kt} \cot \sqrt{kt}`, for negative k
    :math:`\sqrt{|k|t} \coth \sqrt{|k|t}`. Both are concave in t, by their expansions
    :math:`1 \mp 2 \sum_j |k|t / (j^2 \pi^2 \mp |k|t)` in partial fractions. At the lowest, if
    negative, the mean is at most :math:`g(R^2)` by the inequality of Jensen; at the highest, if
    positive, it is at least the value at R^2 of the chord from 0 to D^2.
    """
    lowest, highest = geometry.curvature
    if not (math.isfinite(lowest) and math.isfinite(highest)):
        return None
    if geometry.dim == 1:
        return TargetHessian(1.0, 1.0)
    high = float(hessian_comparison(geometry, math.sqrt(mean_square)))
    if highest <= 0:
        return TargetHessian(1.0, high)
    angle = math.sqrt(highest) * largest
    if angle >= math.pi:
        return TargetHessian(0.0, high)
    chord = (1.0 - angle / math.tan(angle)) * mean_square / largest**2
    return TargetHessian(max(0.0, 1.0 - chord), high)


def _uniqueness_radius(geometry):
    """Radius of a ball of data under which their mean is unique (Afsari, 2011)."""
    highest = geometry.curvature[1]
    conjugate = math.pi / math.sqrt(highest) if highest > 0 else math.inf
    return min(geometry.injectivity_radius, conjugate) / 2


def _spread(geometry, numbers):
    """Append axes of length one, so that numbers multiply points: [...] to [..., 1, ..., 1]."""
    return np.asarray(numbers)[(...,) + (None,) * len(geometry.shape)]
