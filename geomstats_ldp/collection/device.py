"""A device that answers once, whatever is killed meanwhile.

The report is on the disk before it is sent for the first time. A device that starts again sends
what it finds there, and never draws a second time.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path

from geomstats_ldp.collection.course import check_study
from geomstats_ldp.collection.scouts import ScoutedStudy
from geomstats_ldp.exceptions import AlreadyAnsweredError, CollectionError, ProtocolError
from geomstats_ldp.files import write_text
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Message, Protocol
from geomstats_ldp.scouting import NormHistogram, NormParticipant
from geomstats_ldp.serialization import BAD_CONTENT, LONG_TEXT, parse_json


def answer(client, fingerprint, datum, path, group=None):
    """Answer the question of a token, or send again what was drawn for it before.

    Parameters
    ----------
    client : Client
    fingerprint : str
        Of the protocol that was published.
    datum : array-like
        It is not looked at if there is a report already. One that cannot be used as it is is
        refused before anything is asked; a device that is past this point answers in any case.
    path : path-like
        File of this token, which keeps the report.
    group : str, optional
        Name of the group that the owner has chosen, where the protocol has groups with an epsilon
        of their own. The device answers no question of another.

    Returns
    -------
    is_new : bool
        False if a report from before was sent.

    Raises
    ------
    CollectionError
        If the service refuses or does not answer in time; try again with the same file.
    DatumError
        Naming what is wrong, without the datum; nothing has been sent.
    ProtocolError
        If the service has another protocol, or that has no such group, or the study that it asks
        about is not what was published with what scouts have found.
    """
    path = Path(path)
    is_new = not path.exists()
    if is_new:
        published = client.published(fingerprint)
        is_scouted = isinstance(published, ScoutedStudy)
        draw = _draw_of_scouted if is_scouted else _draw
        _keep(path, _report(draw(client, published, datum, group)))
    client.report(_read(path))
    return is_new


def _draw(client, protocol, datum, group):
    """Message of a participant in a study whose protocol was published."""
    participant = Participant(protocol, fingerprint=protocol.fingerprint, group=group)
    participant.check(datum)
    return participant.respond(client.question(group), datum)


def _draw_of_scouted(client, published, datum, group):
    """Message of a participant in a study that asks scouts first, scout or not.

    Which question it answers depends on when it asks, and on nothing of the datum.
    """
    if group is not None:
        raise ProtocolError(f"group must be left out: the study has none; got {group!r}")
    Participant(published.example, max_epsilon=published.epsilon).check(datum)
    query = client.question()
    protocol = asked_by(published, query, client.scouted)
    if isinstance(protocol, NormHistogram):
        return answer_norm(protocol, query, datum)
    agreed = {"fingerprint": query.fingerprint, "max_epsilon": published.epsilon}
    return Participant(protocol, **agreed).respond(query, datum)


def asked_by(published, query, scouted):
    """Protocol, or histogram of norms, that a question belongs to.

    ``scouted()`` is what the service says that scouts have found, where the study has begun.
    """
    if isinstance(published, Protocol):
        return published
    for question in (published.plan.norms, published.plan.start):
        if question is not None and question.fingerprint == query.fingerprint:
            return question
    return check_study(published, scouted())


def answer_norm(histogram, query, datum):
    """Message of a scout about the norm of a datum, by the `NormHistogram` that was published."""
    participant = NormParticipant(histogram, fingerprint=query.fingerprint)
    return Message(query.fingerprint, query.round, query.index, None, participant.respond(datum))


def draw_report(protocol, query, datum):
    """Text of the report of a participant who knows that this is the protocol, or histogram."""
    if isinstance(protocol, NormHistogram):
        return _report(answer_norm(protocol, query, datum))
    group = protocol.group_of(query.index)
    participant = Participant(protocol, fingerprint=protocol.fingerprint, group=group)
    return _report(participant.respond(query, datum))


def _report(message):
    """Text of a report, under an identifier that nobody can guess."""
    return f'{{"report_id":"{secrets.token_urlsafe(24)}","message":{message.to_json()}}}'


def _keep(path, text):
    """Put a report on the disk, unless another process of this device was faster."""

    def check():
        if path.exists():
            raise AlreadyAnsweredError("another process has answered")

    try:
        write_text(path, text, check, mode=0o600)
    except AlreadyAnsweredError:
        return  # its report is the one to send; this draw is forgotten


def _read(path):
    text = path.read_text(encoding="utf-8")
    try:
        record = parse_json(text, LONG_TEXT)
        if record.keys() != {"report_id", "message"}:
            raise ValueError("other fields")
    except BAD_CONTENT as error:
        raise CollectionError(f"{path} must hold a report; it is damaged") from error
    return json.dumps(record)
