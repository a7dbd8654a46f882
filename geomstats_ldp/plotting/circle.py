"""A region of directions in the plane, on the unit circle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.plotting import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from geomstats_ldp.inference.region import TangentRegion

_N_VERTICES = 201

#: From where to where a tick of the rug reaches, in units of the radius.
_RUG = (1.06, 1.14)

#: Angles that are written on the inside.
_ANGLES = {0.0: "0", np.pi / 2: "π/2", np.pi: "π", -np.pi / 2: "−π/2"}

#: From where to where the marks at the ends of the arc reach.
_ENDS = (0.96, 1.04)


def plot_on_circle(
    region: TangentRegion, ax: Axes | None = None, points: ArrayLike | None = None, **kwargs: Any
) -> Axes:
    """Draw a region on the unit circle as a thick arc about the estimate.

    The arc ends at the two boundary points of the region; a region of more than half a turn to
    each side is the whole circle. Angles are in radians.

    Parameters
    ----------
    region : WaldRegion or ScoreRegion
        On ``Hypersphere(1)``.
    ax : Axes, optional
    points : array-like, shape [..., 2], optional
        Unit vectors, each a tick on the outside of the circle.
    **kwargs
        Passed to ``ax.plot`` for the arc.

    Returns
    -------
    ax : Axes

    Raises
    ------
    PlotError
        If the region lies on another space, or `ax` is not two-dimensional.
    ProtocolError
        Naming a point that is not on the circle.
    """
    drawing.check_space(region, "Hypersphere(1)", "plot_on_circle")
    points = drawing.internal_points(region, points)
    arc = _arc(region)
    ax = drawing.open_axes(ax, "plot_on_circle", size=drawing.SQUARE)
    if drawing.is_bare(ax):
        _draw_circle(ax)
    style = drawing.curve_style(kwargs, linewidth=7, solid_capstyle="butt", alpha=drawing.FILL)
    ax.plot(*arc.T, **style)
    for end in arc[[0, -1]] if region.largest_radius < np.pi else ():
        ax.plot(*np.outer(end, _ENDS), color=style["color"], linewidth=1.2, zorder=5)
    _draw_rug(ax, points)
    ax.plot(*region.center, **drawing.CENTER)
    drawing.name_level(ax, region)
    return ax


def _arc(region):
    x, y = region.center
    ends = region.outline(np.array([[-1.0], [1.0]]))[:, 0]
    # The coordinate of the frame runs one way round or the other.
    turn = np.linalg.det([region.center, region.geometry.lift(np.ones(1), region.center)])
    low, high = np.sign(turn * ends) * region.geometry.retracted_distance(np.abs(ends))
    angles = np.arctan2(y, x) + np.linspace(low, high, _N_VERTICES)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def _draw_circle(ax):
    drawing.guide(ax, *drawing.circle(_N_VERTICES).T, color="0.6")
    for angle, text in _ANGLES.items():
        direction = np.array([np.cos(angle), np.sin(angle)])
        drawing.guide(ax, *np.outer(direction, [0.96, 1.0]), color="0.6")
        ax.text(*(0.87 * direction), text, color="0.4", ha="center", va="center", size="small")
    ax.set_aspect("equal")
    ax.text(0, 0, "angle in radians", color="0.4", ha="center", va="center", size="small")
    ax.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
    ax.set_axis_off()


def _draw_rug(ax, points):
    from matplotlib.collections import LineCollection

    ticks = np.multiply.outer(points, _RUG).swapaxes(1, 2)
    ax.add_collection(
        LineCollection(
            ticks, colors=drawing.POINTS["color"], linewidths=0.6, alpha=drawing.ink(len(points))
        )
    )
