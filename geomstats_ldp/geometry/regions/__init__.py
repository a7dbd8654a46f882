"""Public working regions: where the iterates are kept, and where the queries then lie."""

from geomstats_ldp.geometry.regions.ball import GeodesicBall, geodesic_ball, spherical_cap
from geomstats_ldp.geometry.regions.band import SpectralBand, spectral_band
from geomstats_ldp.geometry.regions.box import LogBox, log_box
from geomstats_ldp.geometry.regions.projection import (
    WorkingRegion,
    check_region,
    project,
    region_from_spec,
    region_of_iterates,
    region_of_queries,
)
from geomstats_ldp.geometry.regions.slack import slack_of

__all__ = [
    "GeodesicBall",
    "LogBox",
    "SpectralBand",
    "WorkingRegion",
    "check_region",
    "geodesic_ball",
    "log_box",
    "project",
    "region_from_spec",
    "region_of_iterates",
    "region_of_queries",
    "slack_of",
    "spectral_band",
    "spherical_cap",
]
