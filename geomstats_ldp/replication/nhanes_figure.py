"""The NHANES application: loadings, error and size of the region against epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Measures, and line styles that stay apart in grey.
_STYLES = {
    "height": ("o", "-", "0.0"),
    "weight": ("s", "--", "0.35"),
    "waist": ("^", "-.", "0.55"),
}


def plot_nhanes(records: Sequence[Any], batch: np.ndarray) -> Figure:
    """Loadings, angular error and largest semi-axis against epsilon.

    Parameters
    ----------
    records : list of NHANESRecord
        One a privacy level, in the order to draw them.
    batch : array, shape [3]
        Non-private reference direction.

    Returns
    -------
    figure : Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.4), layout="constrained")
    axes = figure.subplots(1, 3)
    position = np.arange(len(records))
    loadings = np.array([record.loadings for record in records])
    for j, (name, (marker, line, grey)) in enumerate(_STYLES.items()):
        axes[0].plot(position, loadings[:, j], marker=marker, ls=line, color=grey, label=name)
        axes[0].axhline(batch[j], ls=":", lw=1, color=grey)
    axes[0].set_ylabel("loading")
    axes[0].legend(frameon=False, title="dotted: batch", ncols=3, fontsize="small")
    low, high = axes[0].get_ylim()
    axes[0].set_ylim(low, high + 0.3 * (high - low))
    axes[1].plot(position, [record.angle_error_deg for record in records], "ko-")
    axes[1].set_ylabel("angle to the batch direction (degrees)")
    axes[1].set_ylim(bottom=0)
    semi_axes = np.array([record.semi_axis_deg for record in records])
    informative = np.array([record.informative for record in records])
    axes[2].plot(position, semi_axes, "k-")
    axes[2].plot(position[informative], semi_axes[informative], "ko", label="inside")
    if not informative.all():
        axes[2].plot(
            position[~informative],
            semi_axes[~informative],
            "o",
            mfc="white",
            mec="k",
            label="reaches the edge of the working region",
        )
        axes[2].legend(frameon=False, fontsize="small")
    axes[2].set_ylabel("largest 95% semi-axis (degrees)")
    axes[2].set_ylim(bottom=0)
    for letter, ax in zip("abc", axes):
        ax.set_xticks(position, [_epsilon_label(record.epsilon) for record in records])
        ax.set_xlabel("epsilon per participant")
        ax.set_title(f"({letter})", loc="left")
    return figure


def _epsilon_label(epsilon):
    return "∞" if np.isinf(epsilon) else f"{epsilon:g}"
