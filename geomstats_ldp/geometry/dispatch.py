"""The geometry operations of the recursion, one source for both engines.

Run by the interpreter, each function calls a `Geometry`, that is geomstats. Compiled, it becomes
the closed form that belongs to the type of its first argument. The choice is made by
`numba.extending.overload` and not by passing functions, because numba caches to disk only what it
reaches through module globals.
"""

from __future__ import annotations

from numba.extending import overload

from geomstats_ldp.geometry import sphere
from geomstats_ldp.twins import twin_class

#: twin type -> module of its closed forms
_CLOSED_FORMS = {sphere.SphereTwin: sphere}


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


def dist(geometry, point_a, point_b):
    """Geodesic distance."""
    return geometry.dist(point_a, point_b)


def _closed_form(geometry, name):
    """Compiled twin of an operation, or None when the type has none."""
    module = _CLOSED_FORMS.get(twin_class(geometry))
    return None if module is None else getattr(module, "_" + name)


def _overload_ternary(operation):
    @overload(operation)
    def choose(geometry, first, second, out):
        kernel = _closed_form(geometry, operation.__name__)
        if kernel is not None:
            return lambda geometry, first, second, out: kernel(geometry, first, second, out)


for _operation in (exp, log, retract, to_tangent, lift, lower):
    _overload_ternary(_operation)


@overload(transport)
def _choose_transport(geometry, tangent_vec, base_point, end_point, out):
    kernel = _closed_form(geometry, "transport")
    if kernel is not None:
        return lambda geometry, tangent_vec, base_point, end_point, out: kernel(
            geometry, tangent_vec, base_point, end_point, out
        )


@overload(dist)
def _choose_dist(geometry, point_a, point_b):
    kernel = _closed_form(geometry, "dist")
    if kernel is not None:
        return lambda geometry, point_a, point_b: kernel(geometry, point_a, point_b)
