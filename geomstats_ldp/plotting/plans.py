"""Widths of regions by the number of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geomstats_ldp.plotting.drawing import open_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (6.5, 4.0)


def plot_plan(plan: Any, ax: Axes | None = None) -> Axes:
    """Draw the curves of a plan on logarithmic axes.

    Lines are what collections are expected to have, dashed what an oracle would have. A hollow
    marker stands where regions are not informative or curvature is weak, a full one elsewhere.

    Parameters
    ----------
    plan : Plan
        From `geomstats_ldp.plan`.
    ax : Axes, optional

    Returns
    -------
    ax : Axes

    Raises
    ------
    PlotError
        If `ax` is not two-dimensional.
    """
    ax = open_axes(ax, "plot_plan", size=_SIZE)
    for number, curve in enumerate(plan.curves):
        colour, setting = f"C{number}", curve[0].setting
        sizes = [row.n for row in curve]
        label = ", ".join(f"{name} = {value:g}" for name, value in setting.items())
        ax.plot(sizes, [row.width for row in curve], color=colour, label=label)
        ax.plot(sizes, [row.oracle for row in curve], color=colour, linestyle="--", linewidth=0.8)
        for row in curve:
            fill = "none" if row.remark else colour
            ax.plot(row.n, row.width, "o", color=colour, markerfacecolor=fill, markersize=5)
    ax.set(xscale="log", yscale="log", xlabel="participants", ylabel=plan.quantity)
    ax.legend(title="dashed: oracle")
    return ax
