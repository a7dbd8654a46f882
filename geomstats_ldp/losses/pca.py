"""Leading principal direction: the Rayleigh loss on the sphere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.losses.moment_bounds import excess_bound
from geomstats_ldp.losses.norm_bounded import NormBoundedLoss
from geomstats_ldp.losses.scoring import score_into
from geomstats_ldp.twins import compile_for_twin, jitable


class PCATwin(NamedTuple):
    """Selects the compiled score of `PCALoss`."""

    norm_bound: float


class PCALoss(NormBoundedLoss):
    r"""Rayleigh loss :math:`-(u^T y)^2 / 2` on the unit sphere (section S.1.4 of the paper).

    Data are clipped to norm `norm_bound`, so the target is the leading eigenvector of the clipped
    second moment. The score :math:`-(I - uu^T) y y^T u` has norm at most B^2 / 2.

    Parameters
    ----------
    norm_bound : float
        Public bound B on the Euclidean norm of a datum, in the units of the data.
    """

    name = "pca"

    def check_space(self, geometry: Geometry) -> None:
        """The unit sphere."""
        if geometry.name != "Hypersphere":
            raise ProtocolError(f"loss 'pca' needs a Hypersphere; got {geometry.name}")

    def score_change_bound(
        self, geometry: Geometry, point: np.ndarray, moment_bound: tuple[float, float]
    ) -> np.ndarray:
        """Half of what clipping takes from the mean squared norm; see `Loss.score_change_bound`."""
        return 0.5 * excess_bound(self.norm_bound, moment_bound, 2.0) * np.eye(geometry.dim)

    def value(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Loss of each datum, shape [...]; see `Loss.value`."""
        return -0.5 * np.sum(data * point, axis=-1) ** 2

    def score(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Riemannian gradient, shape [..., dim + 1]; see `Loss.score`."""
        along = np.sum(data * point, axis=-1, keepdims=True)
        return -along * (data - along * point)

    def score_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """B^2 / 2, on the whole sphere."""
        return 0.5 * self.norm_bound**2

    def hessian_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """B^2: an eigengap cannot exceed the trace of the clipped second moment."""
        return self.norm_bound**2

    def moment(self, geometry: Geometry) -> str | None:
        """The second moment of the clipped data."""
        return "second"

    def twin(self) -> tuple | None:
        """Select the compiled score."""
        return PCATwin(self.norm_bound)


@jitable
def _score(twin, geometry, point, datum, out):
    along = 0.0
    for i in range(out.shape[0]):
        along += datum[i] * point[i]
    for i in range(out.shape[0]):
        out[i] = -along * (datum[i] - along * point[i])


compile_for_twin(score_into, PCATwin, _score)
