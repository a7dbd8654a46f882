"""The recursion of symmetric-pair regression (section 2.3 of the paper), written once.

The functions here are plain Python over the operations of `geomstats_ldp.geometry.dispatch`. Run as
they are they call geomstats; reached from compiled code they use the closed forms. Randomness never
enters: the messages are inputs, so both engines give the same state from the same messages.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from geomstats_ldp.exceptions import InvalidMessageError
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import assign
from geomstats_ldp.geometry.regions import project
from geomstats_ldp.schedules import gain, query_radius
from geomstats_ldp.server.regression import RegressionSums, add_pair, close_cycle, empty_sums

#: Entries of `State.clock`, and of `State.safeguards`.
N_PARTICIPANTS, N_PAIRS = range(2)
N_CAPPED, N_PROJECTED, LAST_SAFEGUARD = range(3)


class State(NamedTuple):
    """What the next round needs, and what the safeguards did; O(dim^2) numbers.

    Attributes
    ----------
    iterate, average : array, shape [*point_shape]
        Current iterate x_k and intrinsic running average.
    clock : array of int, shape [2]
        Participants and pairs so far.
    sums : RegressionSums
    safeguards : array of int, shape [3]
        Updates cut by the step cap, updates projected back into the working region, and the
        participant at whose update one of both happened last. For people: no step reads it.
    """

    iterate: np.ndarray
    average: np.ndarray
    clock: np.ndarray
    sums: RegressionSums
    safeguards: np.ndarray


class Scratch(NamedTuple):
    """Buffers of the recursion; nothing in them survives a round.

    Attributes
    ----------
    queries : array, shape [2 * pairs_per_round, *point_shape]
        Open queries, the plus side of each pair first.
    radii : array, shape [pairs_per_round]
        Query radius of each open pair.
    vectors : array, shape [2, *point_shape]
    point : array, shape [*point_shape]
    coords : array, shape [5, dim]
    """

    queries: np.ndarray
    radii: np.ndarray
    vectors: np.ndarray
    point: np.ndarray
    coords: np.ndarray


def initial_state(point, dim, n_directions):
    """State before the first participant."""
    point = np.array(point, dtype=float)
    clock, safeguards = np.zeros(2, dtype=np.int64), np.zeros(3, dtype=np.int64)
    return State(point, point.copy(), clock, empty_sums(dim, n_directions), safeguards)


def copy_state(state):
    """Independent copy of a state."""
    return State(
        state.iterate.copy(),
        state.average.copy(),
        state.clock.copy(),
        RegressionSums(*(values.copy() for values in state.sums)),
        state.safeguards.copy(),
    )


def check_finite(state):
    """Raise InvalidMessageError if messages were so large that their sums overflowed."""
    for array in (state.iterate, state.average, *state.sums):
        if not np.isfinite(array).all():
            raise InvalidMessageError(
                "messages must be small enough for their squares to be finite"
            )


def make_scratch(shape, dim, pairs_per_round):
    """Buffers for a space with points of the given shape."""
    return Scratch(
        np.zeros((2 * pairs_per_round, *shape)),
        np.zeros(pairs_per_round),
        np.zeros((2, *shape)),
        np.zeros(shape),
        np.zeros((5, dim)),
    )


@register_jitable(forceinline=True)
def open_round(geometry, schedule, state, scratch, n_pairs):
    """Write the 2 * n_pairs queries of the next round to ``scratch.queries`` (pair queries)."""
    n_directions = schedule.directions.shape[0]
    offset = scratch.coords[0]
    for j in range(n_pairs):
        pair = state.clock[N_PAIRS] + j
        radius, direction = query_radius(schedule, pair), pair % n_directions
        scratch.radii[j] = radius
        for i in range(dispatch.dim(geometry)):
            offset[i] = radius * schedule.directions[direction, i]
        dispatch.retract_both_ways(
            geometry,
            offset,
            state.iterate,
            scratch.vectors[0],
            scratch.queries[2 * j],
            scratch.queries[2 * j + 1],
        )


@register_jitable(forceinline=True)
def close_round(geometry, region, schedule, state, scratch, messages, n_pairs):
    """Take the answers to the open queries: regression sums, update and average."""
    n_directions, base = schedule.directions.shape[0], state.iterate
    offset, plus, minus, average = (
        scratch.coords[0],
        scratch.coords[1],
        scratch.coords[2],
        scratch.coords[3],
    )
    weight, dim = 0.5 / n_pairs, dispatch.dim(geometry)
    for i in range(dim):
        average[i] = 0.0
    for j in range(n_pairs):
        pair = state.clock[N_PAIRS]
        radius, direction = scratch.radii[j], pair % n_directions
        first, second = 2 * j, 2 * j + 1
        vectors, queries = scratch.vectors, scratch.queries
        dispatch.carry(geometry, messages[first], queries[first], base, vectors, plus)
        dispatch.carry(geometry, messages[second], queries[second], base, vectors, minus)
        for i in range(dim):
            offset[i] = radius * schedule.directions[direction, i]
            total = plus[i] + minus[i]
            average[i] += weight * total
            minus[i] = 0.5 * (plus[i] - minus[i])
            plus[i] = 0.5 * total
        add_pair(state.sums, dim, plus, minus, offset, radius * radius)
        state.clock[N_PAIRS] += 1
        if direction == n_directions - 1:
            close_cycle(state.sums, pair // n_directions)
    _update(geometry, region, schedule, state, scratch, average, 2 * n_pairs)


@register_jitable
def close_single(geometry, region, schedule, state, scratch, message):
    """Take the answer of an odd last participant: one ordinary update at the iterate."""
    average = scratch.coords[3]
    dispatch.carry(geometry, message, state.iterate, state.iterate, scratch.vectors, average)
    _update(geometry, region, schedule, state, scratch, average, 1)


@register_jitable(forceinline=True)
def _update(geometry, region, schedule, state, scratch, average, n_answers):
    """Capped gradient step, projection and intrinsic running average (pair update)."""
    state.clock[N_PARTICIPANTS] += n_answers
    n_participants = state.clock[N_PARTICIPANTS]
    step = scratch.coords[4]
    size = gain(schedule, n_answers, n_participants)
    capped = _capped_step(schedule, dispatch.dim(geometry), average, size, step)
    dispatch.retract_coords(geometry, step, state.iterate, scratch.vectors[0], scratch.point)
    # A region that holds the queries keeps room for those of the next round, the widest first.
    room = query_radius(schedule, state.clock[N_PAIRS]) if region.holds_queries else 0.0
    projected = project(
        region,
        geometry,
        room,
        scratch.point,
        scratch.vectors,
        scratch.coords[0],
        state.iterate,
    )
    if capped:
        state.safeguards[N_CAPPED] += 1
    if projected:
        state.safeguards[N_PROJECTED] += 1
    if capped or projected:
        state.safeguards[LAST_SAFEGUARD] = n_participants
    # Each participant weighs the same: for pairs this is the 1/k of the paper.
    weight = n_answers / n_participants
    dispatch.interpolate(
        geometry, state.average, state.iterate, weight, scratch.vectors[0], scratch.point
    )
    assign(scratch.point, state.average)


@register_jitable(forceinline=True)
def _capped_step(schedule, dim, average, gain_value, step):
    """Write -gain * P U, shortened to the step cap; return whether it was."""
    squared = 0.0
    for i in range(dim):
        step[i] = 0.0
        for j in range(dim):
            step[i] -= gain_value * schedule.preconditioner[i, j] * average[j]
        squared += step[i] * step[i]
    length = math.sqrt(squared)
    if length <= schedule.step_cap:
        return False
    for i in range(dim):
        step[i] *= schedule.step_cap / length
    return True
