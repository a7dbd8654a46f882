"""Links between files lead somewhere, and every public name is in the API reference."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import geomstats_ldp

ROOT = Path(__file__).parents[1]
PACKAGE = Path(geomstats_ldp.__file__).parent

#: A link of Markdown, in a page or in a cell of a notebook: path and anchor.
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)
HEADING = re.compile(r"^#+ (.*)$", re.M)

PAGES = [
    ROOT / "README.md",
    *(ROOT / "notebooks").glob("*.md"),
    *(ROOT / "notebooks").glob("*.py"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs" / "guide").glob("*.md"),
    *(ROOT / "docs" / "theory").glob("*.md"),
    *(ROOT / "docs" / "api").glob("*.md"),
]


def anchors(path):
    """Anchors that GitHub and the site give to the headings of a page."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.strip().replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path):
    text = CODE.sub("", path.read_text(encoding="utf-8"))
    for target, anchor in LINK.findall(text):
        if "://" in target:
            continue
        file = path.parent / target if target else path
        assert file.is_file(), f"{target} is not there"
        assert not anchor or anchor in anchors(file), f"{file.name} has no heading {anchor}"


def public_modules():
    """The package and its modules that say, in ``__all__``, what is public."""
    names = [path.parent.name for path in sorted(PACKAGE.glob("*/__init__.py"))]
    modules = [importlib.import_module(f"geomstats_ldp.{name}") for name in names]
    return [geomstats_ldp, *(module for module in modules if hasattr(module, "__all__"))]


def own_names(module):
    """Public functions and classes that a module without ``__all__`` defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and inspect.getmodule(value) is module
        if inspect.isfunction(value) or inspect.isclass(value)
    ]


def test_every_public_name_is_in_the_reference():
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md")
    )
    listed = set(re.findall(r"^(?:   |\.\. autodata:: )[\w.]*?(\w+)$", text, re.M))
    expected = {name for module in public_modules() for name in module.__all__}
    assert "SpectralBand" in expected and "run_checks" in expected
    for name in ("exceptions", "schedules"):
        expected |= set(own_names(importlib.import_module(f"geomstats_ldp.{name}")))
    assert expected - listed == set()


def test_what_the_map_of_the_paper_names_is_there():
    text = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:geomstats_ldp|docs|tests)[\w./]*)`", text)
    assert len(names) > 40
    for name in names:
        if "/" in name:
            assert (ROOT / name).exists(), f"{name} is not there"
        else:
            pkgutil.resolve_name(name)
