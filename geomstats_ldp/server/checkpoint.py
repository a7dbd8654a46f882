"""A collection in a file: protocol, state and open round, without pickle."""

from __future__ import annotations

import secrets

import numpy as np

from geomstats_ldp.archives import ArraySpec, open_arrays
from geomstats_ldp.exceptions import MessageError, NewerStateError
from geomstats_ldp.files import write_atomically
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.protocol.messages import LARGEST_ENTRY
from geomstats_ldp.serialization import LONG_TEXT
from geomstats_ldp.server.engine import make_engine
from geomstats_ldp.server.moment_sums import MomentSums, empty_moments
from geomstats_ldp.server.recursion import RegressionSums, State, state_before, weights_of_one
from geomstats_ldp.server.state_checks import check_state

#: Counts up to here are exact as doubles.
LARGEST_COUNT = 2**53

#: The version of a file: how often the collection was saved, and a number drawn at each time.
VERSION = ArraySpec("version", (2,), "i8", low=0)

#: Version of what was never saved.
UNSAVED = (0, 0)


def save_checkpoint(path, arrays, version):
    """Write a file, unless that would put back what somebody else has brought forward.

    Parameters
    ----------
    path : path-like
    arrays : dict of str to array
    version : tuple of int
        Version of the file that the collection was loaded from or saved to last.

    Returns
    -------
    version : tuple of int
        Version of the new file.

    Raises
    ------
    NewerStateError
        If the file there has been saved as often, but is not the one of that version.
    """
    new = (version[0] + 1, secrets.randbits(62))
    arrays = arrays | {"version": np.array(new)}

    def check():
        found = _version_of(path)
        if found[0] >= version[0] and found != version:
            raise NewerStateError(
                f"{path} holds a state that was saved {found[0]} times; this collection was last "
                f"in step with one that was saved {version[0]} times, and would undo what has "
                "come since. Load the file and go on from there, or save to another"
            )

    write_atomically(path, lambda file: np.savez_compressed(file, **arrays), check)
    return new


def _version_of(path):
    """Version of an existing file; what is missing, damaged or no checkpoint has none."""
    try:
        with open_arrays(path, "a saved server", MessageError) as file:
            return tuple(file.read_array(VERSION).tolist())
    except (FileNotFoundError, MessageError):
        return UNSAVED


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


def _state_specs(protocol):
    """What the arrays of a state have to be, which is what those of a new state are."""
    for name, array in state_arrays(state_before(protocol)).items():
        if array.dtype.kind == "i":
            yield ArraySpec(name, array.shape, "i8", low=0, high=LARGEST_COUNT)
        else:
            yield ArraySpec(name, array.shape)


def load_checkpoint(source):
    """Read what `save_checkpoint` wrote.

    Parameters
    ----------
    source : path-like or binary file

    Returns
    -------
    protocol : Protocol
    engine : str
    state : State
    pending : dict of int to array
        Whether they are messages is for the server to say, which knows the queries.
    version : tuple of int

    Raises
    ------
    MessageError
        If anything in the file is not what a collection could have come to.
    """
    with open_arrays(source, "a saved server", MessageError) as file:
        protocol = Protocol.from_json(file.read_text("protocol", LONG_TEXT))
        engine = make_engine(file.read_text("engine", 20), protocol.geometry).name
        answers, largest = protocol.n_query_points, LARGEST_ENTRY
        specs = [
            VERSION,
            ArraySpec("pending_index", (None,), "i8", low=0, high=answers - 1),
            ArraySpec(
                "pending_vectors", (None, *protocol.geometry.shape), low=-largest, high=largest
            ),
        ]
        arrays = file.read_arrays([*specs, *_state_specs(protocol)])
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
        pending = dict(zip(index.tolist(), vectors))
        return protocol, engine, state, pending, tuple(arrays["version"].tolist())
