"""Geometry: the door to geomstats, public frames, retractions and working regions."""

from geomstats_ldp.geometry.frames import orthonormal_basis
from geomstats_ldp.geometry.geometry import RETRACTIONS, Geometry
from geomstats_ldp.geometry.regions import GeodesicBall, geodesic_ball, spherical_cap

__all__ = [
    "RETRACTIONS",
    "GeodesicBall",
    "Geometry",
    "geodesic_ball",
    "orthonormal_basis",
    "spherical_cap",
]
