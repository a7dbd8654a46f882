"""All participants of a data set, emulated in one process, one row a participant.

Data may be larger than memory: they are read, checked, clipped and answered block by block.
"""

from __future__ import annotations

import copy
from collections import deque
from typing import Any, NamedTuple

import numpy as np
from tqdm.auto import tqdm

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.data_reader import DataReader, RowQueue
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.elementwise import assign
from geomstats_ldp.losses.returned import compiled_scores
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.participant import participant_scratch, respond_into
from geomstats_ldp.schedules import Schedule
from geomstats_ldp.server.recursion import (
    Scratch,
    check_finite,
    close_round,
    close_single,
    open_round,
    pairs_to_come,
)

#: Participants whose variates are drawn at once; results do not depend on it.
BLOCK = 2**14


class Crowd(NamedTuple):
    """What the emulated participants and the server of a run share, and their buffers.

    Attributes
    ----------
    geometry : Geometry or its twin
    loss : Loss or its twin
    mechanism : Mechanism or its twin
    region : GeodesicBall, LogBox or SpectralBand
        Working region.
    schedule : Schedule
    server : Scratch
    participant : tuple
        See `participant_scratch`.
    answers : array, shape [2 * pairs_per_round, *point_shape]
        Messages of the round in progress.
    """

    geometry: Any
    loss: Any
    mechanism: Any
    region: Any
    schedule: Schedule
    server: Scratch
    participant: tuple
    answers: np.ndarray


def emulate_rounds(crowd, state, data, variates, messages):
    """Let a block of participants answer in row order; runs in both engines.

    Rows past the last full round form a smaller round, and an odd last row one ordinary update.
    The answers are copied to `messages`, unless that is empty.
    """
    geometry, region, schedule = crowd.geometry, crowd.region, crowd.schedule
    server, answers = crowd.server, crowd.answers
    start = 0
    while start < data.shape[0]:
        n_pairs = min(answers.shape[0], data.shape[0] - start) // 2
        n_answers = max(2 * n_pairs, 1)
        if n_pairs > 0:
            open_round(geometry, schedule, state, server, n_pairs)
        for i in range(n_answers):
            respond_into(
                geometry,
                crowd.loss,
                crowd.mechanism,
                server.queries[i] if n_pairs > 0 else state.iterate,
                data[start + i],
                variates[start + i],
                crowd.participant,
                answers[i],
            )
        if messages.shape[0] > 0:
            for i in range(n_answers):
                assign(answers[i], messages[start + i])
        if n_pairs > 0:
            close_round(geometry, region, schedule, state, server, answers, n_pairs)
        else:
            close_single(geometry, region, schedule, state, server, answers[0])
        start += n_answers


_compiled_emulate_rounds = cached_njit(emulate_rounds, allocates=False)


def emulate(server, data, random_state=None, progress=False, convert=None, groups=None):
    """Feed a server the answers of one participant per row of `data`, in row order.

    A stream can be emulated in pieces, with the state of the server read in between: the pieces
    give the very state of one call, if they draw from one and the same `Streams`.

    Parameters
    ----------
    server : Server
        Changed in place.
    data : array, shape [n, *data_shape]
        Raw data, a memory map for example, which is never copied as a whole. The rows are checked
        before the first message is made. They complete the planned number of participants, or
        stay within the plan and fill whole rounds; an open plan has whole rounds only.
    random_state : None, int, numpy Generator, RandomState or Streams
        As for `Participant`; the draws are those of one `Participant` that answers row by row.
        `make_streams` makes the streams of a run in pieces.
    progress : bool, default=False
        Show a progress bar.
    convert : callable, optional
        Applied to blocks of rows before anything else, to bring them to the coordinates of the
        protocol.
    groups : array of int, shape [n], optional
        Number of the group of each row, where the protocol has groups. Each pair is of one group,
        a cycle of directions at a time, and asked when its last row has come: people of a group
        answer in row order. The rows have to complete the plan.

    Returns
    -------
    clipping : Clipping
        What the public bounds did to the data.

    Raises
    ------
    ValueError
        If the data are not finite or have the wrong shape.
    ProtocolError
        If a round is open, or the rows do not fit the plan. The server is then what it was.
    """
    data = np.asanyarray(data)
    _check_plan(server, len(data))
    run = _run_of(server, convert, groups)
    blocks = [data[start : start + BLOCK] for start in range(0, len(data), BLOCK)]
    deque(run.checked(blocks), maxlen=0)
    converted = map(run.converted, blocks)
    return run.answer(converted, make_streams(random_state), progress, len(data))


def emulate_blocks(server, blocks, random_state=None, progress=False, convert=None, groups=None):
    """The same for data that come in blocks of any sizes and are read once, one after the other.

    An error is raised when the block that is wrong has come, or after the last one if the rows do
    not fit the plan. The server is then what it was; `random_state`, if a generator, has moved.
    """
    if server.pending:
        _check_plan(server, 0)
    run = _run_of(server, convert, groups)
    rows = _within_plan(server, run.checked(blocks))
    return run.answer(rows, make_streams(random_state), progress)


