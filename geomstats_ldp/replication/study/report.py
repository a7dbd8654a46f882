"""Tables and figures of a study, written to a folder."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from geomstats_ldp.files import write_figure, write_text
from geomstats_ldp.replication.study.figures import (
    plot_coverage_curves,
    plot_error_curves,
    plot_methods,
)
from geomstats_ldp.replication.study.runner import read_cells
from geomstats_ldp.replication.study.storage import StudyFolder
from geomstats_ldp.replication.study.summary import (
    beside_paper,
    compare_methods,
    summarise,
    to_markdown,
)

#: Methods that have a table of their own for each mechanism and tuning.
_OURS = {"spr": "symmetric pairs", "rounds": "rounds"}

_SUMMARY_DIGITS = {
    "error": 4,
    "error_se": 4,
    "coverage": 3,
    "coverage_se": 3,
    "semi_axis": 4,
    "oracle_semi_axis": 4,
    "ratio": 2,
    "uninformative": 2,
}
_PAPER_DIGITS = {
    "error": 4,
    "error_se": 4,
    "paper_error": 4,
    "error_difference": 3,
    "coverage": 3,
    "coverage_se": 3,
    "paper_coverage": 3,
    "coverage_z": 1,
}


def write_report(store: StudyFolder) -> list[Path]:
    """Write ``results.csv``, ``summary.csv``, ``tables.md`` and the figures of a study.

    They hold all finished cells of the folder, whatever command ran them.

    Parameters
    ----------
    store : StudyFolder

    Returns
    -------
    files : list of Path
    """
    rows = read_cells(store, store.finished())
    folder, summary = store.path, summarise(rows)
    files = [folder / name for name in ("results.csv", "summary.csv", "tables.md")]
    texts = (rows.to_csv(index=False), summary.to_csv(index=False), study_tables(summary))
    for file, text in zip(files, texts):
        write_text(file, text)
    for name, figure in study_figures(summary):
        files.append(folder / f"{name}.png")
        write_figure(files[-1], figure, dpi=130)
        plt.close(figure)
    return files


def study_tables(summary):
    """Markdown tables of a summary: terminal results, beside the paper, and the methods."""
    last = summary[summary["n"] == summary["n"].max()]
    parts = []
    ours = last[last["method"].isin(_OURS)]
    for (mechanism, tuning, method), rows in ours.groupby(
        ["mechanism", "tuning", "method"], sort=False
    ):
        columns = ["design", "epsilon", *_SUMMARY_DIGITS]
        parts.append(
            f"## {mechanism}, {tuning} tuning, {_OURS[method]}, n = {rows['n'].iloc[0]:,}\n\n"
            + to_markdown(rows[columns], _SUMMARY_DIGITS)
        )
    paper = beside_paper(summary)
    if len(paper):
        parts.append("## Beside the paper\n\n" + to_markdown(paper, _PAPER_DIGITS))
    for tuning, rows in last.groupby("tuning", sort=False):
        if rows["method"].nunique() > 1:
            methods = compare_methods(summary, tuning)
            digits = {name: 4 if name.startswith("error") else 3 for name in methods.columns}
            parts.append(
                f"## Methods, {tuning} tuning\n\n" + to_markdown(methods.reset_index(), digits)
            )
    return "\n".join(parts)


def study_figures(summary):
    """Names and figures that a summary gives rise to."""
    figures = []
    for (mechanism, tuning), rows in summary.groupby(["mechanism", "tuning"], sort=False):
        name, pairs = f"{mechanism}_{tuning}", rows[rows["method"] == "spr"]
        if len(pairs):
            figures.append((f"error_{name}", plot_error_curves(pairs)))
            figures.append((f"coverage_{name}", plot_coverage_curves(pairs)))
        if rows["method"].nunique() > 1:
            figures.append((f"methods_error_{name}", plot_methods(rows, "error")))
            figures.append((f"methods_coverage_{name}", plot_methods(rows, "coverage")))
    return figures
