"""One thread that writes for all requests of a worker, many of them in one transaction.

Putting a transaction on the disk takes milliseconds. Requests that come meanwhile wait, and go
together into the next one; each is answered when its own is on the disk.
"""

from __future__ import annotations

import queue
import threading
from concurrent.futures import Future

from geomstats_ldp.collection import tables
from geomstats_ldp.collection.web import Refusal

#: Requests in one transaction, at most.
_BATCH = 256

#: Requests that wait, at most.
_WAITING = 2000


class Writer:
    """Runs jobs in transactions of an engine, in the order in which they come."""

    def __init__(self, engine):
        self._engine = engine
        self._queue = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def submit(self, job):
        """Future of what ``job(connection)`` returns, done when it is durable.

        The job may run again from the start if the transaction fails. Refusal if too many wait.
        """
        future = Future()
        try:
            self._queue.put_nowait((job, future))
        except queue.Full:
            raise Refusal(503, "busy", "too many requests wait; try again", 1) from None
        return future

    def close(self):
        """Finish what waits, and stop."""
        self._queue.put(None)
        self._thread.join()

    def _run(self):
        while True:
            batch = [self._queue.get()]
            while len(batch) < _BATCH and not self._queue.empty():
                batch.append(self._queue.get())
            work = [entry for entry in batch if entry is not None]
            self._write([entry for entry in work if entry[1].set_running_or_notify_cancel()])
            if len(work) < len(batch):
                return

    def _write(self, batch):
        """Run all jobs in one transaction, or each in its own if one of them fails."""
        if not batch:
            return
        try:
            with tables.writing(self._engine) as connection:
                outcomes = [job(connection) for job, _ in batch]
        except Exception as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
                return
            for entry in batch:
                self._write([entry])
            return
        for (_, future), outcome in zip(batch, outcomes):
            future.set_result(outcome)
