"""What the service does with a request, behind HTTP."""

from __future__ import annotations

import hmac
import json
import re
import time
from functools import lru_cache

from geomstats_ldp.collection import store, tables
from geomstats_ldp.collection.codes import check_candidate_of
from geomstats_ldp.collection.dealing import Dealer
from geomstats_ldp.collection.ledger import Ledger
from geomstats_ldp.collection.stages import study_alone
from geomstats_ldp.collection.times import cut_up
from geomstats_ldp.collection.web import Refusal
from geomstats_ldp.collection.writer import Writer
from geomstats_ldp.exceptions import MessageError, ProtocolError
from geomstats_ldp.protocol import Message, Query
from geomstats_ldp.serialization import BAD_CONTENT, canonical_json

#: Identifiers that devices choose.
REPORT_ID = re.compile(r"[A-Za-z0-9_-]{16,64}")

#: Longest time, in seconds, after which a device asks again where there is nothing to answer.
_LONGEST_WAIT = 60

#: Tokens that can be made at once.
MOST_TOKENS = 100_000


class Service:
    """A worker of a collection; any number of them share a database. Parameters as of `Ledger`."""

    def __init__(self, engine, clock=time.time, stage_after=study_alone):
        self.engine, self.clock = engine, clock
        with tables.reading(engine) as connection:
            self.study = store.read_study(connection)
        self.ledger = Ledger(engine, self.study, clock, stage_after)
        self.dealer = Dealer(engine, self.ledger, clock)
        self.writer = Writer(engine)
        self._query_text = lru_cache(maxsize=4096)(self._make_query_text)

    def close(self):
        """Answer what waits, and let go of the database."""
        self.writer.close()
        self.engine.dispose()

    # ---------------------------------------------------------------- questions

    def question_job(self, token, group=None):
        """Job that deals a question to a token, and returns its JSON text or a Refusal.

        `group` is the name of the group that the person has chosen, where the protocol has groups;
        Refusal if there is none of that name.
        """
        token_hash = store.digest(token)
        try:
            asked = self.ledger.view.stage.protocol.queries_of(group)
        except ProtocolError as error:
            text = "group must be one of the protocol, and left out where it has none"
            raise Refusal(422, "bad_group", text) from error

        def job(connection):
            try:
                number, direction, lease_until = self._question(connection, token_hash, asked)
                _check_group(direction, asked)
                query = self._query_text(number, direction)
            except Refusal as refusal:
                return refusal
            return f'{{"query":{query},"lease_until":{lease_until}}}'

        return job

    def _question(self, connection, token_hash, asked):
        known = store.standing(connection, token_hash)
        if known is None:
            raise Refusal(401, "unknown_token", "this invitation is not known here")
        if known.report_id is not None:
            raise Refusal(409, "token_spent", "this invitation has been answered")
        if known.round is not None and known.lease_until > self.clock():
            return known.round, known.direction, known.lease_until
        if self.ledger.has_ended:
            raise Refusal(410, "ended", "the study has ended")
        service = self.study.service
        lease_until = cut_up(
            self.clock() + service["lease_seconds"], service["time_precision_seconds"]
        )
        if known.round == self.ledger.view.number:
            store.renew(connection, token_hash, known.round, lease_until)
            return known.round, known.direction, lease_until
        _check_group(known.direction, asked)
        dealt = self.dealer.deal(asked)
        if dealt is None:
            wait = min(_LONGEST_WAIT, service["lease_seconds"] / 20)
            raise Refusal(503, "no_question", "there is no question now; ask again later", wait)
        store.deal(connection, token_hash, *dealt, lease_until)
        # The same token may have asked elsewhere at the same time.
        known = store.standing(connection, token_hash)
        return known.round, known.direction, known.lease_until

    def _make_query_text(self, number, direction):
        view = self.ledger.view_of(number)
        if view is None or number - view.stage.first >= view.server.state.n_opened:
            # Another worker has opened the round.
            raise Refusal(503, "behind", "this worker does not know the round yet; ask again", 1)
        local = number - view.stage.first
        point = view.server.points(local)[direction]
        asked = local, direction, "round", point, view.server.directions(local, direction)
        return Query(view.stage.protocol.fingerprint, *asked).to_json()

    # ---------------------------------------------------------------- reports

    def report_job(self, token, record):
        """Job that stores a report, and returns whether it was new or a Refusal.

        `record` is the body of the request; Refusal if it can be no report, whatever is stored.
        """
        token_hash, report_id = store.digest(token), record["report_id"]
        if not isinstance(report_id, str) or not REPORT_ID.fullmatch(report_id):
            raise Refusal(422, "bad_report_id", "report_id must be 16 to 64 of A-Z a-z 0-9 _ -")
        message, number = self._read_message(record["message"])

        def job(connection):
            outcome = store.add_report(connection, token_hash, report_id, message, number)
            return _OUTCOMES.get(outcome, outcome == "stored")

        return job

    def _read_message(self, record):
        """Message of a record, and the number of the round that it answers."""
        try:
            message = Message.from_json(json.dumps(record))
        except (MessageError, *BAD_CONTENT) as error:
            raise Refusal(422, "bad_message", "message must be a Message") from error
        stages = {view.stage.protocol.fingerprint: view.stage for view in self.ledger.views}
        if message.fingerprint not in stages:
            raise Refusal(422, "foreign_message", "message must answer the protocol of this study")
        stage = stages[message.fingerprint]
        protocol = stage.protocol
        if message.round >= protocol.rounds.n_rounds or message.index >= protocol.n_query_points:
            raise Refusal(422, "bad_message", "message must answer a question of this study")
        try:
            mechanism = protocol.mechanisms[protocol.group_of(message.index)]
            check_candidate_of(mechanism, message.candidate)
        except BAD_CONTENT as error:
            raise Refusal(422, "bad_message", "message must hold a candidate") from error
        return message, stage.first + message.round

    # ---------------------------------------------------------------- what is public, and admin

    def status(self):
        """Public numbers: rounds of the open stage, their sizes and answers, and which is open."""
        view, has_ended = self.ledger.view, self.ledger.has_ended
        server, protocol = view.server, view.stage.protocol
        n_rounds, sizes = protocol.rounds.n_rounds, protocol.rounds.sizes
        answers = server.state.counts.sum(axis=1).tolist()
        extra = {}
        if protocol.groups is not None:
            extra["groups"] = dict(zip(protocol.mechanisms, server.answers_by_group()))
        if self.study.protocol is None:
            extra["stage"] = view.stage.name
        return extra | {
            "n_rounds": n_rounds,
            "sizes": None if sizes is None else list(sizes),
            "answers": answers + [0] * (n_rounds - len(answers)),
            "n_participants": sum(answers),
            "minimum": protocol.rounds.minimum,
            "open_round": None if has_ended else server.round,
            "ended": has_ended,
            "fingerprint": self.study.fingerprint,
        }

    def scouted(self):
        """JSON text of what scouts have found, with the protocol of the study, or Refusal."""
        if len(self.ledger.views) == 1 or not self.ledger.view.stage.is_study:
            raise Refusal(409, "not_ready", "no protocol has followed from scouts")
        return canonical_json(self.ledger.found())

    def check_admin(self, key):
        """Refusal unless it is the admin key."""
        if not hmac.compare_digest(store.digest(key), self.study.admin_hash):
            raise Refusal(401, "not_admin", "this needs the admin key")

    def invitations_job(self, count):
        """Job that makes tokens and returns them; Refusal if the number is not allowed."""
        if type(count) is not int or not 1 <= count <= MOST_TOKENS:
            raise Refusal(422, "bad_count", f"count must be an integer from 1 to {MOST_TOKENS}")
        return lambda connection: store.add_invitations(connection, count)


def _check_group(direction, asked):
    """Refuse another group than that of the question that an invitation has had, if any."""
    if direction is not None and direction not in asked:
        raise Refusal(409, "other_group", "this invitation has been asked for another group")


#: What is said about a report that was not stored now; nothing for one that was stored before.
_OUTCOMES = {
    "conflict": Refusal(409, "conflict", "this invitation or identifier belongs to another report"),
    "unasked": Refusal(409, "not_asked", "this invitation was never asked this question"),
    "unknown": Refusal(401, "unknown_token", "this invitation is not known here"),
}
