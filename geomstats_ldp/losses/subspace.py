"""Leading principal subspace: the Rayleigh loss on the Grassmannian."""

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


class SubspaceTwin(NamedTuple):
    """Selects the compiled score of `SubspaceLoss`."""

    norm_bound: float


class SubspaceLoss(NormBoundedLoss):
    r"""Loss :math:`-y^T P y / 2` of a subspace, given by its orthogonal projection P.

    Data are clipped to norm `norm_bound`, so the target is the span of the k leading eigenvectors
    of the clipped second moment; for k = 1 the loss is that of `PCALoss`.

    Parameters
    ----------
    norm_bound : float
        Public bound B on the Euclidean norm of a datum, in the units of the data.

    Notes
    -----
    In the Frobenius metric the score is :math:`-\{P y y^T (I - P) + (I - P) y y^T P\} / 2`. With
    :math:`a = |Py|` and :math:`b = |(I - P)y|` its norm is :math:`ab / \sqrt 2`, and
    :math:`ab \le (a^2 + b^2) / 2 \le B^2 / 2`. (In terms of an orthonormal basis U of the
    subspace it is :math:`-(I - UU^T) y y^T U`, of norm at most B^2 / 2, in a metric whose lengths
    are those of the principal angles, without the factor :math:`\sqrt 2`.) Along V, which joins a
    direction in the subspace to one outside of it, with Frobenius norm one, the population Hessian
    is half the difference of the variances in the two directions, at most B^2 / 2.
    """

    name = "subspace"

    def check_space(self, geometry: Geometry) -> None:
        """The Grassmannian."""
        if geometry.name != "Grassmannian":
            raise ProtocolError(f"loss 'subspace' needs a Grassmannian; got {geometry.name}")

    def score_change_bound(
        self, geometry: Geometry, point: np.ndarray, moment_bound: tuple[float, float]
    ) -> np.ndarray:
        """As scores are bounded, by the excess of squared norms; see `Loss.score_change_bound`."""
        excess = excess_bound(self.norm_bound, moment_bound, 2.0)
        return excess / np.sqrt(8.0) * np.eye(geometry.dim)

    def value(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Loss of each datum, shape [...]; see `Loss.value`."""
        return -0.5 * np.sum((data @ point) * data, axis=-1)

    def score(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Riemannian gradient, shape [..., n, n]; see `Loss.score`."""
        inside = data @ point
        product = inside[..., :, None] * (data - inside)[..., None, :]
        return -0.5 * (product + np.swapaxes(product, -1, -2))

    def score_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """B^2 / sqrt(8), on the whole space."""
        return self.norm_bound**2 / np.sqrt(8.0)

    def hessian_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """B^2 / 2: half of what an eigengap of the clipped second moment can be."""
        return 0.5 * self.norm_bound**2

    def moment(self, geometry: Geometry) -> str | None:
        """The second moment of the clipped data."""
        return "second"

    def twin(self) -> tuple | None:
        """Select the compiled score."""
        return SubspaceTwin(self.norm_bound)


@jitable
def _score(twin, geometry, point, datum, out):
    n = out.shape[0]
    # The part inside the subspace waits on the diagonal, which is written last.
    for i in range(n):
        inside = 0.0
        for j in range(n):
            inside += point[i, j] * datum[j]
        out[i, i] = inside
    for i in range(n):
        for j in range(i):
            both = out[i, i] * (datum[j] - out[j, j]) + out[j, j] * (datum[i] - out[i, i])
            out[i, j] = -0.5 * both
            out[j, i] = out[i, j]
    for i in range(n):
        out[i, i] = -out[i, i] * (datum[i] - out[i, i])


compile_for_twin(score_into, SubspaceTwin, _score, is_small=False)
