"""Files of a study: whole or not there, and refused by name when they are not what was written."""

import json
import math
import os

import pandas as pd
import pytest

from geomstats_ldp.exceptions import StudyFileError
from geomstats_ldp.replication.study.methods import Cell
from geomstats_ldp.replication.study.storage import StudyFolder

SETTINGS = {"version": "0", "checkpoints": [200, 400], "repetitions": 2, "seed": 3}
CELL = Cell("A", "gaussian", math.inf)
ROWS = [
    {"epsilon": math.inf, "n": n, "repetition": r, "error": 0.1 / (3 + r), "covered": r == 0}
    | {"semi_axis_3": math.nan}
    for r in (0, 1)
    for n in (200, 400)
]


@pytest.fixture
def store(tmp_path):
    return StudyFolder(tmp_path / "a" / "study", SETTINGS)


def test_rows_come_back_to_the_last_bit(store):
    assert not store.has(CELL)
    store.write(CELL, ROWS)
    assert store.has(CELL)
    found = store.read(CELL)
    pd.testing.assert_frame_equal(found, pd.DataFrame(ROWS), check_exact=True)
    assert found["covered"].dtype == bool


def test_the_same_settings_open_a_folder_again(store):
    store.write(CELL, ROWS)
    again = StudyFolder(store.path, dict(reversed(SETTINGS.items())))
    assert len(again.read(CELL)) == 4


@pytest.mark.parametrize(
    "change", [{"seed": 4}, {"repetitions": 3}, {"checkpoints": [400]}, {"version": "1"}]
)
def test_other_settings_are_refused_and_named(store, change):
    with pytest.raises(StudyFileError, match=r"study\.json .*other settings") as refusal:
        StudyFolder(store.path, SETTINGS | change)
    [value] = change.values()
    assert json.dumps(value).strip("[]") in str(refusal.value)
    assert json.loads((store.path / "study.json").read_text()) == SETTINGS


def damage(text):
    yield text[:-1]
    yield text.replace("0.0", "0.1", 1)
    yield text.split("\n", 1)[1]
    yield ""
    yield "not a table"
    yield text + "A\n"


@pytest.mark.parametrize("kind", range(6))
def test_a_damaged_file_is_refused_and_named(store, kind):
    store.write(CELL, ROWS)
    file = store.file(CELL)
    broken = list(damage(file.read_text()))[kind]
    assert broken != file.read_text()
    file.write_text(broken)
    with pytest.raises(StudyFileError, match=f"{file.name} is damaged.*Delete it"):
        store.read(CELL)


def test_a_whole_file_with_too_few_rows_is_refused(store):
    store.write(CELL, ROWS[:3])
    with pytest.raises(StudyFileError, match="has not 4 rows"):
        store.read(CELL)


def test_a_file_appears_whole_or_not_at_all(store, monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        store.write(CELL, ROWS)
    assert list(store.cells.iterdir()) == [] and not store.has(CELL)


def test_finished_cells_are_listed_in_order(store):
    for cell in (Cell("B", "gaussian", 1.0), CELL, Cell("A", "privunit", 8.0, tuning="default")):
        store.write(cell, ROWS)
    (store.cells / "A-gaussian-8-spr-paper.csv123.part").write_text("left by a killed run")
    assert [cell.key for cell in store.finished()] == [
        "A-gaussian-inf-spr-paper",
        "B-gaussian-1-spr-paper",
        "A-privunit-8-spr-default",
    ]
    (store.cells / "notes.csv").write_text("")
    with pytest.raises(StudyFileError, match=r"notes\.csv has the name of no cell"):
        store.finished()


def test_records_of_runs(store):
    assert store.runs() == []
    store.write_runs([{"cells": 2}])
    assert store.runs() == [{"cells": 2}]
    (store.path / "runs.json").write_text('[{"cel')
    with pytest.raises(StudyFileError, match=r"runs\.json is damaged"):
        store.runs()
