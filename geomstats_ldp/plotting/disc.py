"""A region of the hyperbolic plane, in the Poincaré disc."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from geomstats_ldp.geometry.coordinates import to_ball
from geomstats_ldp.plotting import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from geomstats_ldp.inference.region import TangentRegion

_N_VERTICES = 401

#: Distances from the origin at which circles are drawn.
_DISTANCES = (1, 2, 3)

_LABEL = {
    "color": "0.5",
    "ha": "center",
    "va": "center",
    "size": "x-small",
    "bbox": {"fc": "white", "ec": "none", "pad": 1},
    "zorder": 1,
}

#: Number of geodesics through the origin.
_N_GEODESICS = 4


def plot_on_poincare_disc(
    region: TangentRegion, ax: Axes | None = None, points: ArrayLike | None = None, **kwargs: Any
) -> Axes:
    """Draw a region of the hyperbolic plane in the Poincaré disc.

    The circles are those of distance 1, 2 and 3 from the origin, the straight lines geodesics
    through it. Whatever the coordinates of the space, the picture is the same.

    Parameters
    ----------
    region : WaldRegion or ScoreRegion
        On ``Hyperbolic(2)``, in any of its coordinates.
    ax : Axes, optional
    points : array-like, shape [..., *point_shape], optional
        Points in the coordinates of the region, each a dot.
    **kwargs
        Passed to ``ax.plot`` for the boundary; its colour is that of the inside too.

    Returns
    -------
    ax : Axes

    Raises
    ------
    PlotError
        If the region lies on another space, or `ax` is not two-dimensional.
    ProtocolError
        If the region is too large for floating point.
    ValueError
        Naming a point off the space.
    """
    drawing.check_space(region, "Hyperbolic(2)", "plot_on_poincare_disc")
    points = to_ball(drawing.internal_points(region, points))
    region = region.internal
    curve = to_ball(region.points_at(region.outline(drawing.circle(_N_VERTICES))))
    ax = drawing.open_axes(ax, "plot_on_poincare_disc", size=drawing.SQUARE)
    if drawing.is_bare(ax):
        _draw_disc(ax, side=-1 if to_ball(region.center)[1] > 0 else 1)
    style = drawing.curve_style(kwargs)
    ax.plot(*points.T, **{**drawing.POINTS, "alpha": drawing.ink(len(points)), "zorder": 3})
    ax.fill(*curve.T, color=style["color"], alpha=drawing.FILL, linewidth=0, zorder=4)
    ax.plot(*curve.T, **style)
    ax.plot(*to_ball(region.center), **drawing.CENTER)
    drawing.name_level(ax, region)
    return ax


def _draw_disc(ax, side):
    """The disc, with the names of its circles above (side 1) or below (-1) the origin."""
    directions = drawing.circle(_N_VERTICES)
    for direction in drawing.circle(2 * _N_GEODESICS + 1)[:_N_GEODESICS]:
        drawing.guide(ax, *zip(-direction, direction))
    for distance in _DISTANCES:
        radius = math.tanh(distance / 2)
        drawing.guide(ax, *(radius * directions).T)
        ax.text(0, side * radius, f"distance {distance}", **_LABEL)
    drawing.guide(ax, *directions.T, color="k", linewidth=1)
    ax.set_aspect("equal")
    ax.set(xlim=(-1.02, 1.02), ylim=(-1.02, 1.02), xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("first disc coordinate")
    ax.set_ylabel("second disc coordinate")
