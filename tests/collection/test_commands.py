"""The commands, as a person types them, from the study file to the transcript."""

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from geomstats_ldp import PrivatePCA, Protocol, Transcript
from geomstats_ldp.cli import main
from geomstats_ldp.collection import study
from geomstats_ldp.collection.rehearsal import Rehearsal
from geomstats_ldp.exceptions import ProtocolError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def collect(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder, and return what it prints."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, status=0):
        assert main(["collect", *map(str, arguments)]) == status
        printed = capsys.readouterr()
        return printed.out if status == 0 else printed.err

    return run


@pytest.mark.slow
def test_the_five_commands_of_the_readme(collect, free_port, wait_until, is_up, tmp_path):
    commands = re.findall(
        r"^geomstats-ldp collect ([^#>&\n]*)",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.M,
    )
    new, _, invite, status, result = (command.split() for command in commands)
    made = collect(*new[:1], ROOT / new[1])
    fingerprint = re.search(r"fingerprint +(\w+)", made).group(1)
    protocol = Protocol.from_json((tmp_path / "protocol.json").read_text(), fingerprint)
    port = free_port()
    links = collect(*invite, "--url", f"http://127.0.0.1:{port}").split()
    assert len(links) == 3000
    serve = [sys.executable, "-m", "geomstats_ldp", "collect", "serve", "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    service = subprocess.Popen([*serve, "--client-rate", "1e6"], env=environment)
    try:
        wait_until(lambda: is_up(f"http://127.0.0.1:{port}"))
        (tmp_path / "datum.csv").write_text("0.3,1.4,0.5\n")
        for text in ("your answer is stored\n", "your answer from before is stored\n"):
            assert collect("answer", links[0], "--datum", "datum.csv") == text
        assert "too few" in collect(*status) or "no region yet" in collect(*status)
        tokens = [link.partition("token=")[2].partition("&")[0] for link in links[1:41]]
        people = np.random.default_rng(0).normal(size=(40, 3)) @ np.diag([0.4, 1.2, 0.6])
        Rehearsal(f"http://127.0.0.1:{port}", tokens, people).run(4)
    finally:
        service.terminate()
        service.wait()
    assert "round 1 is closed with 41 answers" in collect("close-round")
    assert re.search(r"1 +83 +41 +41", collect(*status))
    collect(*result)
    record = json.loads((tmp_path / "result.json").read_text())
    assert record["n_participants"] == 41 and (tmp_path / "result.png").exists()
    collect("export")
    transcript = Transcript.load(tmp_path / "transcript.npz")
    again = PrivatePCA().partial_fit(transcript)
    assert transcript.protocol == protocol
    np.testing.assert_allclose(again.estimate_, record["estimate"], rtol=0, atol=1e-14)


def test_a_collection_is_never_replaced(collect):
    collect("new", ROOT / "docs/collection/STUDY.toml")
    before = rows_of("study")
    message = collect("new", ROOT / "docs/collection/STUDY.toml", status=2)
    assert "holds a collection already" in message
    assert rows_of("study") == before and len(before) == 1


def rows_of(table):
    with closing(sqlite3.connect("collection.db")) as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


def test_commands_say_what_is_missing(collect):
    assert "no database" in collect("status", status=2)
    assert not Path("collection.db").exists()
    assert "SQLite or PostgreSQL" in collect("status", "--database", "mysql://x/y", status=2)
    Path("datum.csv").write_text("0.1,secret,0.2\n")
    options = ["answer", "http://127.0.0.1:1/", "--datum", "datum.csv"]
    assert "--fingerprint" in collect(*options, status=2)
    known = ["--token", "t", "--fingerprint", "f", "--patience", "0"]
    assert "secret" not in collect(*options, *known, status=2)


BAD_STUDIES = {
    "= 1": "TOML",
    'estimator = "KMeans"': "estimator must be one of",
    'estimator = "PrivatePCA"\nn_rounds = 3': "n_rounds",
    'estimator = "PrivatePCA"\n[parameters]\nrandom_state = 1': "random_state",
    'estimator = "PrivatePCA"\nn_features = 3': "n_rounds must be among",
    'estimator = "PrivatePCA"\nn_features = 3\n[parameters]\nn_rounds = 3': "deadline_seconds",
    'estimator = "PrivatePCA"\nn_features = 3\n[parameters]\nn_rounds = 3\nn_participants = 90\n'
    "[rounds]\nminimum_batch = 1000": "minimum",
    'estimator = "PrivatePCA"\nn_features = 3\n[parameters]\nepsilon = 20.0\nn_rounds = 3\n'
    "n_participants = 90": "at most 16",
    'estimator = "PrivatePCA"\n[service]\nlease_seconds = 0': "lease_seconds",
    'estimator = "PrivatePCA"\n[parameters]\ncolour = "red"': "colour",
}


@pytest.mark.parametrize("text", BAD_STUDIES)
def test_a_study_file_that_does_not_fit_is_refused_by_name(text):
    with pytest.raises(ProtocolError, match=BAD_STUDIES[text]):
        study.make_study_protocol(study.read_study_file(text))


def test_spaces_and_quotas_of_a_study_file():
    text = """
    estimator = "PrivateFrechetMean"
    [parameters]
    space = {name = "Hyperboloid", dim = 2}
    epsilon = 2.0
    n_rounds = 3
    [rounds]
    quota = [40, 50, 60]
    """
    protocol = study.make_study_protocol(study.read_study_file(text))
    assert protocol.rounds.sizes == (40, 50, 60) and protocol.n_participants == 150
    assert protocol.space_spec["name"].startswith("Hyperb")
