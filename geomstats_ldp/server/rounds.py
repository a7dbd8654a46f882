"""A collection in rounds: many participants are asked at a few points, in any order."""

from __future__ import annotations

import threading
from numbers import Integral

import numpy as np

from geomstats_ldp.exceptions import (
    InvalidMessageError,
    NotReadyError,
    ProtocolError,
    StaleMessageError,
)
from geomstats_ldp.protocol import Message, Query
from geomstats_ldp.protocol.protocol import check_is_protocol
from geomstats_ldp.score_regression import (
    RoundState,
    closed_round,
    fit_scores,
    initial_round_state,
    merge_states,
    query_points,
)
from geomstats_ldp.server.checkpoint import UNSAVED, save_checkpoint
from geomstats_ldp.server.engine import make_engine
from geomstats_ldp.server.locking import alone
from geomstats_ldp.server.round_files import load_round_checkpoint, round_arrays
from geomstats_ldp.server.vectors import (
    check_address,
    check_batch,
    check_rows,
    message_vector,
)


class RoundServer:
    """Interactive collection in rounds: questions out, private messages in.

    A message names its query and joins the sums of its query point whenever it comes, also after
    its round was closed: no message is stale, and one that is missing needs nothing. A round closes
    at its planned size, or by `close_round`; the next one asks around the estimate of that moment.

    Threads may share a server: its methods run one at a time.

    Parameters
    ----------
    protocol : Protocol
        With rounds.
    engine : {"auto", "compiled", "geomstats"}, default="auto"
    keep_messages : bool, default=False
        Keep all messages in the order in which they came.

    Attributes
    ----------
    state : RoundState
        Sums over all messages received. States of several workers add up: `merge`.
    n_closed : int
        Rounds that were closed.
    closings : list of int
        How many messages had come when each of them was, as far as this server saw it.
    lock : threading.RLock
        Held by every method; hold it to do several things without others in between.

    Raises
    ------
    ProtocolError
        If `protocol` is no Protocol with rounds.
    """

    def __init__(self, protocol, engine="auto", keep_messages=False):
        self.protocol = check_is_protocol(protocol)
        if protocol.rounds is None:
            raise ProtocolError("protocol must have rounds; this one asks pairs, for Server")
        self.engine = make_engine(engine, protocol.geometry)
        self.state, self.n_closed = initial_round_state(protocol), 0
        self.closings = []
        self._points = query_points(protocol, self.state)
        self._dealt = np.zeros(self.n_directions, dtype=np.int64)
        self._fit_of = (None, None)
        self._kept = [] if keep_messages else None
        self._version = UNSAVED
        self.lock, self._saving = threading.RLock(), threading.Lock()

    @alone
    def __getstate__(self):
        kept = {"protocol": self.protocol, "engine": self.engine.name, "state": self.state}
        kept |= {"n_closed": self.n_closed, "closings": list(self.closings)}
        return kept | {"messages": self._kept and list(self._kept), "version": self._version}

    def __setstate__(self, kept):
        self.__init__(kept["protocol"], kept["engine"])
        self._continue(kept["state"], kept["n_closed"])
        self._kept, self._version = kept["messages"], kept["version"]
        self.closings = kept["closings"]

    def _continue(self, state, n_closed):
        """Go on from a state; questions dealt and not answered are dealt again."""
        self.state, self.n_closed = state, n_closed
        self._points = query_points(self.protocol, state)
        self._dealt = state.counts[-1].copy()

    # ---------------------------------------------------------------- clock

    @property
    def n_directions(self):
        """Query points of one round."""
        return len(self.protocol.directions)

    @property
    def n_participants(self):
        """Participants whose message has come."""
        return self.state.n_participants

    @property
    def n_received(self):
        """The same: no message waits for others."""
        return self.state.n_participants

    @property
    def is_complete(self):
        """Whether all rounds were closed."""
        return self.n_closed == self.protocol.rounds.n_rounds

    @property
    def round(self):
        """Number of the open round, counted from zero; n_rounds when all are closed."""
        return self.n_closed

    @alone
    def round_size(self):
        """Answers that the open round still waits for; None if nobody planned how many."""
        if self.is_complete:
            return 0
        sizes = self.protocol.rounds.sizes
        return None if sizes is None else max(sizes[self.round] - self._n_in_round(), 0)

    def _n_in_round(self):
        return int(self.state.counts[-1].sum())

    # ---------------------------------------------------------------- queries

    @alone
    def queries(self, n=None):
        """Questions of the open round, dealt evenly over its query points.

        Questions may be dealt more often than answers are waited for: people drop out.

        Parameters
        ----------
        n : int, optional
            How many. Default as many as the round still waits for, or one for each query point if
            its size is left open.

        Returns
        -------
        queries : list of Query
            Empty when all rounds are closed.
        """
        if self.is_complete:
            return []
        if n is None:
            left = self.round_size()
            n = self.n_directions if left is None else left
        if not isinstance(n, Integral) or isinstance(n, bool) or n < 0:
            raise ProtocolError(f"n must be a number of queries; got {n!r}")
        return [self._deal() for _ in range(n)]

    def _deal(self):
        index = int(np.argmin(self._dealt))
        self._dealt[index] += 1
        return Query(
            self.protocol.fingerprint,
            self.round,
            index,
            "round",
            self._points[self.round, index].copy(),
        )

    def points(self, number):
        """Query points of a round that was opened, shape [n_directions, *point_shape]."""
        return self._points[number]

    # ---------------------------------------------------------------- messages

    @alone
    def receive(self, messages):
        """Take answers to any queries that were ever asked, all or none.

        Parameters
        ----------
        messages : Message or iterable of Message

        Raises
        ------
        MessageError
            ForeignMessageError or InvalidMessageError; the state is what it was before the call.
        """
        messages = [messages] if isinstance(messages, Message) else list(messages)
        vectors = [self._check(message) for message in messages]
        if messages:
            rounds = np.array([message.round for message in messages])
            indices = np.array([message.index for message in messages])
            self._add(rounds, indices, np.stack(vectors))
            self.close_if_full()

    def _check(self, message):
        check_address(self.protocol, message)
        if not _is_below(message.round, self.state.n_opened):
            raise InvalidMessageError(
                f"message round must be one of the {self.state.n_opened} that were opened; "
                f"got {message.round!r}"
            )
        if not _is_below(message.index, self.n_directions):
            raise InvalidMessageError(
                f"message index must be in [0, {self.n_directions}); got {message.index!r}"
            )
        return message_vector(self.protocol, message, self._points[message.round, message.index])

    def _add(self, rounds, indices, vectors):
        """Add messages to the sums of their query points, on a copy of the state.

        Returns
        -------
        tangent : array, shape [n, *point_shape]
            Their tangent parts.
        coords : array, shape [n, dim]
            Their frame coordinates.
        """
        state = RoundState(*(part.copy() for part in self.state))
        geometry = self.protocol.geometry
        tangent, coords = np.empty_like(vectors), np.empty((len(vectors), self.protocol.dim))
        for cell in sorted(set(zip(rounds.tolist(), indices.tolist()))):
            mine, point = (rounds == cell[0]) & (indices == cell[1]), self._points[cell]
            tangent[mine] = geometry.to_tangent(vectors[mine], point)
            coords[mine] = geometry.coordinates(tangent[mine], point)
            state.counts[cell] += np.count_nonzero(mine)
            state.sums[cell] += coords[mine].sum(axis=0)
            state.outer[cell] += coords[mine].T @ coords[mine]
        if not (np.isfinite(state.sums).all() and np.isfinite(state.outer).all()):
            raise InvalidMessageError(
                "messages must be small enough for their squares to be finite"
            )
        self.state = state
        if self._kept is not None:
            self._kept.append((rounds, indices, vectors))
        return tangent, coords

    @alone
    def replay(self, vectors, extend=False, strict=False):
        """Take many answers at once, in the order of the plan.

        Row i of a round answers query i modulo the number of query points, and a round closes at
        its planned size.

        Parameters
        ----------
        vectors : array, shape [n, *point_shape]
            They are projected to the tangent space of their query, which is public
            post-processing.
        extend : bool, default=False
            Let rows past the last round join it.
        strict : bool, default=False
            Refuse rows that are no messages.

        Raises
        ------
        MessageError
            If the shape is wrong, an entry is not finite, or more rows come than are planned; the
            state is what it was before the call.

        Warns
        -----
        RawDataWarning
            If rows cannot be messages; see `Server.replay`.
        """
        vectors, parts = check_batch(self.protocol, vectors), []
        before = self.__getstate__()
        try:
            position = 0
            while position < len(vectors):
                size = self._take(len(vectors) - position, extend)
                rows = vectors[position : position + size]
                indices = (self._n_in_round() + np.arange(size)) % self.n_directions
                parts.append(self._add(np.full(size, self.state.n_opened - 1), indices, rows))
                self.close_if_full()
                position += size
            if parts:
                tangent, coords = map(np.concatenate, zip(*parts))
                check_rows(self.protocol, vectors, tangent, coords, strict)
        except BaseException:
            self._continue(before["state"], before["n_closed"])
            self._kept, self.closings = before["messages"], before["closings"]
            raise

    def _take(self, n_rows, extend):
        """How many of the rows that are left go into the open round."""
        left = self.round_size()
        if self.is_complete and not extend:
            raise StaleMessageError(
                f"all {self.n_closed} rounds are closed, and {self.n_participants} participants "
                f"have answered; got {n_rows} more messages"
            )
        return n_rows if self.is_complete or left is None else min(left, n_rows)

    # ---------------------------------------------------------------- rounds

    @alone
    def close_round(self):
        """Close the open round: the next one asks around the estimate.

        Messages that are still under way are taken when they come.

        Raises
        ------
        NotReadyError
            If all rounds are closed, or fewer have answered than `protocol.rounds.minimum`.
        """
        if self.is_complete:
            raise NotReadyError(f"all {self.n_closed} rounds are closed")
        answered, minimum = self._n_in_round(), self.protocol.rounds.minimum
        if answered < minimum:
            raise NotReadyError(
                f"a round may close with {minimum} answers at least; round {self.round} has "
                f"{answered}"
            )
        self._close()

    def _close(self):
        self.closings.append(self.n_participants)
        self.n_closed += 1
        if not self.is_complete:
            self._continue(closed_round(self.state, self.estimate()), self.n_closed)

    @alone
    def close_if_full(self):
        """Close the open round if all planned answers have come."""
        if not self.is_complete and self.round_size() == 0:
            self._close()

    @alone
    def merge(self, states):
        """Add states that workers gathered about the same rounds.

        The result depends on their order by rounding only. A worker starts each round from
        `without_messages` of the common state, so that no message is counted twice.

        Parameters
        ----------
        states : iterable of RoundState

        Raises
        ------
        ProtocolError
            If one of them is of another collection.
        """
        self._continue(merge_states([self.state, *states]), self.n_closed)
        if self._kept is not None:
            self._kept = None  # what the workers heard is not here
        self.close_if_full()

    @alone
    def adopt(self, state, messages=(), n_closed=None, closings=None):
        """Continue from a state that was brought forward elsewhere.

        Parameters
        ----------
        state : RoundState
        messages : sequence of (rounds, indices, vectors)
            What led to it, block by block; needed by a server that keeps messages.
        n_closed : int, optional
            Rounds closed; default all that were opened but the last.
        closings : list of int, optional
            See the attribute.
        """
        self._continue(state, state.n_opened - 1 if n_closed is None else n_closed)
        self.closings = self.closings if closings is None else closings
        if self._kept is not None:
            self._kept.extend(messages)

    # ---------------------------------------------------------------- estimate

    @alone
    def fit(self):
        """Regression of all messages received, a `ScoreFit`, or None while they are too few."""
        state, fit = self._fit_of
        if state is not self.state:
            fit = fit_scores(self.protocol, self.state, self.engine.twin)
            self._fit_of = (self.state, fit)
        return fit

    def estimate(self):
        """Estimate from all messages received, shape [*point_shape]."""
        fit = self.fit()
        return self.state.centers[-1].copy() if fit is None else fit.point.copy()

    # ---------------------------------------------------------------- transcript

    @property
    def keeps_messages(self):
        """Whether `messages` are kept."""
        return self._kept is not None

    @property
    @alone
    def messages(self):
        """Messages in the order in which they came, shape [n, *point_shape], or None."""
        return None if self._kept is None else self._gathered(2, self.protocol.geometry.shape)

    @property
    @alone
    def addresses(self):
        """Round and index of the query that each of `messages` answers, shape [n, 2], or None."""
        if self._kept is None:
            return None
        return np.stack([self._gathered(part, ()) for part in (0, 1)], axis=1).astype(np.int64)

    def _gathered(self, part, shape):
        return np.concatenate([np.empty((0, *shape)), *(block[part] for block in self._kept)])

    @alone
    def replay_addressed(self, vectors, addresses, closings):
        """Take the messages of a transcript, and close rounds where it did.

        Parameters
        ----------
        vectors : array, shape [n, *point_shape]
        addresses : array of int, shape [n, 2]
        closings : sequence of int

        Raises
        ------
        MessageError
            If it is no transcript of this protocol; the state is what it was before the call.
        """
        vectors = check_batch(self.protocol, vectors)
        before = self.__getstate__()
        try:
            for start, end in zip([0, *closings], [*closings, len(vectors)]):
                self._replay_part(vectors[start:end], addresses[start:end])
                if end in closings[self.n_closed : self.n_closed + 1]:
                    self._close()
        except BaseException:
            self._continue(before["state"], before["n_closed"])
            self._kept, self.closings = before["messages"], before["closings"]
            raise

    def _replay_part(self, vectors, addresses):
        limits = np.array([self.state.n_opened, self.n_directions])
        if np.any(addresses < 0) or np.any(addresses >= limits):
            raise InvalidMessageError(
                f"addresses must name rounds and query points under {limits.tolist()}"
            )
        if len(vectors):
            parts = self._add(addresses[:, 0], addresses[:, 1], vectors)
            check_rows(self.protocol, vectors, *parts, strict=True)

    # ---------------------------------------------------------------- checkpoint

    def save(self, path):
        """Write protocol and state to a ``.npz`` file, without pickle.

        Raises
        ------
        NewerStateError
            If the file holds a state that this server does not continue; it stays as it is.
        """
        with self._saving:
            with self.lock:
                arrays = round_arrays(self.protocol, self.engine.name, self.state, self.n_closed)
            self._version = save_checkpoint(path, arrays, self._version)

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
        protocol, engine, state, n_closed, version = load_round_checkpoint(path)
        server = cls(protocol, engine)
        server._continue(state, n_closed)
        server._version = version
        return server


def _is_below(value, limit):
    return isinstance(value, Integral) and not isinstance(value, bool) and 0 <= value < limit
