"""The analyst's side: protocol and messages in, state out. No datum ever reaches this file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from geomstats_ldp.exceptions import (
    DuplicateMessageError,
    InvalidMessageError,
    StaleMessageError,
)
from geomstats_ldp.protocol import Message, Query, Transcript
from geomstats_ldp.server.base import alone
from geomstats_ldp.server.pair_record import PairRecord
from geomstats_ldp.server.vectors import (
    check_address,
    check_batch,
    check_rows,
    integers_of,
    is_integer_in,
    message_vector,
    refuse_rows_of_groups,
)


class Server(PairRecord):
    """Interactive collection: open queries out, private messages in.

    Threads may share a server: its methods run one at a time.

    Parameters
    ----------
    protocol : Protocol
    engine : {"auto", "compiled", "geomstats"}, default="auto"
    keep_messages : bool, default=False
        Keep the messages of all complete rounds, for `messages`.

    Attributes
    ----------
    state : State
        State after the last complete round.
    pending : dict
        Messages received for the open round, by their index in it.
    lock : threading.RLock
        Held by every method; hold it to do several things without others in between.

    Raises
    ------
    ProtocolError
        If `protocol` is no Protocol, or has rounds.
    """

    # ---------------------------------------------------------------- queries

    @alone
    def queries(self, group: str | None = None) -> list[Query]:
        """Open queries of the current round, those not answered yet.

        Parameters
        ----------
        group : str, optional
            Name of the group to ask, where the protocol has groups.

        Returns
        -------
        queries : list of Query
            Empty when all planned participants have answered, or while a pair of another group
            waits for its second answer.

        Raises
        ------
        ProtocolError
            If there is no such group.
        """
        asked = self.protocol.queries_of(group)
        if any(index not in asked for index in self.pending):
            return []
        return [
            self._query(index) for index in asked[: self.round_size()] if index not in self.pending
        ]

    # ---------------------------------------------------------------- messages

    @alone
    def receive(self, messages: Message | Iterable[Message]) -> None:
        """Take answers to open queries, all or none.

        Parameters
        ----------
        messages : Message or iterable of Message

        Raises
        ------
        MessageError
            ForeignMessageError, StaleMessageError, DuplicateMessageError or InvalidMessageError;
            the state is what it was before the call.
        """
        messages = [messages] if isinstance(messages, Message) else list(messages)
        size = self.round_size()
        accepted = dict(self.pending)
        for message in messages:
            vector = self._check(message, accepted, size)
            accepted[message.index] = vector
        if len(accepted) == size and size > 0:
            self._advance(accepted)
            accepted = {}
        self.pending = accepted

    def _check(self, message, accepted, size):
        check_address(self.protocol, message)
        if not is_integer_in(message.round, range(self.round, self.round + 1)) or size == 0:
            raise StaleMessageError(
                f"message answers round {message.round}; "
                + (f"round {self.round} is open" if size else "the collection is complete")
            )
        if not self._asks(message.index, size):
            raise InvalidMessageError(
                f"message index must be that of one of the {size} open queries; "
                f"got {message.index!r}"
            )
        if message.index in accepted:
            raise DuplicateMessageError(
                f"query {message.index} of round {self.round} has been answered already"
            )
        groups = {self.protocol.group_of(index) for index in accepted}
        if not groups <= {self.protocol.group_of(message.index)}:
            raise StaleMessageError(
                f"the open pair waits for an answer of the group {groups.pop()!r}; "
                f"got one of {self.protocol.group_of(message.index)!r}"
            )
        return message_vector(self.protocol, message, self._query(message.index).point)

    @alone
    def replay(self, vectors: np.ndarray, extend: bool = False, strict: bool = False) -> None:
        """Take many answers at once: row i answers the i-th query of the schedule from here on.

        Parameters
        ----------
        vectors : array, shape [n, *point_shape]
            They are projected to the tangent space of their query, which is public
            post-processing. Rows that do not fill a round wait for the next call.
        extend : bool, default=False
            Open the end of a collection whose plan is complete: later messages carry a new
            fingerprint, and messages kept so far, which belong to the old protocol, are let go.
        strict : bool, default=False
            Refuse rows that are no messages, which a transcript does not hold.

        Raises
        ------
        MessageError
            If the shape is wrong, an entry is not finite, or more rows come than participants
            are planned; the state is what it was before the call.

        Warns
        -----
        RawDataWarning
            If rows are not tangent at their query or out of the support of the mechanism, or all
            together less noisy than messages are.
        """
        refuse_rows_of_groups(self.protocol)
        with self._all_or_nothing():
            if extend and self.round_size() == 0:
                self.protocol, self._kept = replace(self.protocol, n_participants=None), None
            vectors = check_batch(self.protocol, vectors)
            self._check_plan(len(vectors))
            tangent, coords = np.empty_like(vectors), np.empty((len(vectors), self.protocol.dim))
            position = 0
            while self.round_size() > 0 and position < len(vectors):
                rows = (array[position:] for array in (vectors, tangent, coords))
                position += self._replay_step(*rows)
            check_rows(self.protocol.mechanism, vectors, tangent, coords, strict)

    @alone
    def replay_transcript(self, transcript: Transcript) -> None:
        """Take the messages of a transcript of this protocol, all or none.

        Parameters
        ----------
        transcript : Transcript

        Raises
        ------
        MessageError
            If they are no messages, or do not follow those that came before.
        """
        self._require_new()
        if self.protocol.groups is None:
            self.replay(transcript.messages, strict=True)
            return
        vectors = check_batch(self.protocol, transcript.messages)
        addresses = integers_of("addresses", transcript.addresses, (len(vectors), 2))
        with self._all_or_nothing():
            for (number, index), vector in zip(addresses.tolist(), vectors):
                self.receive(Message(self.protocol.fingerprint, number, index, vector))

    def _check_plan(self, n_rows):
        planned = self.protocol.n_participants
        if planned is not None and self.n_received + n_rows > planned:
            raise StaleMessageError(
                f"{planned} participants are planned and {self.n_received} have answered; "
                f"got {n_rows} more messages"
            )

    def _replay_step(self, vectors, tangent, coords):
        """Use as many rows as make sense at once, and write their parts; return how many."""
        full, size = 2 * self.protocol.pairs_per_round, self.round_size()
        planned, used = self.protocol.n_participants, len(vectors)
        used = used if planned is None else min(used, planned - self.n_participants)
        used -= used % full
        if not self.pending and size == full and used > 0:
            self._open(0)
            rows = (array[:used] for array in (vectors, tangent, coords))
            self._bring_forward(self.engine.replay_rounds, *rows)
            self._keep(vectors[:used].copy())
            return used
        free = [index for index in range(size) if index not in self.pending]
        used, geometry = min(len(free), len(vectors)), self.protocol.geometry
        for row, index in enumerate(free[:used]):
            point = self._query(index).point
            tangent[row] = geometry.to_tangent(vectors[row], point)
            coords[row] = geometry.coordinates(tangent[row], point)
        self.pending = {**self.pending, **dict(zip(free, vectors[:used].copy()))}
        if len(self.pending) == size:
            self._advance(self.pending)
            self.pending = {}
        return used
