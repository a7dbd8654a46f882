"""What is kept of the messages of a collection in rounds: a count and two sums a query point.

States add up. Messages may come in any order, late, or be gathered by many workers, and the sum is
the same to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.schedules import round_radius

if TYPE_CHECKING:
    from geomstats_ldp.protocol import Protocol

#: Fields of a state that say where its rounds ask; the others are sums of messages.
_N_PLACES = 2


class RoundState(NamedTuple):
    """Sums of the messages by query point; the first index is the round, the second the direction.

    The query points are functions of the centres: `query_points`.

    Attributes
    ----------
    centers : array, shape [n_opened, *point_shape]
        Point around which each round that was opened asks.
    stretches : array, shape [n_opened, dim, dim]
        Map of the directions of each round that asks for curvature, in frame coordinates; see
        ``curvature``. The identity for the others.
    counts : array of int, shape [n_opened, n_directions]
        Messages received. With groups of participants, the directions of the first come first, then
        those of the second: n_directions stands for ``protocol.n_query_points`` everywhere.
    sums : array, shape [n_opened, n_directions, dim]
        Their sum, in frame coordinates at the query point.
    outer : array, shape [n_opened, n_directions, dim, dim]
        The sum of their outer products.
    """

    centers: np.ndarray
    stretches: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    outer: np.ndarray

    @property
    def n_opened(self) -> int:
        """Rounds that have been opened."""
        return len(self.centers)

    @property
    def n_participants(self) -> int:
        """Messages received in all."""
        return int(self.counts.sum())


def initial_round_state(protocol: Protocol) -> RoundState:
    """State of a collection whose first round has been opened and not been answered.

    Parameters
    ----------
    protocol : Protocol
        With rounds.

    Returns
    -------
    state : RoundState
    """
    n_directions, dim, shape = protocol.n_query_points, protocol.dim, protocol.geometry.shape
    nothing = RoundState(
        np.zeros((0, *shape)),
        np.zeros((0, dim, dim)),
        np.zeros((0, n_directions), dtype=np.int64),
        np.zeros((0, n_directions, dim)),
        np.zeros((0, n_directions, dim, dim)),
    )
    return closed_round(nothing, protocol.initial_point)


def closed_round(
    state: RoundState, center: ArrayLike, stretch: np.ndarray | None = None
) -> RoundState:
    """State in which the next round has been opened.

    Parameters
    ----------
    state : RoundState
    center : array-like, shape [*point_shape]
        Where it asks around.
    stretch : array, shape [dim, dim], optional
        Map of its directions if it asks for curvature, the identity by default.

    Returns
    -------
    state : RoundState
    """
    if stretch is None:
        stretch = np.eye(state.stretches.shape[-1])
    opened = zip(state[:_N_PLACES], (center, stretch))
    places = [np.concatenate([part, np.asarray(new, dtype=float)[None]]) for part, new in opened]
    empty = [np.zeros((1, *part.shape[1:]), part.dtype) for part in state[_N_PLACES:]]
    heard = [np.concatenate(parts) for parts in zip(state[_N_PLACES:], empty)]
    return RoundState(*places, *heard)


def without_messages(state: RoundState) -> RoundState:
    """State about the same rounds that has heard nobody yet, for a worker to start from.

    Parameters
    ----------
    state : RoundState

    Returns
    -------
    state : RoundState
    """
    places = (part.copy() for part in state[:_N_PLACES])
    return RoundState(*places, *(np.zeros_like(part) for part in state[_N_PLACES:]))


def ask_the_same(one, other):
    """Whether two states ask at the same points in all rounds that both have opened."""
    n = min(one.n_opened, other.n_opened)
    return all(np.array_equal(one[part][:n], other[part][:n]) for part in range(_N_PLACES))


def query_points(
    protocol: Protocol, state: RoundState, known: np.ndarray | None = None
) -> np.ndarray:
    """Public points that each round asks at.

    Parameters
    ----------
    protocol : Protocol
    state : RoundState
    known : array, shape [n_known, n_directions, *point_shape], optional
        Those of the first rounds, where they have been computed before.

    Returns
    -------
    points : array, shape [n_opened, n_directions, *point_shape]
    """
    geometry, directions = protocol.geometry, np.array(protocol.directions)
    n_groups = len(protocol.mechanisms)
    if protocol.rounds.query is not None:
        return np.stack([np.array([protocol.rounds.query] * n_groups)] * state.n_opened)
    points = np.empty((state.n_opened, n_groups * len(directions), *geometry.shape))
    n_known = 0 if known is None else len(known)
    points[:n_known] = known if n_known else 0.0
    for number in range(n_known, state.n_opened):
        center, radius = state.centers[number], round_radius(protocol.radius, number)
        if protocol.rounds.asks_for_curvature(number):
            radius = 0.0
        asked = geometry.retract(geometry.lift(radius * directions, center), center)
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


def with_messages(
    state: RoundState, rounds: np.ndarray, indices: np.ndarray, coords: np.ndarray
) -> RoundState:
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
    parts = [part.copy() for part in state[_N_PLACES:]]
    _compiled_add_one_by_one(rounds, indices, coords, *parts)
    return RoundState(*state[:_N_PLACES], *parts)


def merge_states(states: Iterable[RoundState]) -> RoundState:
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
        If two of them asked at different points: they are not of one collection.
    """
    states = list(states)
    if not states:
        raise ProtocolError("states must hold one state at least; got none")
    longest = max(states, key=lambda state: state.n_opened)
    for number, state in enumerate(states):
        if not ask_the_same(state, longest):
            raise ProtocolError(
                "states must be of one collection, whose rounds ask at the same points; "
                f"state {number} has others"
            )
    sums = [
        reduce(_add_rounds, (state[part] for state in states), np.zeros_like(longest[part]))
        for part in range(_N_PLACES, len(longest))
    ]
    return RoundState(*(part.copy() for part in longest[:_N_PLACES]), *sums)


def _add_rounds(total, part):
    total[: len(part)] += part
    return total
