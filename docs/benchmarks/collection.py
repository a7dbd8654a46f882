"""Throughput of the collection service beside a bare route, and how long a large round takes.

    python docs/benchmarks/collection.py [--database URL] [--reports 4000] [--stored 1000000]

The bare route takes a JSON body and inserts it as one row into the same database, in a transaction
of its own: what anybody would write first. Both are measured in turn, several times, each by 8
clients on loopback that keep their connections; the best of each counts.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import resource
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from sqlalchemy import column, insert, table, text
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route

from geomstats_ldp.collection import store, study, tables
from geomstats_ldp.collection.commands import DATABASE
from geomstats_ldp.collection.ledger import Ledger
from geomstats_ldp.collection.migrations import migrate
from geomstats_ldp.collection.worker import CLIENT_RATE

STUDY = """
estimator = "PrivatePCA"
parameters = {{norm_bound = 2.0, epsilon = 4.0, initial_point = [0.3, 1.0, 0.3], \
n_rounds = 2}}
rounds = {{quota = [{n}, 10]}}
service = {{lease_seconds = 86400}}
"""


def make_bare():
    """The bare route."""
    engine = tables.connect(os.environ[DATABASE])

    def add(body):
        with engine.begin() as connection:
            connection.execute(text("INSERT INTO bare (body) VALUES (:body)"), {"body": body})

    async def report(request):
        record = await request.json()
        await run_in_threadpool(add, json.dumps(record["message"]))
        return JSONResponse({"report_id": record["report_id"]}, 201)

    return Starlette(routes=[Route("/v1/reports", report, methods=["POST"])])


class Served:
    """A process that serves a factory of applications."""

    def __init__(self, factory, url, port, workers):
        environment = {**os.environ, DATABASE: url, CLIENT_RATE: "1e9"}
        here = str(Path(__file__).parent)
        environment["PYTHONPATH"] = os.pathsep.join([os.getcwd(), here])
        command = [sys.executable, "-m", "uvicorn", "--factory", factory, "--port", str(port)]
        command += ["--no-access-log", "--log-level", "warning", "--workers", str(workers)]
        self.process, self.port = subprocess.Popen(command, env=environment), port
        while True:
            try:
                http.client.HTTPConnection("127.0.0.1", port).connect()
                return
            except ConnectionError:
                if self.process.poll() is not None:
                    raise
                time.sleep(0.1)

    def memory(self):
        """Resident memory in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def stop(self):
        """End the process."""
        self.process.terminate()
        self.process.wait()


def send(port, requests, n_clients=8):
    """Reports a second of clients that send (token, body) pairs."""
    parts, statuses = [requests[i::n_clients] for i in range(n_clients)], []

    def client(part):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for token, body in part:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            connection.request("POST", "/v1/reports", body, headers)
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)

    threads = [threading.Thread(target=client, args=(part,)) for part in parts]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) == {201}, set(statuses)
    return len(requests) / (time.perf_counter() - start)


def make_study(url, n):
    """Collection whose first round waits for n answers."""
    description = study.read_study_file(STUDY.format(n=n))
    protocol = study.make_study_protocol(description)
    engine = tables.connect(url)
    migrate(engine)
    with tables.writing_alone(engine) as connection:
        connection.execute(text("DROP TABLE IF EXISTS bare"))
        serial = "SERIAL" if engine.dialect.name == "postgresql" else "INTEGER"
        connection.execute(text(f"CREATE TABLE bare (id {serial} PRIMARY KEY, body TEXT)"))
        store.add_study(connection, protocol, description, 0)
    return engine, protocol


def insert_rows(connection, name, rows):
    """Add rows, dicts by the same columns, to a table."""
    connection.execute(insert(table(name, *map(column, rows[0]))), rows)


def ask_everybody(engine, protocol, n):
    """Tokens that were dealt a question each, with a report."""
    tokens, requests = [], []
    with tables.writing(engine) as connection:
        tokens = store.add_invitations(connection, n)
        n_directions = len(protocol.directions)
        rows = [
            {"token_hash": store.digest(token), "round": 0, "direction": i % n_directions}
            for i, token in enumerate(tokens)
        ]
        for row in rows:
            row["lease_until"] = 2**40
        insert_rows(connection, "questions", rows)
    for token, row in zip(tokens, rows):
        message = {
            "fingerprint": protocol.fingerprint,
            "round": 0,
            "index": row["direction"],
            "candidate": secrets.randbits(64),
        }
        body = {"report_id": secrets.token_urlsafe(24), "message": message}
        requests.append((token, json.dumps(body)))
    return requests


def measure_throughput(url, n, repetitions, workers):
    """Print the reports a second of both, in turn."""
    engine, protocol = make_study(url, 10**7)
    ours, bare, memory = [], [], []
    served = Served("geomstats_ldp.collection.worker:make_worker", url, 8431, workers)
    plain = Served("collection:make_bare", url, 8432, workers)
    try:
        for _ in range(repetitions):
            requests = ask_everybody(engine, protocol, n)
            bare.append(send(plain.port, requests))
            ours.append(send(served.port, requests))
            memory.append(served.memory())
    finally:
        served.stop()
        plain.stop()
    print(
        f"{engine.dialect.name}, {workers} workers, {n} reports, 8 clients, best of {repetitions}"
    )
    print(f"  bare route {max(bare):6.0f} reports/s   service {max(ours):6.0f} reports/s")
    print(f"  ratio {max(ours) / max(bare):.2f}; all: {np.round(np.divide(ours, bare), 2)}")
    print(f"  memory of the service after each repetition, MiB: {np.round(memory).tolist()}")


def measure_closing(url, n):
    """Seconds from a cold start to a closed round of n stored reports."""
    engine, protocol = make_study(url, n)
    rng, block = np.random.default_rng(0), 50_000
    with tables.writing_alone(engine) as connection:
        for start in range(0, n, block):
            candidates = rng.integers(-(2**63), 2**63 - 1, size=block)
            hashes = [secrets.token_bytes(32) for _ in range(block)]
            insert_rows(connection, "invitations", [{"token_hash": h} for h in hashes])
            rows = [
                {
                    "token_hash": h,
                    "report_id": f"report-{start + i:012d}",
                    "round": 0,
                    "direction": i % len(protocol.directions),
                    "candidate": int(candidate),
                }
                for i, (h, candidate) in enumerate(zip(hashes, candidates))
            ]
            insert_rows(connection, "reports", rows)
    with tables.reading(engine) as connection:
        ledger = Ledger(engine, store.read_study(connection))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    ledger.follow()
    seconds = time.perf_counter() - start
    assert ledger.server.n_closed == 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{engine.dialect.name}: a round of {n} stored reports read and closed, {seconds:.1f} s")
    print(f"  peak memory grew by {grown:.0f} MiB")


def main():
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--database", help="URL of an empty database (default: SQLite)")
    parser.add_argument("--reports", type=int, default=4000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--stored", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = arguments.database or f"sqlite:///{folder}/collection.db"
        if arguments.reports:
            measure_throughput(url, arguments.reports, arguments.repetitions, arguments.workers)
        if arguments.stored:
            url = arguments.database or f"sqlite:///{folder}/large.db"
            measure_closing(url, arguments.stored)


if __name__ == "__main__":
    main()
