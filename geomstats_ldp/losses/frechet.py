"""Intrinsic mean: the squared distance, on any space with a logarithm."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import scale
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.geometry.spaces.product import ProductGeometry
from geomstats_ldp.losses.radial import RadialLoss, hessian_comparison, mean_hessian
from geomstats_ldp.losses.scoring import score_into
from geomstats_ldp.losses.target_hessian import TargetHessian
from geomstats_ldp.twins import compile_for_twin, jitable


class FrechetTwin(NamedTuple):
    """Selects the compiled score of `FrechetLoss`."""

    data_radius: float


class FrechetLoss(RadialLoss):
    r"""Squared distance :math:`d(x, y)^2 / 2` (section S.1.1 of the paper).

    The target is the Fréchet mean of the data, those outside a public ball being moved to its
    edge; the score is :math:`-\mathrm{Log}_x y`. On SPD matrices with the log-Euclidean metric
    this is the log-Euclidean mean of section S.1.6.

    Parameters
    ----------
    center : array-like, shape [*point_shape]
        Public centre of the ball of data.
    data_radius : float
        Public geodesic radius of that ball.

    See Also
    --------
    RadialLoss : what data and queries must satisfy, in particular on curved spaces.
    """

    name = "frechet"
    _steepest = 1.0

    def psi(self, t: np.ndarray) -> np.ndarray:
        """The identity."""
        return t

    def psi_prime(self, t: np.ndarray) -> np.ndarray:
        """One."""
        return np.ones(np.shape(t))

    def psi_second(self, t: np.ndarray) -> np.ndarray:
        """Zero."""
        return np.zeros(np.shape(t))

    def score(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Riemannian gradient, shape [..., *point_shape]; see `Loss.score`."""
        return -geometry.log(data, point)

    def hessian_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Largest Hessian at distance D, by comparison with constant curvature."""
        largest = self.largest_distance(geometry, query_region)
        return float(hessian_comparison(geometry, largest))

    def target_hessian(self, geometry: Geometry, region: WorkingRegion) -> TargetHessian | None:
        """Bounds by comparison with constant curvature; the identity on flat spaces.

        On a product they are of each factor: the squared distance is a sum over the factors, also
        of data that were moved, so that its Hessian is block diagonal.
        """
        spread = self.largest_spread(geometry, region)
        known = mean_hessian(geometry, *spread)
        if known is None or geometry.is_flat or not isinstance(geometry, ProductGeometry):
            return known
        blocks = []
        for factor in geometry.simple_factors():
            # No part of a distance is longer than the whole.
            own = mean_hessian(factor, *spread)
            blocks.append((factor.dim, own.low, own.high))
        return known._replace(blocks=tuple(blocks))

    def moment(self, geometry: Geometry) -> str | None:
        """Quadratic on flat spaces, where the score is x - y."""
        return "quadratic" if geometry.is_flat else None

    def single_query(self, geometry: Geometry) -> np.ndarray | None:
        """On flat spaces the centre of the data, where no score is longer than `data_radius`."""
        return self.center if geometry.is_flat else None

    def twin(self) -> tuple | None:
        """Select the compiled score."""
        return FrechetTwin(self.data_radius)


@jitable
def _score(twin, geometry, point, datum, out):
    dispatch.log(geometry, datum, point, out)
    scale(-1.0, out)


compile_for_twin(score_into, FrechetTwin, _score)
