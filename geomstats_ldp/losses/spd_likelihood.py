"""Covariance matrices: the Gaussian quasi-likelihood on the affine-invariant SPD cone."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.regions import SpectralBand, WorkingRegion
from geomstats_ldp.losses.moment_bounds import excess_bound
from geomstats_ldp.losses.norm_bounded import NormBoundedLoss
from geomstats_ldp.losses.scoring import score_into
from geomstats_ldp.losses.target_hessian import TargetHessian
from geomstats_ldp.twins import compile_for_twin, jitable


class SPDLikelihoodTwin(NamedTuple):
    """Selects the compiled score of `SPDLikelihoodLoss`."""

    norm_bound: float


class SPDLikelihoodLoss(NormBoundedLoss):
    r"""Gaussian quasi-likelihood of a covariance matrix (section S.1.5 of the paper).

    The loss is :math:`\log\det X / 2 + y^T X^{-1} y / 2` on SPD matrices with the metric
    :math:`\langle U, V\rangle_X = \mathrm{tr}(X^{-1} U X^{-1} V)`. Data are clipped to norm
    `norm_bound`, so the target is the second moment :math:`E(yy^T)` of the clipped data. The score
    is :math:`(X - yy^T) / 2`.

    Parameters
    ----------
    norm_bound : float
        Public bound B on the Euclidean norm of a datum, in the units of the data.

    Raises
    ------
    ValueError
        If the bound is not in [1e-40, 1e40].

    Notes
    -----
    *Spectral floor.* The bounds need a smallest eigenvalue a of the queries. In the geodesic ball
    of radius r about C all eigenvalues of :math:`\log(C^{-1/2} X C^{-1/2})` are at least -r, hence
    :math:`X \succeq e^{-r} C` and :math:`a = e^{-r} \lambda_{\min}(C)`, which is attained. A
    spectral band states its own.

    *Score.* With :math:`\xi = X^{-1/2} y` and :math:`s = |\xi|^2`, the matrix
    :math:`I - \xi\xi^T` has the eigenvalue :math:`1 - s` along :math:`\xi` and :math:`m - 1`
    eigenvalues 1, so that the norm of the score is
    :math:`|I - \xi\xi^T|_F / 2 = \sqrt{m - 1 + (s - 1)^2} / 2`. It is convex in s, hence largest
    at an end of :math:`0 \le s \le q = B^2 / a`:

    .. math:: G = \tfrac12 \sqrt{m - 1 + \max\{1, (q - 1)^2\}}.

    Both ends are attained in the ball, the one by y = 0, the other by a datum of norm B along the
    eigenvector of the least eigenvalue, so that no smaller bound holds. The paper adds the norms
    of the two terms, which gives the looser :math:`(\sqrt m + q) / 2`.

    *Hessian.* Along :math:`X_t = X^{1/2} \exp(tW) X^{1/2}` the loss is
    :math:`(\log\det X + t\,\mathrm{tr}\,W + \xi^T \exp(-tW) \xi) / 2`, with second derivative
    :math:`\xi^T W^2 \xi / 2 \le |\xi|^2 |W|_F^2 / 2` at zero, equal for
    :math:`W \propto \xi\xi^T`. So every Hessian is at most :math:`B^2 / (2a)`; at the target the
    mean of it is exactly I / 2.

    *One query.* The mean score at any public q determines the target, E y y^T = q - 2 (mean score).
    At q = cI noise of the size of the bound moves it by
    :math:`2cG = \{(m - 1) c^2 + \max(c, B^2 - c)^2\}^{1/2}` in the Frobenius norm, which is least
    at :math:`c = B^2 / \max(m, 2)`. The relative noise in the direction of the least eigenvalue
    :math:`\lambda` of the target is then :math:`B^2 \lambda^{-1} (1 - 1/m)^{1/2}`, no more than
    at the best multiple of the target itself.
    """

    name = "spd_likelihood"

    def check_space(self, geometry: Geometry) -> None:
        """SPD matrices with the affine-invariant metric."""
        if geometry.name != "SPDAffineInvariant":
            raise ProtocolError(
                f"loss 'spd_likelihood' needs SPD matrices with the affine-invariant metric; "
                f"got {geometry.name}"
            )

    def score_change_bound(
        self, geometry: Geometry, point: np.ndarray, moment_bound: tuple[float, float]
    ) -> np.ndarray:
        """Half of what clipping takes from E(yy^T), a matrix whose norm is at most its trace.

        See `Loss.score_change_bound`.
        """
        excess = excess_bound(self.norm_bound, moment_bound, 2.0)
        size = len(point)
        rows, columns = np.triu_indices(size)
        units = np.zeros((len(rows), size, size))
        place = np.arange(len(rows))
        units[place, rows, columns] = units[place, columns, rows] = 1.0
        units /= np.linalg.norm(units, axis=(1, 2), keepdims=True)
        return 0.5 * excess * geometry.coordinates(units, point).T

    def value(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Loss of each datum, shape [...]; see `Loss.value`."""
        whitened = np.linalg.solve(point, data[..., None])[..., 0]
        return 0.5 * (np.linalg.slogdet(point)[1] + np.sum(data * whitened, axis=-1))

    def score(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Riemannian gradient, shape [..., m, m]; see `Loss.score`."""
        return 0.5 * (point - data[..., :, None] * data[..., None, :])

    def _largest_whitened_square(self, query_region):
        """B^2 / a, the largest |X^{-1/2} y|^2 for queries in the region."""
        if isinstance(query_region, SpectralBand):
            floor = query_region.lower
        else:
            floor = np.linalg.eigvalsh(query_region.center)[0] * math.exp(-query_region.radius)
        return float(self.norm_bound**2 / floor)

    def score_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Return the largest norm of the score, G of the Notes."""
        excess = max(1.0, abs(self._largest_whitened_square(query_region) - 1.0))
        return 0.5 * math.hypot(math.sqrt(geometry.shape[0] - 1), excess)

    def hessian_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """B^2 / (2a), or 1/2 if that is more: the Hessian at the target is I / 2."""
        return 0.5 * max(1.0, self._largest_whitened_square(query_region))

    def target_hessian(self, geometry: Geometry, region: WorkingRegion) -> TargetHessian | None:
        """Half the identity at the target (section S.1.5 of the paper), but not nearby."""
        return TargetHessian(0.5, 0.5, is_isotropic=True, nearby_sd=0.1)

    def typical_hessian(self, geometry: Geometry, region: WorkingRegion) -> float | None:
        """None, as away from the target the Hessian differs quickly from half the identity."""
        return None

    def moment(self, geometry: Geometry) -> str | None:
        """The second moment, which is the target: the mean score is (q - E y y^T) / 2."""
        return "covariance"

    def single_query(self, geometry: Geometry) -> np.ndarray | None:
        """Multiple of the identity at which noise makes the least of the target; see the Notes."""
        size = geometry.shape[0]
        return self.norm_bound**2 / max(size, 2) * np.eye(size)

    def twin(self) -> tuple | None:
        """Select the compiled score."""
        return SPDLikelihoodTwin(self.norm_bound)


@jitable
def _score(twin, geometry, point, datum, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.5 * (point[i, j] - datum[i] * datum[j])


compile_for_twin(score_into, SPDLikelihoodTwin, _score)
