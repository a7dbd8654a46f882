"""Spectral bands of SPD matrices."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.elementwise import assign
from geomstats_ldp.geometry.regions.slack import EDGE
from geomstats_ldp.geometry.spaces.symmetric_matrices import eigenbasis
from geomstats_ldp.serialization import plain_record
from geomstats_ldp.twins import jitable
from geomstats_ldp.validation import check_bool, check_integer, check_positive

if TYPE_CHECKING:
    from geomstats_ldp.geometry.geometry import Geometry

_SPD = ("SPDAffineInvariant", "SPDLogEuclidean")


class SpectralBand(NamedTuple):
    r"""SPD matrices with :math:`a I \preceq X \preceq b I` (section S.1.5 of the paper).

    Cutting the eigenvalues is the metric projection for both SPD metrics. With eigenvalues sorted,
    :math:`d(X, Y) \ge \|\log X - \log Y\|_F \ge |\log \lambda(X) - \log \lambda(Y)|`: the first
    step is the exponential metric increasing property, an equality for the log-Euclidean metric,
    the second the Hoffman-Wielandt inequality; both are equalities for the matrix that keeps the
    eigenvectors of X. A move of length h changes the logarithm of an eigenvalue by at most h.

    Attributes
    ----------
    center : array, shape [m, m]
        The matrix sqrt(ab) I.
    lower, upper : float
        Bounds a and b on the eigenvalues.
    holds_queries : bool
        Whether iterates are kept a query radius inside the band, so that it holds the queries too.
    """

    center: np.ndarray
    lower: float
    upper: float
    holds_queries: bool = False

    @property
    def radius(self) -> float:
        """Largest distance from the centre."""
        return math.sqrt(len(self.center)) * self.in_radius

    @property
    def in_radius(self) -> float:
        """Smallest distance from the centre to the edge."""
        return 0.5 * math.log(self.upper / self.lower)

    def contains(self, geometry: Geometry, points: np.ndarray, slack: float = 0.0) -> np.ndarray:
        """Whether matrices lie in the band; see `GeodesicBall.contains`."""
        values, slack = np.linalg.eigvalsh(points), slack + EDGE
        return (values[..., 0] >= self.lower * math.exp(-slack)) & (
            values[..., -1] <= self.upper * math.exp(slack)
        )

    def depth(self, geometry: Geometry, points: np.ndarray) -> np.ndarray:
        """Lower bound on the distance to the edge; see `GeodesicBall.depth`."""
        values = np.linalg.eigvalsh(points)
        return np.minimum(np.log(values[..., 0] / self.lower), np.log(self.upper / values[..., -1]))

    def widened(self, reach: float) -> SpectralBand:
        """Band that holds all that is close to this one; see `GeodesicBall.widened`."""
        return self._replace(
            lower=self.lower * math.exp(-reach), upper=self.upper * math.exp(reach)
        )

    def check(self, geometry: Geometry) -> None:
        """Refuse a space of anything but SPD matrices; see `GeodesicBall.check`."""
        if geometry.name not in _SPD:
            raise ProtocolError(f"region 'spectral_band' needs SPD matrices; got {geometry.name}")

    def to_spec(self) -> dict[str, Any]:
        """Plain record, for JSON."""
        return plain_record("spectral_band", self._asdict())


def spectral_band(n: int, lower: float, upper: float, holds_queries: bool = False) -> SpectralBand:
    """Matrices whose eigenvalues lie between two public bounds.

    Parameters
    ----------
    n : int
        Size m of the matrices.
    lower, upper : float
        Bounds on the eigenvalues, 0 < lower < upper.
    holds_queries : bool
        Keep iterates a query radius inside, so that the band holds the queries as well.

    Returns
    -------
    region : SpectralBand

    Raises
    ------
    ProtocolError
        Unless the size is a positive integer, and the bounds are positive, finite and in order.
    """
    n = check_integer("n", n)
    lower, upper = check_positive("lower", lower), check_positive("upper", upper)
    if not lower < upper:
        raise ProtocolError(
            f"eigenvalue bounds must satisfy 0 < lower < upper; got {lower} and {upper}"
        )
    return SpectralBand(
        math.sqrt(lower * upper) * np.eye(n),
        lower,
        upper,
        check_bool("holds_queries", holds_queries),
    )


@jitable
def project_to_band(region, geometry, room, point, vectors, coords, out):
    """Metric projection, which cuts the eigenvalues; see `project`."""
    lower, upper = region.lower * math.exp(room), region.upper * math.exp(-room)
    eigenbasis((), point, vectors[0], vectors[1])
    n, outside = point.shape[0], False
    for i in range(n):
        value = vectors[0][i, i]
        outside = outside or value < lower * (1 - EDGE) or value > upper * (1 + EDGE)
    assign(point, out)
    if not outside:
        return False
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                value = min(max(vectors[0][k, k], lower), upper)
                total += vectors[1][i, k] * value * vectors[1][j, k]
            out[i, j] = total
            out[j, i] = total
    return True
