"""What the commands leave in a folder, and what they refuse."""

import stat

import pytest

from geomstats_ldp.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch, study_text):
    monkeypatch.chdir(tmp_path)
    for name, epsilon in (("one", "4.0"), ("two", "2.0")):
        text = study_text().replace("epsilon = 4.0", f"epsilon = {epsilon}")
        (tmp_path / f"{name}.toml").write_text(text)
    return tmp_path


def collect(*arguments):
    """Status of a command, whether it returns or exits with it."""
    try:
        return main(["collect", *arguments]) or 0
    except SystemExit as error:
        return error.code


def test_the_database_is_for_its_owner_alone(folder):
    assert collect("new", "one.toml") == 0
    assert stat.S_IMODE((folder / "collection.db").stat().st_mode) == 0o600


def test_a_second_collection_does_not_replace_the_published_protocol(folder):
    assert collect("new", "one.toml") == 0
    published = (folder / "protocol.json").read_bytes()
    assert collect("new", "two.toml", "--database", "sqlite:///two.db") != 0
    assert (folder / "protocol.json").read_bytes() == published
    assert not (folder / "two.db").exists()


@pytest.mark.parametrize("count", ["0", "-4"])
def test_a_count_that_invites_nobody_is_refused(folder, capsys, count):
    assert collect("new", "one.toml") == 0
    assert collect("invite", "--count", count) != 0
    assert "count" in capsys.readouterr().err


def test_an_empty_file_of_a_datum_brings_one_line(folder, capsys, recwarn):
    (folder / "empty.csv").write_text("")
    link = "http://127.0.0.1:9/#token=abc&fingerprint=def"
    assert collect("answer", link, "--datum", "empty.csv") != 0
    assert "must be a CSV file of numbers" in capsys.readouterr().err
    assert not [w for w in recwarn if "loadtxt" in str(w.message)]
