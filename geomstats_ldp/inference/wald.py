"""The Wald confidence region on a manifold."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.geometry import Geometry, UserCoordinates
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.inference.calibration import ONE_LOOK, Calibration
from geomstats_ldp.inference.region import TangentRegion


class WaldRegion(TangentRegion):
    r"""Confidence ellipsoid in the tangent frame of the estimate, mapped to the manifold.

    The region holds the points x of the working region with
    :math:`V(x)^T C^{-1} V(x) \le \chi^2_{d, level}`, where V(x) are the frame coordinates of the
    inverse retraction of x at the centre (equation (Wald region) of the paper). The bound of an
    anytime region is that of `AnyLook`, and with a bound on a bias that of `BiasedLook`.

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
    calibration : OneLook, AnyLook or BiasedLook, optional
        What the statistic is compared with. Default the law of one look.

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

    kind = "Wald"

    def __init__(
        self,
        geometry: Geometry,
        center: np.ndarray,
        covariance: np.ndarray,
        level: float,
        working_region: WorkingRegion,
        coordinates: UserCoordinates | None = None,
        calibration: Calibration = ONE_LOOK,
    ):
        super().__init__(geometry, center, level, working_region, coordinates, calibration)
        self.covariance = np.asarray(covariance)
        values, vectors = np.linalg.eigh(self.covariance)
        self.semi_axis_lengths = np.sqrt(values[::-1] * self.threshold)
        self.semi_axes = vectors.T[::-1]
        self.midpoint = np.zeros(self.dim)
        self._root = vectors * np.sqrt(values)

    def statistic_at(self, coords: np.ndarray) -> np.ndarray:
        """Wald statistic V^T C^-1 V; see `statistic`."""
        whitened = np.linalg.solve(self._root, coords[..., None])[..., 0]
        return np.sum(whitened**2, axis=-1)

    def marginal_intervals(self) -> np.ndarray:
        """Intervals of the single frame coordinates, shape [dim, 2]."""
        half = np.sqrt(self.calibration.quantile(self.level, 1) * np.diag(self.covariance))
        return np.stack([-half, half], axis=-1)
