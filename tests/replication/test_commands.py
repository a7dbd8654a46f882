"""The command line: what it prints and what it writes."""

import json
import math
import subprocess
import sys

import pandas as pd
import pytest

from geomstats_ldp.cli import main
from geomstats_ldp.replication.commands import study
from geomstats_ldp.replication.study.designs import DESIGNS, EPSILONS
from geomstats_ldp.replication.study.methods import MECHANISMS, METHODS
from geomstats_ldp.replication.study.tuning import TUNINGS

KEYS = {
    "mechanism",
    "epsilon",
    "delta",
    "loadings",
    "angle_error_deg",
    "semi_axis_deg",
    "informative",
    "n_participants",
    "n_pairs",
    "n_regression_pairs",
    "gram_condition_number",
    "hessian_floor_active",
    "seed",
}


def refuse_constant(name):
    raise ValueError(f"{name} is not valid JSON")


@pytest.mark.parametrize(
    "mechanism",
    ["privunit", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gaussian", "l2_ball"))],
)
def test_nhanes_writes_valid_json_and_a_picture(tmp_path, capsys, mechanism):
    status = main(
        [
            "nhanes",
            "--mechanism",
            mechanism,
            "--epsilon",
            "inf",
            "2",
            "--seed",
            "5",
            "--output",
            str(tmp_path / "new" / "folder"),
        ]
    )
    assert status == 0
    folder = tmp_path / "new" / "folder"
    records = json.loads((folder / "nhanes.json").read_text(), parse_constant=refuse_constant)
    assert [record["epsilon"] for record in records] == ["inf", 2.0]
    for record in records:
        assert set(record) == KEYS
        assert record["mechanism"] == mechanism
        assert record["seed"] == 5
        assert record["n_participants"] == 5175
        assert math.isclose(sum(value**2 for value in record["loadings"]), 1.0)
    assert records[1]["delta"] == (1e-6 if mechanism == "gaussian" else 0.0)
    assert (folder / "nhanes.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    for record in records:
        assert f"{record['semi_axis_deg']:.2f}°" in printed
    assert "2587 pairs, 2568 in the regression" in printed


def test_seed_decides(tmp_path):
    texts = []
    for seed in ("1", "1", "2"):
        main(["nhanes", "--epsilon", "4", "--seed", seed, "--output", str(tmp_path)])
        texts.append((tmp_path / "nhanes.json").read_text())
    assert texts[0] == texts[1] != texts[2]


def test_repetitions_print_medians_and_coverage(capsys):
    assert main(["nhanes", "--epsilon", "8", "--repetitions", "5"]) == 0
    printed = capsys.readouterr().out
    assert "oracle" in printed and "2.44°" in printed


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nhanes", "--epsilon", "0"],
        ["nhanes", "--epsilon", "-1"],
        ["nhanes", "--epsilon", "nan"],
        ["nhanes", "--epsilon", "text"],
        ["nhanes", "--mechanism", "laplace"],
        ["nhanes", "--repetitions", "1"],
        ["study", "--designs", "A", "G"],
        ["study", "--epsilon", "0"],
        ["study", "--n", "201"],
        ["study", "--n", "100"],
        ["study", "--n", "many"],
        ["study", "--repetitions", "1"],
        ["study", "--jobs", "0"],
        ["study", "--jobs", "-2"],
        ["study", "--seed", "-1"],
        ["study", "--seed", "1.5"],
        ["study", "--method", "pairs"],
        ["study", "--tuning", "mine"],
    ],
)
def test_bad_arguments_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "usage" in error
    if len(arguments) > 1:
        assert f"argument {arguments[1]}: " in error and "invalid _" not in error


def test_epsilon_out_of_range_is_one_line_on_stderr(tmp_path, capsys):
    assert main(["nhanes", "--epsilon", "1e6", "--output", str(tmp_path)]) == 2
    error = capsys.readouterr().err.replace("\r", "\n").strip().splitlines()[-1]
    assert error.startswith("geomstats-ldp: error: epsilon must")
    assert not (tmp_path / "nhanes.json").exists()


