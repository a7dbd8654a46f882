"""Widths of regions by the number of people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from geomstats_ldp.plotting.drawing import open_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (6.5, 4.0)

#: Where the logarithmic axis of widths has numbers, within a power of ten.
_WIDTH_TICKS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)


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
    _write_plain_numbers(ax, sorted({row.n for curve in plan.curves for row in curve}))
    ax.legend(title="dashed: oracle")
    return ax


def _write_plain_numbers(ax, sizes):
    """Ticks at the planned numbers of people, and widths without powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
    ax.yaxis.set_major_locator(LogLocator(subs=_WIDTH_TICKS))
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_formatter(NullFormatter())
