"""Whether a state that came from a file is one that the recursion could have reached.

Counts are determined by each other and by the schedule, sums by the moments they stand for. What
passes may still be wrong, but it has the shapes, the place and the order of a state: nothing that
is computed from it later can leave memory, the manifold or the range of doubles.
"""

from __future__ import annotations

import math

import numpy as np

from geomstats_ldp.exceptions import MessageError
from geomstats_ldp.geometry.regions import slack_of
from geomstats_ldp.schedules import query_radius
from geomstats_ldp.server.moment_sums import fourth_moments
from geomstats_ldp.server.recursion import (
    LAST_SAFEGUARD,
    N_CAPPED,
    N_IN_GROUP,
    N_PAIRS,
    N_PARTICIPANTS,
    N_PROJECTED,
    OF_PAIRS,
    OF_PEOPLE,
    PUBLIC_VARIANCE,
    SQUARES_OF_PAIRS,
    SQUARES_OF_PEOPLE,
    state_before,
)
from geomstats_ldp.server.regression import (
    COMPLETE,
    CURRENT,
    FIRST_EARLY,
    RegressionSums,
    pairs_of_group,
    sums_by_group,
)

#: Relative error of sums of many terms, generously.
_ROUNDING = 1e-6


def check_state(protocol, state):
    """Raise MessageError unless `state` is a possible state of a collection by `protocol`.

    Its arrays are finite, of the right shapes and types.
    """
    _check_counts(protocol, state)
    _check_points(protocol, state)
    n_pairs = 0
    mechanisms = protocol.mechanisms.values()
    for mechanism, sums in zip(mechanisms, sums_by_group(state.sums, len(mechanisms))):
        n_in_group = int(pairs_of_group(sums, 0, 1))
        _check_sums(protocol, mechanism, sums, n_in_group)
        n_pairs += n_in_group
    _require(
        n_pairs == state.clock[N_PAIRS],
        f"sums_n_pairs must add up to {state.clock[N_PAIRS]}, the number of pairs; got {n_pairs}",
    )
    _check_weights(protocol, state)
    if protocol.inference.moment is not None:
        radius = max(mechanism.support_radius for mechanism in mechanisms)
        _check_moment_sums(state.moments, state.weights[:, OF_PEOPLE].sum(), radius)


def _check_moment_sums(moments, total, support_radius):
    """Sums of products of unit vectors q, and of messages across them, of a total weight."""
    second, cross, p = moments.second, moments.cross, len(moments.second)
    fourth = fourth_moments(moments)
    slack = _ROUNDING * total
    least = np.linalg.eigvalsh(fourth.reshape(p * p, p * p)).min()
    _require(
        abs(np.trace(second) - total) <= slack
        and np.allclose(np.trace(fourth, axis1=2, axis2=3), second, rtol=0.0, atol=slack)
        and least >= -slack,
        "moments_second and moments_fourth must be sums over unit vectors, with their weights",
    )
    size = np.linalg.norm(cross)
    longest = total * support_radius if total > 0 else 0.0
    _require(
        abs(np.trace(cross)) <= _ROUNDING * size and size <= longest * (1 + _ROUNDING),
        "moments_cross must be sums over messages in the support of the mechanism",
    )


