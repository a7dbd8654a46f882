"""How far over the edge of a region rounding may put a point, relative to its size."""

#: A rounding over the edge is no reason to move a point, or the engines would count differently.
EDGE = 1e-12
