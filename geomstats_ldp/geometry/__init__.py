"""Geometry: the door to geomstats, public frames, retractions and working regions."""

from geomstats_ldp.geometry import quietly  # noqa: F401
from geomstats_ldp.geometry.coordinates import UserCoordinates
from geomstats_ldp.geometry.directions import sphere_of_width, unit_vector
from geomstats_ldp.geometry.frames import orthonormal_basis
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.regions import (
    GeodesicBall,
    LogBox,
    SpectralBand,
    geodesic_ball,
    log_box,
    region_of_queries,
    spectral_band,
    spherical_cap,
)
from geomstats_ldp.geometry.registry import origin_of
from geomstats_ldp.geometry.spaces import RegisteredSpace, register_space
from geomstats_ldp.geometry.subspaces import principal_angles, projection_on

__all__ = [
    "GeodesicBall",
    "Geometry",
    "LogBox",
    "SpectralBand",
    "RegisteredSpace",
    "UserCoordinates",
    "geodesic_ball",
    "log_box",
    "origin_of",
    "orthonormal_basis",
    "principal_angles",
    "projection_on",
    "region_of_queries",
    "register_space",
    "spectral_band",
    "sphere_of_width",
    "spherical_cap",
    "unit_vector",
]
