"""The analyst's side: protocol and messages in, state out. No datum ever reaches this file."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral

import numpy as np

from geomstats_ldp.exceptions import (
    DuplicateMessageError,
    ForeignMessageError,
    InvalidMessageError,
    MessageError,
    StaleMessageError,
)
from geomstats_ldp.protocol import Message, Protocol, Query
from geomstats_ldp.protocol.protocol import check_is_protocol
from geomstats_ldp.serialization import open_arrays, write_atomically
from geomstats_ldp.server.engine import make_engine
from geomstats_ldp.server.recursion import (
    N_PAIRS,
    N_PARTICIPANTS,
    RegressionSums,
    State,
    check_finite,
    copy_state,
    initial_state,
    make_scratch,
)
from geomstats_ldp.wording import shape_text

#: Relative size of a normal component, or of an excess over the support, that is only rounding.
_ROUNDING = 1e-8

#: Entries of messages up to here can be squared and summed without overflow.
_LARGEST_ENTRY = 1e120


class Server:
    """Interactive collection: open queries out, private messages in.

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

    Raises
    ------
    ProtocolError
        If `protocol` is no Protocol.
    """

    def __init__(self, protocol, engine="auto", keep_messages=False):
        self.protocol = check_is_protocol(protocol)
        geometry = protocol.geometry
        self.engine = make_engine(engine, geometry)
        self.state = initial_state(protocol.initial_point, geometry.dim, len(protocol.directions))
        self.pending = {}
        self.scratch = make_scratch(geometry.shape, geometry.dim, protocol.pairs_per_round)
        self._round_is_open = False
        self._kept = [] if keep_messages else None

    def __getstate__(self):
        # Compiled functions and buffers are rebuilt; an open round is reopened on demand.
        kept = {"protocol": self.protocol, "state": self.state, "pending": self.pending}
        return kept | {"engine": self.engine.name, "messages": self._kept}

    def __setstate__(self, kept):
        self.__init__(kept["protocol"], kept["engine"])
        self.state, self.pending = kept["state"], kept["pending"]
        self._kept = kept["messages"]

    # ---------------------------------------------------------------- clock

    @property
    def n_participants(self):
        """Participants whose message has entered the state."""
        return int(self.state.counts[N_PARTICIPANTS])

    @property
    def n_pairs(self):
        """Pairs that have entered the state."""
        return int(self.state.counts[N_PAIRS])

    @property
    def n_received(self):
        """Participants heard from, those of the open round included."""
        return self.n_participants + len(self.pending)

    @property
    def round(self):
        """Number of the open round, counted from zero."""
        return -(-self.n_participants // (2 * self.protocol.pairs_per_round))

    def round_size(self):
        """Answers that the open round waits for in all: pairs, one odd last participant, or 0."""
        full = 2 * self.protocol.pairs_per_round
        planned = self.protocol.n_participants
        if planned is None:
            return full
        left = max(planned - self.n_participants, 0)
        return min(full, left if left == 1 else left - left % 2)

    @property
    def keeps_messages(self):
        """Whether `messages` are kept."""
        return self._kept is not None

    @property
    def messages(self):
        """Messages of all complete rounds in the order of their queries, or None if not kept."""
        if self._kept is None:
            return None
        return np.concatenate([np.empty((0, *self.protocol.geometry.shape)), *self._kept])

    # ---------------------------------------------------------------- queries

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
        if not isinstance(message, Message):
            raise MessageError(f"messages must be Message objects; got {type(message).__name__}")
        known = isinstance(message.fingerprint, str)
        if not known or message.fingerprint != self.protocol.fingerprint:
            raise ForeignMessageError(
                f"message belongs to protocol {str(message.fingerprint)[:12]}, "
                f"this server to {self.protocol.fingerprint[:12]}"
            )
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
        return self._check_vector(message.tangent_vec, self._query(message.index, size).point)

    def _check_vector(self, vector, point):
        geometry = self.protocol.geometry
        try:
            vector = np.array(vector)
        except ValueError as error:
            raise InvalidMessageError(f"tangent_vec must be an array; {error}") from error
        if vector.dtype.kind not in "fiu" or vector.shape != geometry.shape:
            raise InvalidMessageError(
                f"tangent_vec must be real numbers of shape {geometry.shape}; "
                f"got {vector.dtype} of shape {vector.shape}"
            )
        vector = vector.astype(float)
        if not np.isfinite(vector).all():
            raise InvalidMessageError("tangent_vec must be finite; it contains NaN or inf")
        if np.max(np.abs(vector)) > _LARGEST_ENTRY:
            raise InvalidMessageError(
                f"tangent_vec must have entries of at most {_LARGEST_ENTRY:g}, so that they can "
                f"be squared; got {np.max(np.abs(vector)):.3g}"
            )
        size = float(np.linalg.norm(vector))
        normal = float(np.linalg.norm(vector - geometry.to_tangent(vector, point)))
        if normal > _ROUNDING * size:
            raise InvalidMessageError(
                f"tangent_vec must be tangent at its query; {normal:.3g} of its length "
                f"{size:.3g} is normal"
            )
        mechanism = self.protocol.mechanism
        coords = geometry.coordinates(vector, point)
        if not mechanism.in_support(coords, _ROUNDING):
            raise InvalidMessageError(
                f"tangent_vec must lie in the support of the mechanism {mechanism!r}, of radius "
                f"{mechanism.support_radius:.6g}; got norm {np.linalg.norm(coords):.6g}"
            )
        return vector

    def replay(self, vectors, extend=False):
        """Take many answers at once: row i answers the i-th query of the schedule from here on.

        Parameters
        ----------
        vectors : array, shape [n, *point_shape]
            They are projected to the tangent space of their query, which is public
            post-processing. Rows that do not fill a round wait for the next call.
        extend : bool, default=False
            Open the end of a collection whose plan is complete: later messages carry a new
            fingerprint, and messages kept so far, which belong to the old protocol, are let go.

        Raises
        ------
        MessageError
            If the shape is wrong, an entry is not finite, or more rows come than participants
            are planned; the state is what it was before the call.
        """
        before = self.protocol, self.state, self.pending, self._kept and list(self._kept)
        try:
            if extend and self.round_size() == 0:
                self.protocol, self._kept = replace(self.protocol, n_participants=None), None
            vectors = self._check_batch(vectors)
            self.state = copy_state(self.state)
            position = 0
            while self.round_size() > 0 and position < len(vectors):
                position += self._replay_step(vectors[position:])
            check_finite(self.state)
        except BaseException:
            self.protocol, self.state, self.pending, self._kept = before
            self._round_is_open = False
            raise

    def _check_batch(self, vectors):
        shape = self.protocol.geometry.shape
        vectors = np.ascontiguousarray(vectors, dtype=float)
        if vectors.ndim != len(shape) + 1 or vectors.shape[1:] != shape:
            raise InvalidMessageError(
                f"messages must have shape ({shape_text('n', *shape)}); got {vectors.shape}"
            )
        if not np.isfinite(vectors).all():
            raise InvalidMessageError("messages must be finite; they contain NaN or inf")
        planned = self.protocol.n_participants
        if planned is not None and self.n_received + len(vectors) > planned:
            raise StaleMessageError(
                f"{planned} participants are planned and {self.n_received} have answered; "
                f"got {len(vectors)} more messages"
            )
        return vectors

    def _replay_step(self, vectors):
        """Use as many rows as make sense at once; return how many."""
        full, size = 2 * self.protocol.pairs_per_round, self.round_size()
        n_full = self._full_rounds(len(vectors))
        if not self.pending and size == full and n_full > 0:
            used = n_full * full
            self._round_is_open = False
            self.engine.replay_rounds(
                self.engine.geometry,
                self.protocol.working_region,
                self.protocol.schedule,
                self.state,
                self.scratch,
                vectors[:used],
            )
            self._keep(vectors[:used].copy())
            return used
        self._open(size)
        free = [index for index in range(size) if index not in self.pending]
        used = min(len(free), len(vectors))
        self.pending = {**self.pending, **dict(zip(free, vectors[:used].copy()))}
        if len(self.pending) == size:
            self._advance(np.stack([self.pending[index] for index in range(size)]))
            self.pending = {}
        return used

    def _full_rounds(self, n_rows):
        full, planned = 2 * self.protocol.pairs_per_round, self.protocol.n_participants
        left = n_rows if planned is None else min(n_rows, planned - self.n_participants)
        return left // full

    def _advance(self, vectors):
        """Close the open round on a copy of the state, so that a failure changes nothing."""
        state = copy_state(self.state)
        common = (
            self.engine.geometry,
            self.protocol.working_region,
            self.protocol.schedule,
            state,
            self.scratch,
        )
        if len(vectors) == 1:
            self.engine.close_single(*common, vectors[0])
        else:
            self.engine.close_round(*common, vectors, len(vectors) // 2)
        check_finite(state)
        self.state = state
        self._keep(vectors)
        self._round_is_open = False

    def _keep(self, messages):
        if self._kept is not None:
            self._kept.append(messages)

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

    def save(self, path):
        """Write protocol, state and pending messages to a ``.npz`` file, without pickle."""
        arrays = {
            "protocol": np.array(self.protocol.to_json()),
            "engine": np.array(self.engine.name),
            "pending_index": np.array(sorted(self.pending), dtype=np.int64),
            "pending_vectors": np.array([self.pending[index] for index in sorted(self.pending)]),
            "iterate": self.state.iterate,
            "average": self.state.average,
            "counts": self.state.counts,
        }
        arrays.update({f"sums_{name}": value for name, value in self.state.sums._asdict().items()})
        write_atomically(path, lambda file: np.savez_compressed(file, **arrays))

    @classmethod
    def load(cls, path):
        """Resume from a file that `save` wrote.

        Raises
        ------
        MessageError
            If the file is not a saved server.
        """
        with open_arrays(path, "a saved server", MessageError) as file:
            server = cls(Protocol.from_json(str(file["protocol"])), str(file["engine"]))
            sums = RegressionSums(*(file[f"sums_{name}"] for name in RegressionSums._fields))
            server.state = State(file["iterate"], file["average"], file["counts"], sums)
            server.pending = dict(zip(file["pending_index"].tolist(), file["pending_vectors"]))
        return server


def _is_integer(value, allowed):
    return isinstance(value, Integral) and value in allowed
