"""A collection in rounds: many participants are asked at a few points, in any order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.exceptions import (
    InvalidMessageError,
    NotReadyError,
    StaleMessageError,
)
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.protocol import Message, Query, Transcript
from geomstats_ldp.protocol.groups import rows_by_group
from geomstats_ldp.server.base import alone
from geomstats_ldp.server.round_record import RoundRecord
from geomstats_ldp.server.vectors import (
    check_address,
    check_addressed,
    check_batch,
    check_rows,
    is_integer_in,
    message_vector,
    refuse_rows_of_groups,
)
from geomstats_ldp.validation import check_integer


def read_rows(geometry, points, rounds, indices, vectors, tangent, coords):
    """Write tangent parts and frame coordinates of messages at their queries, in both engines.

    One by one: the same message has the same coordinates in whatever batch it comes.
    """
    for i in range(vectors.shape[0]):
        query = points[rounds[i], indices[i]]
        dispatch.to_tangent(geometry, vectors[i], query, tangent[i])
        dispatch.coordinates(geometry, tangent[i], query, coords[i])


_compiled_read_rows = cached_njit(read_rows, allocates=False)


class RoundServer(RoundRecord):
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
        Keep all messages in the order in which they came, for `transcript`.

    Attributes
    ----------
    state : RoundState
        Sums over all messages received. States of several workers add up: `merge`.
    n_closed : int
        Rounds that were closed.
    lock : threading.RLock
        Held by every method; hold it to do several things without others in between.

    Raises
    ------
    ProtocolError
        If `protocol` is no Protocol with rounds.
    """

    # ---------------------------------------------------------------- queries

    @alone
    def queries(self, n: int | None = None, group: str | None = None) -> list[Query]:
        """Questions of the open round, dealt evenly over its query points.

        Questions may be dealt more often than answers are waited for: people drop out.

        Parameters
        ----------
        n : int, optional
            How many. Default as many as the round still waits for, or one for each query point if
            its size is left open.
        group : str, optional
            Name of the group to ask, where the protocol has groups: a round waits for answers of
            any of them.

        Returns
        -------
        queries : list of Query
            Empty when all rounds are closed.

        Raises
        ------
        ProtocolError
            If `n` is no number, or there is no such group.
        """
        asked = self.protocol.queries_of(group)
        if self.is_complete:
            return []
        if n is None:
            left = self.round_size()
            n = len(asked) if left is None else left
        return [self._deal(asked) for _ in range(check_integer("n", n, 0))]

    def _deal(self, asked):
        index = asked[int(np.argmin(self._dealt[asked.start : asked.stop]))]
        self._dealt[index] += 1
        return Query(
            self.protocol.fingerprint,
            self.round,
            index,
            "round",
            self._points[self.round, index].copy(),
            self.directions(self.round, index),
        )

    # ---------------------------------------------------------------- messages

    @alone
    def receive(self, messages: Message | Iterable[Message]) -> None:
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
            with self._all_or_nothing():
                self._add(rounds, indices, np.stack(vectors))
                self.close_if_full()

    def _check(self, message):
        check_address(self.protocol, message)
        if not is_integer_in(message.round, range(self.state.n_opened)):
            raise InvalidMessageError(
                f"message round must be one of the {self.state.n_opened} that were opened; "
                f"got {message.round!r}"
            )
        if not is_integer_in(message.index, range(self.n_directions)):
            raise InvalidMessageError(
                f"message index must be in [0, {self.n_directions}); got {message.index!r}"
            )
        return message_vector(self.protocol, message, self._points[message.round, message.index])

    def _add(self, rounds, indices, vectors):
        """Add messages, shape [n, *point_shape], to the sums of their query points.

        Returns
        -------
        tangent : array, shape [n, *point_shape]
            Their tangent parts.
        coords : array, shape [n, dim]
            Their frame coordinates.
        """
        tangent, coords = np.empty_like(vectors), np.empty((len(vectors), self.protocol.dim))
        read = read_rows if self.engine.twin is None else _compiled_read_rows
        read(self.engine.geometry, self._points, rounds, indices, vectors, tangent, coords)
        self.add_coords(rounds, indices, coords)
        return tangent, coords

    @alone
    def replay(self, vectors: np.ndarray, extend: bool = False, strict: bool = False) -> None:
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
        refuse_rows_of_groups(self.protocol)
        vectors, parts = check_batch(self.protocol, vectors), []
        with self._all_or_nothing():
            position = 0
            while position < len(vectors):
                size = self._n_fitting(len(vectors) - position, extend)
                rows = vectors[position : position + size]
                indices = (self.n_in_round + np.arange(size)) % self.n_directions
                parts.append(self._add(np.full(size, self.state.n_opened - 1), indices, rows))
                self.close_if_full()
                position += size
            if parts:
                tangent, coords = map(np.concatenate, zip(*parts))
                check_rows(self.protocol.mechanism, vectors, tangent, coords, strict)

    def _n_fitting(self, n_rows, extend):
        """How many of the rows that are left go into the open round."""
        left = self.round_size()
        if self.is_complete and not extend:
            raise StaleMessageError(
                f"all {self.n_closed} rounds are closed, and {self.n_participants} participants "
                f"have answered; got {n_rows} more messages"
            )
        return n_rows if self.is_complete or left is None else min(left, n_rows)

    # ---------------------------------------------------------------- transcript

    @alone
    def replay_transcript(self, transcript: Transcript) -> None:
        """Take the messages of a transcript of this protocol, and close rounds where it did.

        Parameters
        ----------
        transcript : Transcript

        Raises
        ------
        MessageError
            If no collection could have come to it, or this one has begun; the state is what it was
            before the call.
        """
        self._require_new()
        coords, addresses, closings = check_addressed(self.protocol, transcript)
        ends = [*closings.tolist(), len(coords)]
        with self._all_or_nothing():
            for number, (start, end) in enumerate(zip([0, *ends], ends)):
                part = slice(start, end)
                self._replay_part(addresses[part], coords[part])
                if number < len(closings):
                    self._close_as_recorded()

    def _replay_part(self, addresses, coords):
        if len(coords) == 0:
            return
        if addresses[:, 0].max() >= self.state.n_opened:
            raise InvalidMessageError(
                f"messages must answer rounds that were opened; of {self.state.n_opened}, one "
                f"answers round {addresses[:, 0].max()}"
            )
        self.add_coords(*np.ascontiguousarray(addresses.T), coords)
        for mechanism, rows in rows_by_group(self.protocol, addresses[:, 1]):
            part = coords[rows]
            check_rows(mechanism, part, part, part, strict=True)

    def _close_as_recorded(self):
        try:
            self.close_round()
        except NotReadyError as error:
            raise InvalidMessageError(f"closings must be those of a collection: {error}") from error
