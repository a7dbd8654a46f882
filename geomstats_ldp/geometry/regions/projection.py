"""What every region offers: its record, the region of its queries and its projection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.regions.ball import GeodesicBall, geodesic_ball, project_to_ball
from geomstats_ldp.geometry.regions.band import SpectralBand, project_to_band, spectral_band
from geomstats_ldp.geometry.regions.box import LogBox, log_box, project_to_box
from geomstats_ldp.twins import compile_for_twin, operation
from geomstats_ldp.validation import check_choice

if TYPE_CHECKING:
    from geomstats_ldp.geometry.geometry import Geometry

#: What may be a working region.
WorkingRegion = Union[GeodesicBall, LogBox, SpectralBand]

_PROJECTIONS = {
    GeodesicBall: project_to_ball,
    LogBox: project_to_box,
    SpectralBand: project_to_band,
}


@operation
def project(region, geometry, room, point, vectors, coords, out):
    """Write the nearest point of a region shrunk by `room` to out, in both engines.

    Returns whether the point had to be moved. `vectors`, shape [2, *point_shape], and `coords`,
    shape [dim], are scratch.
    """
    return _PROJECTIONS[type(region)](region, geometry, room, point, vectors, coords, out)


for _region, _kernel in _PROJECTIONS.items():
    compile_for_twin(project, _region, _kernel)


def _ball_from_spec(center, radius, holds_queries):
    return geodesic_ball(center, radius, holds_queries)


def _box_from_spec(center, half_widths, holds_queries):
    return log_box(center, half_widths, holds_queries)


def _band_from_spec(center, lower, upper, holds_queries):
    return spectral_band(len(center), lower, upper, holds_queries)


_FROM_SPEC = {
    "geodesic_ball": _ball_from_spec,
    "log_box": _box_from_spec,
    "spectral_band": _band_from_spec,
}


def region_from_spec(spec):
    """Rebuild a region from its plain record.

    Raises
    ------
    ProtocolError
        If the record names no known region.
    """
    parameters = dict(spec)
    name = parameters.pop("name", None)
    return _FROM_SPEC[check_choice("region", name, _FROM_SPEC)](**parameters)


def check_region(geometry, region, query_radius):
    """Raise ProtocolError unless a region suits the space and leaves room for the queries."""
    region.check(geometry)
    if region.holds_queries and not query_radius < region.in_radius:
        raise ProtocolError(
            "query radius must be smaller than the distance from centre to edge of a region "
            f"that holds the queries, {region.in_radius:.6g}; got {query_radius:.6g}"
        )


def region_of_iterates(region, query_radius):
    """Region that holds the iterates while queries of the given radius are made."""
    return region.widened(-query_radius) if region.holds_queries else region


def region_of_queries(
    geometry: Geometry, region: WorkingRegion, query_radius: float
) -> WorkingRegion:
    """Region K_q that holds every query made from an iterate in the working region.

    Parameters
    ----------
    geometry : Geometry
    region : GeodesicBall, LogBox or SpectralBand
        The working region K_s.
    query_radius : float
        Largest tangent length of a step from an iterate to a query.

    Returns
    -------
    query_region : GeodesicBall, LogBox or SpectralBand

    Raises
    ------
    ProtocolError
        If it reaches the cut locus of its centre.
    """
    reach = 0.0 if region.holds_queries else float(geometry.retracted_distance(query_radius))
    queries = region.widened(reach)
    if not queries.radius < geometry.injectivity_radius:
        raise ProtocolError(
            "region radius plus the query radius must stay under the injectivity radius "
            f"{geometry.injectivity_radius:.6g}; got {queries.radius:.6g}"
        )
    return queries
