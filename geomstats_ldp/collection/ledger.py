"""A worker's view of the collection: a `RoundServer` that follows the reports in the database.

Where scouts are asked first there is one after the other, each of a `Stage`.

The state is a function of the protocol, the reports in the order of their numbers and the closings,
so that every worker comes to the same, whenever it starts. A round closes with the very report that
fills it, or where somebody closed it. Whoever records a closing first decides; the point that the
next round asks around is recorded with it.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from geomstats_ldp.collection import store, tables
from geomstats_ldp.collection.stages import Stage, study_alone
from geomstats_ldp.collection.times import cut_down
from geomstats_ldp.exceptions import NotReadyError
from geomstats_ldp.protocol import Transcript

#: Reports read at once.
_CHUNK = 50_000


class View(NamedTuple):
    """What a worker knows of a `Stage`.

    Attributes
    ----------
    server, before : RoundServer
        As it is, and as it was before the change that is going on.
    """

    stage: Stage
    server: Any
    before: Any

    @classmethod
    def of(cls, stage):
        """View of a stage of which nothing is known yet."""
        return cls(stage, *(stage.make_server(stage.protocol) for _ in range(2)))

    @property
    def number(self):
        """Number, in the database, of the open round."""
        return self.stage.first + self.server.round


class Ledger:
    """Server of rounds that knows what the database knows; threads may share it.

    Parameters
    ----------
    engine : sqlalchemy Engine
    study : Study
    clock : callable
        Seconds since the epoch.
    stage_after : callable
        Next `Stage`, from the study and a list of what scouts have found, one record a stage.

    Attributes
    ----------
    views : tuple of View
        Stages so far, the last one the open one. It changes only while a method of this class runs.
    """

    def __init__(self, engine, study, clock=time.time, stage_after=study_alone):
        self.engine, self.study, self.clock = engine, study, clock
        self._stage_after = stage_after
        self._lock = threading.Lock()
        self._last, self.outcomes = 0, ()
        self.views = (self._new_view(),)

    def _new_view(self):
        return View.of(self._stage_after(self.study, list(self.outcomes)))

    @property
    def view(self):
        """`View` of the open stage."""
        return self.views[-1]

    @property
    def server(self):
        """`RoundServer` of the open stage."""
        return self.view.server

    @property
    def has_ended(self):
        """Whether there is nothing more to ask."""
        view = self.view
        return self.failure is not None or (view.stage.is_study and view.server.is_complete)

    @property
    def failure(self):
        """Why scouts could not find what was asked, or None."""
        return self.outcomes[-1].get("failure") if self.outcomes else None

    def found(self):
        """What scouts of all stages have found, one record."""
        return {name: value for outcome in self.outcomes for name, value in outcome.items()}

    def view_of(self, number):
        """`View` with the round of a number, or None if no such stage has been opened."""
        return next((view for view in self.views if number < view.stage.stop), None)

    def warm_up(self):
        """Compile what reports will need, on a server that is thrown away."""
        server = self.view.stage.make_server(self.view.stage.protocol)
        directions = np.repeat(np.arange(server.n_directions), 2)
        server.add_coords(0 * directions, directions, np.eye(server.protocol.dim)[0 * directions])
        server.estimate()

    @contextmanager
    def _safely(self):
        """One thread at a time; what fails half-way is as it was before."""
        with self._lock:
            last, outcomes, views = self._last, self.outcomes, self.views
            self.view.before.adopt(self.server)
            try:
                yield
            except BaseException:
                self._last, self.outcomes, self.views = last, outcomes, views
                self.server.adopt(self.view.before)
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
        """Close a round, by its number in the database, unless it is closed already.

        NotReadyError if too few have answered in it.
        """
        self.follow()
        with self._safely():
            recorded = None
            with tables.writing_alone(self.engine) as connection:
                last = store.last_report(connection)
                self._walk(last, lambda write=False: nullcontext(connection))
                if self.view.number == number and not self.has_ended:
                    recorded = self._record_closing(connection)
            if recorded is not None:
                self._close(recorded)

    def close_if_due(self):
        """Close the open round if its deadline has passed and enough have answered."""
        self.follow()
        server, number = self.server, self.view.number
        is_due = not self.has_ended and self.clock() >= self.deadline()
        if is_due and server.n_in_round >= server.protocol.rounds.minimum:
            self.close_round(number)

    def deadline(self):
        """Second of the epoch at which the open round may close, infinite without one."""
        service = self.study.service
        if service["deadline_seconds"] is None:
            return np.inf
        with tables.reading(self.engine) as connection:
            opened = store.opening_time(connection, self.view.number)
        opened = self.study.opened if opened is None else opened
        # The time was cut down, so that the round may have opened a step later.
        return opened + service["time_precision_seconds"] + service["deadline_seconds"]

    # ---------------------------------------------------------------- following

    def _walk(self, last, connect):
        """Take reports up to number `last`, on the connections that `connect` makes."""
        while True:
            stage = self.view.stage
            with connect() as connection:
                reports = store.read_reports(connection, stage, self._last, last, _CHUNK)
            self._take(reports, connect)
            if stage is self.view.stage and len(reports.ids) < _CHUNK:
                return

    def _take(self, reports, connect):
        """Take reports to the open stage, until they or the stage end."""
        start, stage = 0, self.view.stage
        while stage is self.view.stage:
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
        if self.has_ended:
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
            return store.closing(connection, self.view.number)

    def _close_here(self, connect):
        """Close the open round if it ends with the report taken last; whether it did."""
        if self.has_ended:
            return False
        known = self._known_closing(connect)
        if known is not None and self._last >= known.last_report:
            self._close(known)
            return True
        if known is None and self.server.round_size() == 0:
            with connect(write=True) as connection:
                recorded = self._record_closing(connection)
            self._close(recorded)
            return True
        return False

    def _close(self, recorded):
        """Do what stands on record: go on to the next round, or to what scouts have found."""
        if recorded.outcome is None:
            self.server.close_round(*recorded.place)
            return
        self.outcomes = (*self.outcomes, recorded.outcome)
        if self.failure is None:
            self.views = (*self.views, self._new_view())

    def _record_closing(self, connection):
        """Record that the open round ends with the report taken last; what stands on record.

        Nobody may ask around a point before it is on the disk: close the round after that.
        """
        view, precision = self.view, self.study.service["time_precision_seconds"]
        server = view.server
        answered, minimum = server.n_in_round, server.protocol.rounds.minimum
        if answered < minimum:
            raise NotReadyError(
                f"a round may close with {minimum} answers at least; the open one has {answered}"
            )
        outcome = view.stage.outcome(server)
        value = _place_record(server) if outcome is None else outcome
        closed = cut_down(self.clock(), precision)
        store.add_closing(connection, view.number, self._last, value, closed)
        return store.closing(connection, view.number)

    # ---------------------------------------------------------------- transcript

    def answers_of_scouts(self):
        """What counted messages of scouts held, by question, for stages that have ended."""
        answers = {}
        with tables.reading(self.engine) as connection:
            for view in self.views[: len(self.outcomes)]:
                closing = store.closing(connection, view.number)
                candidates = store.read_candidates(connection, view.stage, closing.last_report)
                answers[view.stage.name] = candidates
        return answers

    def transcript(self):
        """`Transcript` of all reports, which anybody can replay to the same estimate.

        NotReadyError while scouts are asked.
        """
        self.follow()
        stage, last = self.view.stage, self._last
        if not stage.is_study:
            raise NotReadyError("the study has not begun: scouts are being asked")
        parts, after = [], 0
        with tables.reading(self.engine) as connection:
            while not parts or len(parts[-1].ids) == _CHUNK:
                parts.append(store.read_reports(connection, stage, after, last, _CHUNK))
                after = int(parts[-1].ids[-1]) if len(parts[-1].ids) else last
            numbers = range(stage.first, stage.first + self.server.n_closed)
            closings = [store.closing(connection, number) for number in numbers]
        ids, rounds, directions, coords = map(np.concatenate, zip(*parts))
        ends = np.searchsorted(ids, [known.last_report for known in closings], side="right")
        addresses = np.stack([rounds, directions], axis=1)
        return Transcript(stage.protocol, coords, addresses, ends.astype(np.int64))


def _place_record(server):
    """Where the round that is opened next will ask, as a closing records it."""
    center, stretch = server.next_place()
    if stretch is None:
        return center.tolist()
    return {"center": center.tolist(), "stretch": stretch.tolist()}
