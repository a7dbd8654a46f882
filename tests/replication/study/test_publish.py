"""The page of results is computed, so that every number on it is one of the summary."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
RUN = {
    "command": "python -m geomstats_ldp study --seed 7",
    "workers": 2,
    "versions": {"python": "3.11.1", "numpy": "2.0"},
    "cells": 90,
    "seconds": 750.0,
}
SETTINGS = {"version": "0.1.0", "checkpoints": [8000, 32000], "repetitions": 500, "seed": 7}


@pytest.fixture(scope="module")
def publish():
    spec = importlib.util.spec_from_file_location("publish", DOCS / "study" / "publish.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_findings_by_hand(publish, made_up_summary):
    summary = made_up_summary(mechanisms=("gaussian", "privunit"))
    lines = "\n".join(publish.findings(summary))
    # The made-up error is 0.000559 without privacy and 0.000699 at epsilon 8.
    assert "within 8% of the paper's in 0 of 6 cells (not A at epsilon inf: -53.4%, " in lines
    assert "A at epsilon 8: -92.9%" in lines
    assert "the half-sample error is above that of symmetric pairs in 6 of 6 cells, " in lines
    assert "1.50 to 1.50 times as large" in lines
    assert "A 0.950, B 0.750 (paper 0.732)" in lines
    assert (
        "privunit: lowest coverage of regression along the trajectory: A 0.950, B 0.750." in lines
    )
    assert "At epsilon 8 the error with Gaussian noise is 4.00 (A), 4.00 (B) times that" in lines
    assert "At epsilon inf" not in lines
    assert "gaussian, paper tuning: coverage 0.950 to 0.960 in 6 cells, 1.10 to 1.10" in lines
    # One coverage of the paper, 1.000 at epsilon 1, is more than three standard errors away.
    assert "Coverage within 3 standard errors of the paper's in 4 of 6 cells (not A" in lines


def test_findings_name_no_exception_where_there_is_none(publish, made_up_summary):
    summary = made_up_summary(methods=("spr",))
    summary = summary[summary["design"].eq("A") & summary["epsilon"].eq(8.0)]
    summary = summary.assign(error=0.0100, coverage=0.95)
    first, second, _ = publish.findings(summary)
    assert first.endswith("in 1 of 1 cells.") and second.endswith("in 1 of 1 cells.")


def test_page_says_how_it_was_made(publish, made_up_summary):
    page = publish.results_page(
        made_up_summary(), SETTINGS, [RUN], ["methods_error_gaussian_paper"]
    )
    assert "```bash\npython -m geomstats_ldp study --seed 7\n```" in page
    assert "90 cells in 12.5 minutes on 2 workers; python 3.11.1, numpy 2.0" in page
    assert "seed 7, 500 repetitions, geomstats_ldp 0.1.0" in page
    assert "![Terminal error of the methods: gaussian, paper tuning](study/methods_error_" in page


@pytest.mark.slow
def test_publishing_copies_what_the_page_rests_on(publish, made_up_summary, tmp_path):
    folder, home = tmp_path / "folder", tmp_path / "docs" / "study"
    folder.mkdir()
    home.mkdir(parents=True)
    made_up_summary().to_csv(folder / "summary.csv", index=False)
    (folder / "study.json").write_text(json.dumps(SETTINGS))
    run = RUN | {"command": f"{RUN['command']} --output {folder}"}
    (folder / "runs.json").write_text(json.dumps([run]))
    publish.main([str(folder)], home)
    page = (home.parent / "study_results.md").read_text()
    assert page == publish.page(home)
    assert f"{RUN['command']}\n" in page  # without the place of the folder
    figures = re.findall(r"\(study/(\w+\.png)\)", page)
    assert len(figures) == 4
    for figure in figures:
        assert (home / figure).read_bytes().startswith(b"\x89PNG")
    assert publish.read_summary(home).equals(made_up_summary())


@pytest.mark.slow
def test_the_published_page_is_that_of_the_published_summary(publish):
    if not (DOCS / "study" / "summary.csv").exists():
        pytest.skip("no study is published yet")
    page = (DOCS / "study_results.md").read_text(encoding="utf-8")
    assert page == publish.page()
    for figure in re.findall(r"\(study/(\w+\.png)\)", page):
        assert (DOCS / "study" / figure).exists()


def test_the_short_table_by_hand(publish, made_up_summary):
    summary = made_up_summary(mechanisms=("gaussian", "privunit"))
    table = publish.glance(summary)
    assert table.splitlines() == [
        "| design | paper | Gaussian, the paper's tuning | privunit, the paper's tuning |",
        "| --- | --- | --- | --- |",
        "| A | 0.0099 (0.950) | 0.0007 (0.950) | 0.0002 (0.950) |",
        "| B | 0.0196 (0.948) | 0.0007 (0.960) | 0.0002 (0.960) |",
    ]


def test_the_readme_has_the_short_table_of_the_published_summary(publish):
    if not (DOCS / "study" / "summary.csv").exists():
        pytest.skip("no study is published yet")
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert publish.glance(publish.read_summary()) in readme
