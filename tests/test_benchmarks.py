"""The benchmark scripts run and print their tables."""

import importlib.util
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "benchmarks"


def load(name):
    spec = importlib.util.spec_from_file_location(f"{name}_script", FOLDER / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


@pytest.mark.slow
def test_the_script_prints_its_tables(capsys):
    load("run").main(["--quick"])
    printed = capsys.readouterr().out
    for line in ("S2, von Mises-Fisher | privunit", "IncrementalPCA, batches of 1 ", "| 1000 |"):
        assert line in printed


@pytest.mark.slow
def test_the_script_of_devices_prints_its_table(capsys):
    """What keeps an answer quick, that it imports little and compiles nothing, has a test."""
    load("device").main(["--repetitions", "1"])
    printed = capsys.readouterr().out
    for name in ("import geomstats, numba", "one answer, d = 9, epsilon = 8"):
        [seconds] = re.findall(rf"^\| {name} \| (\d+\.\d\d) \|$", printed, re.M)
        assert float(seconds) > 0.0
    assert re.search(r"^ratio \d+\.\d\d$", printed, re.M)


@pytest.mark.slow
def test_a_commit_beside_itself(capsys):
    """Without an assertion on the ratio, which on a busy machine is anything."""
    options = ["--only", "direction on S2", "--n", "2000", "--repetitions", "1"]
    load("compare").main([".", ".", *options])
    [row] = re.findall(r"^\| fit, mean direction on S2 (.*)$", capsys.readouterr().out, re.M)
    assert all(float(cell) > 0.0 for cell in row.split("|")[1:4])


def test_a_workload_that_a_commit_does_not_have_is_one_line():
    compare = load("compare")
    answers = ({"seconds": 1.0}, {"error": "ImportError: no such name"})
    printed = compare.line("fit", *(lambda _, a=answer: a for answer in answers), 3)
    assert printed == "| fit | the second commit cannot: ImportError: no such name |"
