"""A region of directions in space, on the unit sphere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.plotting import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from geomstats_ldp.inference.region import TangentRegion

_N_VERTICES = 401

#: Angle between neighbouring meridians and parallels, in degrees.
_SPACING = 30

#: An axis of which so much points towards the viewer, or away, would hide the centre.
_FACING = 0.95

#: What lies on the far side of the sphere.
_BEHIND = {"color": "0.75"}


def plot_on_sphere(
    region: TangentRegion, ax: Axes | None = None, points: ArrayLike | None = None, **kwargs: Any
) -> Axes:
    """Draw a region on the unit sphere, its centre towards the viewer.

    Meridians and parallels of the third axis are 30 degrees apart. What lies behind is paler. On
    Axes that hold a sphere already only the region and the points are added, seen as before.

    Parameters
    ----------
    region : WaldRegion or ScoreRegion
        On ``Hypersphere(2)``.
    ax : Axes3D, optional
    points : array-like, shape [..., 3], optional
        Unit vectors, each a dot.
    **kwargs
        Passed to ``ax.plot`` for the boundary; its colour is that of the inside too.

    Returns
    -------
    ax : Axes3D

    Raises
    ------
    PlotError
        If the region lies on another space, or `ax` is not three-dimensional.
    ProtocolError
        Naming a point that is not on the sphere.
    """
    drawing.check_space(region, "Hypersphere(2)", "plot_on_sphere")
    points = drawing.internal_points(region, points)
    curve = _boundary(region)
    ax = drawing.open_axes(ax, "plot_on_sphere", in_3d=True, size=drawing.SQUARE)
    if drawing.is_bare(ax):
        _draw_sphere(ax, region.center)
    _draw_points(ax, points)
    _draw_region(ax, region, curve, drawing.curve_style(kwargs))
    ax.plot(*region.center[:, None], **drawing.CENTER)
    drawing.name_level(ax, region)
    return ax


def _boundary(region):
    """Boundary curve, closed; NaN where a geodesic from the centre would go past its antipode."""
    coords = region.outline(drawing.circle(_N_VERTICES))
    distances = region.geometry.retracted_distance(np.linalg.norm(coords, axis=1))
    is_past = distances >= region.geometry.injectivity_radius
    return np.where(is_past[:, None], np.nan, region.points_at(coords))


def _viewpoint(ax):
    """Unit vector towards the viewer."""
    elevation, azimuth = np.radians([ax.elev, ax.azim])
    level = np.cos(elevation)
    return np.array([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)])


def _sides(ax, points):
    """The points with NaN for those behind, and with NaN for those in front."""
    in_front = (points @ _viewpoint(ax) >= 0)[:, None]
    return np.where(in_front, points, np.nan), np.where(in_front, np.nan, points)


def _draw_sphere(ax, center):
    ax.computed_zorder = False
    ax.set_proj_type("ortho")
    x, y, z = center
    elevation, azimuth = np.arctan2([z, y], [np.hypot(x, y), x])
    ax.view_init(elev=np.degrees(elevation), azim=np.degrees(azimuth))
    ax.set(xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1))
    ax.set_box_aspect((1, 1, 1), zoom=1.3)
    ax.set_axis_off()
    for curve in [*_meridians(), *_parallels()]:
        front, behind = _sides(ax, curve)
        drawing.guide(ax, *behind.T, color="0.9")
        drawing.guide(ax, *front.T)
    _draw_outline(ax)
    _name_axes(ax)


def _meridians():
    half_turn = drawing.circle(_N_VERTICES)[: _N_VERTICES // 2 + 1]
    for azimuth in np.radians(np.arange(0, 360, _SPACING)):
        level = half_turn[:, 1:] * [np.cos(azimuth), np.sin(azimuth)]
        yield np.concatenate([level, half_turn[:, :1]], axis=1)


def _parallels():
    for elevation in np.radians(np.arange(_SPACING - 90, 90, _SPACING)):
        height = np.full((_N_VERTICES, 1), np.sin(elevation))
        yield np.concatenate([np.cos(elevation) * drawing.circle(_N_VERTICES), height], axis=1)


def _draw_outline(ax):
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    # All rows of the right factor but the first span the plane across the line of sight.
    across = np.linalg.svd(_viewpoint(ax)[None])[2][1:]
    outline = drawing.circle(_N_VERTICES) @ across
    ax.add_collection3d(Poly3DCollection([outline], fc="0.97", ec="none", zorder=0))
    drawing.guide(ax, *outline.T, color="0.5")


def _name_axes(ax):
    for i, axis in enumerate(np.eye(3)):
        towards = axis @ _viewpoint(ax)
        if abs(towards) > _FACING:
            continue
        colour = "0.4" if towards >= 0 else "0.75"
        drawing.guide(ax, *np.outer(axis, [1.0, 1.1]), color=colour)
        ax.text(*(1.18 * axis), f"$x_{i + 1}$", color=colour, ha="center", va="center")


def _draw_points(ax, points):
    front, behind = _sides(ax, points)
    alpha = drawing.ink(len(points))
    for side, style in ((behind, _BEHIND), (front, {})):
        ax.plot(*side.T, **{**drawing.POINTS, **style, "alpha": alpha, "zorder": 3})


def _draw_region(ax, region, curve, style):
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    # Seen from one side, the boundary of a larger region encloses what is outside of it.
    if region.largest_radius < np.pi / 2:
        ax.add_collection3d(
            Poly3DCollection([curve], fc=style["color"], ec="none", alpha=drawing.FILL, zorder=4)
        )
    front, behind = _sides(ax, curve)
    ax.plot(*front.T, **style)
    ax.plot(*behind.T, **{**style, "linestyle": ":", "alpha": 0.5, "label": None})
