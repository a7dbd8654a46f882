"""A collection in rounds in a file: protocol and sums, without pickle."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.archives import ArraySpec, open_arrays
from geomstats_ldp.exceptions import MessageError
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.score_regression import RoundState
from geomstats_ldp.score_regression.curvature import whitening_range
from geomstats_ldp.score_regression.fit import into_region
from geomstats_ldp.serialization import LONG_TEXT
from geomstats_ldp.server.checkpoint import LARGEST_COUNT, VERSION
from geomstats_ldp.server.engine import make_engine

#: Relative error of sums of many terms, generously.
_ROUNDING = 1e-6


def round_arrays(protocol, engine, state, n_closed):
    """Arrays of a checkpoint by their names."""
    return {
        "protocol": np.array(protocol.to_json()),
        "engine": np.array(engine),
        "n_closed": np.array([n_closed], dtype=np.int64),
        **{name: part for name, part in state._asdict().items() if name in _kept(protocol)},
    }


def _kept(protocol):
    """Fields of a state that a file holds: stretches where they are not all the identity."""
    is_needed = {"stretches": protocol.rounds.curvature_rounds is not None}
    return [name for name in RoundState._fields if is_needed.get(name, True)]


def load_round_checkpoint(source):
    """Read a checkpoint of a `RoundServer`.

    Parameters
    ----------
    source : path-like or binary file

    Returns
    -------
    protocol : Protocol
    engine : str
    state : RoundState
    n_closed : int
    version : tuple of int

    Raises
    ------
    MessageError
        If anything in the file is not what a collection could have come to.
    """
    with open_arrays(source, "a saved server", MessageError) as file:
        protocol = Protocol.from_json(file.read_text("protocol", LONG_TEXT))
        if protocol.rounds is None:
            raise ValueError("its protocol asks pairs, not rounds")
        engine = make_engine(file.read_text("engine", 20), protocol.geometry).name
        n_directions, dim = protocol.n_query_points, protocol.dim
        rounds = protocol.rounds.n_rounds
        parts = {
            "centers": ArraySpec("centers", (None, *protocol.geometry.shape)),
            "stretches": ArraySpec("stretches", (None, dim, dim)),
            "counts": ArraySpec("counts", (None, n_directions), "i8", low=0, high=LARGEST_COUNT),
            "sums": ArraySpec("sums", (None, n_directions, dim)),
            "outer": ArraySpec("outer", (None, n_directions, dim, dim)),
        }
        closed = ArraySpec("n_closed", (1,), "i8", low=0, high=rounds)
        arrays = file.read_arrays([VERSION, closed, *(parts[name] for name in _kept(protocol))])
        if protocol.rounds.curvature_rounds is None:
            arrays["stretches"] = np.stack([np.eye(dim)] * len(arrays["centers"]))
        state = RoundState(*(arrays[name] for name in RoundState._fields))
        n_closed = int(arrays["n_closed"][0])
        check_round_state(protocol, state, n_closed)
        return protocol, engine, state, n_closed, tuple(arrays["version"].tolist())


def check_round_state(protocol, state, n_closed):
    """Raise MessageError unless `state` is a possible state of a collection by `protocol`.

    Parameters
    ----------
    protocol : Protocol
    state : RoundState
        With finite arrays of the right types, whose last dimensions are right.
    n_closed : int
        Rounds closed.
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
    scale = np.sqrt(np.maximum(trace, np.finfo(float).tiny))[..., None]
    second = state.outer / scale[..., None] / scale[..., None]
    mean = state.sums / scale / np.sqrt(np.maximum(limit, 1.0))[..., None]
    left = second - mean[..., :, None] * mean[..., None, :]
    is_moment = (
        np.isfinite(left).all()
        and np.allclose(second, np.swapaxes(second, -1, -2), rtol=0.0, atol=_ROUNDING)
        and np.linalg.eigvalsh(left).min(initial=0.0) >= -_ROUNDING
    )
    if not is_moment:
        raise MessageError("outer must be symmetric and no less than what counts and sums explain")
