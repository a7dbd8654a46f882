"""Rows of data on their way to emulated participants, and what the public bounds did to them."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from geomstats_ldp.losses import loss_of
from geomstats_ldp.losses.rows import check_data, clip_data, moved_rows

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
    mechanisms : list of Mechanism
        Of the groups of participants.
    """

    def __init__(self, server, convert=None):
        self.geometry, self.loss = server.protocol.geometry, loss_of(server.protocol)
        self._convert, self._twin = convert, server.engine.twin
        self.clipping = Clipping()
        self.mechanisms = list(server.protocol.mechanisms.values())

    def converted(self, rows):
        """Rows in the coordinates of the protocol."""
        return rows if self._convert is None else self._convert(rows)

    def checked(self, blocks):
        """Blocks of rows in turn, converted and checked; ValueError at the first that is wrong."""
        start = 0
        for rows in blocks:
            yield self.check(rows, start)
            start += len(rows)

    def check(self, rows, start, twin=None):
        """Return converted rows, the first of which has the number `start`, or raise ValueError.

        A thread that is not the only one brings a `twin` of the geometry of its own.
        """
        twin = self._twin if twin is None else twin
        try:
            return check_data(self.loss, self.geometry, self.converted(rows), twin)
        except ValueError as error:
            if start == 0:
                raise
            # The error says where in the block; the reader needs to know where the block starts.
            raise type(error)(f"{error}, counted from row {start}") from error

    def clipped(self, rows, twin=None):
        """Converted rows inside the public bounds, and what that did to them; `twin` as above."""
        given = np.asarray(rows, dtype=float)
        rows = clip_data(self.loss, self.geometry, given, self._twin if twin is None else twin)
        moved = np.flatnonzero(moved_rows(self.loss, given, rows))
        kept = [(part[moved[:_KEPT]],) if len(moved) else () for part in (given, rows)]
        return rows, Clipping(len(rows), len(moved), *kept)


class RowQueue:
    """Rows that come in blocks of any sizes, taken in pieces of any size.

    They are copied as they come: whoever sends the blocks may write the next one to the same place.
    """

    def __init__(self, blocks):
        self._blocks, self._waiting, self._n_waiting = iter(blocks), deque(), 0

    def are_left(self):
        """Whether there is another row."""
        return self._fill(1)

    def take(self, n):
        """The next n rows, fewer at the end, None when there are none."""
        self._fill(n)
        if self._n_waiting == 0:
            return None
        taken, size = [], 0
        while self._waiting and size < n:
            block = self._waiting.popleft()
            if len(block) > n - size:
                self._waiting.appendleft(block[n - size :])
                block = block[: n - size]
            taken.append(block)
            size += len(block)
        self._n_waiting -= size
        return taken[0] if len(taken) == 1 else np.concatenate(taken)

    def _fill(self, n):
        while self._n_waiting < n:
            block = next(self._blocks, None)
            if block is None:
                return self._n_waiting > 0
            if len(block) > 0:
                self._waiting.append(np.array(block))
                self._n_waiting += len(block)
        return True
