"""The question for a norm, in the shape in which the service knows questions: a single round."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from geomstats_ldp.exceptions import NotReadyError, ProtocolError

#: The question has no point to ask at; queries have one.
_POINT = np.zeros((1, 1))


class NormQuestion:
    """What the service asks of a `Protocol`, for a `NormHistogram` and a plan of one round."""

    groups, n_query_points = None, 1

    def __init__(self, histogram, rounds):
        self.histogram, self.rounds = histogram, rounds
        self.fingerprint, self.dim = histogram.fingerprint, histogram.n_bins
        self.mechanism = histogram.mechanism
        self.mechanisms = {None: self.mechanism}  # of the one group that there is

    def queries_of(self, group):
        """Numbers of the questions to a group: the one question, to everybody."""
        if group is not None:
            raise ProtocolError(f"group must be left out; got {group!r}")
        return range(1)

    def group_of(self, index):
        """Group that a question is for."""
        return None


class NormServer:
    """Answers to a `NormQuestion`; stands for a `RoundServer` in the service."""

    n_directions = 1

    def __init__(self, protocol):
        self.protocol, self.n_closed, self._parts = protocol, 0, ()

    @property
    def sets(self):
        """Sets of bins, shape [n, n_bins]."""
        return np.concatenate([np.empty((0, self.protocol.dim)), *self._parts])

    @property
    def n_in_round(self):
        """Answers."""
        return sum(map(len, self._parts))

    n_participants = n_in_round

    @property
    def state(self):
        """Counts, as a `RoundState` has them."""
        return SimpleNamespace(counts=np.array([[self.n_in_round]]), n_opened=1)

    @property
    def round(self):
        """Number of the open round."""
        return self.n_closed

    @property
    def is_complete(self):
        """Whether the round was closed."""
        return self.n_closed == 1

    def round_size(self):
        """Answers that are still waited for."""
        return 0 if self.is_complete else max(self.protocol.rounds.sizes[0] - self.n_in_round, 0)

    def points(self, number):
        """Stand-in for the points of a round."""
        return _POINT

    def directions(self, number, index):
        """None: a norm is asked for along none."""
        return None

    def add_coords(self, rounds, directions, coords):
        """Add answers by the estimates of single people, positive in the bins of their set."""
        self._parts = (*self._parts, (coords > 0).astype(float))

    def estimate(self):
        """Frequencies of the bins."""
        return self.protocol.histogram.frequencies(self.sets)

    def next_place(self):
        """What is recorded where a round closes: the frequencies, as nothing is asked after it."""
        return self.estimate(), None

    def close_round(self, center=None):
        """Close the round."""
        if self.is_complete:
            raise NotReadyError("the round is closed")
        self.n_closed = 1

    def adopt(self, other):
        """Continue where a copy of this server has come to."""
        self.n_closed, self._parts = other.n_closed, other._parts
