"""An affine score: half the squared distance's, the loss of design F of the paper."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import scale
from geomstats_ldp.losses import register_loss
from geomstats_ldp.losses.radial import RadialLoss, hessian_comparison, mean_hessian
from geomstats_ldp.losses.scoring import score_into
from geomstats_ldp.losses.target_hessian import TargetHessian
from geomstats_ldp.twins import compile_for_twin, jitable

_SLOPE = 0.5


class AffineScoreTwin(NamedTuple):
    """Selects the compiled score of `AffineScoreLoss`."""

    slope: float


@register_loss
class AffineScoreLoss(RadialLoss):
    r"""Quarter of the squared distance: score :math:`(x - y) / 2` in Euclidean space.

    The local score of the covariance quasi-likelihood (section S.3, design F): with
    :math:`y = (\xi_1^2 - 1, \sqrt 2 \xi_1 \xi_2, \xi_2^2 - 1)` it is the paper's g.

    Parameters
    ----------
    center : array-like, shape [*point_shape]
        Public centre of the ball of data.
    data_radius : float
        Public geodesic radius of that ball.
    """

    name = "affine_score"

    def psi(self, t):
        """Half of t."""
        return _SLOPE * t

    def psi_prime(self, t):
        """One half."""
        return np.full(np.shape(t), _SLOPE)

    def psi_second(self, t):
        """Zero."""
        return np.zeros(np.shape(t))

    def hessian_bound(self, geometry, query_region):
        """Half the bound of the squared distance."""
        largest = self.largest_distance(geometry, query_region)
        return float(_SLOPE * hessian_comparison(geometry, largest))

    def target_hessian(self, geometry, region):
        """Half the bounds of the squared distance; one half of the identity on flat spaces."""
        known = mean_hessian(geometry, *self.largest_spread(geometry, region))
        return known and TargetHessian(_SLOPE * known.low, _SLOPE * known.high)

    def moment(self, geometry):
        """Quadratic on flat spaces."""
        return "quadratic" if geometry.is_flat else None

    def single_query(self, geometry):
        """On flat spaces the centre of the data."""
        return self.center if geometry.is_flat else None

    def twin(self):
        """Select the compiled score."""
        return AffineScoreTwin(_SLOPE)


@jitable
def _score(twin, geometry, point, datum, out):
    dispatch.log(geometry, datum, point, out)
    scale(-twin.slope, out)


compile_for_twin(score_into, AffineScoreTwin, _score)
