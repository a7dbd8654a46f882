"""Plain records of geomstats spaces, so that a protocol can be stored and sent as JSON."""

from __future__ import annotations

from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp.exceptions import ProtocolError

_SPACES = {"Hypersphere": Hypersphere, "Euclidean": Euclidean}


def space_to_spec(space):
    """Plain record of a geomstats space.

    Raises
    ------
    ProtocolError
        If the space is of a type that has no record.
    """
    name = type(space).__name__
    if _SPACES.get(name) is not type(space):
        raise ProtocolError(f"space must be one of {sorted(_SPACES)}; got {name}")
    return {"name": name, "dim": int(space.dim)}


def space_from_spec(spec):
    """Build the geomstats space that `space_to_spec` recorded."""
    name = spec.get("name")
    if name not in _SPACES:
        raise ProtocolError(f"space must be one of {sorted(_SPACES)}; got {name!r}")
    return _SPACES[name](dim=int(spec["dim"]))
