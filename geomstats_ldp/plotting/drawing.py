"""What the pictures share: Axes of the right kind, one look, and checks of what is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import PlotError

if TYPE_CHECKING:
    from geomstats_ldp.inference.region import TangentRegion

#: Looks, in grey: lines that help the eye, the estimate, data.
GUIDE: dict[str, Any] = {"color": "0.8", "linewidth": 0.7, "zorder": 1}
CENTER: dict[str, Any] = {
    "color": "k",
    "marker": "+",
    "markersize": 8,
    "linestyle": "none",
    "zorder": 6,
}
POINTS: dict[str, Any] = {
    "color": "0.35",
    "marker": ".",
    "markersize": 4,
    "mec": "none",
    "linestyle": "none",
}

#: Opacity of the inside of a region, which has the colour of its boundary.
FILL = 0.25

#: Size in inches of a new figure that shows a whole manifold.
SQUARE = (4.8, 4.8)

#: This many points are drawn in full; more of them share their ink.
_FULL_INK = 200
_LEAST_INK = 0.2

_BACKGROUND = "geomstats_ldp background"

#: Names of geomstats for what the classes of spaces are called.
_SPACES = {
    "Hyperboloid": "Hyperbolic",
    "SPDAffineInvariant": "SPDMatrices",
    "SPDLogEuclidean": "SPDMatrices",
}


def space_of(region):
    """Name of the space of a region, such as "Hypersphere(2)", as one makes it in geomstats."""
    geometry = region.geometry
    name = _SPACES.get(geometry.name, geometry.name)
    if name == "SPDMatrices":
        return f"{name}({geometry.shape[0]})"
    is_made_by_dim = name in ("Euclidean", "Hypersphere", "Hyperbolic")
    return f"{name}({geometry.dim})" if is_made_by_dim else f"{name} of dimension {geometry.dim}"


def check_space(region, space, function):
    """Raise PlotError unless a region lies on the space that a function draws."""
    if space_of(region) != space:
        raise PlotError(f"{function} draws regions on {space}; got one on {space_of(region)}")


def internal_points(region: TangentRegion, points: ArrayLike | None) -> np.ndarray:
    """Points of the user as a list in the coordinates of the package, shape [n, *point_shape]."""
    shape = region.geometry.shape
    if points is None:
        return np.empty((0, *shape))
    return region.to_internal(points).reshape(-1, *shape)


def circle(n_points):
    """Directions once round the unit circle, the first again at the end, shape [n_points, 2]."""
    angles = np.linspace(0, 2 * np.pi, n_points)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def open_axes(ax, function, in_3d=False, size=None):
    """Axes that were given, or new ones in a figure of the given size in inches.

    Raises
    ------
    PlotError
        If those that were given have the wrong number of dimensions.
    """
    import matplotlib.pyplot as plt

    if ax is None:
        kind = {"projection": "3d"} if in_3d else None
        return plt.subplots(subplot_kw=kind, figsize=size, layout="constrained")[1]
    if (ax.name == "3d") != in_3d:
        needed = "Axes made with projection='3d'" if in_3d else "Axes of two dimensions"
        raise PlotError(f"{function} needs {needed}; got {type(ax).__name__}")
    return ax


def curve_style(kwargs: dict[str, Any], **own: Any) -> dict[str, Any]:
    """Look of the boundary of a region: the common one, that of a picture, the user's wishes."""
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    wishes = normalize_kwargs(kwargs, Line2D)
    return {"color": "k", "linewidth": 1.2, "zorder": 5, **own, **wishes}


def ink(n_points):
    """Opacity of each of many points."""
    return max(_LEAST_INK, min(1.0, _FULL_INK / max(n_points, 1)))


def is_bare(ax):
    """Whether no picture has drawn its background yet: several regions may share Axes."""
    return not any(artist.get_gid() == _BACKGROUND for artist in ax.get_children())


def guide(ax, *curve, **kwargs):
    """Draw a line of the background."""
    ax.plot(*curve, **{**GUIDE, "gid": _BACKGROUND, **kwargs})


def name_level(ax, region, **place):
    """Put the level of a region into the title."""
    ax.set_title(f"{100 * region.level:g}% {region.kind} region", **place)
