"""What a collection keeps, statement by statement; transactions are the caller's."""

from __future__ import annotations

import hashlib
import json
import secrets
from typing import NamedTuple

import numpy as np
from sqlalchemy import text

from geomstats_ldp.collection.codes import column_coords, column_of, from_columns, to_columns
from geomstats_ldp.exceptions import NotReadyError
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.protocol.groups import rows_by_group


class Study(NamedTuple):
    """What was fixed when the collection was made.

    Attributes
    ----------
    published : str
        Text whose SHA-256 is the fingerprint of the collection.
    protocol : Protocol or None
        What it says; None where scouts are asked first, and the protocol follows from them.
    description : dict
        The study file.
    admin_hash : bytes
    opened : int
        Second of the epoch, cut to the precision of the study.
    """

    published: str
    protocol: Protocol | None
    description: dict
    admin_hash: bytes
    opened: int

    @property
    def fingerprint(self):
        """SHA-256 of what was published."""
        return hashlib.sha256(self.published.encode()).hexdigest()

    @property
    def service(self):
        """Lease, deadline and precision, in seconds."""
        return self.description["service"]


class Closing(NamedTuple):
    """A round that was closed.

    Attributes
    ----------
    last_report : int
        Number of the last report that was counted.
    place : tuple of array
        Point that the next round asks around, and the map of its offsets or directions where the
        plan has such maps; empty with an outcome.
    outcome : dict or None
        What scouts have found, with their last round.
    """

    last_report: int
    place: tuple
    outcome: dict | None


class Reports(NamedTuple):
    """Reports in the order in which they came: numbers, queries that they answer, messages."""

    ids: np.ndarray
    rounds: np.ndarray
    directions: np.ndarray
    coords: np.ndarray


