"""The recursion of symmetric-pair regression (section 2.3 of the paper), written once.

The functions here are plain Python over the operations of `geomstats_ldp.geometry.dispatch`. Run as
they are they call geomstats; reached from compiled code they use the closed forms. Randomness never
enters: the messages are inputs, so both engines give the same state from the same messages.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from geomstats_ldp.exceptions import InvalidMessageError
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import assign
from geomstats_ldp.geometry.regions import project
from geomstats_ldp.mechanisms.checks import typical_variance
from geomstats_ldp.schedules import gain, query_radius
from geomstats_ldp.server.moment_sums import MomentSums, add_message, empty_moments
from geomstats_ldp.server.regression import (
    COMPLETE,
    CURRENT,
    RegressionSums,
    add_pair,
    close_cycle,
    empty_sums,
    first_slot,
    pairs_of_group,
)
from geomstats_ldp.twins import jitable, jitable_inline

#: Entries of `State.clock`, of `State.safeguards`, and of a row of `State.weights`.
N_PARTICIPANTS, N_PAIRS = range(2)
N_CAPPED, N_PROJECTED, LAST_SAFEGUARD = range(3)
PUBLIC_VARIANCE, OF_PAIRS, SQUARES_OF_PAIRS, N_IN_GROUP, OF_PEOPLE, SQUARES_OF_PEOPLE = range(6)

#: Pairs that the public variance of the scores of a group counts for.
_PRIOR_PAIRS = 10


class State(NamedTuple):
    """What the next round and the region need, and what the safeguards did.

    These are O(dim^2) numbers, and O(dim^4) with the sums for a second moment.

    Attributes
    ----------
    iterate, average : array, shape [*point_shape]
        Current iterate x_k and intrinsic running average.
    clock : array of int, shape [2]
        Participants and pairs so far.
    sums : RegressionSums
        One block of slots for each group of participants.
    weights : array, shape [n_groups, 6]
        Of each group the variance of a score that is assumed at first, the sums of the weights of
        its pairs and of their squares, its participants, and the sums over these. See `weight_of`.
    safeguards : array of int, shape [3]
        Updates cut by the step cap, updates projected back into the working region, and the
        participant at whose update one of both happened last. For people: no step reads it.
    moments : MomentSums
        Over the messages of all groups, each with its weight; no step reads them.
    """

    iterate: np.ndarray
    average: np.ndarray
    clock: np.ndarray
    sums: RegressionSums
    weights: np.ndarray
    safeguards: np.ndarray
    moments: MomentSums


class Scratch(NamedTuple):
    """Buffers of the recursion; nothing in them survives a round.

    Attributes
    ----------
    queries : array, shape [2 * pairs_per_round, *point_shape]
        Open queries, the plus side of each pair first.
    radii : array, shape [pairs_per_round]
        Query radius of each open pair.
    group : array of int, shape [1]
        Number of the group of participants that the open round asks.
    vectors : array, shape [2, *point_shape]
    point : array, shape [*point_shape]
    coords : array, shape [5, dim]
    """

    queries: np.ndarray
    radii: np.ndarray
    group: np.ndarray
    vectors: np.ndarray
    point: np.ndarray
    coords: np.ndarray


def initial_state(point, dim, n_directions, variances=(1.0,), has_moment=False):
    """State before the first participant.

    Parameters
    ----------
    point : array-like, shape [*point_shape]
    dim, n_directions : int
    variances : sequence of float, shape [n_groups]
        Variance of a coordinate of a released score by group of participants, as far as it is
        known beforehand. The unit makes no difference.
    has_moment : bool
        Whether there are sums for a second moment, see `InferenceRule.moment`.
    """
    point = np.array(point, dtype=float)
    clock, safeguards = np.zeros(2, dtype=np.int64), np.zeros(3, dtype=np.int64)
    weights = np.zeros((len(variances), 6))
    weights[:, PUBLIC_VARIANCE] = variances
    sums = empty_sums(dim, n_directions, len(variances))
    moments = empty_moments(len(point) if has_moment else 0)
    return State(point, point.copy(), clock, sums, weights, safeguards, moments)


def state_before(protocol):
    """State of a collection in pairs that nobody has answered."""
    variances = [1.0]
    if protocol.groups is not None:
        variances = [typical_variance(mechanism) for mechanism in protocol.mechanisms.values()]
    place = protocol.initial_point, protocol.dim, len(protocol.directions)
    return initial_state(*place, variances, protocol.inference.moment is not None)


def weights_of_one(clock):
    """Weights of a single group, which the clock determines: each message has the weight one."""
    n_participants, n_pairs = float(clock[N_PARTICIPANTS]), float(clock[N_PAIRS])
    return np.array([[1.0, n_pairs, n_pairs, *[n_participants] * 3]])


def pairs_to_come(n_left, n_groups):
    """Pairs that the planned participants who are left can surely form within their groups."""
    return max(n_left - n_groups + 1, 0) // 2


def check_finite(state):
    """Raise InvalidMessageError if messages were so large that their sums overflowed."""
    for array in (state.iterate, state.average, state.weights, *state.sums, *state.moments):
        if not np.isfinite(array).all():
            raise InvalidMessageError(
                "messages must be small enough for their squares to be finite"
            )


def make_scratch(shape, dim, pairs_per_round):
    """Buffers for a space with points of the given shape."""
    return Scratch(
        np.zeros((2 * pairs_per_round, *shape)),
        np.zeros(pairs_per_round),
        np.zeros(1, dtype=np.int64),
        np.zeros((2, *shape)),
        np.zeros(shape),
        np.zeros((5, dim)),
    )


@jitable
def weight_of(state, group):
    """Weight of a message of a group, relative to the group whose messages tell most.

    It is the ratio of the variances of their scores, which the half-differences of earlier pairs
    tell: a weight never depends on the message that it is for. Offsets make these a little larger
    than they should be, and the weights a little more equal.
    """
    n_groups, dim = state.weights.shape[0], state.sums.d.shape[1]
    least, own = math.inf, 1.0
    if n_groups == 1:
        return 1.0
    for g in range(n_groups):
        slot = first_slot(state.sums, g, n_groups)
        total = _PRIOR_PAIRS * state.weights[g, PUBLIC_VARIANCE]
        for i in range(dim):
            both = state.sums.dd[slot + CURRENT, i, i] + state.sums.dd[slot + COMPLETE, i, i]
            total += 2.0 * both / dim
        variance = total / (_PRIOR_PAIRS + pairs_of_group(state.sums, g, n_groups))
        least = min(least, variance)
        if g == group:
            own = variance
    return least / own


@jitable_inline
def open_round(geometry, schedule, state, scratch, n_pairs):
    """Write the 2 * n_pairs queries of the next round to ``scratch.queries`` (pair queries)."""
    n_directions = schedule.directions.shape[0]
    offset = scratch.coords[0]
    first = pairs_of_group(state.sums, scratch.group[0], state.weights.shape[0])
    for j in range(n_pairs):
        pair = first + j
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


@jitable_inline
def close_round(geometry, region, schedule, state, scratch, messages, n_pairs):
    """Take the answers to the open queries: regression sums, update and average."""
    n_directions, base = schedule.directions.shape[0], state.iterate
    n_groups, group = state.weights.shape[0], scratch.group[0]
    slot, worth = first_slot(state.sums, group, n_groups), weight_of(state, group)
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
        pair = pairs_of_group(state.sums, group, n_groups)
        radius, direction = scratch.radii[j], pair % n_directions
        first, second = 2 * j, 2 * j + 1
        vectors, queries = scratch.vectors, scratch.queries
        dispatch.carry(geometry, messages[first], queries[first], base, vectors, plus)
        dispatch.carry(geometry, messages[second], queries[second], base, vectors, minus)
        add_message(state.moments, queries[first], messages[first], worth)
        add_message(state.moments, queries[second], messages[second], worth)
        for i in range(dim):
            offset[i] = radius * schedule.directions[direction, i]
            total = plus[i] + minus[i]
            average[i] += weight * total
            minus[i] = 0.5 * (plus[i] - minus[i])
            plus[i] = 0.5 * worth * total
        add_pair(state.sums, slot, dim, plus, minus, offset, radius * radius)
        state.clock[N_PAIRS] += 1
        state.weights[group, OF_PAIRS] += worth
        state.weights[group, SQUARES_OF_PAIRS] += worth * worth
        if direction == n_directions - 1:
            close_cycle(state.sums, slot, n_groups, pair // n_directions)
    _update(geometry, region, schedule, state, scratch, average, 2 * n_pairs, worth)


@jitable_inline
def close_single(geometry, region, schedule, state, scratch, message):
    """Take the answer of an odd last participant: one ordinary update at the iterate."""
    average = scratch.coords[3]
    dispatch.carry(geometry, message, state.iterate, state.iterate, scratch.vectors, average)
    worth = weight_of(state, scratch.group[0])
    add_message(state.moments, state.iterate, message, worth)
    _update(geometry, region, schedule, state, scratch, average, 1, worth)


@jitable_inline
def _update(geometry, region, schedule, state, scratch, average, n_answers, worth):
    """Capped gradient step, projection and intrinsic running average (pair update).

    Both count an answer as `worth` of a participant: their clock is the sum of the weights.
    """
    state.clock[N_PARTICIPANTS] += n_answers
    group, n_groups = scratch.group[0], state.weights.shape[0]
    state.weights[group, N_IN_GROUP] += n_answers
    state.weights[group, OF_PEOPLE] += worth * n_answers
    state.weights[group, SQUARES_OF_PEOPLE] += worth * worth * n_answers
    clock, n_asked = 0.0, pairs_of_group(state.sums, 0, n_groups)
    for g in range(n_groups):
        clock += state.weights[g, OF_PEOPLE]
        n_asked = min(n_asked, pairs_of_group(state.sums, g, n_groups))
    step = scratch.coords[4]
    size = gain(schedule, worth * n_answers, clock)
    capped = _capped_step(schedule, dispatch.dim(geometry), average, size, step)
    dispatch.retract_coords(geometry, step, state.iterate, scratch.vectors[0], scratch.point)
    # A region that holds the queries keeps room for those of the next round, the widest first.
    room = query_radius(schedule, n_asked) if region.holds_queries else 0.0
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
        state.safeguards[LAST_SAFEGUARD] = state.clock[N_PARTICIPANTS]
    # In pairs of one group this is the 1/k of the paper.
    weight = worth * n_answers / clock
    dispatch.interpolate(
        geometry, state.average, state.iterate, weight, scratch.vectors[0], scratch.point
    )
    assign(scratch.point, state.average)


@jitable_inline
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
