"""From the rows of a study to its tables: means with Monte Carlo errors, beside the paper's."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from geomstats_ldp.planning.oracle import oracle_semi_axes
from geomstats_ldp.replication.study.designs import load_design
from geomstats_ldp.replication.study.paper_results import PAPER_N, PAPER_REPETITIONS, paper_table
from geomstats_ldp.replication.study.tuning import design_mechanism

CELL = ["design", "mechanism", "tuning", "method", "epsilon"]


def summarise(rows):
    """One row for each cell and sample size.

    Parameters
    ----------
    rows : DataFrame
        As `run_study` returns them.

    Returns
    -------
    summary : DataFrame
        With ``error`` and ``coverage``, their Monte Carlo standard errors ``error_se`` and
        ``coverage_se``, the median largest semi-axis and its ratio to the oracle's, the
        coefficients that say how often a bound of the Hessian was active, and the share of
        uninformative regions.
    """
    groups = rows.groupby([*CELL, "n"], sort=False)
    summary = groups.agg(
        repetitions=("error", "size"),
        error=("error", "mean"),
        error_se=("error", lambda values: values.std(ddof=1) / math.sqrt(len(values))),
        coverage=("covered", "mean"),
        semi_axis=("semi_axis_1", "median"),
        hessian_floor_active=("hessian_floor_active", "mean"),
        hessian_bound_active=("hessian_bound_active", "mean"),
        uninformative=("informative", lambda values: 1 - values.mean()),
    ).reset_index()
    variance = summary["coverage"] * (1 - summary["coverage"])
    at = summary.columns.get_loc("coverage") + 1
    summary.insert(at, "coverage_se", np.sqrt(variance / summary["repetitions"]))
    summary["oracle_semi_axis"] = _oracle_column(summary)
    summary["ratio"] = summary["semi_axis"] / summary["oracle_semi_axis"]
    return summary


def _oracle_column(summary):
    designs = {name: load_design(name) for name in summary["design"].unique()}
    column = []
    for row in summary.itertuples():
        design = designs[row.design]
        randomiser = design_mechanism(design, row.mechanism, row.epsilon)
        column.append(oracle_semi_axes(design, randomiser, row.n)[0])
    return column


def beside_paper(summary):
    """Gaussian cells with the paper's tuning at its sample size, beside its table.

    Returns
    -------
    table : DataFrame
        With the relative difference of the errors, and ``coverage_z``, the difference of the
        coverages in standard errors of two independent proportions (both smoothed by adding two
        successes and two failures, so that a coverage of one has an error).
    """
    paper = paper_table().assign(mechanism="gaussian", tuning="paper", method="spr", n=PAPER_N)
    table = summary.merge(paper)
    table["error_difference"] = table["error"] / table["paper_error"] - 1
    variances = [
        _smoothed_variance(table["coverage"], table["repetitions"]),
        _smoothed_variance(table["paper_coverage"], PAPER_REPETITIONS),
    ]
    table["coverage_z"] = (table["coverage"] - table["paper_coverage"]) / np.sqrt(sum(variances))
    columns = ["error", "error_se", "paper_error", "error_difference"]
    columns += ["coverage", "coverage_se", "paper_coverage", "coverage_z"]
    return table[["design", "epsilon", *columns]]


def _smoothed_variance(coverage, repetitions):
    share = (coverage * repetitions + 2) / (repetitions + 4)
    return share * (1 - share) / (repetitions + 4)


def compare_methods(summary, tuning="paper"):
    """Terminal error and coverage of the methods side by side, with the same tuning."""
    last = summary[(summary["n"] == summary["n"].max()) & (summary["tuning"] == tuning)]
    table = last.pivot(
        index=["mechanism", "design", "epsilon"], columns="method", values=["error", "coverage"]
    )
    table.columns = [f"{value}_{method}" for value, method in table.columns]
    order = last.drop_duplicates(["mechanism", "design", "epsilon"])
    return table.loc[pd.MultiIndex.from_frame(order[["mechanism", "design", "epsilon"]])]


def to_markdown(table, digits):
    """Table as markdown.

    Parameters
    ----------
    table : DataFrame
    digits : dict
        Number of decimals of each column of numbers; the others are shown as they are.
    """
    cells = pd.DataFrame(
        {
            name: [_format(value, digits.get(name)) for value in table[name]]
            for name in table.columns
        }
    )
    lines = [list(cells.columns), ["---"] * cells.shape[1], *cells.to_numpy().tolist()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _format(value, decimals):
    if decimals is not None and pd.notna(value):
        return f"{value:.{decimals}f}"
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:g}"
    return str(value)
