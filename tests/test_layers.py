"""Who may import whom: what handles messages never reaches what handles data."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import geomstats_ldp

ROOT = Path(geomstats_ldp.__file__).parent
PACKAGE = "geomstats_ldp"


def module_name(path):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in ROOT.rglob("*.py")}


def is_for_types_only(node):
    """Whether a statement is ``if TYPE_CHECKING:``, which never runs."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@cache
def imports_of(name):
    """Modules of the package that a module imports, anywhere in its text, functions included.

    The package itself is left out: its __init__ only gathers public names. So is what only a type
    checker imports. A package on the way to a module counts, because importing the module runs it.
    """
    path = MODULES[name]
    home = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    tree = ast.parse(path.read_text())
    tree.body = [node for node in tree.body if not is_for_types_only(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = home.split(".")
                parts = parts[: len(parts) - node.level + 1]
                base = ".".join([*parts, base] if base else parts)
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    found = {module for module in found if module in MODULES}
    found |= {
        ".".join(module.split(".")[:depth])
        for module in found
        for depth in range(2, module.count(".") + 1)
    }
    return found - {PACKAGE, name}


def reach(start):
    """Every module that importing `start` runs, itself included."""
    seen, open_ends = set(), [start]
    while open_ends:
        name = open_ends.pop()
        if name not in seen:
            seen.add(name)
            open_ends.extend(imports_of(name))
    return seen


def under(*packages):
    return sorted(
        name
        for name in MODULES
        if any(name == p or name.startswith(p + ".") for p in (f"{PACKAGE}.{q}" for q in packages))
    )


SEES_DATA = (
    "losses",
    "participant",
    "data_reader",
    "emulation",
    "emulation_in_rounds",
    "estimators",
)


@pytest.mark.parametrize("module", under("server", "protocol", "inference", "score_regression"))
def test_what_handles_messages_never_reaches_data(module):
    assert not reach(module) & set(under(*SEES_DATA, "datasets"))


@pytest.mark.parametrize("module", ["app", "service", "ledger", "store", "writer", "migrations"])
def test_what_handles_requests_never_reaches_data(module):
    found = reach(f"{PACKAGE}.collection.{module}")
    assert not found & set(under(*SEES_DATA, "datasets", "collection.study", "collection.device"))


@pytest.mark.parametrize("module", ["gains", "recursion", "regression"])
def test_baselines_keep_their_public_side_apart(module):
    assert not reach(f"{PACKAGE}.replication.baselines.{module}") & set(
        under(*SEES_DATA, "datasets", "replication.baselines.emulation")
    )


def parts_of_the_map():
    """Row of each part in the map of the page for contributors."""
    page = (Path(__file__).parents[1] / "docs" / "contributing.md").read_text(encoding="utf-8")
    table = page.partition("| part |")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)(?:\.py)?`", line.split("|")[1]) for line in table.splitlines()[2:]]
    return {part: place for place, row in enumerate(rows) for part in row}


def test_parts_import_from_the_rows_above_theirs_on_the_map():
    parts = parts_of_the_map()
    inside = {name.split(".")[1] for name in MODULES if "." in name} - {"__main__"}
    assert set(parts) == inside, "the map of docs/contributing.md lists the parts of the package"
    for name in set(MODULES) - {PACKAGE, f"{PACKAGE}.__main__"}:
        home = name.split(".")[1]
        for other in {module.split(".")[1] for module in imports_of(name)} - {home}:
            assert parts[other] <= parts[home], f"{name} imports {other}, which stands above it"


def test_nothing_but_the_command_line_imports_the_replication():
    wing = set(under("replication"))
    assert {name for name in set(MODULES) - wing if imports_of(name) & wing} == {f"{PACKAGE}.cli"}
    assert f"{PACKAGE}.cli" in reach(f"{PACKAGE}.__main__")


def loaded_by(module):
    """Modules that a new process has loaded after importing one."""
    command = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_the_replication_is_imported_only_when_a_command_runs():
    loaded = loaded_by("geomstats_ldp.cli")
    assert f"{PACKAGE}.cli" in loaded and not loaded & set(under("replication"))


@pytest.mark.parametrize("module", under("inference"))
def test_inference_does_not_reach_estimators(module):
    assert not reach(module) & set(under("estimators"))


@pytest.mark.parametrize("module", under("geometry"))
def test_geometry_stands_below_everything_else(module):
    above = (*SEES_DATA, "datasets", "server", "protocol", "inference", "mechanisms", "schedules")
    assert not reach(module) & set(under(*above))


@pytest.mark.parametrize("module", under("mechanisms", "losses"))
def test_mechanisms_and_losses_know_nothing_of_the_collection(module):
    above = ("server", "protocol", "inference", "participant", "emulation", "estimators")
    assert not reach(module) & set(under(*above))


@pytest.mark.parametrize("module", under("participant"))
def test_the_participant_does_not_reach_the_server(module):
    assert not reach(module) & set(under("server", "inference", "emulation", "estimators"))


def test_the_walk_finds_what_is_there():
    """The tests above mean nothing if imports are overlooked."""
    assert f"{PACKAGE}.losses.pca" in reach(f"{PACKAGE}.participant")
    assert f"{PACKAGE}.losses" in reach(f"{PACKAGE}.emulation")
    assert f"{PACKAGE}.participant" in reach(f"{PACKAGE}.estimators.base")
    assert f"{PACKAGE}.server.recursion" in reach(f"{PACKAGE}.inference.sandwich")
    assert len(under("server", "protocol", "inference")) >= 10


def modules_that_import(library):
    """Modules of the package that name a library in an import, functions included."""
    found = set()
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            modules = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            if any(module.split(".")[0] == library for module in modules):
                found.add(name)
    return found


def test_geomstats_is_imported_only_where_spaces_are_handled():
    """The one door: no module outside `geometry`, except those that build a space, names it."""
    allowed = set(under("geometry", "datasets", "replication"))
    assert modules_that_import("geomstats") <= allowed


def test_only_the_study_works_with_data_frames():
    assert modules_that_import("pandas") <= set(under("replication.study"))


def test_estimating_does_not_wait_for_the_library_of_pictures():
    assert "matplotlib" not in loaded_by("geomstats_ldp")
