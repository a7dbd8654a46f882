"""What the commands of ``geomstats-ldp collect`` do."""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
from sqlalchemy.exc import SQLAlchemyError
from tqdm.auto import tqdm

from geomstats_ldp.collection import store, study, tables
from geomstats_ldp.collection.ledger import Ledger
from geomstats_ldp.collection.migrations import migrate
from geomstats_ldp.collection.times import cut_down
from geomstats_ldp.exceptions import CollectionError, NotReadyError
from geomstats_ldp.files import write_figure, write_text
from geomstats_ldp.validation import check_integer


@contextmanager
def plain_errors():
    """Errors of databases in one line, which holds no parameters."""
    try:
        yield
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).partition("\n")[0]
        raise CollectionError(f"the database refuses: {reason}") from error


def new(arguments):
    """Make the database and write the protocol."""
    description = study.read_study_file(arguments.study.read_text(encoding="utf-8"))
    protocol = study.make_study_protocol(description)
    text, path = protocol.to_json(), Path("protocol.json")
    if path.exists() and path.read_bytes() != text.encode():
        raise CollectionError(f"{path} is of another collection; work in a folder of its own")
    engine = tables.connect(arguments.database)
    tables.make_file(engine)
    migrate(engine)
    opened = cut_down(time.time(), description["service"]["time_precision_seconds"])
    with tables.writing_alone(engine) as connection:
        if store.has_study(connection):
            raise CollectionError("the database holds a collection already; name another")
        key = store.add_study(connection, protocol, description, opened)
    write_text(path, text)
    for name, mechanism in protocol.mechanisms.items():
        print(mechanism if name is None else f"{name}: {mechanism}")
    print(f"rounds       {protocol.rounds.sizes or protocol.rounds.n_rounds}")
    print(f"protocol     {path}")
    print(f"fingerprint  {protocol.fingerprint}")
    print(f"admin key    {key}")
    print("Publish protocol and fingerprint. Keep the admin key: it is written nowhere else.")


def serve(arguments):
    """Run the service until it is stopped."""
    import uvicorn

    from geomstats_ldp.collection.worker import CLIENT_RATE, DATABASE

    ledger = _open(arguments)  # says what is wrong before any worker starts
    ledger.engine.dispose()
    os.environ[DATABASE] = arguments.database
    os.environ[CLIENT_RATE] = str(arguments.client_rate)
    print(
        f"serving {ledger.study.protocol.fingerprint[:12]} at "
        f"http://{arguments.host}:{arguments.port}",
        flush=True,
    )
    uvicorn.run(
        "geomstats_ldp.collection.worker:make_worker",
        factory=True,
        host=arguments.host,
        port=arguments.port,
        workers=arguments.workers,
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=10,
    )


def invite(arguments):
    """Print links, one a line."""
    check_integer("--count", arguments.count, 1)
    ledger = _open(arguments)
    with tables.writing(ledger.engine) as connection:
        tokens = store.add_invitations(connection, arguments.count)
    fingerprint = ledger.study.protocol.fingerprint
    for token in tokens:
        print(f"{arguments.url.rstrip('/')}/#token={token}&fingerprint={fingerprint}")


def status(arguments):
    """Print how far the collection is, once or as a live line."""
    ledger = _open(arguments)
    ledger.follow()
    if not arguments.watch:
        print("\n".join(_status_lines(ledger)))
        return
    rounds = ledger.study.protocol.rounds
    with tqdm(total=rounds.n_participants, unit=" answers") as line:
        while not ledger.server.is_complete:
            ledger.follow()
            line.set_description(f"round {min(ledger.server.round + 1, rounds.n_rounds)}")
            line.update(ledger.server.n_participants - line.n)
            time.sleep(0.5)