def test_module_runs():
    done = subprocess.run(
        [sys.executable, "-m", "geomstats_ldp", "nhanes", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "95% Wald region" in " ".join(done.stdout.split())


SMALL = ["study", "--designs", "F", "--method", "spr", "--n", "400", "200", "--repetitions", "3"]
SMALL += ["--jobs", "1", "--seed", "4"]


@pytest.mark.slow
def test_study_writes_tables_figures_and_how_they_were_made(tmp_path, capsys):
    options = ["--epsilon", "8", "2", "--output", str(tmp_path / "new" / "study")]
    assert main([*SMALL, *options]) == 0
    folder, printed = tmp_path / "new" / "study", capsys.readouterr().out
    rows = pd.read_csv(folder / "results.csv")
    assert rows.groupby(["epsilon", "n"])["repetition"].apply(list).tolist() == [[0, 1, 2]] * 4
    summary = pd.read_csv(folder / "summary.csv")
    assert summary["n"].tolist() == [200, 400] * 2
    for error in summary["error"][summary["n"] == 400]:
        assert f" {error:.4f} (" in printed
    assert "n = 400, 3 repetitions" in printed
    assert "## gaussian, paper tuning" in (folder / "tables.md").read_text()
    for name in ("error_gaussian_paper", "coverage_gaussian_paper"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"{name}.png" in printed
    settings = json.loads((folder / "study.json").read_text())
    assert settings["checkpoints"] == [200, 400] and settings["seed"] == 4
    [run] = json.loads((folder / "runs.json").read_text())
    assert run["command"] == "python -m geomstats_ldp " + " ".join([*SMALL, *options])
    assert run["cells"] == 2 and {"numpy", "llvmlite", "geomstats"} <= set(run["versions"])


def test_study_continues_and_reports_on_the_whole_folder(tmp_path, capsys):
    # Directions on a sphere and privunit, which other tests compile as well.
    options = ["--designs", "A", "--mechanism", "privunit", "--output", str(tmp_path)]
    cell = tmp_path / "cells" / "A-privunit-8-spr-paper.csv"
    assert main([*SMALL, "--epsilon", "8", *options]) == 0
    finished = cell.stat().st_mtime_ns
    assert main([*SMALL, "--epsilon", "2", *options]) == 0
    assert "      8 " not in capsys.readouterr().out.split("wrote")[1]
    assert cell.stat().st_mtime_ns == finished
    assert pd.read_csv(tmp_path / "summary.csv")["epsilon"].tolist() == [8, 8, 2, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--epsilon", "3"], "epsilon must be one of"),
        (["--method", "trajectory", "--tuning", "default"], "tuning must include 'paper'"),
    ],
)
def test_study_refuses_what_the_paper_has_no_constants_for(tmp_path, capsys, options, message):
    assert main([*SMALL, *options, "--output", str(tmp_path / "study")]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"geomstats-ldp: error: {message}")
    assert not (tmp_path / "study").exists()


def test_study_names_a_folder_that_cannot_be_written(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main([*SMALL, "--epsilon", "8", "--output", str(tmp_path / "file" / "study")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("geomstats-ldp: error: ") and str(tmp_path / "file") in error


def test_study_of_other_settings_is_refused(tmp_path, capsys):
    (tmp_path / "study.json").write_text('{"seed": 1}')
    assert main([*SMALL, "--epsilon", "8", "--output", str(tmp_path)]) == 2
    assert "study.json is of a study with other settings" in capsys.readouterr().err


def test_interrupting_is_no_traceback(tmp_path, capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("geomstats_ldp.replication.study.runner.run_study", interrupt)
    assert main([*SMALL, "--epsilon", "8", "--output", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "geomstats-ldp: stopped\n"


def test_choices_of_the_command_line_are_those_of_the_package():
    """They are repeated there, so that --help does not wait for geomstats."""
    assert study._DESIGNS == DESIGNS
    assert study._METHODS == METHODS
    assert study._TUNINGS == TUNINGS
    assert sorted(study.MECHANISMS) == sorted(MECHANISMS)
    assert study._FULL["epsilon"] == EPSILONS
