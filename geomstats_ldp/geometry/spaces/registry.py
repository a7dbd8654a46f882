"""From geomstats spaces to their guards, and from plain records back to spaces."""

from __future__ import annotations

from geomstats_ldp.exceptions import ProtocolError

#: Guards by the name of the record; the package fills it.
GUARDS = {}


def guard_space(space):
    """Wrap a geomstats space in its guard.

    Raises
    ------
    ProtocolError
        If the space, or its metric, is not one the package knows.
    """
    for guard in GUARDS.values():
        if guard.accepts(space):
            return guard(space)
    metric = getattr(space, "metric", None)
    raise ProtocolError(
        f"space must be one of {sorted(GUARDS)}; got {type(space).__name__} of shape "
        f"{tuple(getattr(space, 'shape', ()))} with metric {type(metric).__name__}. Any other "
        "geomstats space with exp, log and parallel transport can be used through register_space"
    )


def space_to_spec(space):
    """Plain record of a geomstats space."""
    return guard_space(space).to_spec()


def space_from_spec(spec):
    """Build the geomstats space that `space_to_spec` recorded."""
    name = spec.get("name")
    if name not in GUARDS:
        raise ProtocolError(f"space must be one of {sorted(GUARDS)}; got {name!r}")
    return GUARDS[name].from_spec(spec)
