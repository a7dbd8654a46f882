"""The analyst's side: protocol and messages in, state out. No datum ever reaches this file."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral

import numpy as np

from geomstats_ldp.exceptions import (
    DuplicateMessageError,
    InvalidMessageError,
    ProtocolError,
    StaleMessageError,
)
from geomstats_ldp.protocol import Message, Query, Transcript
from geomstats_ldp.server.base import BaseServer
from geomstats_ldp.server.checkpoint import load_checkpoint, state_arrays
from geomstats_ldp.server.locking import alone
from geomstats_ldp.server.recursion import (
    N_PAIRS,
    N_PARTICIPANTS,
    check_finite,
    copy_state,
    initial_state,
    make_scratch,
)
from geomstats_ldp.server.vectors import (
    check_address,
    check_batch,
    check_rows,
    check_vector,
    message_vector,
)


class Server(BaseServer):
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

    def __init__(self, protocol, engine="auto", keep_messages=False):
        super().__init__(protocol, engine, keep_messages)
        if protocol.rounds is not None:
            raise ProtocolError("protocol must ask pairs; this one has rounds, for RoundServer")
        geometry = protocol.geometry
        self.state = initial_state(protocol.initial_point, geometry.dim, len(protocol.directions))
        self.pending = {}
        self.scratch = make_scratch(geometry.shape, geometry.dim, protocol.pairs_per_round)
        self._round_is_open = False

    def _position(self):
        position = {"protocol": self.protocol, "state": self.state, "pending": self.pending}
        return position | {"_kept": self._kept_so_far()}

    def _return_to(self, position):
        super()._return_to(position)
        self._round_is_open = False  # it is opened again on demand

    # ---------------------------------------------------------------- clock

    @property
    def n_participants(self):
        """Participants whose message has entered the state."""
        return int(self.state.clock[N_PARTICIPANTS])

    @property
    def n_pairs(self):
        """Pairs that have entered the state."""
        return int(self.state.clock[N_PAIRS])

    @property
    @alone
    def n_received(self):
        """Participants heard from, those of the open round included."""
        return self.n_participants + len(self.pending)

    @property
    def round(self):
        """Number of the open round, counted from zero."""
        return -(-self.n_participants // (2 * self.protocol.pairs_per_round))

    @alone
    def round_size(self):
        """Answers that the open round waits for in all: pairs, one odd last participant, or 0."""
        full = 2 * self.protocol.pairs_per_round
        planned = self.protocol.n_participants
        if planned is None:
            return full
        left = max(planned - self.n_participants, 0)
        return min(full, left if left == 1 else left - left % 2)

    @property
    @alone
    def messages(self):
        """Messages of all complete rounds in the order of their queries, or None if not kept."""
        if self._kept is None:
            return None
        return np.concatenate([np.empty((0, *self.protocol.geometry.shape)), *self._kept])

    def estimate(self):
        """Running average of the iterates, shape [*point_shape]."""
        return self.state.average.copy()

    # ---------------------------------------------------------------- queries

    @alone
    def queries(self):
        """Open queries of the current round, those not answered yet.

        Returns
        -------
        queries : list of Query
            Empty when all planned participants have answered.
        """
        size = self.round_size()
        self._open(size)
        return [self._query(index, size) for index in range(size) if index not in self.pending]

    def _open(self, size):
        if not self._round_is_open and size > 1:
            self.engine.open_round(
                self.engine.geometry, self.protocol.schedule, self.state, self.scratch, size // 2
            )
        self._round_is_open = True

    def _query(self, index, size):
        if size == 1:
            side, point = "base", self.state.iterate
        else:
            side, point = ("plus", "minus")[index % 2], self.scratch.queries[index]
        return Query(self.protocol.fingerprint, self.round, index, side, point.copy())

    # ---------------------------------------------------------------- messages

    @alone
    def receive(self, messages):
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
        self._open(size)
        accepted = dict(self.pending)
        for message in messages:
            vector = self._check(message, accepted, size)
            accepted[message.index] = vector
        if len(accepted) == size and size > 0:
            self._advance(np.stack([accepted[index] for index in range(size)]))
            accepted = {}
        self.pending = accepted

    def _check(self, message, accepted, size):
        check_address(self.protocol, message)
        if not _is_integer(message.round, range(self.round, self.round + 1)) or size == 0:
            raise StaleMessageError(
                f"message answers round {message.round}; "
                + (f"round {self.round} is open" if size else "the collection is complete")
            )
        if not _is_integer(message.index, range(size)):
            raise InvalidMessageError(
                f"message index must be in [0, {size}); got {message.index!r}"
            )
        if message.index in accepted:
            raise DuplicateMessageError(
                f"query {message.index} of round {self.round} has been answered already"
            )
        return message_vector(self.protocol, message, self._query(message.index, size).point)

    @alone
    def replay(self, vectors, extend=False, strict=False):
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
    def transcript(self):
        """`Transcript` of all complete rounds, or None if messages are not kept."""
        messages = self.messages
        return None if messages is None else Transcript(self.protocol, messages)

    @alone
    def replay_transcript(self, transcript):
        """Take the messages of a `Transcript` of this protocol, all or none.

        Raises
        ------
        MessageError
            If they are no messages, or do not follow those that came before.
        """
        self._require_new()
        self.replay(transcript.messages, strict=True)

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
            rows = (array[:used] for array in (vectors, tangent, coords))
            self._bring_forward(self.engine.replay_rounds, *rows)
            self._keep(vectors[:used].copy())
            return used
        self._open(size)
        free = [index for index in range(size) if index not in self.pending]
        used, geometry = min(len(free), len(vectors)), self.protocol.geometry
        for row, index in enumerate(free[:used]):
            point = self._query(index, size).point
            tangent[row] = geometry.to_tangent(vectors[row], point)
            coords[row] = geometry.coordinates(tangent[row], point)
        self.pending = {**self.pending, **dict(zip(free, vectors[:used].copy()))}
        if len(self.pending) == size:
            self._advance(np.stack([self.pending[index] for index in range(size)]))
            self.pending = {}
        return used

    def _advance(self, vectors):
        """Close the open round."""
        if len(vectors) == 1:
            self._bring_forward(self.engine.close_single, vectors[0])
        else:
            self._bring_forward(self.engine.close_round, vectors, len(vectors) // 2)
        self._keep(vectors)

    def _bring_forward(self, function, *answers):
        """Run the recursion on a copy: a failure changes nothing, and readers see whole states."""
        state = copy_state(self.state)
        protocol, geometry = self.protocol, self.engine.geometry
        region, schedule = protocol.working_region, protocol.schedule
        function(geometry, region, schedule, state, self.scratch, *answers)
        check_finite(state)
        self.state = state
        self._round_is_open = False

    def _keep(self, messages):
        if self._kept is not None:
            self._kept.append(messages)

    @alone
    def adopt(self, state, messages=()):
        """Continue from a state that the recursion has brought forward elsewhere.

        Parameters
        ----------
        state : State
        messages : sequence of array, shape [n, *point_shape]
            What led to it, block by block; needed by a server that keeps messages.
        """
        self.state = state
        if self._kept is not None:
            self._kept.extend(messages)
        self.pending = {}
        self._round_is_open = False

    # ---------------------------------------------------------------- checkpoint

    @alone
    def _arrays(self):
        self._check_pending()
        vectors = [self.pending[index] for index in sorted(self.pending)]
        return {
            "protocol": np.array(self.protocol.to_json()),
            "engine": np.array(self.engine.name),
            "pending_index": np.array(sorted(self.pending), dtype=np.int64),
            "pending_vectors": np.reshape(vectors, (-1, *self.protocol.geometry.shape)),
            **state_arrays(self.state),
        }

    def _check_pending(self):
        """Raise InvalidMessageError unless what waits are messages to open queries."""
        size = self.round_size()
        if self.pending and (max(self.pending) >= size or len(self.pending) >= size):
            raise InvalidMessageError(f"fewer than {size} messages can wait in the open round")
        for index, vector in self.pending.items():
            self._open(size)
            check_vector(self.protocol, vector, self._query(index, size).point)

    @classmethod
    def load(cls, path):
        """Resume from a file that `save` wrote.

        Parameters
        ----------
        path : path-like or binary file

        Raises
        ------
        MessageError
            If anything in the file is not what a collection could have come to.
        """
        protocol, engine, state, pending, version = load_checkpoint(path)
        server = cls(protocol, engine)
        server.state, server.pending, server._version = state, pending, version
        server._check_pending()
        return server


def _is_integer(value, allowed):
    return isinstance(value, Integral) and value in allowed
