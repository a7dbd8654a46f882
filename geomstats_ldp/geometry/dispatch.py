"""The geometry operations of the recursion, one source for both engines.

Run by the interpreter, each function calls a `Geometry`, that is geomstats. Compiled, it becomes
the closed form that a module such as `sphere` registers for the type of the first argument.
"""

from __future__ import annotations


def exp(geometry, tangent_vec, base_point, out):
    """Follow the geodesic from `base_point` along `tangent_vec` for unit time."""
    out[...] = geometry.exp(tangent_vec, base_point)


def log(geometry, point, base_point, out):
    """Initial velocity of the geodesic that reaches `point` in unit time."""
    out[...] = geometry.log(point, base_point)


def transport(geometry, tangent_vec, base_point, end_point, out):
    """Parallel transport along the minimising geodesic."""
    out[...] = geometry.transport(tangent_vec, base_point, end_point)


def retract(geometry, tangent_vec, base_point, out):
    """Move from `base_point` along `tangent_vec` by the public retraction."""
    out[...] = geometry.retract(tangent_vec, base_point)


def to_tangent(geometry, vector, base_point, out):
    """Orthogonal projection of an ambient vector onto the tangent space."""
    out[...] = geometry.to_tangent(vector, base_point)


def lift(geometry, coords, point, out):
    """Tangent vector with the given coordinates in the public frame at `point`."""
    out[...] = geometry.lift(coords, point)


def lower(geometry, tangent_vec, point, out):
    """Coordinates of a tangent vector in the public frame at `point`."""
    out[...] = geometry.lower(tangent_vec, point)


def settle(geometry, point, out):
    """Put a point that is on the manifold to rounding exactly there.

    Returns whether the point was on it for certain. Compiled, a point that is not finite, or needs
    a closer look than a closed form takes, is none.
    """
    out[...] = geometry.guard.settle(point)
    return True


def dist(geometry, point_a, point_b):
    """Geodesic distance."""
    return geometry.dist(point_a, point_b)
