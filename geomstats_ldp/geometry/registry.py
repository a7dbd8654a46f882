"""From geomstats spaces to the classes that handle them, and from plain records back to spaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.validation import check_choice

#: Subclasses of `Geometry` by the name of the record; `geometry.spaces` fills it.
GEOMETRIES: dict[str, Any] = {}


def geometry_class(space):
    """Class that handles a geomstats space.

    Raises
    ------
    ProtocolError
        If the space, or its metric, is not one the package knows.
    """
    for known in GEOMETRIES.values():
        if known.accepts(space):
            return known
    metric = getattr(space, "metric", None)
    raise ProtocolError(
        f"space must be one of {sorted(GEOMETRIES)}; got {type(space).__name__} of shape "
        f"{tuple(getattr(space, 'shape', ()))} with metric {type(metric).__name__}. Any other "
        "geomstats space with exp, log and parallel transport can be used through register_space"
    )


def origin_of(space: Any) -> np.ndarray:
    """Point of a space to start from when none is given.

    Parameters
    ----------
    space : geomstats manifold

    Returns
    -------
    point : array, shape [*point_shape]

    Raises
    ------
    ProtocolError
        If no point of the space is more natural than others.
    """
    return geometry_class(space).origin(space)


def space_to_spec(space):
    """Plain record of a geomstats space."""
    return geometry_class(space).to_spec(space)


def space_from_spec(spec):
    """Build the geomstats space that `space_to_spec` recorded."""
    name = check_choice("space", spec.get("name"), sorted(GEOMETRIES))
    return GEOMETRIES[name].from_spec(spec)
