"""All participants of a data set, emulated in one process, one row a participant.

Data may be larger than memory: they are read, checked, clipped and answered block by block.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from tqdm.auto import tqdm

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.elementwise import assign
from geomstats_ldp.losses import loss_of
from geomstats_ldp.losses.rows import check_data, clip_data, moved_rows
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.participant import participant_scratch, respond_into
from geomstats_ldp.schedules import Schedule
from geomstats_ldp.server.recursion import (
    Scratch,
    check_finite,
    close_round,
    close_single,
    copy_state,
    open_round,
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


def emulate(server, data, random_state=None, progress=False, convert=None):
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
    run = _Run(server, convert)
    blocks = [data[start : start + BLOCK] for start in range(0, len(data), BLOCK)]
    for block in blocks:
        run.check(block)
    converted = map(run.converted, blocks)
    return run.answer(converted, make_streams(random_state), progress, len(data))


def emulate_blocks(server, blocks, random_state=None, progress=False, convert=None):
    """Feed a server the answers of one participant per row of data that come in blocks.

    The blocks may have any sizes and are read once, one after the other; the result is that of
    `emulate` on all rows together.

    Parameters
    ----------
    server : Server
        Changed in place, after the last block.
    blocks : iterable of array, shape [n_rows, *data_shape]
    random_state, progress, convert
        See `emulate`.

    Returns
    -------
    clipping : Clipping

    Raises
    ------
    ValueError, ProtocolError
        As `emulate`, when the block that is wrong has come, or after the last one if the rows do
        not fit the plan. The server is then what it was; `random_state`, if a generator, has moved.
    """
    if server.pending:
        _check_plan(server, 0)
    run = _Run(server, convert)
    checked = (run.check(block) for block in blocks)
    return run.answer(_within_plan(server, checked), make_streams(random_state), progress)


#: Clipped rows that are kept to see what clipping does to scores.
_KEPT = 4096


class Clipping(NamedTuple):
    """What clipping to the public bounds did to rows; only an emulation can know.

    Attributes
    ----------
    n_rows, n_clipped : int
        Rows, and those that were moved.
    given, kept : tuple of array, shape [n, *data_shape]
        The first rows that were moved, before and after.
    """

    n_rows: int = 0
    n_clipped: int = 0
    given: tuple = ()
    kept: tuple = ()

    def plus(self, other):
        """With the rows of another block."""
        total = Clipping(*(one + more for one, more in zip(self, other)))
        is_full = sum(map(len, self.given)) >= _KEPT
        return total._replace(given=self.given, kept=self.kept) if is_full else total

    @property
    def share(self):
        """Share of the rows that were moved."""
        return self.n_clipped / max(self.n_rows, 1)

    def score_change(self, loss, geometry, point):
        """Change of the mean score at a point near the estimate, shape [dim]."""
        given, kept = np.concatenate(self.given), np.concatenate(self.kept)
        change = loss.clipping_change(geometry, point, given, kept)
        return change / len(given) * self.share

    def hessian_change(self, loss, geometry, point, steps):
        """Change of the Hessian there, by differences along the frame, shape [dim, dim]."""
        columns = []
        with np.errstate(all="ignore"):
            for axis, step in zip(np.diag(steps), steps):
                ends = (geometry.exp(geometry.lift(end, point), point) for end in (axis, -axis))
                up, down = (self.score_change(loss, geometry, end) for end in ends)
                columns.append((up - down) / (2 * step))
            change = np.stack(columns, axis=-1)
            return (change + change.T) / 2


class DataReader:
    """Rows of data on their way to the participants: converted, checked and clipped.

    Parameters
    ----------
    server : Server or RoundServer
    convert : callable, optional
        See `emulate`.

    Attributes
    ----------
    clipping : Clipping
        What the public bounds did to the rows so far.
    """

    def __init__(self, server, convert=None):
        self.geometry, self.loss = server.protocol.geometry, loss_of(server.protocol)
        self._convert, self._twin = convert, server.engine.twin
        self._n_checked = 0
        self.clipping = Clipping()

    def converted(self, rows):
        """Rows in the coordinates of the protocol."""
        return rows if self._convert is None else self._convert(rows)

    def check(self, rows):
        """Return converted rows, or raise ValueError."""
        start = self._n_checked
        self._n_checked += len(rows)
        try:
            return check_data(self.loss, self.geometry, self.converted(rows), self._twin)
        except ValueError as error:
            if start == 0:
                raise
            # Where in the block was said already.
            raise type(error)(f"{error}, counted from row {start}") from error

    def clipped(self, rows, twin=None):
        """Converted rows inside the public bounds, and what that did to them.

        A thread that is not the only one brings a `twin` of the geometry of its own.
        """
        given = np.asarray(rows, dtype=float)
        rows = clip_data(self.loss, self.geometry, given, self._twin if twin is None else twin)
        moved = np.flatnonzero(moved_rows(self.loss, given, rows))
        kept = [(part[moved[:_KEPT]],) if len(moved) else () for part in (given, rows)]
        return rows, Clipping(len(rows), len(moved), *kept)


class _Run(DataReader):
    """One pass over data, on a copy of the state that the server adopts at the end."""

    def __init__(self, server, convert=None):
        super().__init__(server, convert)
        self._server, self._state = server, copy_state(server.state)
        self._compute, self._crowd = _make_crowd(server, self.loss)

    def answer(self, blocks, streams, progress, total=None):
        """Answer checked blocks, let the server adopt the outcome, and say what clipping did."""
        kept, n_rows = [], 0
        with tqdm(total=total, disable=not progress, unit="row", desc="participants") as bar:
            for rows in _whole_rounds(blocks, 2 * self._server.protocol.pairs_per_round):
                kept.append(self._answer_rounds(rows, streams))
                n_rows += len(rows)
                bar.update(len(rows))
        _check_plan(self._server, n_rows)
        check_finite(self._state)
        self._server.adopt(self._state, kept)
        return self.clipping

    def _answer_rounds(self, rows, streams):
        rows, clipping = self.clipped(rows)
        self.clipping = self.clipping.plus(clipping)
        variates = self._server.protocol.mechanism.draw(len(rows), streams)
        messages = np.empty((len(rows) * self._server.keeps_messages, *self.geometry.shape))
        self._compute(self._crowd, self._state, rows, variates, messages)
        return messages


def _whole_rounds(blocks, full):
    """Cut rows anew, into pieces of whole rounds; the last piece takes what is left."""
    block = max(BLOCK - BLOCK % full, full)
    waiting, n_waiting = [], 0
    for rows in blocks:
        while n_waiting + len(rows) >= block:
            taken = block - n_waiting
            yield np.concatenate([*waiting, rows[:taken]]) if waiting else rows[:taken]
            rows, waiting, n_waiting = rows[taken:], [], 0
        if len(rows) > 0:
            # A copy: whoever sends the blocks may write the next one to the same place.
            waiting.append(np.array(rows))
            n_waiting += len(rows)
    if waiting:
        yield np.concatenate(waiting)


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
    if n_rows % full != 0 or (planned is not None and received + n_rows > planned):
        raise ProtocolError(
            f"data must complete the plan of n_participants={planned}, of which {received} have "
            f"answered, or stay within it and fill whole rounds of {full}; got {n_rows} rows"
        )


def _make_crowd(server, loss):
    """Compiled or interpreted `emulate_rounds`, and its `Crowd`."""
    protocol, geometry = server.protocol, server.protocol.geometry
    run, parts = emulate_rounds, (geometry, loss, protocol.mechanism)
    twins = loss.twin(), protocol.mechanism.twin()
    if server.engine.name == "compiled" and None not in twins:
        run, parts = _compiled_emulate_rounds, (server.engine.geometry, *twins)
    return run, Crowd(
        *parts,
        protocol.working_region,
        protocol.schedule,
        server.scratch,
        participant_scratch(geometry),
        np.empty((2 * protocol.pairs_per_round, *geometry.shape)),
    )
