"""The recursion as it is, or compiled: two engines, one source."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.server import recursion
from geomstats_ldp.validation import check_choice

#: Names of the engines; "auto" compiles wherever the space has closed forms.
ENGINES = ("auto", "compiled", "geomstats")


def replay_rounds(geometry, region, schedule, state, scratch, messages, tangent, coords):
    """Run full rounds over messages that answer the queries of the schedule in order.

    The tangent part of each message at its query is written to `tangent`, shape
    [n, *point_shape], and its coordinates in the frame there to `coords`, shape [n, dim].
    """
    answers = scratch.queries.shape[0]
    for start in range(0, messages.shape[0] - answers + 1, answers):
        recursion.open_round(geometry, schedule, state, scratch, answers // 2)
        for i in range(answers):
            row, query = start + i, scratch.queries[i]
            dispatch.to_tangent(geometry, messages[row], query, tangent[row])
            dispatch.coordinates(geometry, tangent[row], query, coords[row])
        recursion.close_round(
            geometry,
            region,
            schedule,
            state,
            scratch,
            messages[start : start + answers],
            answers // 2,
        )


# What these three call is compiled once in a process, also for `replay_rounds` and emulation.


def open_round(geometry, schedule, state, scratch, n_pairs):
    """See `recursion.open_round`."""
    recursion.open_round(geometry, schedule, state, scratch, n_pairs)


def close_round(geometry, region, schedule, state, scratch, messages, n_pairs):
    """See `recursion.close_round`."""
    recursion.close_round(geometry, region, schedule, state, scratch, messages, n_pairs)


def close_single(geometry, region, schedule, state, scratch, message):
    """See `recursion.close_single`."""
    recursion.close_single(geometry, region, schedule, state, scratch, message)


#: The functions of an `Engine`, interpreted and compiled.
_INTERPRETED = open_round, close_round, close_single, replay_rounds
_COMPILED = tuple(cached_njit(function, allocates=False) for function in _INTERPRETED)


class Engine(NamedTuple):
    """The functions of the recursion, and the geometry or its twin that they act on."""

    name: str
    geometry: Any
    open_round: Callable
    close_round: Callable
    close_single: Callable
    replay_rounds: Callable

    @property
    def twin(self):
        """Geometry of compiled loops, None for the geomstats engine."""
        return self.geometry if self.name == "compiled" else None


def make_engine(name, geometry):
    """Engine of the given name; "auto" compiles wherever the space has closed forms.

    ProtocolError if "compiled" is asked of a space without closed forms.
    """
    check_choice("engine", name, ENGINES)
    twin = None if name == "geomstats" else geometry.twin()
    if twin is not None:
        return Engine("compiled", twin, *_COMPILED)
    if name == "compiled":
        raise ProtocolError(
            f"engine='compiled' has no closed forms for {type(geometry.space).__name__}; "
            "use engine='auto'"
        )
    return Engine("geomstats", geometry, *_INTERPRETED)
