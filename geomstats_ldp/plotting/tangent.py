"""A region in the tangent space at its centre: any space, any dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import ConvexHull

from geomstats_ldp.plotting.drawing import CENTER, circle, curve_style, name_level, open_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from geomstats_ldp.inference.region import TangentRegion

_N_VERTICES = 201

#: Boundary points of an open region that is shown by its hull.
_N_RAYS = 2000


def plot_tangent_ellipse(region: TangentRegion, ax: Axes | None = None, **kwargs: Any) -> Axes:
    """Draw a region in the first two coordinates of the tangent frame at its centre.

    In more than two dimensions it is the projection of the region to these coordinates.

    Parameters
    ----------
    region : WaldRegion or ScoreRegion
    ax : Axes, optional
    **kwargs
        Passed to ``ax.plot``.

    Returns
    -------
    ax : Axes

    Raises
    ------
    PlotError
        If `ax` is not two-dimensional.
    """
    ax = open_axes(ax, "plot_tangent_ellipse")
    if region.dim == 1:
        ends = region.outline(np.array([[-1.0], [1.0]]))[:, 0]
        ax.plot(ends, [0, 0], **curve_style(kwargs, marker="|"))
        ax.set_yticks([])
    else:
        ax.plot(*_shadow(region).T, **curve_style(kwargs))
        ax.set_aspect("equal")
        ax.set_ylabel("second frame coordinate (tangent length)")
    ax.plot(0, 0, **CENTER)
    ax.set_xlabel("first frame coordinate (tangent length)")
    name_level(ax, region)
    return ax


def _shadow(region):
    """Outline of the projection to the first two coordinates, closed, shape [n, 2]."""
    if region.dim == 2:
        return region.outline(circle(_N_VERTICES))
    if np.isfinite(region.semi_axis_lengths).all():
        # The region is the image of the unit ball, and its projection to two axes an ellipse.
        root = (region.semi_axis_lengths[:, None] * region.semi_axes).T[:2]
        vectors, sizes, _ = np.linalg.svd(root, full_matrices=False)
        return region.midpoint[:2] + circle(_N_VERTICES) @ (vectors * sizes).T
    # Cut by the working region it is no ellipsoid: the hull of points of its boundary.
    points = region.boundary_coordinates(_N_RAYS)[:, :2]
    hull = ConvexHull(points).vertices
    return points[np.append(hull, hull[0])]
