"""What the pages show is what a reader gets: their Python blocks run, and print what they say."""

import contextlib
import io
import math
import re
import sys
import types
import warnings
from pathlib import Path

import pytest
from matplotlib import pyplot as plt

from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.losses import LOSSES
from geomstats_ldp.mechanisms import MECHANISMS

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"```(?:python|\{plot\})\n(.*?)```(?:\n+```text\n(.*?)```)?", re.S)

#: Pages whose Python is tested elsewhere, or needs a cluster.
ELSEWHERE = ("baselines.md", "study.md")
PAGES = [
    path.relative_to(DOCS).as_posix()
    for path in sorted([*DOCS.glob("*.md"), *DOCS.glob("guide/*.md")])
    if BLOCK.search(path.read_text(encoding="utf-8")) and path.name not in ELSEWHERE
]


@pytest.fixture
def registries():
    """Names that a page registers are gone after it."""
    before = [(known, dict(known)) for known in (LOSSES, MECHANISMS)]
    yield
    for known, names in before:
        known.clear()
        known.update(names)


def run_tests_of(module):
    """Run the parametrised tests that a page defines, as pytest would."""
    for name, test in vars(module).items():
        if name.startswith("test_"):
            [parameters] = test.pytestmark
            for case in parameters.args[1]:
                test(*case.values)


@pytest.mark.slow  # compiles what each page uses
@pytest.mark.parametrize("page", PAGES)
def test_the_examples_run_and_print_what_they_say(page, registries, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("agg")
    text = (DOCS / page).read_text(encoding="utf-8")
    if "import statsmodels" in text:  # comes with the extra of the docs
        pytest.importorskip("statsmodels")
    blocks = BLOCK.findall(text)
    module = types.ModuleType("page")  # classes of a page pickle by the name of their module
    monkeypatch.setitem(sys.modules, "page", module)
    for code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            exec(code, module.__dict__)
            run_tests_of(module)
        assert printed.getvalue().strip() == expected.strip()
    plt.close("all")


def test_the_pages_of_the_guide_are_among_those_that_run():
    assert {"quick_start.md", "server_in_process.md", "estimators.md", "extending.md"} < set(PAGES)
    assert len([page for page in PAGES if page.startswith("guide/")]) >= 6


def test_the_table_of_odds_is_that_of_the_formulas():
    text = (DOCS / "what_is_protected.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| (.*)% \| (.*)% \| (.*)% \|$", text, re.M)
    assert len(rows) == 5
    for row in rows:
        factor = math.exp(float(row[0]))
        posterior = [prior * factor / (1 - prior + prior * factor) for prior in (0.5, 0.01)]
        power = min(0.05 * factor, 1 - 0.95 / factor)
        numbers = [factor, *(100 * share for share in (*posterior, power))]
        for shown, number in zip(row[1:], numbers):
            assert shown == f"{number:.{len(shown.partition('.')[2])}f}"
