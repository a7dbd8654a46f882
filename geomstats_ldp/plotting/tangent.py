"""A region in the tangent space at its centre: any space, any dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from geomstats_ldp.plotting.drawing import CENTER, circle, curve_style, name_level, open_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from geomstats_ldp.inference import WaldRegion

_N_VERTICES = 201


def plot_tangent_ellipse(region: WaldRegion, ax: Axes | None = None, **kwargs: Any) -> Axes:
    """Draw a region in the first two coordinates of the tangent frame at its centre.

    In more than two dimensions it is the projection of the ellipsoid to these coordinates.

    Parameters
    ----------
    region : WaldRegion
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
        half = region.semi_axis_lengths[0]
        ax.plot([-half, half], [0, 0], **curve_style(kwargs, marker="|"))
    else:
        values, vectors = np.linalg.eigh(region.covariance[:2, :2])
        curve = vectors @ (np.sqrt(values * region.threshold)[:, None] * circle(_N_VERTICES).T)
        ax.plot(*curve, **curve_style(kwargs))
        ax.set_aspect("equal")
        ax.set_ylabel("second frame coordinate (tangent length)")
    ax.plot(0, 0, **CENTER)
    ax.set_xlabel("first frame coordinate (tangent length)")
    name_level(ax, region)
    return ax
