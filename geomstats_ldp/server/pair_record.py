"""What a collection in pairs has heard: clock, state, open round and transcript."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np

from geomstats_ldp.exceptions import InvalidMessageError, ProtocolError
from geomstats_ldp.protocol import Protocol, Query, Transcript
from geomstats_ldp.server.base import BaseServer, alone, group_report
from geomstats_ldp.server.pair_files import pair_specs, read_pairs, state_arrays
from geomstats_ldp.server.recursion import (
    N_IN_GROUP,
    N_PAIRS,
    N_PARTICIPANTS,
    OF_PEOPLE,
    State,
    check_finite,
    make_scratch,
    pairs_to_come,
    state_before,
)
from geomstats_ldp.server.vectors import check_vector, is_integer_in, pair_addresses


class PairRecord(BaseServer):
    """Messages of a collection in pairs, whoever they came from; `Server` talks to people."""

    def __init__(self, protocol: Protocol, engine: str = "auto", keep_messages: bool = False):
        super().__init__(protocol, engine, keep_messages)
        if protocol.rounds is not None:
            raise ProtocolError("protocol must ask pairs; this one has rounds, for RoundServer")
        geometry = protocol.geometry
        self.state = state_before(protocol)
        self.pending: dict[int, np.ndarray] = {}
        self.scratch = make_scratch(geometry.shape, geometry.dim, protocol.pairs_per_round)
        self._opened_for = None

    def _position(self):
        position = {"protocol": self.protocol, "state": self.state, "pending": self.pending}
        return position | {"_kept": self._kept_so_far()}

    def _return_to(self, position):
        super()._return_to(position)
        self._opened_for = None  # it is opened again on demand

    # ---------------------------------------------------------------- clock

    @property
    def n_participants(self) -> int:
        """Participants whose message has entered the state."""
        return int(self.state.clock[N_PARTICIPANTS])

    @property
    def n_pairs(self) -> int:
        """Pairs that have entered the state."""
        return int(self.state.clock[N_PAIRS])

    @property
    @alone
    def n_received(self) -> int:
        """Participants heard from, those of the open round included."""
        return self.n_participants + len(self.pending)

    @property
    def round(self) -> int:
        """Number of the open round, counted from zero."""
        if self.protocol.groups is not None:
            return self.n_participants - self.n_pairs  # several may answer alone at the end
        return -(-self.n_participants // (2 * self.protocol.pairs_per_round))

    @alone
    def round_size(self) -> int:
        """Answers that the open round waits for in all: pairs, one odd last participant, or 0.

        The last ones answer alone, one for each group of participants: among more, two are of the
        same group and can be a pair.
        """
        full = 2 * self.protocol.pairs_per_round
        planned = self.protocol.n_participants
        if planned is None:
            return full
        left = max(planned - self.n_participants, 0)
        in_pairs = 2 * pairs_to_come(left, len(self.protocol.mechanisms))
        return min(full, in_pairs or 1, left)

    @property
    @alone
    def messages(self) -> np.ndarray | None:
        """Messages of all complete rounds in the order of their queries, or None if not kept."""
        if self._kept is None:
            return None
        kept = [vectors for _, vectors in self._kept]
        return np.concatenate([np.empty((0, *self.protocol.geometry.shape)), *kept])

    def estimate(self) -> np.ndarray:
        """Running average of the iterates, shape [*point_shape]."""
        return self.state.average.copy()

    def groups(self) -> dict[str, dict]:
        """What each group of participants contributes, by name; see `RoundServer.groups`."""
        counts, totals = self.state.weights[:, N_IN_GROUP], self.state.weights[:, OF_PEOPLE]
        mean = totals.sum() / max(counts.sum(), 1.0)
        weights = totals / np.maximum(counts, 1.0) / (mean or 1.0)
        return group_report(self.protocol, counts, weights)

    # ---------------------------------------------------------------- the open round

    def _open(self, group):
        """Write the queries that the open round asks a group, by its number."""
        size = self.round_size()
        if self._opened_for != group and size > 0:
            self.scratch.group[0] = group
            if size > 1:
                geometry, schedule = self.engine.geometry, self.protocol.schedule
                rest = self.state, self.scratch, size // 2
                self.engine.open_round(geometry, schedule, *rest)
        self._opened_for = group

    def _query(self, index):
        self._open(self._group_of(index))
        place = index % (2 * self.protocol.pairs_per_round)
        if self.round_size() == 1:
            side, point = "base", self.state.iterate
        else:
            side, point = ("plus", "minus")[place % 2], self.scratch.queries[place]
        return Query(self.protocol.fingerprint, self.round, index, side, point.copy())

    def _asks(self, index, size):
        """Whether the open round of a size has a query of this index."""
        n_places = 2 * self.protocol.pairs_per_round
        return is_integer_in(index, range(self.protocol.n_query_points)) and index % n_places < size

    def _group_of(self, index):
        """Number of the group that a query asks."""
        return index // (2 * self.protocol.pairs_per_round)

    def _advance(self, answers):
        """Close the open round with its answers, by their indices."""
        vectors = np.stack([answers[index] for index in sorted(answers)])
        self._open(self._group_of(min(answers)))
        if len(vectors) == 1:
            self._bring_forward(self.engine.close_single, vectors[0])
        else:
            self._bring_forward(self.engine.close_round, vectors, len(vectors) // 2)
        self._keep(vectors)

    def _bring_forward(self, function, *answers):
        """Run the recursion on a copy: a failure changes nothing, and readers see whole states."""
        state = copy.deepcopy(self.state)
        protocol, geometry = self.protocol, self.engine.geometry
        region, schedule = protocol.working_region, protocol.schedule
        function(geometry, region, schedule, state, self.scratch, *answers)
        check_finite(state)
        self.state = state
        self._opened_for = None

    def _keep(self, messages):
        if self._kept is not None:
            self._kept.append((int(self.scratch.group[0]), messages))

    @alone
    def adopt(self, state: State, messages: Sequence[tuple[int, np.ndarray]] = ()) -> None:
        """Continue from a state that the recursion has brought forward elsewhere.

        Parameters
        ----------
        state : State
        messages : sequence of (int, array of shape [n, *point_shape])
            What led to it: blocks of messages, with the number of the group that sent them. Needed
            by a server that keeps messages.
        """
        self.state = state
        if self._kept is not None:
            self._kept.extend(messages)
        self.pending = {}
        self._opened_for = None

    # ---------------------------------------------------------------- what is kept

    @alone
    def transcript(self) -> Transcript | None:
        """`Transcript` of all complete rounds, or None if messages are not kept."""
        messages = self.messages
        if messages is None:
            return None
        addresses = None if self.protocol.groups is None else pair_addresses(self._kept)
        return Transcript(self.protocol, messages, addresses)

    def _arrays(self):
        self._check_pending()
        vectors = [self.pending[index] for index in sorted(self.pending)]
        return {
            "pending_index": np.array(sorted(self.pending), dtype=np.int64),
            "pending_vectors": np.reshape(vectors, (-1, *self.protocol.geometry.shape)),
            **state_arrays(self.state),
        }

    def _specs(self):
        return pair_specs(self.protocol, self.state)

    def _take(self, arrays):
        self.state, self.pending = read_pairs(self.protocol, arrays)
        self._check_pending()

    def _check_pending(self):
        """Raise InvalidMessageError unless what waits are messages to open queries."""
        size = self.round_size()
        is_open = len({self._group_of(index) for index in self.pending}) <= 1
        is_open = is_open and all(self._asks(index, size) for index in self.pending)
        if self.pending and (not is_open or len(self.pending) >= size):
            raise InvalidMessageError(f"fewer than {size} messages can wait in the open round")
        for index, vector in self.pending.items():
            mechanism = self.protocol.mechanisms[self.protocol.group_of(index)]
            check_vector(self.protocol, vector, self._query(index).point, mechanism)
