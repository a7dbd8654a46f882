"""What the service has to stand, at full size: everything acknowledged is counted, once.

    python docs/collection/stress.py crowd [--database URL] [--workers 2] [--people 10000]
    python docs/collection/stress.py kill [--database URL] [--kills 50]

`crowd`: of 10,000 simulated people 20% drop out, 30% are late, 5% send each request twice and 1%
send garbage, through 8 connections. `kill`: the service and its workers are killed at random
moments under load, and started again. Both compare what is stored with what the devices know, and
the estimate with that of a server in this process which receives the same messages one by one.
Everything happens on loopback, and ends by itself.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx
import numpy as np
from sqlalchemy import text

from geomstats_ldp.collection import store, study, tables
from geomstats_ldp.collection.ledger import Ledger
from geomstats_ldp.collection.migrations import migrate
from geomstats_ldp.collection.rehearsal import Habits, Rehearsal
from geomstats_ldp.server import RoundServer

STUDY = """
estimator = "PrivatePCA"
parameters = {{norm_bound = 2.0, epsilon = 4.0, initial_point = [0.3, 1.0, 0.3], \
n_participants = {n}, n_rounds = 8}}
service = {{lease_seconds = 3, time_precision_seconds = 1}}
"""

#: Longest time of one run, in seconds.
LIMIT = 1800


class Service:
    """The service as its command starts it, in a group of processes of its own."""

    def __init__(self, url, workers):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address, self._url, self._workers = f"http://127.0.0.1:{self.port}", url, workers
        self.start()

    def start(self):
        """Start it, and wait until it answers."""
        command = [sys.executable, "-m", "geomstats_ldp", "collect", "serve", "--database"]
        command += [self._url, "--port", str(self.port), "--client-rate", "1e6"]
        command += ["--workers", str(self._workers)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                if httpx.get(f"{self.address}/v1/status", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise RuntimeError("the service does not start")

    def kill(self):
        """End all of it at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def make_study(url, n_participants, n_people):
    """Engine, description, and tokens."""
    description = study.read_study_file(STUDY.format(n=n_participants))
    engine = tables.connect(url)
    migrate(engine)
    with tables.writing_alone(engine) as connection:
        protocol = study.make_study_protocol(description)
        store.add_study(connection, protocol, description, int(time.time()))
        return engine, description, store.add_invitations(connection, n_people)


def compare(engine, description, outcome, n_unheard=0):
    """Check what is stored against what the devices know."""
    with tables.reading(engine) as connection:
        ledger = Ledger(engine, store.read_study(connection))
        rows = connection.execute(
            text(
                "SELECT report_id, token_hash, round, direction, candidate FROM reports ORDER BY id"
            )
        ).all()
    known = outcome.acknowledged
    assert (
        len({row.token_hash for row in rows}) == len({row.report_id for row in rows}) == len(rows)
    )
    stored = {row.report_id: row for row in rows}
    assert known.keys() <= stored.keys(), "an acknowledged report is lost"
    assert len(stored) - len(known) <= n_unheard, "a report was counted that nobody sent"
    for report_id, message in known.items():
        row = stored[report_id]
        assert (row.round, row.direction) == (message.round, message.index)
        assert row.candidate + 2**63 == message.candidate
    transcript = ledger.transcript()
    print(
        f"  {len(rows)} reports stored, {len(known)} acknowledged, closings {transcript.closings}"
    )
    if len(known) < len(stored):
        again = study.make_estimator(description).partial_fit(transcript).server_
    else:
        again, ends = RoundServer(ledger.study.protocol), transcript.closings.tolist()
        for number, row in enumerate(rows, start=1):
            again.receive(known[row.report_id])
            if number in ends and again.n_closed <= ends.index(number):
                again.close_round()
    ours, theirs = (study.summarise(description, one) for one in (ledger.server, again))
    for name in ("estimate", "covariance"):
        difference = np.max(np.abs(np.subtract(ours[name], theirs[name])))
        print(f"  {name}: {difference:.1e} from the one of one process")
        assert difference <= 1e-12


def people(n):
    """Data of n people."""
    return np.random.default_rng(0).normal(size=(n, 3)) @ np.diag([0.4, 1.2, 0.6])


def run_crowd(url, arguments):
    """Many people, some of whom behave badly."""
    n = arguments.people
    engine, description, tokens = make_study(url, int(0.6 * n), n)
    service, start = Service(url, arguments.workers), time.monotonic()
    habits = Habits(dropout=0.2, late=0.3, duplicate=0.05, garbage=0.01)
    try:
        rehearsal = Rehearsal(service.address, tokens, people(n), habits)
        outcome = rehearsal.run(8, lambda: time.monotonic() > start + LIMIT)
    finally:
        service.kill()
    seconds = time.monotonic() - start
    print(f"{engine.dialect.name}, {arguments.workers} workers, {n} people, {seconds:.0f} s")
    print(f"  answers by status: {dict(sorted(outcome.statuses.items()))}")
    assert not any(status >= 500 and status != 503 for status in outcome.statuses)
    compare(engine, description, outcome)


def run_kill(url, arguments):
    """A service that is killed again and again."""
    n = 400 * arguments.kills
    engine, description, tokens = make_study(url, n, n)
    service, done, outcomes = Service(url, arguments.workers), threading.Event(), []
    rng, start = np.random.default_rng(0), time.monotonic()
    rehearsal = Rehearsal(service.address, tokens, people(n), Habits(late=0.1, duplicate=0.1))
    load = threading.Thread(target=lambda: outcomes.append(rehearsal.run(8, done.is_set)))
    load.start()
    n_kills = 0
    try:
        while n_kills < arguments.kills and load.is_alive() and time.monotonic() < start + LIMIT:
            time.sleep(rng.uniform(0.05, 2.0))
            service.kill()
            n_kills += 1
            service.start()
        time.sleep(2.0)
    finally:
        done.set()
        load.join()
        service.kill()
    print(f"{engine.dialect.name}: killed {n_kills} times in {time.monotonic() - start:.0f} s")
    compare(engine, description, outcomes[0], n_unheard=8)


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("crowd", "kill"))
    parser.add_argument("--database", help="URL of an empty database (default: SQLite)")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=50)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = arguments.database or f"sqlite:///{Path(folder)}/collection.db"
        (run_crowd if arguments.what == "crowd" else run_kill)(url, arguments)


if __name__ == "__main__":
    main()
