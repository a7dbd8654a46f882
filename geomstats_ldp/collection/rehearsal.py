"""A rehearsal: many simulated devices that answer a running service, some of them badly.

Everybody draws as a device does, with the randomness of the operating system; only who drops out,
is late or misbehaves comes from a seed.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field

import httpx
import numpy as np

from geomstats_ldp.collection.device import asked_by, draw_report
from geomstats_ldp.collection.scouts import read_published
from geomstats_ldp.protocol import Message, Query
from geomstats_ldp.serialization import canonical_json

#: What is no report, whoever sends it.
_GARBAGE = (b"", b"{", b'"\xff"', b"[" * 2000, b"{}", b'{"report_id":1,"message":2}', b"0" * 40000)

#: Time between two tries of one device, in seconds.
_PAUSE = 0.2


@dataclass(frozen=True)
class Habits:
    """Shares of the people who behave in a certain way, independently of each other.

    Attributes
    ----------
    dropout : float
        They ask and never report.
    late : float
        They report after their lease has ended.
    duplicate : float
        They send each request twice.
    garbage : float
        They send garbage as well.
    """

    dropout: float = 0.0
    late: float = 0.0
    duplicate: float = 0.0
    garbage: float = 0.0


@dataclass
class Outcome:
    """What the devices know at the end.

    Attributes
    ----------
    acknowledged : dict of str to Message
        By the identifiers of their reports.
    statuses : Counter
        Answers of the service by status; 0 for a connection that broke.
    """

    acknowledged: dict = field(default_factory=dict)
    statuses: Counter = field(default_factory=Counter)


class _Person:
    def __init__(self, token, datum, group, habits, rng):
        self.token, self.datum, self.report, self.wake = token, datum, None, 0.0
        self.params = None if group is None else {"group": group}
        draws = rng.random(4)
        self.is_dropout, self.is_late = draws[0] < habits.dropout, draws[1] < habits.late
        self.is_double, self.is_noisy = draws[2] < habits.duplicate, draws[3] < habits.garbage


class Rehearsal:
    """People with tokens and data, and the clients through which they talk to a service.

    Parameters
    ----------
    url : str
        Of the service.
    tokens : list of str
    data : array, shape [n, *data_shape]
        As many as tokens.
    habits : Habits
    groups : sequence of str, optional
        Names of the groups that the people choose.
    """

    def __init__(self, url, tokens, data, habits=None, groups=None):
        habits, rng = Habits() if habits is None else habits, np.random.default_rng(0)
        self._url, self._lock, self._outcome = url, threading.Lock(), Outcome()
        rows = zip(tokens, data, [None] * len(tokens) if groups is None else groups)
        people = [_Person(*row, habits, rng) for row in rows]
        self._new, self._later = deque(people), []
        self._published, self._protocols, self._failure = None, {}, None

    def run(self, n_clients=8, until=None):
        """Let everybody answer, or try to until the study ends.

        Parameters
        ----------
        n_clients : int
        until : callable, optional
            Everybody stops once it returns True.

        Returns
        -------
        outcome : Outcome
        """
        self._published = read_published(httpx.get(f"{self._url}/v1/protocol").text)
        threads = [threading.Thread(target=self._client, args=(until,)) for _ in range(n_clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failure is not None:
            raise self._failure
        return self._outcome

    def _client(self, until):
        try:
            with httpx.Client(base_url=self._url, timeout=30.0) as http:
                person = self._next()
                while person is not None and not (until and until()) and self._failure is None:
                    is_done = person.wake <= time.monotonic() and self._step(http, person)
                    if is_done:
                        person = self._next()
                    elif person.is_late and person.report is not None:
                        with self._lock:
                            self._later.append(person)  # others go on meanwhile
                        person = self._next()
                    else:
                        time.sleep(_PAUSE)
        except BaseException as error:
            self._failure = error

    def _next(self):
        """The next person: one whose lease is over, or a new one; None when there is none."""
        with self._lock:
            self._later.sort(key=lambda person: person.wake)
            if self._later and (not self._new or self._later[0].wake <= time.monotonic()):
                return self._later.pop(0)
            return self._new.popleft() if self._new else None

    # ---------------------------------------------------------------- one person

    def _step(self, http, person):
        """Ask or report once; whether the person is done."""
        if person.is_noisy:
            person.is_noisy = False
            self._send_garbage(http, person)
        return self._ask(http, person) if person.report is None else self._report(http, person)

    def _post(self, http, path, token, **options):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            response = http.post(path, headers=headers, **options)
        except httpx.TransportError:
            response = None
        with self._lock:
            self._outcome.statuses[0 if response is None else response.status_code] += 1
        return response

    def _ask(self, http, person):
        response = self._post(http, "/v1/questions", person.token, params=person.params)
        if person.is_double:
            again = self._post(http, "/v1/questions", person.token, params=person.params)
            if is_another_question(response, again):
                raise AssertionError("the same invitation was asked two questions")
        if response is None or response.status_code in (429, 503):
            return False
        if response.status_code != 200:
            return True
        if person.is_dropout:
            return True
        record = response.json()
        query = Query.from_json(canonical_json(record["query"]))
        person.report = draw_report(self._protocol_of(http, query), query, person.datum)
        if person.is_late:
            person.wake = time.monotonic() + max(record["lease_until"] - time.time(), 0.0) + _PAUSE
            return False
        return self._report(http, person)

    def _protocol_of(self, http, query):
        """Protocol, or histogram of norms, that a question belongs to; each is found once."""
        if query.fingerprint not in self._protocols:
            found = asked_by(self._published, query, lambda: http.get("/v1/scouted").json())
            self._protocols[query.fingerprint] = found
        return self._protocols[query.fingerprint]

    def _report(self, http, person):
        response = self._post(http, "/v1/reports", person.token, content=person.report)
        if person.is_double:
            response = self._post(http, "/v1/reports", person.token, content=person.report)
        if response is None or response.status_code in (429, 503):
            return False
        if response.is_success:
            record = json.loads(person.report)
            message = Message.from_json(canonical_json(record["message"]))
            with self._lock:
                self._outcome.acknowledged[record["report_id"]] = message
        return True

    def _send_garbage(self, http, person):
        content = _GARBAGE[secrets.randbelow(len(_GARBAGE))]
        for token in (person.token, "forged"):
            response = self._post(http, "/v1/reports", token, content=content)
            if response is not None and not 400 <= response.status_code < 500:
                raise AssertionError(f"garbage was answered with {response.status_code}")


def is_another_question(response, again):
    """Whether an invitation was asked something else while the lease of its question lasted."""
    if any(one is None or one.status_code != 200 for one in (response, again)):
        return False
    first = response.json()
    return again.json()["query"] != first["query"] and time.time() < first["lease_until"]
