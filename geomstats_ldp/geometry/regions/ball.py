"""Geodesic balls, spherical caps among them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import assign
from geomstats_ldp.geometry.regions.slack import EDGE
from geomstats_ldp.serialization import plain_record
from geomstats_ldp.twins import jitable
from geomstats_ldp.validation import check_bool, check_real, check_scale, real_array

if TYPE_CHECKING:
    from geomstats_ldp.geometry.geometry import Geometry


class GeodesicBall(NamedTuple):
    """Closed geodesic ball.

    Attributes
    ----------
    center : array, shape [*point_shape]
    radius : float
        Geodesic radius; on the unit sphere an angle in radians.
    holds_queries : bool
        Whether iterates are kept a query radius inside the ball, so that it holds the queries too.
    """

    center: np.ndarray
    radius: float
    holds_queries: bool = False

    @property
    def in_radius(self) -> float:
        """Smallest distance from the centre to the edge."""
        return self.radius

    def contains(self, geometry: Geometry, points: np.ndarray, slack: float = 0.0) -> np.ndarray:
        """Whether points lie in the region.

        Parameters
        ----------
        geometry : Geometry
        points : array, shape [..., *point_shape]
        slack : float
            Distance past the edge, beyond rounding, that still counts as inside.

        Returns
        -------
        inside : array of bool, shape [...]
        """
        return geometry.dist(points, self.center) <= self.radius * (1 + EDGE) + slack

    def depth(self, geometry: Geometry, points: np.ndarray) -> np.ndarray:
        """Lower bound on the distance from points to the edge, negative outside.

        Parameters
        ----------
        geometry : Geometry
        points : array, shape [..., *point_shape]

        Returns
        -------
        depth : array, shape [...]
        """
        # From the centre: matrices far out may not be definite to floating point.
        return self.radius - geometry.dist(self.center, points)

    def widened(self, reach: float) -> GeodesicBall:
        """Region that holds everything within a geodesic distance of this one.

        Parameters
        ----------
        reach : float
            That distance; a negative one shrinks the region.

        Returns
        -------
        region : GeodesicBall
        """
        return self._replace(radius=self.radius + reach)

    def check(self, geometry: Geometry) -> None:
        """Refuse a space on which the region does not exist; balls exist on every space.

        Parameters
        ----------
        geometry : Geometry

        Raises
        ------
        ProtocolError
            Of other regions.
        """

    def to_spec(self) -> dict[str, Any]:
        """Plain record, for JSON."""
        return plain_record("geodesic_ball", self._asdict())


def geodesic_ball(center: ArrayLike, radius: float, holds_queries: bool = False) -> GeodesicBall:
    """Geodesic ball about a public centre.

    Parameters
    ----------
    center : array-like, shape [*point_shape]
    radius : float
    holds_queries : bool
        Keep iterates a query radius inside, so that the ball holds the queries as well. This is
        the radius-dependent inner projection of section S.3 of the paper.

    Returns
    -------
    region : GeodesicBall

    Raises
    ------
    ProtocolError
        If the radius is no number in [1e-40, 1e40], or the centre no array of numbers.
    """
    radius = check_scale("radius", radius)
    return GeodesicBall(
        np.array(real_array("center", center)), radius, check_bool("holds_queries", holds_queries)
    )


def spherical_cap(center: ArrayLike, height: float, holds_queries: bool = False) -> GeodesicBall:
    """Cap {x : <x, center> >= height} of the unit sphere, as a geodesic ball.

    Parameters
    ----------
    center : array-like, shape [dim + 1]
    height : float in (0, 1)
        Smallest inner product with the centre; the angular radius is arccos(height) < pi/2.
    holds_queries : bool
        As for `geodesic_ball`.

    Returns
    -------
    region : GeodesicBall

    Raises
    ------
    ProtocolError
        If the height is out of range.
    """
    height = check_real("height", height, "in (0, 1)", lambda number: 0 < number < 1)
    return geodesic_ball(center, math.acos(height), holds_queries)


@jitable
def project_to_ball(region, geometry, room, point, vectors, coords, out):
    """Metric projection, along the geodesic to the centre; see `project`."""
    radius = region.radius - room
    distance = dispatch.dist(geometry, point, region.center)
    if distance <= radius + EDGE * region.radius:
        assign(point, out)
        return False
    dispatch.interpolate(geometry, region.center, point, radius / distance, vectors[0], out)
    return True
