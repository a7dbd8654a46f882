"""How far over the edge of a region rounding may put a point, relative to its size."""

#: A rounding over the edge is no reason to move a point, or the engines would count differently.
EDGE = 1e-12

#: Roundings of the largest coordinate of a point, from all that is computed with it.
_N_ROUNDINGS = 16


def slack_of(geometry, region, relative):
    """Distance past the edge that is taken for rounding, in any unit of the data.

    It is a share `relative` of the radius, for ``region.contains``, and the rounding of coordinates
    on top, which is more for a small region far from the origin.
    """
    return relative * region.radius + _N_ROUNDINGS * geometry.rounding(region.center)
