"""A collection in rounds as the arrays of a file."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.archives import ArraySpec, spec_like
from geomstats_ldp.exceptions import MessageError
from geomstats_ldp.score_regression import RoundState
from geomstats_ldp.score_regression.curvature import whitening_range
from geomstats_ldp.score_regression.fit import into_region
from geomstats_ldp.server.state_checks import check_second_moments

#: Relative error of sums of many terms, generously.
_ROUNDING = 1e-6


def round_arrays(protocol, state, n_closed):
    """Arrays of a collection by their names in a file."""
    arrays = {name: getattr(state, name) for name in _kept(protocol)}
    return {"n_closed": np.array([n_closed], dtype=np.int64), **arrays}


def _kept(protocol):
    """Fields of a state that a file holds: stretches where they are not all the identity."""
    is_needed = {"stretches": protocol.rounds.curvature_rounds is not None}
    return [name for name in RoundState._fields if is_needed.get(name, True)]


def round_specs(protocol, state):
    """What the arrays of a file have to be; those of a state are as of a new one, but longer."""
    yield ArraySpec("n_closed", (1,), "i8", low=0, high=protocol.rounds.n_rounds)
    for name in _kept(protocol):
        array = getattr(state, name)
        yield spec_like(name, array, (None, *array.shape[1:]))


def read_rounds(protocol, arrays):
    """State and number of closed rounds, or MessageError where arrays of a file hold none."""
    if "stretches" not in arrays:
        arrays["stretches"] = np.stack([np.eye(protocol.dim)] * len(arrays["centers"]))
    state = RoundState(*(arrays[name] for name in RoundState._fields))
    n_closed = int(arrays["n_closed"][0])
    check_round_state(protocol, state, n_closed)
    return state, n_closed


def check_round_state(protocol, state, n_closed):
    """Raise MessageError unless `state` is a possible state of a collection by `protocol`.

    Its arrays are finite, of the right types, and their last dimensions are right.
    """
    opened = min(n_closed + 1, protocol.rounds.n_rounds)
    if {len(part) for part in state} != {opened}:
        raise MessageError(
            f"{', '.join(_kept(protocol))} must be of the {opened} rounds opened; "
            f"got {[len(part) for part in state]}"
        )
    for center in state.centers:
        settled = protocol.geometry.check_point(center, "center", rtol=_ROUNDING)
        moved = protocol.geometry.dist(into_region(protocol, settled), settled)
        if not moved <= _ROUNDING * (1 + protocol.working_region.radius):
            raise MessageError("centers must lie in the working region")
    if not np.array_equal(state.centers[0], np.array(protocol.initial_point)):
        raise MessageError("the first center must be the initial point")
    _check_stretches(protocol, state.stretches)
    _check_sums(protocol, state)


def _check_stretches(protocol, stretches):
    """Symmetric maps in their public range, the identity where scores are asked for."""
    is_symmetric = np.array_equal(stretches, np.swapaxes(stretches, 1, 2))
    for number, stretch in enumerate(stretches):
        values, low, high = np.linalg.eigvalsh(stretch), 1.0, 1.0
        if protocol.rounds.asks_for_curvature(number):
            low, high = whitening_range(protocol)
        is_between = low * (1 - _ROUNDING) <= values[0] and values[-1] <= high * (1 + _ROUNDING)
        if not (is_symmetric and is_between):
            raise MessageError(
                f"stretches must be symmetric, that of round {number} with eigenvalues from "
                f"{low:g} to {high:g}"
            )


def _check_sums(protocol, state):
    """Sums and outer products are moments of as many messages, and these in their support."""
    trace = np.trace(state.outer, axis1=-2, axis2=-1)
    limit = np.asarray(state.counts, dtype=float)
    radii = [mechanism.support_radius for mechanism in protocol.mechanisms.values()]
    support = np.repeat(radii, protocol.n_query_points // len(radii))
    has_bound = np.isfinite(support)
    room = limit[:, has_bound] * support[has_bound] ** 2 * (1 + _ROUNDING)
    if not np.all(trace[:, has_bound] <= room):
        raise MessageError("outer must be sums over messages in the support of the mechanism")
    if np.any(trace[state.counts == 0] != 0) or np.any(state.sums[state.counts == 0] != 0):
        raise MessageError("sums of no messages must be zero")
    mean = state.sums / np.sqrt(np.maximum(limit, 1.0))[..., None]
    check_second_moments("outer", state.outer, trace, {"counts and sums": mean[..., None]})
