"""Processes that are killed at any moment: nothing acknowledged is lost, nobody answers twice."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sqlalchemy import text

from geomstats_ldp.collection import store, study, tables
from geomstats_ldp.collection.ledger import Ledger
from geomstats_ldp.collection.rehearsal import Habits, Rehearsal
from geomstats_ldp.protocol import Message


def serve(url, port, *options):
    command = [sys.executable, "-m", "geomstats_ldp", "collect", "serve", "--database", url]
    command += ["--port", str(port), "--client-rate", "1e6", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)


def kill(process):
    """End a process and its workers at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.slow
def test_a_service_that_is_killed_under_load_goes_on(make_collection, free_port, wait_until, is_up):
    collection = make_collection(n_participants=1000, n_rounds=4, lease_seconds=2)
    with tables.writing(collection.engine) as connection:
        tokens = store.add_invitations(connection, 3000)
    data = np.random.default_rng(0).normal(size=(3000, 3))
    port, done, rng = free_port(), threading.Event(), np.random.default_rng(0)
    url = f"http://127.0.0.1:{port}"
    process, n_kills = serve(collection.url, port), 0
    wait_until(lambda: is_up(url))
    rehearsal = Rehearsal(url, tokens, data, Habits(late=0.2, duplicate=0.1))
    outcomes = []
    load = threading.Thread(target=lambda: outcomes.append(rehearsal.run(8, done.is_set)))
    load.start()
    try:
        while load.is_alive() and n_kills < 2:
            time.sleep(rng.uniform(0.5, 2.0))
            kill(process)
            n_kills += 1
            process = serve(collection.url, port)
            wait_until(lambda: is_up(url))
        load.join(timeout=120)
    finally:
        done.set()
        load.join()
        kill(process)
    assert n_kills == 2 and outcomes
    check_acknowledged(collection, outcomes[0])


def check_acknowledged(collection, outcome):
    """Every acknowledged report is stored as it was sent, once; no token has two."""
    with tables.reading(collection.engine) as connection:
        rows = connection.execute(
            text("SELECT report_id, round, direction, candidate, token_hash FROM reports")
        ).all()
        ledger = Ledger(collection.engine, store.read_study(connection))
    stored = {row.report_id: (row.round, row.direction, row.candidate + 2**63) for row in rows}
    assert len(stored) == len(rows) == len({row.token_hash for row in rows})
    for report_id, message in outcome.acknowledged.items():
        assert stored[report_id] == (message.round, message.index, message.candidate)
    # What was stored and not acknowledged was being sent when everything stopped.
    assert len(stored) - len(outcome.acknowledged) <= 8
    transcript = ledger.transcript()
    again = study.make_estimator(collection.description).partial_fit(transcript)
    ours = study.summarise(collection.description, ledger.server)
    np.testing.assert_allclose(again.estimate_, ours["estimate"], rtol=0, atol=1e-14)


DEVICE = """
import os, signal, sys
import geomstats_ldp.collection.device as device
from geomstats_ldp.cli import main

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

moment = sys.argv.pop(1)
if moment == "before the file":
    device._keep = die
elif moment == "before sending":
    from geomstats_ldp.collection.client import Client
    Client.report = die
elif moment == "before the acknowledgement":
    from geomstats_ldp.collection.client import Client
    send = Client.report
    def report(self, body):
        send(self, body)
        die()
    Client.report = report
sys.exit(main(["collect", "answer", *sys.argv[1:]]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "moment", ["before the file", "before sending", "before the acknowledgement"]
)
def test_a_device_that_is_killed_never_draws_twice(run_service, tmp_path, moment):
    service = run_service()
    [token] = service.tokens(1)
    (tmp_path / "datum.csv").write_text("0.1,1.0,0.2\n")
    fingerprint = service.collection.protocol.fingerprint
    link = f"{service.url}/#token={token}&fingerprint={fingerprint}"
    options = [link, "--datum", "datum.csv", "--patience", "20"]

    def device(moment):
        command = [sys.executable, "-c", DEVICE, moment, *options]
        environment = {**os.environ, "PYTHONPATH": os.getcwd()}
        return subprocess.run(command, cwd=tmp_path, env=environment).returncode

    assert device(moment) == -signal.SIGKILL
    kept = [path.read_text() for path in tmp_path.glob("report-*.json")]
    assert len(kept) == (moment != "before the file")
    n_stored = service.count("reports")
    assert n_stored == (moment == "before the acknowledgement")
    assert device("never") == 0
    if moment == "before the file":
        assert device("never") == 0  # the same report once more
    [report] = [path.read_text() for path in tmp_path.glob("report-*.json")]
    assert kept in ([], [report]), "what was drawn is what is sent"
    assert "0.1" not in report, "the file holds no datum"
    record = json.loads(report)
    message = Message.from_json(json.dumps(record["message"]))
    with tables.reading(service.service.engine) as connection:
        [row] = connection.execute(text("SELECT report_id, candidate FROM reports")).all()
    assert (row.report_id, row.candidate + 2**63) == (record["report_id"], message.candidate)