def _status_lines(ledger):
    server, rounds = ledger.server, ledger.study.protocol.rounds
    answers = server.state.counts.sum(axis=1).tolist()
    with tables.reading(ledger.engine) as connection:
        dealt = store.questions_by_round(connection)
    yield "round   planned   asked   answered"
    for number in range(rounds.n_rounds):
        planned = "open" if rounds.sizes is None else rounds.sizes[number]
        mark = "*" if number == server.round else " "
        counts = f"{dealt.get(number, 0):8d}{sum(answers[number : number + 1]):11d}"
        yield f"{number + 1:4d}{mark}{planned:>11}{counts}"
    if server.protocol.groups is not None:
        for name, count in zip(server.protocol.mechanisms, server.answers_by_group()):
            yield f"group {name}: {count} answers"
    try:
        result = study.summarise(ledger.study.description, server)
        yield f"estimate {np.round(result['estimate'], 4).tolist()}"
        yield f"largest radius of its 95% region {result['largest_radius']:.4g}"
    except NotReadyError as error:
        yield f"no region yet: {error}"


def close_round(arguments):
    """Close the open round."""
    ledger = _open(arguments)
    ledger.follow()
    number = ledger.server.round
    if ledger.server.is_complete:
        raise NotReadyError(f"all {number} rounds are closed")
    ledger.close_round(number)
    print(f"round {number + 1} is closed with {ledger.server.n_participants} answers in all")


def result(arguments):
    """Write estimate and region, and a picture of it."""
    ledger = _open(arguments)
    ledger.follow()
    record = study.summarise(ledger.study.description, ledger.server)
    text = json.dumps(record, indent=2, allow_nan=False) + "\n"
    path = arguments.output.with_suffix(".json")
    write_text(path, text)
    figure = study.picture(ledger.study.description, ledger.server)
    write_figure(path.with_suffix(".png"), figure)
    print(f"{record['n_participants']} participants")
    print(f"estimate {np.round(record['estimate'], 4).tolist()}")
    print(f"largest radius of its 95% region {record['largest_radius']:.4g}")
    print(f"wrote {path} and {path.with_suffix('.png')}")


def export(arguments):
    """Write the transcript."""
    transcript = _open(arguments).transcript()
    transcript.save(arguments.output)
    print(f"wrote {len(transcript)} messages to {arguments.output}")


def answer(arguments):
    """Answer as a device."""
    from geomstats_ldp.collection.client import Client
    from geomstats_ldp.collection.device import answer as answer_once

    url = urlsplit(arguments.url)
    link = {name: values[-1] for name, values in parse_qs(url.fragment).items()}
    token = arguments.token or link.get("token")
    fingerprint = arguments.fingerprint or link.get("fingerprint")
    if not token or not fingerprint:
        raise CollectionError(
            "token and fingerprint must be given, by the invitation link or by --token and "
            "--fingerprint"
        )
    group = arguments.group or link.get("group")
    name = hashlib.sha256(token.encode()).hexdigest()[:24]
    service = url._replace(path="", query="", fragment="").geturl()
    with Client(service, token, arguments.patience) as client:
        datum = read_datum(arguments.datum)
        path = arguments.keep / f"report-{name}.json"
        is_new = answer_once(client, fingerprint, datum, path, group=group)
    print("your answer is stored" if is_new else "your answer from before is stored")


def read_datum(path):
    """Vector of a CSV file of one line, or matrix of one of more lines."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of an empty file
            rows = np.loadtxt(path, delimiter=",", ndmin=2)
    except ValueError:
        rows = np.empty((0, 0))  # numpy quotes the value, which is somebody's datum
    if rows.size == 0:
        raise CollectionError(f"{path} must be a CSV file of numbers")
    return rows[0] if len(rows) == 1 else rows


def _open(arguments):
    """Ledger of the database."""
    engine = tables.connect(arguments.database)
    tables.check_exists(engine)
    migrate(engine)
    with tables.reading(engine) as connection:
        return Ledger(engine, store.read_study(connection))