def digest(secret):
    """SHA-256 of a token or key; they are random, so that nothing slower is needed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


# ------------------------------------------------------------------ study and invitations

_ADD_STUDY = text(
    "INSERT INTO study (id, protocol, description, admin_hash, opened) "
    "VALUES (1, :protocol, :description, :admin_hash, :opened)"
)


def add_study(connection, published, description, opened):
    """Keep what a collection is, and return its admin key, which is kept nowhere."""
    key = secrets.token_urlsafe(32)
    record = {
        "protocol": published.to_json(),
        "description": json.dumps(description),
        "admin_hash": digest(key),
        "opened": opened,
    }
    connection.execute(_ADD_STUDY, record)
    return key


def read_study(connection):
    """The `Study` of a database, or NotReadyError."""
    row = connection.execute(
        text("SELECT protocol, description, admin_hash, opened FROM study")
    ).first()
    if row is None:
        raise NotReadyError("the database holds no collection; `collect new` makes one")
    description = json.loads(row.description)
    protocol = None if description.get("scouts") else Protocol.from_json(row.protocol)
    return Study(row.protocol, protocol, description, bytes(row.admin_hash), row.opened)


def has_study(connection):
    """Whether the database holds a collection."""
    return connection.execute(text("SELECT count(*) FROM study")).scalar() > 0


def add_invitations(connection, count):
    """Make tokens, and return them; their hashes alone are kept."""
    tokens = [secrets.token_urlsafe(32) for _ in range(count)]
    rows = [{"token_hash": digest(token)} for token in tokens]
    connection.execute(text("INSERT INTO invitations (token_hash) VALUES (:token_hash)"), rows)
    return tokens


# ------------------------------------------------------------------ questions

_STANDING = text(
    "SELECT q.round, q.direction, q.lease_until, r.report_id FROM invitations i "
    "LEFT JOIN reports r ON r.token_hash = i.token_hash "
    "LEFT JOIN questions q ON q.token_hash = i.token_hash "
    "WHERE i.token_hash = :token_hash ORDER BY q.round DESC LIMIT 1"
)

_DEAL = text(
    "INSERT INTO questions (token_hash, round, direction, lease_until) "
    "VALUES (:token_hash, :round, :direction, :lease_until) ON CONFLICT DO NOTHING"
)

_RENEW = text(
    "UPDATE questions SET lease_until = :lease_until "
    "WHERE token_hash = :token_hash AND round = :round"
)

_TAKEN = text(
    "SELECT q.direction, count(*) FROM questions q "
    "LEFT JOIN reports r ON r.token_hash = q.token_hash AND r.round = q.round "
    "WHERE q.round = :round AND (q.lease_until > :now OR r.id IS NOT NULL) GROUP BY q.direction"
)


def standing(connection, token_hash):
    """Round, direction and lease of the last question of a token, and its report, as a row.

    What there is not is None, and so is the row of a token that is unknown.
    """
    return connection.execute(_STANDING, {"token_hash": token_hash}).first()


def deal(connection, token_hash, round, direction, lease_until):
    """Keep a question, unless the token has one of this round."""
    values = {"token_hash": token_hash, "round": round, "direction": direction}
    connection.execute(_DEAL, values | {"lease_until": lease_until})


def renew(connection, token_hash, round, lease_until):
    """Extend the lease of a question."""
    connection.execute(
        _RENEW, {"token_hash": token_hash, "round": round, "lease_until": lease_until}
    )


def taken(connection, round, now, n_directions):
    """Questions of a round that are answered or under lease, shape [n_directions]."""
    counts = np.zeros(n_directions, dtype=np.int64)
    for direction, count in connection.execute(_TAKEN, {"round": round, "now": now}):
        counts[direction] = count
    return counts


def questions_by_round(connection):
    """How many questions were dealt, by round."""
    rows = connection.execute(text("SELECT round, count(*) FROM questions GROUP BY round"))
    return {number: count for number, count in rows}


# ------------------------------------------------------------------ reports

_ADD_REPORT = text(
    "INSERT INTO reports (token_hash, report_id, round, direction, candidate, grid) "
    "SELECT token_hash, :report_id, round, direction, :candidate, :grid FROM questions "
    "WHERE token_hash = :token_hash AND round = :round AND direction = :direction "
    "ON CONFLICT DO NOTHING"
)

_REPORT_OF = text(
    "SELECT token_hash, report_id, round, direction, candidate, grid FROM reports "
    "WHERE token_hash = :token_hash OR report_id = :report_id"
)

_READ = (
    "SELECT id, round, direction, {} FROM reports "
    "WHERE id > :after AND id <= :last AND round >= :first AND round < :stop "
    "ORDER BY id LIMIT :limit"
)

_READ_COLUMNS = text(
    "SELECT candidate, grid FROM reports "
    "WHERE id <= :last AND round >= :first AND round < :stop ORDER BY id"
)


def add_report(connection, token_hash, report_id, message, number):
    """Keep a report to a round and so spend its token: one statement, held by unique constraints.

    Returns
    -------
    outcome : {"stored", "repeated", "conflict", "unasked", "unknown"}
        "repeated" for the same report once more, "conflict" if token or identifier belong to
        another, "unasked" if the token was never dealt this question.
    """
    values = {
        "token_hash": token_hash,
        "report_id": report_id,
        "round": number,
        "direction": message.index,
        **to_columns(message.candidate),
    }
    if connection.execute(_ADD_REPORT, values).rowcount == 1:
        return "stored"
    known = connection.execute(_REPORT_OF, values).all()
    if known:
        same = all(tuple(map(_plain, row)) == tuple(values.values()) for row in known)
        return "repeated" if same else "conflict"
    return "unknown" if standing(connection, token_hash) is None else "unasked"


def _plain(value):
    return bytes(value) if isinstance(value, memoryview) else value


def last_report(connection):
    """Number of the last report, 0 if there is none."""
    return connection.execute(text("SELECT max(id) FROM reports")).scalar() or 0


def read_reports(connection, stage, after, last, limit):
    """`Reports` to a stage numbered from after `after` to `last`, the first `limit` of them."""
    protocol = stage.protocol
    span = {"after": after, "last": last, "limit": limit, "first": stage.first, "stop": stage.stop}
    column = column_of(protocol.mechanism)  # that of all groups is of one kind
    rows = connection.execute(text(_READ.format(column)), span).all()
    ids, rounds, directions, held = list(zip(*rows)) or [()] * 4
    ids, rounds, directions = (np.array(part, dtype=np.int64) for part in (ids, rounds, directions))
    messages = np.empty((len(rows), protocol.dim))
    for mechanism, part in rows_by_group(protocol, directions):
        messages[part] = column_coords(mechanism, [held[place] for place in part])
    return Reports(ids, rounds - stage.first, directions, messages)


def read_candidates(connection, stage, last):
    """What the messages to a stage held, in the order of the reports up to `last`."""
    span = {"first": stage.first, "stop": stage.stop, "last": last}
    return [from_columns(*row) for row in connection.execute(_READ_COLUMNS, span)]


# ------------------------------------------------------------------ closings


_ADD_CLOSING = text(
    "INSERT INTO closings (round, last_report, center, closed) "
    "VALUES (:round, :last_report, :center, :closed) ON CONFLICT DO NOTHING"
)


def add_closing(connection, round, last_report, center, closed):
    """Keep that a round was closed, unless another worker has.

    `center` is the point that the next round asks around, a record of it with its "stretch", or one
    of what scouts have found.
    """
    values = {"round": round, "last_report": last_report, "closed": closed}
    connection.execute(_ADD_CLOSING, values | {"center": json.dumps(center)})


def closing(connection, round):
    """`Closing` of a round, or None while it is open."""
    row = connection.execute(
        text("SELECT last_report, center FROM closings WHERE round = :round"), {"round": round}
    ).first()
    if row is None:
        return None
    value = json.loads(row.center)
    if not isinstance(value, dict):
        return Closing(row.last_report, (np.array(value),), None)
    if "stretch" in value:
        place = np.array(value["center"]), np.array(value["stretch"])
        return Closing(row.last_report, place, None)
    return Closing(row.last_report, (), value)


def opening_time(connection, round):
    """Second of the epoch, cut, at which a round was opened; None for the first."""
    return connection.execute(
        text("SELECT closed FROM closings WHERE round = :round"), {"round": round - 1}
    ).scalar()
