"""Publish a study: its summary, settings and figures in docs/study, and docs/study_results.md.

Usage: python docs/study/publish.py STUDY_FOLDER

Everything on the page is computed from the summary and the records of the runs.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from geomstats_ldp.files import write_figure, write_text
from geomstats_ldp.replication.study.paper_results import TRAJECTORY_WORST, paper_table
from geomstats_ldp.replication.study.report import study_figures, study_tables
from geomstats_ldp.replication.study.storage import read_table
from geomstats_ldp.replication.study.summary import beside_paper, to_markdown

HOME = Path(__file__).parent

#: What counts as the paper's number: relative error, and standard errors of the coverage.
_ERROR_TOLERANCE, _COVERAGE_TOLERANCE = 0.08, 3.0

#: Columns of the short table: title, mechanism and tuning.
_GLANCE = (
    ("Gaussian, the paper's tuning", "gaussian", "paper"),
    ("privunit, the paper's tuning", "privunit", "paper"),
    ("privunit, defaults", "privunit", "default"),
)

_TITLES = {
    "error": "Mean error against n; bars are two Monte Carlo standard errors",
    "coverage": "Coverage against n; the band is the level and two Monte Carlo standard errors",
    "methods_error": "Terminal error of the methods",
    "methods_coverage": "Terminal coverage of the methods",
}


def main(argv=None, home=HOME):
    """Copy what the page rests on to `home`, and write the page and its figures from the copy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="output folder of python -m geomstats_ldp study")
    folder = parser.parse_args(argv).folder
    record = {name: json.loads((folder / f"{name}.json").read_text()) for name in ("study", "runs")}
    for run in record["runs"]:  # where the folder was is nobody's business
        run["command"] = re.sub(r" --output \S+", "", run["command"])
    write_text(home / "record.json", json.dumps(record, indent=2) + "\n")
    write_text(home / "summary.csv", (folder / "summary.csv").read_text())
    matplotlib.use("Agg")
    for name, figure in study_figures(read_summary(home)):
        write_figure(home / f"{name}.png", figure, dpi=130)
        plt.close(figure)
    write_text(home.parent / "study_results.md", page(home))


def read_summary(home=HOME):
    """The published summary."""
    return read_table(home / "summary.csv")


def page(home=HOME):
    """Text of the page, from the published summary and record."""
    summary = read_summary(home)
    record = json.loads((home / "record.json").read_text())
    figures = [name for name, figure in study_figures(summary) if plt.close(figure) is None]
    return results_page(summary, record["study"], record["runs"], figures)


def results_page(summary, settings, runs, figures=()):
    """Markdown page of a study.

    Parameters
    ----------
    summary : DataFrame
        As `summarise` returns it.
    settings : dict
        Of the `StudyFolder`.
    runs : list of dict
        `StudyFolder.runs`.
    figures : iterable of str
        File names of `study_figures`, without ending, in the folder ``study`` beside the page.

    Returns
    -------
    page : str
    """
    parts = [
        "# Results of the simulation study\n\n"
        "Made by `python docs/study/publish.py` from [the summary](study/summary.csv); "
        "[the study](study.md) says what the columns mean.\n",
        _provenance(settings, runs),
        "## What it shows\n\n" + "".join(f"* {line}\n" for line in findings(summary)),
        study_tables(summary),
    ]
    parts += [f"![{_title(name)}](study/{name}.png)\n" for name in figures]
    return "\n".join(parts)


def glance(summary, epsilon=8.0):
    """Markdown table of the error and coverage of symmetric pairs at one epsilon, by design.

    The largest sample size of the summary, beside the paper's; coverage in brackets.
    """
    chosen = summary["method"].eq("spr") & summary["epsilon"].eq(epsilon)
    last = summary[chosen & summary["n"].eq(summary["n"].max())]
    paper = paper_table()
    paper = paper[paper["epsilon"].eq(epsilon)].set_index("design")
    table = paper.apply(lambda row: _cell(row["paper_error"], row["paper_coverage"]), axis=1)
    table = table.rename("paper").to_frame()
    for title, mechanism, tuning in _GLANCE:
        rows = last[last["mechanism"].eq(mechanism) & last["tuning"].eq(tuning)]
        rows = rows.set_index("design")
        if len(rows):
            table[title] = rows.apply(lambda row: _cell(row["error"], row["coverage"]), axis=1)
    return to_markdown(table.loc[table.index.isin(last["design"])].reset_index(), {})


def _cell(error, coverage):
    return f"{error:.4f} ({coverage:.3f})"


def findings(summary):
    """What a summary says about the claims of the paper's section 5, one sentence each."""
    last = summary[summary["n"] == summary["n"].max()]
    lines = _lines_against_the_paper(summary)
    paper_tuned = last[last["tuning"] == "paper"]
    for mechanism, rows in paper_tuned.groupby("mechanism", sort=False):
        lines += _lines_of_the_methods(mechanism, rows)
    lines += _lines_of_the_mechanisms(paper_tuned[paper_tuned["method"] == "spr"])
    for (mechanism, tuning), rows in last[last["method"] == "spr"].groupby(
        ["mechanism", "tuning"], sort=False
    ):
        lines.append(
            f"{mechanism}, {tuning} tuning: coverage {_range(rows['coverage'], 3)} in "
            f"{len(rows)} cells, {_range(rows['ratio'], 2)} times the oracle's semi-axis."
        )
    return lines