def _check_sums(protocol, mechanism, sums, n_pairs):
    """Check the sums over the pairs of one group of participants."""
    n_directions = len(protocol.directions)
    _require(
        np.array_equal(sums.n_pairs, _slot_sizes(sums, n_pairs, n_directions)),
        "sums_n_pairs must add up to the number of pairs, cycle by cycle",
    )
    _check_radii(protocol.schedule, sums, n_pairs)
    _check_moments(sums, protocol.dim, n_pairs // n_directions)
    _check_averages(sums, mechanism.support_radius)


def _check_weights(protocol, state):
    """Sums of weights are those of the pairs and people of their groups, and of who came alone."""
    weights, groups = state.weights, range(len(protocol.mechanisms))
    n_pairs = np.array([pairs_of_group(state.sums, group, len(groups)) for group in groups])
    in_pairs = n_pairs, weights[:, OF_PAIRS], weights[:, SQUARES_OF_PAIRS]
    people = weights[:, N_IN_GROUP], weights[:, OF_PEOPLE], weights[:, SQUARES_OF_PEOPLE]
    alone = [every - 2 * part for every, part in zip(people, in_pairs)]
    _require(
        np.array_equal(weights[:, PUBLIC_VARIANCE], state_before(protocol).weights[:, 0])
        and np.sum(weights[:, N_IN_GROUP]) == state.clock[N_PARTICIPANTS]
        and _are_sums_of_weights(*in_pairs)
        and _are_sums_of_weights(*alone),
        "weights must be sums of weights of at most one over the pairs and people of each group",
    )


def _are_sums_of_weights(count, total, squares):
    """Whether `count` weights in [0, 1] can have this total and this sum of squares."""
    slack = _ROUNDING * (1 + count)
    return bool(
        np.all(
            (count >= 0)
            & (-slack <= squares)
            & (squares <= total + slack)
            & (total <= count + slack)
            & (total**2 <= (count + slack) * (squares + slack))
        )
    )


def _require(condition, text):
    if not condition:
        raise MessageError(text)


def _check_counts(protocol, state):
    n_participants, n_pairs = int(state.clock[N_PARTICIPANTS]), int(state.clock[N_PAIRS])
    planned, round_pairs = protocol.n_participants, protocol.pairs_per_round
    single, n_groups = n_participants - 2 * n_pairs, len(protocol.mechanisms)
    _require(
        n_pairs >= 0 and 0 <= single <= n_groups,
        f"counts must hold two participants a pair, and {n_groups} more at most; got "
        f"{n_participants} participants and {n_pairs} pairs",
    )
    if planned is not None:
        _require(
            n_participants <= planned and (single == 0 or 2 * n_pairs >= planned - n_groups),
            f"counts must stay within the plan of {planned} participants; got {n_participants}",
        )
        _require(
            n_pairs % round_pairs == 0 or planned - n_participants <= n_groups,
            f"counts must fill whole rounds of {round_pairs} pairs; got {n_pairs} pairs",
        )
    capped, projected, last = (
        int(state.safeguards[place]) for place in (N_CAPPED, N_PROJECTED, LAST_SAFEGUARD)
    )
    n_updates = -(-n_pairs // round_pairs) + single
    if planned is None:
        n_updates = n_pairs + single  # a plan that was extended had rounds of its own
    _require(
        0 <= min(capped, projected)
        and max(capped, projected) <= n_updates
        and (max(capped, projected) <= last <= n_participants)
        and ((last > 0) == (capped + projected > 0)),
        f"counts of safeguards must fit the number of updates, {n_updates}; got {capped} capped, "
        f"{projected} projected, the last at participant {last}",
    )


def _check_points(protocol, state):
    geometry, region = protocol.geometry, protocol.working_region
    slack = slack_of(geometry, region, _ROUNDING)
    points = {"iterate": state.iterate}
    geometry.check_point(state.average, "average", rtol=_ROUNDING)
    # The average of points of a ball lies in it only if the ball is convex.
    curvature = max(geometry.curvature[1], 0.0)
    diameter = 2.0 * region.radius
    if diameter < geometry.injectivity_radius and diameter * math.sqrt(curvature) < math.pi:
        points["average"] = state.average
    for name, point in points.items():
        geometry.check_point(point, name, rtol=_ROUNDING)
        _require(
            np.all(region.contains(geometry, point, slack=slack)),
            f"{name} must lie in the working region",
        )


def _slot_sizes(sums, n_pairs, n_directions):
    """Pairs in every slot after `n_pairs` pairs."""
    n_cycles, current = divmod(n_pairs, n_directions)
    sizes = np.zeros(len(sums.n_pairs), dtype=np.int64)
    sizes[CURRENT], sizes[COMPLETE] = current, n_pairs - current
    sizes[FIRST_EARLY : FIRST_EARLY + n_cycles] = n_directions
    return sizes


def _check_radii(schedule, sums, n_pairs):
    """Sums of squared radii are those of the schedule; early cycles exactly."""
    n_directions = len(schedule.directions)
    n_cycles, n_early = n_pairs // n_directions, len(sums.n_pairs) - FIRST_EARLY
    cycles = [n_cycles, *range(n_early), min(n_cycles, n_early)]
    squares = [query_radius(schedule, cycle * n_directions) ** 2 for cycle in cycles]
    each, widest = np.array(squares[:-1]), squares[-1]
    given, sizes = (np.delete(part, COMPLETE) for part in (sums.squared_radius, sums.n_pairs))
    early = float(sizes[1:] @ each[1:])
    rest = n_directions * max(n_cycles - n_early, 0)
    complete = sums.squared_radius[COMPLETE]
    _require(
        np.allclose(given, sizes * each, rtol=_ROUNDING, atol=0.0)
        and (early + rest * each[0]) * (1 - _ROUNDING) <= complete
        and complete <= (early + rest * widest) * (1 + _ROUNDING),
        "sums_squared_radius must be the sums of the squared radii of the schedule",
    )


def _check_averages(sums, support_radius):
    """Check that pair averages are no longer than messages can be."""
    lengths, some = np.linalg.norm(sums.u, axis=1), sums.n_pairs > 0
    _require(
        np.all(lengths[some] <= sums.n_pairs[some] * support_radius * (1 + _ROUNDING))
        and not np.any(lengths[~some]),
        "sums_u must be sums over messages in the support of the mechanism",
    )


def _check_moments(sums, dim, n_cycles):
    """Sums of D, D X^T and D D^T are moments: what D leaves unexplained is no less than zero.

    Over complete cycles, sum X = 0 and sum X X^T = (sum h^2 / d) I, so that
    sum D D^T - (sum D)(sum D)^T / n - (d / sum h^2) (sum D X^T)(sum D X^T)^T is positive
    semidefinite. It holds for every early cycle, and for the complete cycles without those.
    """
    used = slice(FIRST_EARLY, FIRST_EARLY + n_cycles)
    cycles = RegressionSums(*(values[used] for values in sums))
    whole = RegressionSums(*(values[COMPLETE] for values in sums))
    rest = RegressionSums(*(a - b.sum(axis=0) for a, b in zip(whole, cycles)))
    _check_unexplained(cycles, dim, np.trace(cycles.dd, axis1=1, axis2=2))
    if rest.n_pairs > 0:
        _check_unexplained(rest, dim, np.trace(whole.dd))
    else:
        _check_sizes(rest, whole, _ROUNDING)
    _check_open_cycle(sums)
    unused = [values[FIRST_EARLY + n_cycles :] for values in sums]
    _require(not any(np.any(part) for part in unused), "sums of no pairs must be zero")


def _check_open_cycle(sums):
    """Check the sums over the cycle in progress, whose offsets are not centred yet."""
    current = RegressionSums(*(values[CURRENT] for values in sums))
    _check_sizes(current, current, 1 + _ROUNDING)
    if current.n_pairs > 0:
        centred = current._replace(dx=np.zeros_like(current.dx))
        _check_unexplained(centred, len(current.d), np.trace(current.dd))


def _check_unexplained(sums, dim, scale):
    """Check sums, also stacked; rounding is relative to the trace `scale` of D D^T."""
    mean = sums.d[..., None] / np.sqrt(sums.n_pairs)[..., None, None]
    slope = sums.dx / np.sqrt(sums.squared_radius / dim)[..., None, None]
    check_second_moments("sums_dd", sums.dd, scale, {"sums_d": mean, "sums_dx": slope})


def check_second_moments(name, second, scale, parts):
    """Raise MessageError unless sums of outer products are no less than what other sums explain.

    Parameters
    ----------
    name : str
    second : array, shape [..., dim, dim]
    scale : array, shape [...]
        Trace to which rounding is relative.
    parts : dict of str to array, shape [..., dim, n]
        Factors E of the parts E E^T that they explain, by the names of the sums.
    """
    shrink = np.sqrt(np.maximum(scale, np.finfo(float).tiny))[..., None, None]
    left = second / shrink / shrink
    is_symmetric = np.allclose(left, np.swapaxes(left, -1, -2), rtol=0.0, atol=_ROUNDING)
    _require(is_symmetric, f"{name} must be symmetric")
    for part in parts.values():
        factor = part / shrink
        left = left - factor @ np.swapaxes(factor, -1, -2)
    is_finite = np.isfinite(left).all()
    _require(is_finite, f"{name} must be small enough for squares of sums to be finite")
    _require(
        np.linalg.eigvalsh(left).min(initial=0.0) >= -_ROUNDING,
        f"{name} must be no less than what {' and '.join(parts)} explain",
    )


def _check_sizes(sums, moments, factor):
    """Check that sums are within a factor of what Cauchy and Schwarz allow for the moments."""
    trace = np.sqrt(max(np.trace(moments.dd), 0.0))
    spread, reach = np.sqrt(moments.n_pairs), np.sqrt(moments.squared_radius)
    limits = (spread**2, reach**2, spread * trace, reach * trace, trace**2)
    _require(
        all(np.max(np.abs(part)) <= factor * limit for part, limit in zip(sums, limits)),
        "sums must fit the sums of squares that belong to them",
    )
