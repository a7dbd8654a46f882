"""All participants of a data set, emulated in rounds, over all cores.

Within a round nobody waits for anybody. Rows are cut into blocks at fixed places, each with random
streams of its own, and their messages are added in order: the result does not depend on the number
of threads.
"""

from __future__ import annotations

import copy
import math
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
from tqdm.auto import tqdm

from geomstats_ldp.data_reader import DataReader, RowQueue
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses.curvature import check_curvature_rounds, curvature_answers
from geomstats_ldp.losses.scoring import frame_scores
from geomstats_ldp.mechanisms import make_streams, seed_sequence
from geomstats_ldp.score_regression import with_messages, without_messages
from geomstats_ldp.score_regression.curvature import directions_of_queries

#: Most rows that a thread answers at a time. With half as many, threads wait for the interpreter;
#: with four times as many, the messages of a block leave the cache before they are added up.
BLOCK = 2**15


def block_size(n_rows):
    """Rows of a block of a round of `n_rows`, None where it is open.

    Rounds that take several blocks are cut into a multiple of four of one size: no core waits for
    the others at the end of a round.
    """
    if n_rows is None or n_rows <= BLOCK:
        return BLOCK
    return math.ceil(n_rows / (4 * math.ceil(n_rows / (4 * BLOCK))))


def emulate_in_rounds(server, data, random_state=None, progress=False, convert=None, groups=None):
    """Feed a server of rounds the answers of one participant per row of `data`, in row order.

    As `emulate`, but that every block of rows draws from streams of its own, and that the rows may
    be any number within the plan.
    """
    data = np.asanyarray(data)
    _check_room(server, len(data))
    run = _RoundRun(server, convert, groups)
    blocks = [data[start : start + BLOCK] for start in range(0, len(data), BLOCK)]
    run.check_all(blocks)
    return run.answer(map(run.converted, blocks), make_streams(random_state), progress, len(data))


def emulate_blocks_in_rounds(
    server, blocks, random_state=None, progress=False, convert=None, groups=None
):
    """The same for data that come in blocks of any sizes and are read once: `emulate_blocks`."""
    run = _RoundRun(server, convert, groups)
    return run.answer(run.checked(blocks), make_streams(random_state), progress)


def _check_room(server, n_rows):
    planned, received = server.protocol.n_participants, server.n_participants
    if server.is_complete or (planned is not None and received + n_rows > planned):
        raise ProtocolError(
            f"data must stay within the plan of n_participants={planned}, of which {received} have "
            f"answered in {server.n_closed} closed rounds; got {n_rows} rows"
        )


class _RoundRun(DataReader):
    """One pass over data, on a copy of the server that hands over its state at the end."""

    def __init__(self, server, convert=None, groups=None):
        super().__init__(server, convert)
        check_curvature_rounds(server.protocol.rounds, self.loss, self.geometry)
        self._server, self._work = server, copy.copy(server)
        self._groups, self._n_taken = groups, 0
        self._is_compiled = None not in (server.engine.twin, self.loss.twin())
        # Interpreted code would only make threads wait for each other.
        self._n_threads = joblib.effective_n_jobs(-1) if self._is_compiled else 1

    def check_all(self, blocks):
        """Raise ValueError at the first wrong one of blocks of `BLOCK` rows, on all cores."""
        starts = range(0, BLOCK * len(blocks), BLOCK)
        with ThreadPoolExecutor(self._n_threads) as pool:
            twins = (self._own_twin() for _ in blocks)
            deque(pool.map(self.check, blocks, starts, twins), maxlen=0)

    def _own_twin(self):
        """Twin for one task: some hold scratch, and threads that shared one would spoil it."""
        return self.geometry.twin() if self._is_compiled else None

    def answer(self, blocks, streams, progress, total=None):
        """Answer checked blocks round by round, and say what clipping did."""
        rows = RowQueue(blocks)
        bar = tqdm(total=total, disable=not progress, unit="row", desc="participants")
        with bar, ThreadPoolExecutor(self._n_threads) as pool:
            while rows.are_left():
                _check_room(self._work, 1)
                self._answer_round(rows, streams, pool, bar)
        self._server.adopt(self._work)
        return self.clipping

    def _answer_round(self, rows, streams, pool, bar):
        """Answer until the open round is closed or no rows are left."""
        work, waiting = self._work, deque()
        places, left = work.n_in_group(), work.round_size()
        points, nothing = work.points(work.round), without_messages(work.state)
        directions = directions_of_queries(work.protocol, work.state, work.round)
        size = block_size(left)
        while left is None or left > 0 or waiting:
            part = None if left == 0 else rows.take(size if left is None else min(size, left))
            if part is not None:
                # Drawn here, one after the other, so that no thread decides which seed it gets.
                groups, seed = self._groups_of(len(part)), seed_sequence(streams[0])
                asked = nothing, points, directions, places.copy()
                waiting.append(pool.submit(self._answer_block, *asked, part, groups, seed))
                places += _sizes(groups, len(part), len(places))
                left = left and left - len(part)
            elif not waiting:
                break
            if part is None or len(waiting) > 3 * self._n_threads:
                self._add(*waiting.popleft().result(), bar)
        work.close_if_full()

    def _groups_of(self, n_rows):
        """Numbers of the groups of the next rows, None where there is one."""
        if self._groups is None:
            return None
        start, self._n_taken = self._n_taken, self._n_taken + n_rows
        return self._groups[start : self._n_taken]

    def _answer_block(self, nothing, points, directions, places, rows, groups, seed):
        """Sums of the messages of a block, where they belong, themselves, and what clipping did."""
        twin = self._own_twin()
        rows, clipping = self.clipped(rows, twin)
        messages = np.empty((len(rows), self.geometry.dim))
        indices, streams = np.empty(len(rows), dtype=np.int64), make_streams(seed)
        cycle = np.arange(len(points) // len(places))
        for group, n_members in enumerate(_sizes(groups, len(rows), len(places))):
            # A slice takes no copies.
            members = slice(None) if groups is None else np.flatnonzero(groups == group)
            turns = np.tile(np.roll(cycle, -int(places[group])), 1 + n_members // len(cycle))
            indices[members] = group * len(cycle) + turns[:n_members]
            mechanism = self.mechanisms[group]
            variates = mechanism.draw(n_members, streams)
            if directions is None:
                asked = points, indices[members], rows[members]
                answers = frame_scores(self.loss, self.geometry, *asked, twin)
            else:
                asked = mechanism, points, directions, indices[members]
                answers = self._curvatures(*asked, rows[members])
            messages[members] = mechanism.release(answers, variates)
        answers = np.full(len(rows), nothing.n_opened - 1), indices, messages
        return with_messages(nothing, *answers), answers, clipping

    def _curvatures(self, mechanism, points, directions, indices, rows):
        """What clipped rows answer in a round that asks for curvature, shape [n, dim]."""
        answers = np.empty((len(rows), self.geometry.dim))
        for index in np.unique(indices):
            asked = self.loss, self._work.protocol, mechanism, points[index], directions[index]
            own = indices == index
            answers[own] = curvature_answers(*asked, rows[own])
        return answers

    def _add(self, sums, answers, clipping, bar):
        """Add the messages of a block to the open round."""
        self._work.add_sums(sums, *answers)
        self.clipping = self.clipping.plus(clipping)
        bar.update(len(answers[0]))


def _sizes(groups, n_rows, n_groups):
    """Number of rows in each group."""
    return np.array([n_rows]) if groups is None else np.bincount(groups, minlength=n_groups)