def against_the_paper(summary):
    """Cells of the paper's table, and whether error and coverage are the paper's to tolerance."""
    table = beside_paper(summary)
    error, coverage = table["error_difference"].abs(), table["coverage_z"].abs()
    return table.assign(
        error_agrees=error <= _ERROR_TOLERANCE, coverage_agrees=coverage <= _COVERAGE_TOLERANCE
    )


def error_of_half_samples(rows):
    """Error of half-sample probes over that of symmetric pairs, by design and epsilon."""
    errors = rows.pivot(index=["design", "epsilon"], columns="method", values="error")
    if not {"spr", "half_sample"} <= set(errors.columns):
        return errors.iloc[:0, 0]
    return (errors["half_sample"] / errors["spr"]).dropna()


def lowest_coverage(rows):
    """Lowest coverage of regression along the trajectory over privacy levels, by design."""
    chosen = rows[rows["method"] == "trajectory"]
    return chosen.groupby("design", sort=False)["coverage"].min()


def error_of_gaussian(rows):
    """Error with Gaussian noise over that with privunit: a row a design, a column an epsilon."""
    errors = rows.pivot(index=["design", "epsilon"], columns="mechanism", values="error")
    if not {"gaussian", "privunit"} <= set(errors.columns):
        return errors.iloc[:0, 0].unstack("epsilon")
    ratio = (errors["gaussian"] / errors["privunit"]).dropna().unstack("epsilon")
    return ratio.loc[:, np.isfinite(ratio.columns)]


def _lines_against_the_paper(summary):
    table = against_the_paper(summary)
    if table.empty:
        return []
    percent = [f"{100 * value:+.1f}%" for value in table["error_difference"]]
    scores = [f"{value:+.1f}" for value in table["coverage_z"]]
    return [
        f"Gaussian, paper tuning: mean error within {100 * _ERROR_TOLERANCE:g}% of the paper's in "
        f"{_share_of(table, table['error_agrees'], percent)}.",
        f"Coverage within {_COVERAGE_TOLERANCE:g} standard errors of the paper's in "
        f"{_share_of(table, table['coverage_agrees'], scores)}.",
    ]


def _share_of(table, agrees, texts):
    cells = [
        f"{design} at epsilon {epsilon:g}: {text}"
        for design, epsilon, text, is_one in zip(table["design"], table["epsilon"], texts, agrees)
        if not is_one
    ]
    exceptions = f" (not {', '.join(cells)})" if cells else ""
    return f"{agrees.sum()} of {len(table)} cells{exceptions}"


def _lines_of_the_methods(mechanism, rows):
    lines, ratio, worst = [], error_of_half_samples(rows), lowest_coverage(rows)
    if len(ratio) > 0:
        lines.append(
            f"{mechanism}: the half-sample error is above that of symmetric pairs in "
            f"{(ratio > 1).sum()} of {len(ratio)} cells, {_range(ratio, 2)} times as large."
        )
    if len(worst) > 0:
        texts = [
            f"{design} {value:.3f}"
            + (f" (paper {TRAJECTORY_WORST[design]:.3f})" if _in_paper(mechanism, design) else "")
            for design, value in worst.items()
        ]
        lines.append(
            f"{mechanism}: lowest coverage of regression along the trajectory: {', '.join(texts)}."
        )
    return lines


def _in_paper(mechanism, design):
    return mechanism == "gaussian" and design in TRAJECTORY_WORST


def _lines_of_the_mechanisms(rows):
    ratio = error_of_gaussian(rows)
    return [
        f"At epsilon {epsilon:g} the error with Gaussian noise is "
        + ", ".join(f"{value:.2f} ({design})" for design, value in ratio[epsilon].items())
        + " times that with privunit."
        for epsilon in sorted(ratio.columns, reverse=True)
    ]


def _range(values, decimals):
    return f"{values.min():.{decimals}f} to {values.max():.{decimals}f}"


def _provenance(settings, runs):
    lines = ["## How it was made\n", "```bash"]
    lines += dict.fromkeys(run["command"] for run in runs)
    lines.append("```\n")
    for run in runs:
        versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
        lines.append(
            f"* {run['cells']} cells in {run['seconds'] / 60:.1f} minutes on {run['workers']} "
            f"workers; {versions}"
        )
    lines.append(
        f"* seed {settings['seed']}, {settings['repetitions']} repetitions, geomstats_ldp "
        f"{settings['version']}\n"
    )
    return "\n".join(lines)


def _title(name):
    kind, mechanism, tuning = name.rsplit("_", 2)
    return f"{_TITLES[kind]}: {mechanism}, {tuning} tuning"


if __name__ == "__main__":
    main()
