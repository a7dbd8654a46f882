"""The geometry operations of the recursion, one source for both engines.

Run by the interpreter, each function calls a `Geometry`, that is geomstats. Compiled, it becomes
the closed form that a module such as `sphere` registers for the type of the first argument.

The last ones are compositions of the others.
"""

from __future__ import annotations

from geomstats_ldp.geometry.elementwise import scale
from geomstats_ldp.twins import compile_for_twin, jitable, operation


@operation
def exp(geometry, tangent_vec, base_point, out):
    """Follow the geodesic from `base_point` along `tangent_vec` for unit time."""
    out[...] = geometry.exp(tangent_vec, base_point)


@operation
def log(geometry, point, base_point, out):
    """Initial velocity of the geodesic that reaches `point` in unit time."""
    out[...] = geometry.log(point, base_point)


@operation
def transport(geometry, tangent_vec, base_point, end_point, out):
    """Parallel transport along the minimising geodesic."""
    out[...] = geometry.transport(tangent_vec, base_point, end_point)


@operation
def retract(geometry, tangent_vec, base_point, out):
    """Move from `base_point` along `tangent_vec` by the public retraction."""
    out[...] = geometry.retract(tangent_vec, base_point)


@operation
def to_tangent(geometry, vector, base_point, out):
    """Orthogonal projection of an ambient vector onto the tangent space."""
    out[...] = geometry.to_tangent(vector, base_point)


@operation
def lift(geometry, coords, point, out):
    """Tangent vector with the given coordinates in the public frame at `point`."""
    out[...] = geometry.lift(coords, point)


@operation
def coordinates(geometry, tangent_vec, point, out):
    """Coordinates of a tangent vector in the public frame at `point`."""
    out[...] = geometry.coordinates(tangent_vec, point)


@operation
def settle(geometry, point, out):
    """Put a point that is on the manifold to rounding exactly there.

    Returns whether the point was on it for certain. Compiled, a point that is not finite, or needs
    a closer look than a closed form takes, is none.
    """
    out[...] = geometry.settle(point)
    return True


@operation
def dist(geometry, point_a, point_b):
    """Geodesic distance."""
    return geometry.dist(point_a, point_b)


@operation
def dim(geometry):
    """Number of frame coordinates; compiled, a constant wherever loops over it are short."""
    return geometry.dim


def closed_forms(twin, is_small=True):
    """Decorator of the closed forms of a space, which compiled code runs on records of `twin`.

    A closed form is named like its operation above, with an underscore in front if it is private,
    unless the name of the operation is given.

    Parameters
    ----------
    twin : type
    is_small : bool, default=True
        See `compile_for_twin`.
    """

    def register(kernel, operation=None):
        kernel = jitable(kernel) if operation is None else kernel
        name = kernel.__name__.lstrip("_") if operation is None else operation
        compile_for_twin(globals()[name], twin, kernel, is_small)
        return kernel

    return register


@jitable
def retract_coords(geometry, coords, point, vector, out):
    """Retraction of the tangent vector with the given coordinates; `vector` is scratch."""
    lift(geometry, coords, point, vector)
    retract(geometry, vector, point, out)


@jitable
def retract_both_ways(geometry, coords, point, vector, plus, minus):
    """Retractions of the vector with the given coordinates and of its opposite."""
    lift(geometry, coords, point, vector)
    retract(geometry, vector, point, plus)
    scale(-1.0, vector)
    retract(geometry, vector, point, minus)


@jitable
def log_coords(geometry, point, base_point, vector, out):
    """Coordinates of the logarithm in the public frame at `base_point`; `vector` is scratch."""
    log(geometry, point, base_point, vector)
    coordinates(geometry, vector, base_point, out)


@jitable
def carry(geometry, message, query, point, vectors, out):
    """Frame coordinates at a point of a message transported there from its query.

    Two ambient `vectors` are scratch.
    """
    # Projecting first makes every engine and every path treat a message alike.
    to_tangent(geometry, message, query, vectors[0])
    transport(geometry, vectors[0], query, point, vectors[1])
    coordinates(geometry, vectors[1], point, out)


@jitable
def interpolate(geometry, start, end, weight, vector, out):
    """Point at a fraction `weight` of the geodesic from `start` to `end`; `vector` is scratch."""
    log(geometry, end, start, vector)
    scale(weight, vector)
    exp(geometry, vector, start, out)
