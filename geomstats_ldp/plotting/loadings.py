"""The components of a smooth function of the parameter, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from geomstats_ldp.exceptions import PlotError
from geomstats_ldp.plotting.drawing import open_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from geomstats_ldp.inference import SmoothFunctional

#: Size of a new figure in inches: its width, and the height beside and for each component.
_WIDTH, _MARGIN, _LINE = 5.5, 0.9, 0.35


def plot_loadings(
    functional: SmoothFunctional,
    names: Sequence[str] | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the components of a functional with an interval each, one below the other.

    Parameters
    ----------
    functional : SmoothFunctional
        Of any length; its first component is on top.
    names : sequence of str, optional
        One a component. Default their numbers, from 1.
    level : float in (0, 1), default=0.95
        Of each interval on its own.
    ax : Axes, optional

    Returns
    -------
    ax : Axes

    Raises
    ------
    PlotError
        If there is not one name a component, or `ax` is not two-dimensional.
    ValueError
        If `level` is out of range.

    See Also
    --------
    geomstats_ldp.SmoothFunctional.interval : The numbers that are drawn.
    """
    n_components = len(functional.estimate)
    names = [str(i + 1) for i in range(n_components)] if names is None else list(names)
    if len(names) != n_components:
        raise PlotError(f"names must hold {n_components} names, one a component; got {names}")
    errors = np.abs(functional.interval(level).T - functional.estimate)
    ax = open_axes(ax, "plot_loadings", size=(_WIDTH, _MARGIN + _LINE * n_components))
    places = np.arange(n_components)
    ax.axvline(0, color="0.6", linewidth=0.8, linestyle="--", zorder=1)
    ax.errorbar(
        functional.estimate,
        places,
        xerr=errors,
        fmt="ko",
        markersize=4,
        capsize=3,
        linewidth=1.2,
    )
    ax.set_yticks(places, names)
    ax.set_ylim(n_components - 0.5, -0.5)
    ax.set_xlabel(f"estimate, with the {100 * level:g}% interval of each component")
    return ax
