"""A collection in pairs as the arrays of a file."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.archives import ArraySpec, spec_like
from geomstats_ldp.protocol.messages import LARGEST_ENTRY
from geomstats_ldp.server.moment_sums import MomentSums, empty_moments
from geomstats_ldp.server.recursion import RegressionSums, State, weights_of_one
from geomstats_ldp.server.state_checks import check_state


def state_arrays(state):
    """Arrays of a state by their names in a file."""
    counts = np.concatenate([state.clock, state.safeguards])
    arrays = {"iterate": state.iterate, "average": state.average, "counts": counts}
    if len(state.weights) > 1:
        arrays["weights"] = state.weights
    arrays |= {f"sums_{name}": part for name, part in state.sums._asdict().items()}
    if len(state.moments.second) > 0:
        arrays |= {f"moments_{name}": part for name, part in state.moments._asdict().items()}
    return arrays


def pair_specs(protocol, state):
    """What the arrays of a file have to be; those of a state are as of a new one."""
    last, shape = protocol.n_query_points - 1, (None, *protocol.geometry.shape)
    yield ArraySpec("pending_index", (None,), "i8", low=0, high=last)
    yield ArraySpec("pending_vectors", shape, low=-LARGEST_ENTRY, high=LARGEST_ENTRY)
    for name, array in state_arrays(state).items():
        yield spec_like(name, array, array.shape)


def read_pairs(protocol, arrays):
    """State and messages that wait, by their index, or an error of what arrays of a file hold.

    Whether these are messages is for the server to say, which knows the queries.
    """
    sums = RegressionSums(*(arrays[f"sums_{name}"] for name in RegressionSums._fields))
    clock, safeguards = arrays["counts"][:2].copy(), arrays["counts"][2:].copy()
    weights = arrays.get("weights", weights_of_one(clock))
    none = empty_moments(0)._asdict()
    moments = MomentSums(*(arrays.get(f"moments_{name}", none[name]) for name in none))
    points = arrays["iterate"], arrays["average"]
    state = State(*points, clock, sums, weights, safeguards, moments)
    check_state(protocol, state)
    index, vectors = arrays["pending_index"], arrays["pending_vectors"]
    if len(index) != len(vectors) or np.any(np.diff(index) <= 0):
        raise ValueError("pending_index must be ascending, with one index for each vector")
    return state, dict(zip(index.tolist(), vectors))
