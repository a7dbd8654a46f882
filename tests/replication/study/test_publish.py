"""The page of results is computed, so that every number on it is one of the summary."""

import importlib.util
import json
import math
import re
from pathlib import Path

import numpy as np
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


def test_cells_agree_with_the_paper_within_the_tolerances(publish, made_up_summary):
    table = publish.against_the_paper(made_up_summary(mechanisms=("gaussian", "privunit")))
    cells = table.set_index(["design", "epsilon"])
    assert len(cells) == 6 and not cells["error_agrees"].any()
    # The made-up error is 0.000559 without privacy and 0.000699 at epsilon 8.
    assert cells["error_difference"]["A", math.inf] == pytest.approx(-0.534, abs=1e-3)
    assert cells["error_difference"]["A", 8.0] == pytest.approx(-0.929, abs=1e-3)
    # The paper's 1.000 at epsilon 1 is more than three standard errors from .95 and .96.
    assert list(cells.index[~cells["coverage_agrees"]]) == [("A", 1.0), ("B", 1.0)]
    close = made_up_summary(methods=("spr",))
    close = close[close["design"].eq("A") & close["epsilon"].eq(8.0)]
    close = close.assign(error=0.0100, coverage=0.95)  # of .0099 and .950
    agrees = publish.against_the_paper(close)[["error_agrees", "coverage_agrees"]]
    assert agrees.to_numpy().tolist() == [[True, True]]


def test_ratios_of_methods_and_of_mechanisms(publish, made_up_summary):
    summary = made_up_summary(mechanisms=("gaussian", "privunit"))
    last = summary[summary["n"] == 32_000]
    rows = last[last["mechanism"] == "privunit"]
    assert dict(publish.lowest_coverage(rows)) == {"A": 0.95, "B": 0.75}
    half = publish.error_of_half_samples(rows)
    assert len(half) == 6
    np.testing.assert_allclose(half, 1.5)
    ratio = publish.error_of_gaussian(last[last["method"] == "spr"])
    assert list(ratio.index) == ["A", "B"] and sorted(ratio.columns) == [1.0, 8.0]
    np.testing.assert_allclose(ratio, 4.0)
    pairs = last[(last["method"] == "spr") & (last["mechanism"] == "gaussian")]
    for missing in (publish.lowest_coverage, publish.error_of_half_samples):
        assert missing(pairs).empty
    assert publish.error_of_gaussian(pairs).empty


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
