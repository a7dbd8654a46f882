"""The geomstats spaces the package knows: a file each, with corrections and closed forms."""

from __future__ import annotations

from geomstats_ldp.geometry.registry import GEOMETRIES, space_from_spec, space_to_spec
from geomstats_ldp.geometry.spaces.euclidean import EuclideanGeometry
from geomstats_ldp.geometry.spaces.grassmann import GrassmannGeometry
from geomstats_ldp.geometry.spaces.hyperbolic import HyperbolicGeometry
from geomstats_ldp.geometry.spaces.product import ProductGeometry
from geomstats_ldp.geometry.spaces.registered import (
    RegisteredGeometry,
    RegisteredSpace,
    register_space,
)
from geomstats_ldp.geometry.spaces.rotations import RotationGeometry
from geomstats_ldp.geometry.spaces.spd_affine import SPDAffineGeometry
from geomstats_ldp.geometry.spaces.spd_log_euclidean import SPDLogEuclideanGeometry
from geomstats_ldp.geometry.spaces.sphere import SphereGeometry

GEOMETRIES.update(
    (known.name, known)
    for known in (
        EuclideanGeometry,
        SphereGeometry,
        HyperbolicGeometry,
        SPDAffineGeometry,
        SPDLogEuclideanGeometry,
        RotationGeometry,
        GrassmannGeometry,
        ProductGeometry,
        RegisteredGeometry,
    )
)

__all__ = ["RegisteredSpace", "register_space", "space_from_spec", "space_to_spec"]
