"""Which query point a question is about: evenly, and no more questions than answers are missing."""

from __future__ import annotations

import threading

import numpy as np

from geomstats_ldp.collection import store, tables

#: Share of the time that a worker may spend on counting questions.
_SHARE = 0.1

#: Questions that a round of no planned size keeps out at a time, for each query point.
_OPEN_END = 256

#: Questions dealt after one count, at most.
_HAND = 5000


class Dealer:
    """Deals the query points of the open round of a `Ledger`; threads may share it.

    Questions that are answered or under lease are counted in the database now and then, and the
    query points that have fewest are dealt meanwhile. Workers do not see what others hold in hand:
    a few questions more than planned may be out, which does no harm.
    """

    def __init__(self, engine, ledger, clock):
        self._engine, self._ledger, self._clock = engine, ledger, clock
        self._lock = threading.Lock()
        self._round, self._hands, self._pause = None, {}, (0.0, 0.0)
        self._rng = np.random.default_rng()

    def deal(self, asked):
        """Number of a round and direction of a question, or None if none is to be dealt now.

        `asked` is the range of the directions of the group that is asked.
        """
        with self._lock:
            view = self._ledger.view
            if self._ledger.has_ended:
                return None
            if self._round != view.number:
                self._round, self._hands, self._pause = view.number, {}, (0.0, 0.0)
            # A clock that is set back must not make the pause longer.
            if not self._hands.get(asked) and not self._is_pausing():
                self._refill(view)
            hand = self._hands.get(asked)
            return (self._round, hand.pop()) if hand else None

    def _is_pausing(self):
        return self._pause[0] <= self._clock() < self._pause[1]

    def _refill(self, view):
        started, server = self._clock(), view.server
        with tables.reading(self._engine) as connection:
            counts = store.taken(connection, self._round, started, server.n_directions)
        rounds = server.protocol.rounds
        size = None if rounds.sizes is None else rounds.sizes[self._round - view.stage.first]
        left = _OPEN_END * server.n_directions if size is None else size - int(counts.sum())
        # Half of what is left, so that workers that count at the same time do not overshoot, and
        # nobody knows of which group the next person is.
        groups = list(server.protocol.mechanisms)
        share = min(-(-max(left, 0) // (2 * len(groups))), _HAND)
        for asked in map(server.protocol.queries_of, groups):
            hand = fewest_first(counts[asked.start : asked.stop], share, self._rng)
            self._hands[asked] = [asked.start + direction for direction in hand]
        self._pause = started, started + (self._clock() - started) / _SHARE


def fewest_first(counts, n, rng):
    """List of n directions that bring uneven counts level, last one first, ties in random order."""
    levels = counts + np.arange(n + 1)[:, None]  # the k-th more of a direction comes at this level
    order = np.lexsort([rng.random(levels.size), levels.ravel()])[:n]
    return (order % len(counts))[::-1].tolist()
