"""Figures of the simulation study, from its summary."""

from __future__ import annotations

import math
import re

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from geomstats_ldp.replication.study.designs import load_design
from geomstats_ldp.replication.study.methods import LEVEL

#: One dash pattern, marker and shade a curve, so that they are told apart in grey too.
_DASHES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))]
_MARKERS = "osD^v"

_PANELS_ABREAST = 3

#: Between the points of two curves: octaves of n, or steps between privacy levels.
_SHIFT = 0.05

_METHOD_NAMES = {
    "spr": "symmetric pairs",
    "rounds": "rounds",
    "trajectory": "same trajectory",
    "half_sample": "half-sample probes",
}


def plot_error_curves(summary):
    """Mean error against n, one panel a design, one curve a privacy level."""
    figure, panels = _panels(summary)
    for panel, rows in panels:
        for style, (epsilon, curve) in zip(_styles(), _by_epsilon(rows)):
            panel.errorbar(
                curve["n"],
                curve["error"],
                yerr=2 * curve["error_se"],
                label=_epsilon_label(epsilon),
                **style,
            )
        _log_errors(panel)
        _label_n(panel, rows)
    return _with_legend(figure, panels)


def plot_coverage_curves(summary):
    """Coverage against n, with the band of two Monte Carlo standard errors about the level."""
    figure, panels = _panels(summary)
    for panel, rows in panels:
        curves = list(_by_epsilon(rows))
        for style, shift, (epsilon, curve) in zip(_styles(), _shifts(len(curves)), curves):
            # The same factor at each n moves points apart on the logarithmic axis.
            places = curve["n"] * 2**shift
            panel.plot(places, curve["coverage"], label=_epsilon_label(epsilon), **style)
        _coverages(panel, summary)
        _label_n(panel, rows)
    return _with_legend(figure, panels)


def plot_methods(summary, value):
    """Terminal error or coverage of the methods against epsilon, one panel a design.

    Parameters
    ----------
    summary : DataFrame
    value : {"error", "coverage"}
    """
    summary = summary[summary["n"] == summary["n"].max()]
    figure, panels = _panels(summary)
    for panel, rows in panels:
        epsilons = list(dict.fromkeys(rows["epsilon"]))
        curves = list(rows.groupby("method", sort=False))
        for style, shift, (method, curve) in zip(_styles(), _shifts(len(curves)), curves):
            places = [epsilons.index(epsilon) + shift for epsilon in curve["epsilon"]]
            panel.errorbar(
                places,
                curve[value],
                yerr=2 * curve["error_se"] if value == "error" else None,
                label=_METHOD_NAMES[method],
                **style,
            )
        if value == "error":
            _log_errors(panel)
        else:
            _coverages(panel, summary)
        panel.set_xticks(range(len(epsilons)), [_number(epsilon) for epsilon in epsilons])
        panel.set_xlabel(r"privacy level $\epsilon$")
    return _with_legend(figure, panels)


# ---------------------------------------------------------------- parts


def _panels(summary):
    groups = list(summary.groupby("design", sort=False))
    n_columns = min(_PANELS_ABREAST, len(groups))
    n_rows = -(-len(groups) // n_columns)
    figure, axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=(3.6 * n_columns, 2.9 * n_rows + 0.5),
        squeeze=False,
        layout="constrained",
    )
    for extra in axes.flat[len(groups) :]:
        extra.set_axis_off()
    panels = []
    for panel, (name, rows) in zip(axes.flat, groups):
        title = re.sub(r"(\w)\^(\d)", r"$\1^\2$", load_design(name).title)
        panel.set_title(f"{name}: {title}", fontsize=9)
        panels.append((panel, rows))
    return figure, panels


def _styles():
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, len(_DASHES)))
    return [
        {"color": shade, "linestyle": dashes, "marker": marker, "markersize": 4, "linewidth": 1.3}
        for shade, dashes, marker in zip(shades, _DASHES, _MARKERS)
    ]


def _shifts(n_curves):
    """Small moves along the horizontal axis that keep the points of several curves apart."""
    return _SHIFT * (np.arange(n_curves) - (n_curves - 1) / 2)


def _by_epsilon(rows):
    return rows.groupby("epsilon", sort=False)


def _log_errors(panel):
    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.tick_params(axis="y", labelsize=8)
    panel.yaxis.set_minor_locator(NullLocator())
    panel.set_ylabel("mean error")


def _coverages(panel, summary):
    """Axis of coverages, the same in all panels, with the Monte Carlo band of the level."""
    half = 2 * math.sqrt(LEVEL * (1 - LEVEL) / summary["repetitions"].min())
    label = rf"${LEVEL:g} \pm 2$ s.e."
    panel.axhspan(LEVEL - half, LEVEL + half, color="0.85", zorder=0, label=label)
    panel.axhline(LEVEL, color="0.5", linewidth=0.8, zorder=1)
    lowest = min(summary["coverage"].min(), LEVEL - half)
    panel.set_ylim(lowest - 0.05 * (1 - lowest), 1 + 0.05 * (1 - lowest))
    panel.tick_params(axis="y", labelsize=8)
    panel.set_ylabel("coverage")


def _label_n(panel, rows):
    ticks = sorted(set(rows["n"]))
    panel.set_xscale("log")
    panel.set_xticks(ticks, [f"{n:,}" for n in ticks], fontsize=8)
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlabel("participants n")


def _with_legend(figure, panels):
    entries = zip(*panels[0][0].get_legend_handles_labels())
    # Curves first, the band last.
    handles, labels = zip(*sorted(entries, key=lambda entry: isinstance(entry[0], Patch)))
    n_columns = min(len(labels), 2 * min(len(panels), _PANELS_ABREAST))
    figure.legend(handles, labels, loc="outside lower center", ncols=n_columns, frameon=False)
    return figure


def _epsilon_label(epsilon):
    return "no privacy" if math.isinf(epsilon) else rf"$\epsilon = {epsilon:g}$"


def _number(epsilon):
    return "none" if math.isinf(epsilon) else f"{epsilon:g}"
