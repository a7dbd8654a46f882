"""The geomstats spaces the package knows: one file a space, guards and closed forms together."""

from __future__ import annotations

from geomstats_ldp.geometry.spaces.base import GuardedSpace
from geomstats_ldp.geometry.spaces.euclidean import GuardedEuclidean
from geomstats_ldp.geometry.spaces.hyperboloid import GuardedHyperboloid
from geomstats_ldp.geometry.spaces.matrix_groups import (
    GuardedGrassmannian,
    GuardedSpecialOrthogonal,
)
from geomstats_ldp.geometry.spaces.product import GuardedProduct
from geomstats_ldp.geometry.spaces.registered import (
    GuardedRegistered,
    RegisteredSpace,
    register_space,
)
from geomstats_ldp.geometry.spaces.registry import (
    GUARDS,
    guard_space,
    space_from_spec,
    space_to_spec,
)
from geomstats_ldp.geometry.spaces.spd_affine import GuardedSPDAffine
from geomstats_ldp.geometry.spaces.spd_log_euclidean import GuardedSPDLogEuclidean
from geomstats_ldp.geometry.spaces.sphere import GuardedSphere

GUARDS.update(
    (guard.name, guard)
    for guard in (
        GuardedEuclidean,
        GuardedSphere,
        GuardedHyperboloid,
        GuardedSPDAffine,
        GuardedSPDLogEuclidean,
        GuardedSpecialOrthogonal,
        GuardedGrassmannian,
        GuardedProduct,
        GuardedRegistered,
    )
)

__all__ = [
    "GuardedSpace",
    "RegisteredSpace",
    "guard_space",
    "register_space",
    "space_from_spec",
    "space_to_spec",
]
