"""What the pages show is what a reader gets: their Python blocks run, and print what they say."""

import contextlib
import io
import re
import sys
import types
import warnings
from pathlib import Path

import pytest

from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.losses import LOSSES
from geomstats_ldp.mechanisms import MECHANISMS

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", re.S)


@pytest.fixture
def registries():
    """Names that a page registers are gone after it."""
    before = [(known, dict(known)) for known in (LOSSES, MECHANISMS)]
    yield
    for known, names in before:
        known.clear()
        known.update(names)


@pytest.mark.parametrize("page", ["estimators.md", "extending.md"])
def test_the_examples_run_and_print_what_they_say(page, registries, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert len(blocks) > 3
    module = types.ModuleType("page")  # classes of a page pickle by the name of their module
    monkeypatch.setitem(sys.modules, "page", module)
    for code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            exec(code, module.__dict__)
        assert printed.getvalue().strip() == expected.strip()
