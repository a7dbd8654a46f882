"""Where the queries of a plan can lie."""

from __future__ import annotations

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import GeodesicBall, Geometry, region_of_queries
from geomstats_ldp.geometry.regions import WorkingRegion, check_region
from geomstats_ldp.protocol.rounds import RoundPlan
from geomstats_ldp.protocol.rules import RadiusRule


def all_queries(
    geometry: Geometry,
    working_region: WorkingRegion,
    radius: RadiusRule | None,
    rounds: RoundPlan | None,
) -> WorkingRegion:
    """Region that holds every query of a plan, over which scores are bounded.

    It is the ball of radius zero if the plan names a query. ProtocolError if there is neither a
    radius nor a query or both, or one of them does not suit the space or the working region.
    """
    query = None if rounds is None else rounds.query
    if radius is not None and query is None:
        check_region(geometry, working_region, radius.maximum)
        return region_of_queries(geometry, working_region, radius.maximum)
    if radius is None and query is not None:
        check_region(geometry, working_region, 0.0)
        return GeodesicBall(geometry.check_point(query, "query"), 0.0)
    raise ProtocolError(
        "a protocol must have a radius or rounds with a query, and not both; "
        f"got radius={radius!r} and rounds={rounds!r}"
    )
