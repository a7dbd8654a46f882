"""The geomstats spaces the package knows: one file a space, guards and closed forms together."""

from __future__ import annotations

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.spaces.base import GuardedSpace
from geomstats_ldp.geometry.spaces.euclidean import GuardedEuclidean
from geomstats_ldp.geometry.spaces.hyperboloid import GuardedHyperboloid
from geomstats_ldp.geometry.spaces.matrix_groups import (
    GuardedGrassmannian,
    GuardedSpecialOrthogonal,
)
from geomstats_ldp.geometry.spaces.spd_affine import GuardedSPDAffine
from geomstats_ldp.geometry.spaces.spd_log_euclidean import GuardedSPDLogEuclidean
from geomstats_ldp.geometry.spaces.sphere import GuardedSphere

_GUARDS = {
    guard.name: guard
    for guard in (
        GuardedEuclidean,
        GuardedSphere,
        GuardedHyperboloid,
        GuardedSPDAffine,
        GuardedSPDLogEuclidean,
        GuardedSpecialOrthogonal,
        GuardedGrassmannian,
    )
}


def guard_space(space):
    """Wrap a geomstats space in its guard.

    Raises
    ------
    ProtocolError
        If the space, or its metric, is not one the package knows.
    """
    for guard in _GUARDS.values():
        if guard.accepts(space):
            return guard(space)
    raise ProtocolError(
        f"space must be one of {sorted(_GUARDS)}; got {type(space).__name__} of shape "
        f"{tuple(getattr(space, 'shape', ()))}"
    )


def space_to_spec(space):
    """Plain record of a geomstats space."""
    return guard_space(space).to_spec()


def space_from_spec(spec):
    """Build the geomstats space that `space_to_spec` recorded."""
    name = spec.get("name")
    if name not in _GUARDS:
        raise ProtocolError(f"space must be one of {sorted(_GUARDS)}; got {name!r}")
    return _GUARDS[name].from_spec(spec)


__all__ = ["GuardedSpace", "guard_space", "space_from_spec", "space_to_spec"]
