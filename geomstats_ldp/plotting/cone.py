"""A region of 2 x 2 matrices, in the cone of the positive definite ones."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.plotting import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from geomstats_ldp.inference.region import TangentRegion

_N_VERTICES = 201

#: Size in inches of a new figure, with room for the names of the axes.
_SIZE = (5.6, 4.4)

#: Number of vertices of the surface from pole to pole.
_N_LATITUDES = 13

#: Number of straight lines on the cone, and of ellipses across its axis.
_N_RULINGS = 24
_N_ELLIPSES = 4


def plot_on_spd_cone(
    region: TangentRegion, ax: Axes | None = None, points: ArrayLike | None = None, **kwargs: Any
) -> Axes:
    """Draw a region of symmetric positive definite 2 x 2 matrices X in their cone.

    The axes are the entries of X. The cone X11 X22 > X12^2 with X11 > 0 is cut at a trace beyond
    all that is drawn. The region is the surface of its ellipsoid, with the three ellipses through
    two semi-axes each.

    Parameters
    ----------
    region : WaldRegion or ScoreRegion
        On ``SPDMatrices(2)``, with either metric.
    ax : Axes3D, optional
    points : array-like, shape [..., 2, 2], optional
        Matrices, each a dot.
    **kwargs
        Passed to ``ax.plot`` for the ellipses; their colour is that of the surface too.

    Returns
    -------
    ax : Axes3D

    Raises
    ------
    PlotError
        If the region lies on another space, or `ax` is not three-dimensional.
    ProtocolError
        Naming a point that is not positive definite, or if the region is too large for floating
        point.
    """
    drawing.check_space(region, "SPDMatrices(2)", "plot_on_spd_cone")
    points = _entries(drawing.internal_points(region, points))
    surface = _image(region, _unit_sphere())
    ellipses = [_image(region, directions) for directions in _great_circles()]
    ax = drawing.open_axes(ax, "plot_on_spd_cone", in_3d=True, size=_SIZE)
    if drawing.is_bare(ax):
        shown = np.concatenate([surface.reshape(-1, 3), points])
        _draw_cone(ax, 1.1 * (shown[:, 0] + shown[:, 1]).max())
    ax.plot(*points.T, **{**drawing.POINTS, "alpha": drawing.ink(len(points)), "zorder": 3})
    _draw_region(ax, surface, ellipses, drawing.curve_style(kwargs, linewidth=0.8))
    ax.plot(*_entries(region.center)[:, None], **drawing.CENTER)
    drawing.name_level(ax, region, y=0.98)
    return ax


def _entries(matrices: np.ndarray) -> np.ndarray:
    """Entries X11, X22 and X12, shape [..., 3]."""
    return np.stack([matrices[..., 0, 0], matrices[..., 1, 1], matrices[..., 0, 1]], axis=-1)


def _image(region, directions):
    """Entries of boundary points in the given directions, shape [..., 3]."""
    return _entries(region.points_at(region.outline(directions)))


def _unit_sphere():
    heights = np.linspace(0, np.pi, _N_LATITUDES)[:, None, None]
    around = np.sin(heights) * drawing.circle(2 * _N_LATITUDES)
    pole = np.broadcast_to(np.cos(heights), (*around.shape[:-1], 1))
    return np.concatenate([around, pole], axis=-1)


def _great_circles():
    for pair in combinations(range(3), 2):
        directions = np.zeros((_N_VERTICES, 3))
        directions[:, pair] = drawing.circle(_N_VERTICES)
        yield directions


def _draw_region(ax, surface, ellipses, style):
    from matplotlib.colors import to_rgba

    ax.plot_surface(
        *np.moveaxis(surface, -1, 0),
        color=to_rgba(style["color"], drawing.FILL / 2),
        edgecolor=to_rgba(style["color"], drawing.FILL),
        linewidth=0.3,
        shade=False,
        zorder=4,
    )
    for ellipse in ellipses:
        ax.plot(*ellipse.T, **style)
        style["label"] = None


def _draw_cone(ax, trace):
    from matplotlib.ticker import MaxNLocator

    ax.computed_zorder = False
    rim = _singular(trace, _N_VERTICES)
    for height in np.linspace(0, 1, _N_ELLIPSES + 1)[1:]:
        drawing.guide(ax, *(height * rim).T)
    for end in _singular(trace, _N_RULINGS + 1)[:-1]:
        drawing.guide(ax, *np.outer(end, [0, 1]))
    apex_to_rim = np.multiply.outer([0, 1], rim)
    ax.plot_surface(
        *np.moveaxis(apex_to_rim, -1, 0), color="0.9", alpha=0.3, linewidth=0, shade=False, zorder=0
    )
    ax.set(xlim=(0, trace), ylim=(0, trace), zlim=(-trace / 2, trace / 2))
    ax.set_box_aspect((1, 1, 1), zoom=1.1)
    ax.view_init(elev=20, azim=-60)
    ax.grid(False)
    for axis, name in zip((ax.xaxis, ax.yaxis, ax.zaxis), ("11", "22", "12")):
        axis.set_label_text(f"$X_{{{name}}}$")
        axis.set_pane_color("white")
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))


def _singular(trace, n_points):
    """Entries of singular matrices of a trace, once round the cone: 1 + (cos, sin; sin, -cos)."""
    cosine, sine = drawing.circle(n_points).T
    return np.stack([1 + cosine, 1 - cosine, sine], axis=-1) * trace / 2
