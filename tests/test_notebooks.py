"""Notebooks: listed, linked, and written with what the package offers to everybody."""

import ast
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_uses_public_names_only(name):
    nodes = list(ast.walk(ast.parse((FOLDER / name).read_text(encoding="utf-8"))))
    names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            names |= {*node.module.split("."), *(alias.name for alias in node.names)}
    assert not {name for name in names if name.startswith("_") and not name.endswith("__")}


def test_the_table_lists_all_notebooks_in_order():
    table = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[(\w+\.py)\]\(\1\)", table, flags=re.M) == NOTEBOOKS


@pytest.mark.parametrize("name", [*NOTEBOOKS, "README.md"])
def test_links_lead_somewhere(name):
    text = (FOLDER / name).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    assert all((FOLDER / link).exists() for link in links)
