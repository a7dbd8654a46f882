"""Directional location: the von Mises-Fisher loss on the sphere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.losses.base import Loss
from geomstats_ldp.losses.clipping import unit_directions
from geomstats_ldp.losses.scoring import score_into
from geomstats_ldp.losses.target_hessian import TargetHessian
from geomstats_ldp.twins import compile_for_twin, jitable
from geomstats_ldp.validation import check_scale


class VonMisesFisherTwin(NamedTuple):
    """Selects the compiled score of `VonMisesFisherLoss`."""

    kappa: float


class VonMisesFisherLoss(Loss):
    r"""Directional loss :math:`-\kappa \mu^T y` on the unit sphere (section S.1.3 of the paper).

    It is the negative log-likelihood, up to a constant, of a von Mises-Fisher law of known
    concentration. The target is the mean direction :math:`E Y / |E Y|` whatever the law of the
    data. The score :math:`-\kappa (I - \mu\mu^T) y` has norm at most kappa.

    Parameters
    ----------
    kappa : float
        Public concentration, positive. It only scales the loss: target and guarantee do not
        depend on it.

    Raises
    ------
    ValueError
        If kappa is not in [1e-40, 1e40].
    """

    name = "von_mises_fisher"
    clips = False

    def __init__(self, *, kappa: float):
        self.kappa = check_scale("kappa", kappa)

    def check_space(self, geometry: Geometry) -> None:
        """The unit sphere."""
        if geometry.name != "Hypersphere":
            raise ProtocolError(f"loss 'von_mises_fisher' needs a Hypersphere; got {geometry.name}")

    def data_shape(self, geometry: Geometry) -> tuple[int, ...]:
        """Vectors of the ambient space; their direction is the datum."""
        return geometry.shape

    def clip(self, geometry: Geometry, data: np.ndarray) -> np.ndarray:
        """Scale vectors to unit length: the datum is a direction.

        The zero vector has none and stays as it is: its score is zero at every point.
        """
        return unit_directions(data)

    def value(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Loss of each datum, shape [...]; see `Loss.value`."""
        return -self.kappa * np.sum(data * point, axis=-1)

    def score(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Riemannian gradient, shape [..., dim + 1]; see `Loss.score`."""
        along = np.sum(data * point, axis=-1, keepdims=True)
        return -self.kappa * (data - along * point)

    def score_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Kappa, on the whole sphere; attained by data at a right angle to the query."""
        return self.kappa

    def hessian_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Kappa: the Hessian of a datum is the scalar kappa mu^T y."""
        return self.kappa

    def target_hessian(self, geometry: Geometry, region: WorkingRegion) -> TargetHessian | None:
        """The scalar kappa times the mean of mu^T y, which is not negative at the target."""
        return TargetHessian(0.0, self.kappa, is_isotropic=True)

    def moment(self, geometry: Geometry) -> str | None:
        """The first moment, kappa times the mean of the directions."""
        return "first"

    def twin(self) -> tuple | None:
        """Select the compiled score."""
        return VonMisesFisherTwin(self.kappa)


@jitable
def _score(twin, geometry, point, datum, out):
    along = 0.0
    for i in range(out.shape[0]):
        along += datum[i] * point[i]
    for i in range(out.shape[0]):
        out[i] = -twin.kappa * (datum[i] - along * point[i])


compile_for_twin(score_into, VonMisesFisherTwin, _score)
