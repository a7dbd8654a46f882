"""Public working regions with their metric projection."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import dispatch


class GeodesicBall(NamedTuple):
    """Closed geodesic ball, the region K_s that holds the iterates.

    Attributes
    ----------
    center : array, shape [*point_shape]
    radius : float
        Geodesic radius; on the unit sphere an angle in radians.
    """

    center: np.ndarray
    radius: float

    def contains(self, geometry, points, slack=1e-12):
        """Whether points, shape [..., *point_shape], lie in the ball."""
        return geometry.dist(points, self.center) <= self.radius + slack

    def to_spec(self):
        """Plain record, for JSON."""
        return {
            "name": "geodesic_ball",
            "center": np.asarray(self.center).tolist(),
            "radius": float(self.radius),
        }


def geodesic_ball(center, radius):
    """Geodesic ball about a public centre.

    Raises
    ------
    ProtocolError
        If the radius is not a positive finite number.
    """
    radius = float(radius)
    if not (math.isfinite(radius) and radius > 0):
        raise ProtocolError(f"radius must be positive and finite; got {radius}")
    return GeodesicBall(np.array(center, dtype=float), radius)


def spherical_cap(center, height):
    """Cap {x : <x, center> >= height} of the unit sphere, as a geodesic ball.

    Parameters
    ----------
    center : array-like, shape [dim + 1]
    height : float in (0, 1)
        Smallest inner product with the centre; the angular radius is arccos(height) < pi/2.
    """
    if not 0 < height < 1:
        raise ProtocolError(f"height must lie in (0, 1); got {height}")
    return geodesic_ball(center, math.acos(height))


def region_from_spec(spec):
    """Rebuild a region from its plain record."""
    if spec.get("name") != "geodesic_ball":
        raise ProtocolError(f"region must be a geodesic_ball; got {spec.get('name')!r}")
    return geodesic_ball(spec["center"], spec["radius"])


def region_of_queries(geometry, region, query_radius):
    """Ball K_q that holds every query made from an iterate in the working region.

    Raises
    ------
    ProtocolError
        If it reaches the cut locus of its centre.
    """
    reach = float(region.radius + geometry.retracted_distance(query_radius))
    if not reach < geometry.guard.injectivity_radius:
        raise ProtocolError(
            "region radius plus the query radius must stay under the injectivity radius "
            f"{geometry.guard.injectivity_radius:.6g}; got {reach:.6g}"
        )
    return GeodesicBall(region.center, reach)


@register_jitable
def project(geometry, region, point, tangent, out):
    """Metric projection onto the ball, along the geodesic to its centre.

    `tangent` is scratch. Returns whether the point was outside. Runs in both engines.
    """
    distance = dispatch.dist(geometry, point, region.center)
    # A rounding over the edge is no reason to move, or the engines would count differently.
    if distance <= region.radius + 1e-12:
        out[...] = point
        return False
    dispatch.log(geometry, point, region.center, tangent)
    tangent *= region.radius / distance
    dispatch.exp(geometry, tangent, region.center, out)
    return True
