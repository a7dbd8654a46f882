"""Figures of the simulation study, from its summary."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np

from geomstats_ldp.studies.designs import load_design

#: One line style a privacy level, weakest privacy darkest, told apart in grey too.
_STYLES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))]
_MARKERS = "osD^v"
_METHOD_NAMES = {
    "spr": "symmetric pairs",
    "trajectory": "same trajectory",
    "half_sample": "half-sample probes",
}


def plot_error_curves(summary):
    """Mean error against n, one panel a design, one curve a privacy level."""
    figure, panels = _panels(summary)
    for panel, rows in panels:
        for style, (epsilon, curve) in zip(_levels(), _by_epsilon(rows)):
            panel.errorbar(
                curve["n"],
                curve["error"],
                yerr=2 * curve["error_se"],
                label=_epsilon_label(epsilon),
                **style,
            )
        panel.set_yscale("log")
        _label_n(panel, rows, "mean error")
    return _with_legend(figure, panels)


def plot_coverage_curves(summary, level=0.95):
    """Coverage against n, with the band of two Monte Carlo standard errors about the level."""
    figure, panels = _panels(summary)
    for panel, rows in panels:
        _draw_band(panel, level, rows["repetitions"].min())
        for style, (epsilon, curve) in zip(_levels(), _by_epsilon(rows)):
            panel.plot(curve["n"], curve["coverage"], label=_epsilon_label(epsilon), **style)
        _label_n(panel, rows, "coverage")
    return _with_legend(figure, panels)


def plot_methods(summary, value, level=0.95):
    """Terminal error or coverage of the methods against epsilon, one panel a design.

    Parameters
    ----------
    summary : DataFrame
    value : {"error", "coverage"}
    level : float
        Nominal coverage.
    """
    summary = summary[summary["n"] == summary["n"].max()]
    figure, panels = _panels(summary)
    for panel, rows in panels:
        epsilons = list(dict.fromkeys(rows["epsilon"]))
        if value == "coverage":
            _draw_band(panel, level, rows["repetitions"].min())
        for style, (method, curve) in zip(_levels(), rows.groupby("method", sort=False)):
            places = [epsilons.index(epsilon) for epsilon in curve["epsilon"]]
            panel.plot(places, curve[value], label=_METHOD_NAMES[method], **style)
        if value == "error":
            panel.set_yscale("log")
        panel.set_xticks(range(len(epsilons)), [_number(epsilon) for epsilon in epsilons])
        panel.set_xlabel(r"privacy level $\epsilon$")
        panel.set_ylabel("mean error" if value == "error" else "coverage")
    return _with_legend(figure, panels)


# ---------------------------------------------------------------- parts


def _panels(summary):
    groups = list(summary.groupby("design", sort=False))
    n_columns = min(3, len(groups))
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
        panel.set_title(f"{name}: {load_design(name).title}", fontsize=9)
        panels.append((panel, rows))
    return figure, panels


def _levels():
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, len(_STYLES)))
    return [
        {"color": shade, "linestyle": style, "marker": marker, "markersize": 4, "linewidth": 1.3}
        for shade, style, marker in zip(shades, _STYLES, _MARKERS)
    ]


def _by_epsilon(rows):
    return rows.groupby("epsilon", sort=False)


def _draw_band(panel, level, repetitions):
    half = 2 * math.sqrt(level * (1 - level) / repetitions)
    panel.axhspan(level - half, level + half, color="0.85", zorder=0)
    panel.axhline(level, color="0.5", linewidth=0.8, zorder=1)


def _label_n(panel, rows, name):
    ticks = sorted(set(rows["n"]))
    panel.set_xscale("log")
    panel.set_xticks(ticks, [f"{n:,}" for n in ticks], fontsize=8)
    panel.minorticks_off()
    panel.set_xlabel("participants n")
    panel.set_ylabel(name)


def _with_legend(figure, panels):
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _epsilon_label(epsilon):
    return "no privacy" if math.isinf(epsilon) else rf"$\epsilon = {epsilon:g}$"


def _number(epsilon):
    return "none" if math.isinf(epsilon) else f"{epsilon:g}"
