"""Robust centre: the pseudo-Huber transform of the distance."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import scale
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.losses.radial import RadialLoss, hessian_comparison
from geomstats_ldp.losses.scoring import score_into
from geomstats_ldp.twins import compile_for_twin, jitable
from geomstats_ldp.validation import check_scale

#: A scale under this share of the radius of the data is small: typical data are in the linear
#: part, and the mean loss bends over their spread and not over the scale.
_SMALL_SCALE = 1 / 8

#: Typical Hessian at a scale of this share, relative to its bound.
_TYPICAL_HESSIAN = 0.2


class PseudoHuberTwin(NamedTuple):
    """Selects the compiled score of `PseudoHuberLoss`."""

    scale: float


class PseudoHuberLoss(RadialLoss):
    r"""Pseudo-Huber loss :math:`\rho^2 (\sqrt{1 + d^2 / \rho^2} - 1)` (section S.1.2 of the paper).

    Near the data it is the squared distance, far away the distance: the score
    :math:`-(1 + d^2/\rho^2)^{-1/2} \mathrm{Log}_x y` is shorter than rho however far the datum.

    Parameters
    ----------
    center : array-like, shape [*point_shape]
        Public centre of the ball of data.
    data_radius : float
        Public geodesic radius of that ball.
    scale : float
        Distance rho at which the loss turns from the square to the distance.

    See Also
    --------
    RadialLoss : what data and queries must satisfy, in particular on curved spaces.

    Notes
    -----
    The condition of the paper holds for every D, as
    :math:`\psi' + 2 t \psi'' = (1 + 2t / \rho^2)^{-3/2}`. With :math:`-\omega^2` the lowest
    curvature, the Hessian at distance s is at most :math:`\omega s \coth(\omega s) (1 + s^2 /
    \rho^2)^{-1/2}`. The first factor increases, so its value at D bounds it; and it is at most
    :math:`1 + \omega s`, so that by Cauchy-Schwarz the product never exceeds
    :math:`\sqrt{1 + \omega^2 \rho^2}`.
    """

    name = "pseudo_huber"
    _steepest = 1.0

    def __init__(self, *, center: ArrayLike, data_radius: float, scale: float):
        super().__init__(center=center, data_radius=data_radius)
        self.scale = check_scale("scale", scale)

    def psi(self, t: np.ndarray) -> np.ndarray:
        """Return rho^2 {(1 + 2t / rho^2)^(1/2) - 1}, in a form that does not cancel near zero."""
        return 2 * t / (1 + np.sqrt(1 + 2 * t / self.scale**2))

    def psi_prime(self, t: np.ndarray) -> np.ndarray:
        """Return (1 + 2t / rho^2)^(-1/2)."""
        return (1 + 2 * t / self.scale**2) ** -0.5

    def psi_second(self, t: np.ndarray) -> np.ndarray:
        """Return -(1 + 2t / rho^2)^(-3/2) / rho^2."""
        return -((1 + 2 * t / self.scale**2) ** -1.5) / self.scale**2

    def score_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Return D (1 + D^2 / rho^2)^(-1/2), which is less than rho."""
        largest = self.largest_distance(geometry, query_region)
        return float(largest / math.hypot(1.0, largest / self.scale))

    def hessian_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Bound for the squared distance at D, or sqrt(1 + (omega rho)^2) if that is less."""
        largest = self.largest_distance(geometry, query_region)
        squared = float(hessian_comparison(geometry, largest))
        lowest = min(geometry.curvature[0], 0.0)
        return min(squared, math.hypot(1.0, math.sqrt(-lowest) * self.scale))

    def typical_hessian(self, geometry: Geometry, region: WorkingRegion) -> float | None:
        """Proportional to a scale that is small; see `Loss.typical_hessian`."""
        share = self.scale / (_SMALL_SCALE * self.data_radius)
        return _TYPICAL_HESSIAN * share if share < 1 else None

    @property
    def bending_length(self) -> float:
        """The scale, or an eighth of the radius of the data if that is longer."""
        return max(self.scale, _SMALL_SCALE * self.data_radius)

    def twin(self) -> tuple | None:
        """Select the compiled score."""
        return PseudoHuberTwin(self.scale)


@jitable
def _score(twin, geometry, point, datum, out):
    ratio = dispatch.dist(geometry, point, datum) / twin.scale
    dispatch.log(geometry, datum, point, out)
    scale(-1.0 / math.sqrt(1.0 + ratio * ratio), out)


compile_for_twin(score_into, PseudoHuberTwin, _score)
