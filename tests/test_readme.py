"""What the README shows is what a reader gets."""

import re
from pathlib import Path

import numpy as np
import pytest

from geomstats_ldp.cli import main

# Runs are short, and say so; what they say is tested where it is the point.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.WeakCurvatureWarning")

README = Path(__file__).parents[1] / "README.md"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.S)


def test_the_table_is_what_the_command_prints(tmp_path, capsys):
    assert main(["nhanes", "--output", str(tmp_path)]) == 0
    assert blocks("text")[0].strip() in capsys.readouterr().out


def test_the_examples_run_and_print_what_they_say(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first, second = blocks("python")
    names = {}
    exec(first, names)
    assert capsys.readouterr().out.strip() == blocks("text")[1].strip()
    exec(second, names)
    assert capsys.readouterr().out.strip() == blocks("text")[2].strip()
    assert names["pca"].server_.is_complete
    # Devices draw fresh noise: at 95% one run in twenty would fail.
    assert names["pca"].confidence_region(0.9999).contains([0.0, 1.0, 0.0])
    assert (tmp_path / "collection.npz").exists()


@pytest.mark.parametrize(("epsilon", "ratio"), [(1.0, 14), (8.0, 67)])
def test_the_noise_ratio_of_the_readme(epsilon, ratio):
    from geomstats_ldp.mechanisms import make_mechanism

    common = {"epsilon": epsilon, "dim": 2, "bound": 1.0}
    gaussian = make_mechanism("gaussian", delta=1e-6, **common)
    privunit = make_mechanism("privunit", **common)
    assert np.isclose(gaussian.noise_variance / privunit.noise_variance, ratio, atol=0.5)
