"""Publish a study: its summary, settings and figures in docs/study, and docs/study_results.md.

Usage: python docs/study/publish.py STUDY_FOLDER
"""

import argparse
import json
import re
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt

from geomstats_ldp.serialization import write_atomically
from geomstats_ldp.studies.page import results_page
from geomstats_ldp.studies.report import study_figures
from geomstats_ldp.studies.storage import read_table

HOME = Path(__file__).parent


def main(argv=None, home=HOME):
    """Copy what the page rests on to `home`, and write the page and its figures from the copy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="output folder of python -m geomstats_ldp study")
    folder = parser.parse_args(argv).folder
    record = {name: json.loads((folder / f"{name}.json").read_text()) for name in ("study", "runs")}
    for run in record["runs"]:  # where the folder was is nobody's business
        run["command"] = re.sub(r" --output \S+", "", run["command"])
    _write(home / "record.json", json.dumps(record, indent=2) + "\n")
    _write(home / "summary.csv", (folder / "summary.csv").read_text())
    matplotlib.use("Agg")
    for name, figure in study_figures(read_summary(home)):
        write_atomically(
            home / f"{name}.png", lambda file, figure=figure: figure.savefig(file, dpi=130)
        )
        plt.close(figure)
    _write(home.parent / "study_results.md", page(home))


def read_summary(home=HOME):
    """The published summary."""
    return read_table(home / "summary.csv")


def page(home=HOME):
    """Text of the page, from the published summary and record."""
    summary = read_summary(home)
    record = json.loads((home / "record.json").read_text())
    figures = [name for name, figure in study_figures(summary) if plt.close(figure) is None]
    return results_page(summary, record["study"], record["runs"], figures)


def _write(path, text):
    write_atomically(path, lambda file: file.write(text.encode()))


if __name__ == "__main__":
    main()
