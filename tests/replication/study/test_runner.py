"""A study goes on where it was stopped, and the workers do not matter."""

import json

import joblib
import pandas as pd
import pytest

from geomstats_ldp.exceptions import StudyFileError
from geomstats_ldp.replication.study import runner
from geomstats_ldp.replication.study.methods import METHODS, Cell, run_cell
from geomstats_ldp.replication.study.runner import open_study, run_study, study_cells

CHECKPOINTS, REPETITIONS, SEED = [200, 400], 23, 5
CELLS = study_cells("A", (8.0, 2.0), ("privunit",), ("spr",), ("paper", "default"))


def open_folder(folder):
    return open_study(folder, CHECKPOINTS, REPETITIONS, SEED)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Rows of a study that ran in one go, in this process."""
    return run_study(CELLS, open_folder(tmp_path_factory.mktemp("whole")), progress=False)


@pytest.fixture
def tasks(monkeypatch):
    """Tasks as they run, warm-up aside; `tasks.stop_at` makes one fail."""

    class Tasks(list):
        stop_at = None

    tasks = Tasks()

    def counted(cell, checkpoints, repetitions, seed):
        if checkpoints == CHECKPOINTS:
            if len(tasks) == tasks.stop_at:
                raise KeyboardInterrupt
            tasks.append((cell, list(repetitions)))
        return run_cell(cell, checkpoints, repetitions, seed)

    monkeypatch.setattr(runner, "run_cell", counted)
    return tasks


def test_rows_are_complete_and_in_order(whole):
    key = ["tuning", "epsilon", "repetition", "n"]
    expected = [
        (cell.tuning, cell.epsilon, repetition, n)
        for cell in CELLS
        for repetition in range(REPETITIONS)
        for n in CHECKPOINTS
    ]
    assert list(whole[key].itertuples(index=False, name=None)) == expected
    alone = pd.DataFrame(run_cell(CELLS[1], CHECKPOINTS, [17], SEED))
    part = whole[(whole["epsilon"] == CELLS[1].epsilon) & (whole["tuning"] == CELLS[1].tuning)]
    part = part[part["repetition"] == 17].reset_index(drop=True)
    pd.testing.assert_frame_equal(part, alone, check_exact=True)


def test_a_killed_run_continues_without_repeating_anything_finished(tmp_path, tasks, whole):
    tasks.stop_at = 7  # three tasks a cell: in the third cell
    with pytest.raises(KeyboardInterrupt):
        run_study(CELLS, open_folder(tmp_path), progress=False)
    assert len(list((tmp_path / "cells").iterdir())) == 2
    assert json.loads((tmp_path / "runs.json").read_text())[0]["cells"] == 2
    tasks.clear()
    tasks.stop_at = None
    rows = run_study(CELLS, open_folder(tmp_path), progress=False)
    assert {cell for cell, _ in tasks} == set(CELLS[2:])
    last = [number for cell, numbers in tasks if cell == CELLS[3] for number in numbers]
    assert sorted(last) == list(range(REPETITIONS))
    pd.testing.assert_frame_equal(rows, whole, check_exact=True)
    tasks.clear()
    rows = run_study(CELLS, open_folder(tmp_path), progress=False)
    assert tasks == [] and [run["cells"] for run in open_folder(tmp_path).runs()] == [2, 2]
    pd.testing.assert_frame_equal(rows, whole, check_exact=True)


def test_a_deleted_cell_alone_is_run_again(tmp_path, tasks, whole):
    store = open_folder(tmp_path)
    run_study(CELLS, store, progress=False)
    store.file(CELLS[1]).unlink()
    tasks.clear()
    rows = run_study(CELLS, store, progress=False)
    assert {cell for cell, _ in tasks} == {CELLS[1]}
    pd.testing.assert_frame_equal(rows, whole, check_exact=True)


def test_finished_cells_start_no_worker(tmp_path, monkeypatch):
    store = open_folder(tmp_path)
    run_study(CELLS[:1], store, progress=False)

    def refuse(**_):
        raise AssertionError("workers were started")

    monkeypatch.setattr(runner, "Parallel", refuse)
    assert len(run_study(CELLS[:1], store, progress=False)) == REPETITIONS * 2


def test_a_damaged_cell_is_named_before_anything_runs(tmp_path, tasks):
    store = open_folder(tmp_path)
    run_study(CELLS[:2], store, progress=False)
    file = store.file(CELLS[0])
    file.write_text(file.read_text()[:-9])
    tasks.clear()
    with pytest.raises(StudyFileError, match=file.name):
        run_study(CELLS, store, progress=False)
    assert tasks == []


def test_two_workers_give_the_same_numbers(tmp_path, whole):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        rows = run_study(CELLS, open_folder(tmp_path), progress=False)
    pd.testing.assert_frame_equal(rows, whole, check_exact=True)
    [run] = open_folder(tmp_path).runs()
    assert run["workers"] == 2 and run["cells"] == len(CELLS) and run["seconds"] > 0


def test_a_dask_cluster_gives_the_same_numbers(tmp_path, whole):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        with joblib.parallel_config(backend="dask"):
            rows = run_study(CELLS, open_folder(tmp_path), progress=False)
    pd.testing.assert_frame_equal(rows, whole, check_exact=True)


def test_the_bar_shows_the_cell_and_the_remaining_time(tmp_path, capsys):
    run_study(CELLS[:2], open_folder(tmp_path))
    printed = capsys.readouterr().err
    assert "compiling" in printed
    assert "cell 2/2 A-privunit-2-spr-paper" in printed
    assert f"{2 * REPETITIONS}/{2 * REPETITIONS} [" in printed and "<00:00" in printed


def test_cells_of_a_study():
    cells = study_cells("BA", (1.0, 8.0), ("gaussian",), METHODS, ("paper", "default"))
    assert len(cells) == len(set(cells)) == 2 * 2 * (3 + 2)
    assert [cell.epsilon for cell in cells[:2]] == [8.0, 1.0]
    tunings = {(cell.method, cell.tuning) for cell in cells if cell.method != "spr"}
    assert tunings == {("rounds", "default"), ("trajectory", "paper"), ("half_sample", "paper")}
    chosen = study_cells("A", (8.0,), ("gaussian",), ("spr", "rounds"), None)
    assert [cell.tuning for cell in chosen] == ["paper", "default"]
    assert cells[0] == Cell("A", "gaussian", 8.0)
    assert study_cells("AA", (8.0,), ("gaussian",), ("spr",), ("paper",)) == cells[:1]
    expected = "'paper' for 'trajectory' and 'half_sample', and 'default' for rounds"
    with pytest.raises(ValueError, match=expected):
        study_cells("A", (8.0,), ("gaussian",), ("trajectory",), ("default",))
