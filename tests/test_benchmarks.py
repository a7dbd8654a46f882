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
def test_an_answer_takes_little_more_than_the_imports_it_rests_on(capsys):
    """A ratio of processor times, which a busy machine leaves alone."""
    load("device").main(["--repetitions", "3"])
    [ratio] = re.findall(r"^ratio (.*)$", capsys.readouterr().out, re.M)
    assert 1.0 < float(ratio) < 1.4


@pytest.mark.slow
def test_a_commit_beside_itself(capsys):
    """Both sides do the same work, so that the ratio is near one even on a busy machine."""
    options = ["--only", "direction on S2", "--n", "20000", "--repetitions", "5"]
    load("compare").main([".", ".", *options])
    [row] = re.findall(r"^\| fit, mean direction on S2 (.*)$", capsys.readouterr().out, re.M)
    first, second, ratio = (float(cell) for cell in row.split("|")[1:4])
    assert first > 0.0 and second > 0.0 and 0.5 < ratio < 2.0


def test_a_workload_that_a_commit_does_not_have_is_one_line():
    compare = load("compare")
    answers = ({"seconds": 1.0}, {"error": "ImportError: no such name"})
    printed = compare.line("fit", *(lambda _, a=answer: a for answer in answers), 3)
    assert printed == "| fit | the second commit cannot: ImportError: no such name |"
