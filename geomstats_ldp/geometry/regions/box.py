"""Boxes in the logarithmic coordinates of a flat space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import assign
from geomstats_ldp.geometry.regions.slack import EDGE
from geomstats_ldp.serialization import plain_record
from geomstats_ldp.twins import jitable
from geomstats_ldp.validation import check_bool, check_shape, real_array

if TYPE_CHECKING:
    from geomstats_ldp.geometry.geometry import Geometry


class LogBox(NamedTuple):
    r"""Box :math:`|(B_c^{-1} \mathrm{Log}_c x)_i| \le w_i` in frame coordinates at its centre.

    On flat spaces only: there the coordinates of the logarithm are an isometry, so that cutting
    each of them is the metric projection, and boxes are convex.

    Attributes
    ----------
    center : array, shape [*point_shape]
    half_widths : array, shape [dim]
    holds_queries : bool
        Whether iterates are kept a query radius inside the box, so that it holds the queries too.
    """

    center: np.ndarray
    half_widths: np.ndarray
    holds_queries: bool = False

    @property
    def radius(self) -> float:
        """Distance from the centre to the corners."""
        return float(np.linalg.norm(self.half_widths))

    @property
    def in_radius(self) -> float:
        """Smallest distance from the centre to the edge."""
        return float(np.min(self.half_widths))

    def contains(self, geometry: Geometry, points: np.ndarray, slack: float = 0.0) -> np.ndarray:
        """Whether points lie in the box; see `GeodesicBall.contains`."""
        limits = self.half_widths * (1 + EDGE) + slack
        return np.all(self._coordinates(geometry, points) <= limits, axis=-1)

    def depth(self, geometry: Geometry, points: np.ndarray) -> np.ndarray:
        """Lower bound on the distance to the edge; see `GeodesicBall.depth`."""
        return np.min(self.half_widths - self._coordinates(geometry, points), axis=-1)

    def _coordinates(self, geometry, points):
        """Absolute coordinates, shape [..., dim]."""
        return np.abs(geometry.coordinates(geometry.log(points, self.center), self.center))

    def widened(self, reach: float) -> LogBox:
        """Box that holds all that is close to this one; see `GeodesicBall.widened`."""
        return self._replace(half_widths=self.half_widths + reach)

    def check(self, geometry: Geometry) -> None:
        """Refuse a space that is not flat or of another dimension; see `GeodesicBall.check`."""
        if not geometry.is_flat:
            raise ProtocolError(
                f"region 'log_box' needs a flat space; got {geometry.name}. "
                "Use geodesic_ball, or spectral_band for SPD matrices"
            )
        check_shape("half_widths", self.half_widths, (geometry.dim,))

    def to_spec(self) -> dict[str, Any]:
        """Plain record, for JSON."""
        return plain_record("log_box", self._asdict())


def log_box(center: ArrayLike, half_widths: ArrayLike, holds_queries: bool = False) -> LogBox:
    """Box about a public centre, in the logarithmic coordinates of a flat space.

    Parameters
    ----------
    center : array-like, shape [*point_shape]
    half_widths : array-like, shape [dim]
        In coordinates of the public frame: the axes of Euclidean space; for SPD matrices with the
        log-Euclidean metric the entries of the matrix logarithm, those off the diagonal times
        the square root of two.
    holds_queries : bool
        Keep iterates a query radius inside, so that the box holds the queries as well.

    Returns
    -------
    region : LogBox

    Raises
    ------
    ProtocolError
        Unless all half-widths are positive and finite.
    """
    half_widths = np.array(real_array("half_widths", half_widths))
    if half_widths.ndim != 1 or not (np.isfinite(half_widths).all() and (half_widths > 0).all()):
        raise ProtocolError(
            f"half_widths must be a vector of positive finite numbers; got {half_widths}"
        )
    return LogBox(
        np.array(real_array("center", center)),
        half_widths,
        check_bool("holds_queries", holds_queries),
    )


@jitable
def project_to_box(region, geometry, room, point, vectors, coords, out):
    """Metric projection, coordinate by coordinate; see `project`."""
    dispatch.log_coords(geometry, point, region.center, vectors[0], coords)
    outside = False
    for i in range(coords.shape[0]):
        limit = region.half_widths[i] - room
        if abs(coords[i]) > limit + EDGE * region.half_widths[i]:
            coords[i] = limit if coords[i] > 0 else -limit
            outside = True
    if not outside:
        assign(point, out)
        return False
    dispatch.lift(geometry, coords, region.center, vectors[0])
    dispatch.exp(geometry, vectors[0], region.center, out)
    return True