class _Run(DataReader):
    """One pass over data, on a copy of the state that the server adopts at the end."""

    def __init__(self, server, convert=None):
        super().__init__(server, convert)
        self._server, self._state = server, copy.deepcopy(server.state)
        self._compute, in_loops = emulate_rounds, (self.geometry, self.loss, *self.mechanisms)
        twins = (server.engine.twin, *(each.twin() for each in in_loops[1:]))
        if None not in twins:
            self._compute, in_loops = _compiled_emulate_rounds, twins
        geometry, loss, *mechanisms = in_loops
        rest = (
            server.protocol.working_region,
            server.protocol.schedule,
            server.scratch,
            participant_scratch(self.geometry),
            np.empty((2 * server.protocol.pairs_per_round, *self.geometry.shape)),
        )
        self._crowds = [Crowd(geometry, loss, mechanism, *rest) for mechanism in mechanisms]

    def answer(self, blocks, streams, progress, total=None):
        """Answer checked blocks, let the server adopt the outcome, and say what clipping did."""
        kept, n_rows, queue = [], 0, RowQueue(blocks)
        full = 2 * self._server.protocol.pairs_per_round
        size = max(BLOCK - BLOCK % full, full)  # whole rounds, but for what is left at the end
        with tqdm(total=total, disable=not progress, unit="row", desc="participants") as bar:
            while (rows := queue.take(size)) is not None:
                kept += self._answer_rounds(rows, streams)
                n_rows += len(rows)
                bar.update(len(rows))
        kept += self._answer_rest(streams)
        _check_plan(self._server, n_rows)
        check_finite(self._state)
        self._server.adopt(self._state, kept)
        return self.clipping

    def _answer_rounds(self, rows, streams):
        """Let as many of these rows and of those that wait answer as can."""
        return [self._answer(0, self._clipped(rows), streams)]

    def _clipped(self, rows):
        """Rows inside the public bounds; what that did to them is added up."""
        rows, clipping = self.clipped(rows)
        self.clipping = self.clipping.plus(clipping)
        return rows

    def _answer(self, group, rows, streams):
        """Let clipped rows of a group answer; return its number and the messages if kept."""
        variates = self.mechanisms[group].draw(len(rows), streams)
        messages = np.empty((len(rows) * self._server.keeps_messages, *self.geometry.shape))
        self._crowds[group].server.group[0] = group
        with compiled_scores(self.loss):
            self._compute(self._crowds[group], self._state, rows, variates, messages)
        return group, messages

    def _answer_rest(self, streams):
        """Let rows answer that have waited for others, when no more come."""
        return []


class _GroupedRun(_Run):
    """One pass over data of several groups of participants: each pair is of one group.

    A group answers a cycle of directions at a time, when the last row for it has come.
    """

    def __init__(self, server, convert, groups):
        super().__init__(server, convert)
        self._coming = groups
        self._rows, self._groups = None, groups[:0]
        left = server.protocol.n_participants - server.n_participants
        self._pairs_left = pairs_to_come(left, len(self.mechanisms))

    def _answer_rounds(self, rows, streams):
        rows = self._clipped(rows)
        self._rows = rows if self._rows is None else np.concatenate([self._rows, rows])
        self._groups = np.concatenate([self._groups, self._coming[: len(rows)]])
        self._coming = self._coming[len(rows) :]
        return self._answer_pairs(2 * len(self._server.protocol.directions), streams)

    def _answer_rest(self, streams):
        kept = self._answer_pairs(2, streams)
        alone = zip(self._groups.tolist(), self._rows[:, None])
        return kept + [self._answer(group, row, streams) for group, row in alone]

    def _answer_pairs(self, size, streams):
        """Let so many rows of a group at a time answer in pairs, as long as there are as many."""
        kept, is_waiting = [], np.ones(len(self._rows), dtype=bool)
        for group, places in _pieces(self._groups, len(self.mechanisms), size):
            places = places[: 2 * self._pairs_left]
            if len(places) > 0:
                kept.append(self._answer(group, self._rows[places], streams))
            self._pairs_left -= len(places) // 2
            is_waiting[places] = False
        self._rows, self._groups = self._rows[is_waiting], self._groups[is_waiting]
        return kept


def _pieces(groups, n_groups, size):
    """Groups and the places of so many rows of each, in the order of the last of them."""
    pieces = []
    for group in range(n_groups):
        places = np.flatnonzero(groups == group)
        ends = range(size, len(places) + 1, size)
        pieces += [(group, places[end - size : end]) for end in ends]
    return sorted(pieces, key=lambda piece: piece[1][-1])


def _run_of(server, convert, groups):
    """Pass over data by a server, with or without groups of participants."""
    if (groups is None) != (server.protocol.groups is None):
        raise ProtocolError("groups must be given where the protocol has groups, and only there")
    return _Run(server, convert) if groups is None else _GroupedRun(server, convert, groups)


def _within_plan(server, blocks):
    """Pass blocks on until more rows have come than are planned."""
    planned, n_rows = server.protocol.n_participants, 0
    for rows in blocks:
        n_rows += len(rows)
        if planned is not None and server.n_participants + n_rows > planned:
            _check_plan(server, n_rows)
        yield rows


def _check_plan(server, n_rows):
    planned, received = server.protocol.n_participants, server.n_participants
    if server.pending:
        raise ProtocolError("an open round cannot be emulated; finish it with messages first")
    if planned is not None and received + n_rows == planned:
        return
    full = 2 * server.protocol.pairs_per_round
    if server.protocol.groups is not None:
        raise ProtocolError(
            f"data of groups must complete the plan of n_participants={planned}, of which "
            f"{received} have answered; got {n_rows} rows"
        )
    if n_rows % full != 0 or (planned is not None and received + n_rows > planned):
        raise ProtocolError(
            f"data must complete the plan of n_participants={planned}, of which {received} have "
            f"answered, or stay within it and fill whole rounds of {full}; got {n_rows} rows"
        )
