"""A worker's view of the collection: a `RoundServer` that follows the reports in the database.

The state is a function of the protocol, the reports in the order of their numbers and the closings,
so that every worker comes to the same, whenever it starts. A round closes with the very report that
fills it, or where somebody closed it. Whoever records a closing first decides; the point that the
next round asks around is recorded with it.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, nullcontext

import numpy as np

from geomstats_ldp.collection import store, tables
from geomstats_ldp.collection.times import cut_down
from geomstats_ldp.exceptions import NotReadyError
from geomstats_ldp.protocol import Transcript
from geomstats_ldp.server import RoundServer

#: Reports read at once.
_CHUNK = 50_000


class Ledger:
    """Server of rounds that knows what the database knows; threads may share it.

    Parameters
    ----------
    engine : sqlalchemy Engine
    study : Study
    clock : callable
        Seconds since the epoch.

    Attributes
    ----------
    server : RoundServer
        It changes only while a method of this class runs.
    """

    def __init__(self, engine, study, clock=time.time):
        self.engine, self.study, self.clock = engine, study, clock
        self._lock = threading.Lock()
        self.server, self._last = RoundServer(study.protocol), 0
        self._before = RoundServer(study.protocol)

    def warm_up(self):
        """Compile what reports will need, on a server that is thrown away."""
        server = RoundServer(self.study.protocol)
        directions = np.repeat(np.arange(server.n_directions), 2)
        server.add_coords(0 * directions, directions, np.eye(server.protocol.dim)[0 * directions])
        server.estimate()

    @contextmanager
    def _safely(self):
        """One thread at a time; what fails half-way is as it was before."""
        with self._lock:
            last = self._last
            self._before.adopt(self.server)
            try:
                yield
            except BaseException:
                self._last = last
                self.server.adopt(self._before)
                raise

    def follow(self):
        """Take all reports that have been stored, and close rounds that they fill."""
        with self._safely():
            with tables.settled(self.engine) as connection:
                last = store.last_report(connection)
            self._walk(last, self._connect)

    def _connect(self, write=False):
        return tables.writing(self.engine) if write else tables.reading(self.engine)

    def close_round(self, number):
        """Close a round now, unless it is closed already.

        Parameters
        ----------
        number : int

        Raises
        ------
        NotReadyError
            If too few have answered in it.
        """
        self.follow()
        with self._safely():
            recorded = None
            with tables.writing_alone(self.engine) as connection:
                last = store.last_report(connection)
                self._walk(last, lambda write=False: nullcontext(connection))
                if self.server.round == number and not self.server.is_complete:
                    recorded = self._record_closing(connection)
            if recorded is not None:
                self.server.close_round(recorded.center)

    def close_if_due(self):
        """Close the open round if its deadline has passed and enough have answered."""
        self.follow()
        server = self.server
        is_due = not server.is_complete and self.clock() >= self.deadline()
        if is_due and server.n_in_round >= server.protocol.rounds.minimum:
            self.close_round(server.round)

    def deadline(self):
        """Second of the epoch at which the open round may close, infinite without one."""
        service = self.study.service
        if service["deadline_seconds"] is None:
            return np.inf
        with tables.reading(self.engine) as connection:
            opened = store.opening_time(connection, self.server.round)
        opened = self.study.opened if opened is None else opened
        # The time was cut down, so that the round may have opened a step later.
        return opened + service["time_precision_seconds"] + service["deadline_seconds"]

    # ---------------------------------------------------------------- following

    def _walk(self, last, connect):
        """Take reports up to number `last`, on the connections that `connect` makes."""
        while True:
            with connect() as connection:
                reports = store.read_reports(
                    connection, self.study.protocol, self._last, last, _CHUNK
                )
            self._take(reports, connect)
            if len(reports.ids) < _CHUNK:
                return

    def _take(self, reports, connect):
        start = 0
        while True:
            stop = start + self._n_before_closing(reports, start, connect)
            part = slice(start, stop)
            if stop > start:
                addresses = reports.rounds[part], reports.directions[part]
                self.server.add_coords(*addresses, reports.coords[part])
                self._last = int(reports.ids[stop - 1])
            if not self._close_here(connect):
                return
            start = stop

    def _n_before_closing(self, reports, start, connect):
        """How many reports come before the open round closes."""
        left = len(reports.ids) - start
        if self.server.is_complete:
            return left
        known = self._known_closing(connect)
        if known is not None:
            return int(np.sum(reports.ids[start:] <= known.last_report))
        missing = self.server.round_size()
        if missing is None:
            return left
        answers = np.cumsum(reports.rounds[start:] == self.server.round)
        return min(left, int(np.searchsorted(answers, missing)) + 1) if missing else 0

    def _known_closing(self, connect):
        with connect() as connection:
            return store.closing(connection, self.server.round)

    def _close_here(self, connect):
        """Close the open round if it ends with the report taken last; whether it did."""
        if self.server.is_complete:
            return False
        known = self._known_closing(connect)
        if known is not None and self._last >= known.last_report:
            self.server.close_round(known.center)
            return True
        if known is None and self.server.round_size() == 0:
            with connect(write=True) as connection:
                recorded = self._record_closing(connection)
            self.server.close_round(recorded.center)
            return True
        return False

    def _record_closing(self, connection):
        """Record that the open round ends with the report taken last; what stands on record.

        Nobody may ask around a point before it is on the disk: close the round after that.
        """
        server, precision = self.server, self.study.service["time_precision_seconds"]
        answered, minimum = server.n_in_round, server.protocol.rounds.minimum
        if answered < minimum:
            raise NotReadyError(
                f"a round may close with {minimum} answers at least; the open one has {answered}"
            )
        closed = cut_down(self.clock(), precision)
        store.add_closing(connection, server.round, self._last, server.estimate(), closed)
        return store.closing(connection, server.round)

    # ---------------------------------------------------------------- transcript

    def transcript(self):
        """`Transcript` of all reports, which anybody can replay to the same estimate."""
        self.follow()
        protocol, last = self.study.protocol, self._last
        parts, after = [], 0
        with tables.reading(self.engine) as connection:
            while not parts or len(parts[-1].ids) == _CHUNK:
                parts.append(store.read_reports(connection, protocol, after, last, _CHUNK))
                after = int(parts[-1].ids[-1]) if len(parts[-1].ids) else last
            closings = [store.closing(connection, n) for n in range(self.server.n_closed)]
        ids, rounds, directions, coords = map(np.concatenate, zip(*parts))
        ends = np.searchsorted(ids, [known.last_report for known in closings], side="right")
        addresses = np.stack([rounds, directions], axis=1)
        return Transcript(protocol, coords, addresses, ends.astype(np.int64))
