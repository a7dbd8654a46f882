"""Files as they come: no marks of an unresolved merge, no page without text."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("geomstats_ldp", "tests", "docs", "notebooks", ".ci")
TEXTS = {".py", ".md", ".rst", ".toml", ".json", ".csv", ".txt", ".html", ".css", ".js", ""}

#: The lines that git writes around what it cannot merge; seven equals signs may underline a title.
MARK = re.compile(r"^(<{7} |>{7} |\|{7} )", re.M)


def texts():
    """Text files of the project, without what building the site leaves."""
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.suffix != ".db")
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and path.suffix in TEXTS and "_build" not in path.parts:
                yield path


def test_no_marks_of_a_merge_are_left():
    assert MARK.search("a\n" + "<" * 7 + " HEAD\nb") and not MARK.search("Title\n=======\n")
    paths = list(texts())
    assert len(paths) > 500
    marked = [
        path.relative_to(ROOT).as_posix()
        for path in paths
        if MARK.search(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert marked == []


def test_every_page_has_a_title_and_text():
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts]
    assert len(pages) > 40
    for page in pages:
        lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.strip()]
        has_title = any(line.startswith("# ") for line in lines)
        assert has_title and len(lines) > 2, f"{page.relative_to(ROOT)} is empty"
