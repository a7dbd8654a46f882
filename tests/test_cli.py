"""The command line: what it prints and what it writes."""

import json
import math
import subprocess
import sys

import pytest

from geomstats_ldp.cli import main

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


@pytest.mark.parametrize("mechanism", ["privunit", "gaussian", "l2_ball"])
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
    ],
)
def test_bad_arguments_are_refused(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage" in capsys.readouterr().err


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
