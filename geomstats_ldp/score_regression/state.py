"""What is kept of the messages of a collection in rounds: a count and two sums a query point.

States add up. Messages may come in any order, late, or be gathered by many workers, and the sum is
the same to rounding.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.schedules import round_radius


class RoundState(NamedTuple):
    """Sums of the messages by query point; the first index is the round, the second the direction.

    The query points are functions of the centres: `query_points`.

    Attributes
    ----------
    centers : array, shape [n_opened, *point_shape]
        Point around which each round that was opened asks.
    counts : array of int, shape [n_opened, n_directions]
        Messages received. With groups of participants, the directions of the first come first, then
        those of the second: n_directions stands for ``protocol.n_query_points`` everywhere.
    sums : array, shape [n_opened, n_directions, dim]
        Their sum, in frame coordinates at the query point.
    outer : array, shape [n_opened, n_directions, dim, dim]
        The sum of their outer products.
    """

    centers: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    outer: np.ndarray

    @property
    def n_opened(self):
        """Rounds that have been opened."""
        return len(self.centers)

    @property
    def n_participants(self):
        """Messages received in all."""
        return int(self.counts.sum())


def initial_round_state(protocol):
    """State of a collection whose first round has been opened and not been answered."""
    return closed_round(_no_rounds(protocol), protocol.initial_point)


def _no_rounds(protocol):
    n_directions, dim, shape = protocol.n_query_points, protocol.dim, protocol.geometry.shape
    return RoundState(
        np.zeros((0, *shape)),
        np.zeros((0, n_directions), dtype=np.int64),
        np.zeros((0, n_directions, dim)),
        np.zeros((0, n_directions, dim, dim)),
    )


def closed_round(state, center):
    """State in which the next round has been opened, around `center`."""
    center = np.asarray(center, dtype=float)[None]
    grown = [np.concatenate([part, np.zeros((1, *part.shape[1:]), part.dtype)]) for part in state]
    return RoundState(np.concatenate([state.centers, center]), *grown[1:])


def without_messages(state):
    """State about the same rounds that has heard nobody yet, for a worker to start from."""
    return RoundState(state.centers.copy(), *(np.zeros_like(part) for part in state[1:]))


def query_points(protocol, state, known=None):
    """Public points that each round asks at, shape [n_opened, n_directions, *point_shape].

    `known` are those of the first rounds, where they have been computed before.
    """
    geometry, directions = protocol.geometry, np.array(protocol.directions)
    n_groups = len(protocol.mechanisms)
    if protocol.rounds.query is not None:
        return np.stack([np.array([protocol.rounds.query] * n_groups)] * state.n_opened)
    points = np.empty((state.n_opened, n_groups * len(directions), *geometry.shape))
    n_known = 0 if known is None else len(known)
    points[:n_known] = known if n_known else 0.0
    for number in range(n_known, state.n_opened):
        center, offsets = state.centers[number], round_radius(protocol.radius, number) * directions
        asked = geometry.retract(geometry.lift(offsets, center), center)
        points[number] = np.concatenate([asked] * n_groups)
    return points


def add_one_by_one(rounds, indices, coords, counts, sums, outer):
    """Add messages to the sums of their query points, in order; compiled for both engines."""
    for i in range(coords.shape[0]):
        number, index = rounds[i], indices[i]
        counts[number, index] += 1
        for j in range(coords.shape[1]):
            sums[number, index, j] += coords[i, j]
            for k in range(coords.shape[1]):
                outer[number, index, j, k] += coords[i, j] * coords[i, k]


_compiled_add_one_by_one = cached_njit(add_one_by_one, allocates=False)


def with_messages(state, rounds, indices, coords):
    """State after more messages.

    They are added one by one: in whatever batches messages come, the same ones in the same order
    give the same state to the last bit.

    Parameters
    ----------
    state : RoundState
        It stays as it is.
    rounds, indices : array of int, shape [n]
        Queries that they answer.
    coords : array, shape [n, dim]
        Messages in frame coordinates at these.

    Returns
    -------
    state : RoundState
    """
    parts = [part.copy() for part in state[1:]]
    _compiled_add_one_by_one(rounds, indices, coords, *parts)
    return RoundState(state.centers, *parts)


def merge_states(states):
    """Sum of the states that several workers gathered about the same rounds.

    Parameters
    ----------
    states : iterable of RoundState
        One at least. A worker may not have heard yet that later rounds were opened.

    Returns
    -------
    state : RoundState

    Raises
    ------
    ProtocolError
        If two of them asked around different centres: they are not of one collection.
    """
    states = list(states)
    if not states:
        raise ProtocolError("states must hold one state at least; got none")
    longest = max(states, key=lambda state: state.n_opened)
    for number, state in enumerate(states):
        if not np.array_equal(state.centers, longest.centers[: state.n_opened]):
            raise ProtocolError(
                "states must be of one collection, whose rounds have the same centres; "
                f"state {number} has others"
            )
    sums = [
        reduce(_add_rounds, (state[part] for state in states), np.zeros_like(longest[part]))
        for part in range(1, len(longest))
    ]
    return RoundState(longest.centers.copy(), *sums)


def _add_rounds(total, part):
    total[: len(part)] += part
    return total
