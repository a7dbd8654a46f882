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

from geomstats_ldp.collection import course, store, study, tables
from geomstats_ldp.collection.commands import DATABASE
from geomstats_ldp.collection.ledger import Ledger
from geomstats_ldp.collection.migrations import migrate
from geomstats_ldp.collection.scouts import ScoutedStudy
from geomstats_ldp.collection.times import cut_down
from geomstats_ldp.exceptions import CollectionError, NotReadyError
from geomstats_ldp.files import write_text
from geomstats_ldp.options import write_json, write_picture
from geomstats_ldp.serialization import BAD_CONTENT, parse_json
from geomstats_ldp.validation import check_integer

#: Longest file of answers of scouts, in characters.
_LONGEST_EXPORT = 2**30


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
    published = study.make_published(description)
    text, path = published.to_json(), Path("protocol.json")
    if path.exists() and path.read_bytes() != text.encode():
        raise CollectionError(f"{path} is of another collection; work in a folder of its own")
    engine = tables.connect(arguments.database)
    tables.make_file(engine)
    migrate(engine)
    opened = cut_down(time.time(), description["service"]["time_precision_seconds"])
    with tables.writing_alone(engine) as connection:
        if store.has_study(connection):
            raise CollectionError("the database holds a collection already; name another")
        key = store.add_study(connection, published, description, opened)
    write_text(path, text)
    for line in published_lines(published):
        print(line)
    print(f"protocol     {path}")
    print(f"fingerprint  {published.fingerprint}")
    print(f"admin key    {key}")
    print("Publish protocol and fingerprint. Keep the admin key: it is written nowhere else.")


def published_lines(published):
    """What everybody is asked, in words."""
    if isinstance(published, ScoutedStudy):
        yield f"scouts       {published.n_participants} a round, asked for {published.names}"
        yield f"epsilon      {published.epsilon:g}, scout or not"
        return
    for name, mechanism in published.mechanisms.items():
        yield str(mechanism if name is None else f"{name}: {mechanism}")
    yield f"rounds       {published.rounds.sizes or published.rounds.n_rounds}"


def serve(arguments):
    """Run the service until it is stopped."""
    import uvicorn

    from geomstats_ldp.collection.worker import CLIENT_RATE

    ledger = _open(arguments)  # says what is wrong before any worker starts
    ledger.engine.dispose()
    os.environ[DATABASE] = arguments.database
    os.environ[CLIENT_RATE] = str(arguments.client_rate)
    print(
        f"serving {ledger.study.fingerprint[:12]} at http://{arguments.host}:{arguments.port}",
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
    fingerprint = ledger.study.fingerprint
    for token in tokens:
        print(f"{arguments.url.rstrip('/')}/#token={token}&fingerprint={fingerprint}")


def status(arguments):
    """Print how far the collection is, once or as a live line."""
    ledger = _open(arguments)
    ledger.follow()
    if not arguments.watch:
        print("\n".join(_status_lines(ledger)))
        return
    while not ledger.has_ended:
        _watch(ledger)


def _watch(ledger):
    """A live line, until the open stage ends."""
    stage = ledger.view.stage
    rounds = stage.protocol.rounds
    with tqdm(total=rounds.n_participants, unit=" answers") as line:
        while stage is ledger.view.stage and not ledger.has_ended:
            ledger.follow()
            server = ledger.view_of(stage.first).server
            line.set_description(f"{stage.name}, round {min(server.round + 1, rounds.n_rounds)}")
            line.update(server.n_participants - line.n)
            time.sleep(0.5)


def _status_lines(ledger):
    stage, server = ledger.view.stage, ledger.server
    rounds, answers = stage.protocol.rounds, server.state.counts.sum(axis=1).tolist()
    for name, value in ledger.found().items():
        if name != "protocol":
            yield f"scouts: {name} {value}"
    if not stage.is_study:
        yield f"scouts are being asked: {stage.name}"
    with tables.reading(ledger.engine) as connection:
        dealt = store.questions_by_round(connection)
    yield "round   planned   asked   answered"
    for number in range(rounds.n_rounds):
        planned = "open" if rounds.sizes is None else rounds.sizes[number]
        mark = "*" if number == server.round else " "
        counts = f"{dealt.get(stage.first + number, 0):8d}{sum(answers[number : number + 1]):11d}"
        yield f"{number + 1:4d}{mark}{planned:>11}{counts}"
    if server.protocol.groups is not None:
        for name, count in zip(server.protocol.mechanisms, server.answers_by_group()):
            yield f"group {name}: {count} answers"
    try:
        result = study.summarise(ledger.study.description, _study_server(ledger))
        yield from _region_lines(result)
    except NotReadyError as error:
        yield f"no region yet: {error}"


def _region_lines(record):
    yield f"estimate {np.round(record['estimate'], 4).tolist()}"
    yield f"largest radius of its 95% region {record['largest_radius']:.4g}"


def close_round(arguments):
    """Close the open round."""
    ledger = _open(arguments)
    ledger.follow()
    view, number = ledger.view, ledger.server.round
    if ledger.has_ended:
        raise NotReadyError(f"all {number} rounds are closed")
    ledger.close_round(view.number)
    print(f"round {number + 1} is closed with {view.server.n_participants} answers in all")


def result(arguments):
    """Write estimate and region, and a picture of it."""
    ledger = _open(arguments)
    ledger.follow()
    server = _study_server(ledger)
    record = study.summarise(ledger.study.description, server)
    print(f"{record['n_participants']} participants")
    print("\n".join(_region_lines(record)))
    write_json(arguments.output.with_suffix(".json"), record)
    figure = study.picture(ledger.study.description, server)
    write_picture(arguments.output.with_suffix(".png"), figure)


def export(arguments):
    """Write the transcript, and what scouts have answered where there were some."""
    ledger = _open(arguments)
    transcript = ledger.transcript()
    transcript.save(arguments.output)
    print(f"wrote {len(transcript)} messages to {arguments.output}")
    if ledger.outcomes:
        answers = ledger.answers_of_scouts()
        path = arguments.output.with_suffix(".scouts.json")
        record = {"published": ledger.study.published, "answers": answers, "found": ledger.found()}
        write_text(path, json.dumps(record) + "\n")
        print(f"wrote {sum(map(len, answers.values()))} answers of scouts to {path}")


def check_scouts(arguments):
    """Say whether the study follows from what scouts have answered."""
    try:
        record = parse_json(arguments.file.read_text(encoding="utf-8"), _LONGEST_EXPORT)
        published = ScoutedStudy.from_json(record["published"], arguments.fingerprint)
        protocol = course.check_scouts(published, record["answers"], record["found"])
    except BAD_CONTENT as error:
        raise CollectionError(f"{arguments.file} does not hold: {error}") from error
    print(f"the study follows from the answers of the scouts; fingerprint {protocol.fingerprint}")


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
        return Ledger(engine, store.read_study(connection), stage_after=course.stage_after)


def _study_server(ledger):
    """Server of the study itself, or NotReadyError while scouts are asked."""
    if not ledger.view.stage.is_study:
        raise NotReadyError("scouts are being asked; the study follows")
    return ledger.server
