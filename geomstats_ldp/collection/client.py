"""Talking to a service: answers that are repeated until somebody has heard them."""

from __future__ import annotations

import time

import httpx

from geomstats_ldp.collection.scouts import read_published
from geomstats_ldp.exceptions import CollectionError
from geomstats_ldp.protocol import Query
from geomstats_ldp.serialization import (
    BAD_CONTENT,
    LONG_TEXT,
    SHORT_TEXT,
    canonical_json,
    parse_json,
)

#: Answers of a service that is to be asked again later.
_LATER = {429, 500, 502, 503, 504}

#: Longest wait between two tries, in seconds.
_LONGEST_WAIT = 60.0


class Client:
    """Client of a service for one token; every method raises CollectionError if refused.

    Parameters
    ----------
    url : str
        Of the service, without path.
    token : str
    patience : float
        Seconds for which it keeps on trying.
    transport : httpx transport, optional
        For tests.
    """

    def __init__(self, url, token, patience=600.0, transport=None):
        self._patience = patience
        # Not sent with the protocol: who reads that and stays away has told nobody.
        self._token = {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=url, timeout=30.0, transport=transport)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._http.close()

    def published(self, fingerprint):
        """`Protocol` or `ScoutedStudy` that was published, which must have this fingerprint."""
        return read_published(self._send("GET", "/v1/protocol"), fingerprint)

    def scouted(self):
        """What scouts have found, a plain record, once the study has begun."""
        record = parse_json(self._send("GET", "/v1/scouted"), LONG_TEXT)
        if not isinstance(record, dict) or not isinstance(record.get("protocol"), str):
            raise CollectionError("the service must say what scouts have found; it does not")
        return record

    def question(self, group=None):
        """The `Query` of the token, to the group that its owner has chosen if there are some."""
        params = None if group is None else {"group": group}
        text = self._send("POST", "/v1/questions", headers=self._token, params=params)
        record = parse_json(text, 2 * SHORT_TEXT)
        if not isinstance(record, dict) or "query" not in record:
            raise CollectionError("the service must answer with a query; it does not")
        return Query.from_json(canonical_json(record["query"]))

    def report(self, body):
        """Send a report, a JSON text, until it is acknowledged."""
        headers = {"Content-Type": "application/json", **self._token}
        self._send("POST", "/v1/reports", content=body.encode(), headers=headers)

    def _send(self, verb, path, **options):
        """Text of the answer; what may pass is tried again, after longer and longer waits."""
        give_up, wait = time.monotonic() + self._patience, 0.5
        while True:
            try:
                with self._http.stream(verb, path, **options) as response:
                    text = _text_of(response)
                reason = f"status {response.status_code}"
                if response.is_success:
                    return text
                if response.status_code not in _LATER:
                    raise CollectionError(_reason_of(response.status_code, text))
                pause = _seconds(response.headers.get("Retry-After"), wait)
            except httpx.TransportError as error:
                reason, pause = type(error).__name__, wait
            if time.monotonic() + pause > give_up:
                raise CollectionError(f"the service does not answer ({reason}); try again later")
            time.sleep(pause)
            wait = min(2 * wait, _LONGEST_WAIT)


def _seconds(text, default):
    """Seconds of the header Retry-After, of moderate size."""
    return min(float(text), _LONGEST_WAIT) if text and text.isdigit() else default


def _text_of(response):
    """Text of an answer, which must not fill the memory of the device."""
    parts, size = [], 0
    for part in response.iter_bytes():
        size += len(part)
        if size > LONG_TEXT:
            raise CollectionError(f"answers of the service must have at most {LONG_TEXT} bytes")
        parts.append(part)
    return b"".join(parts).decode(errors="replace")


def _reason_of(status, text):
    try:
        error = parse_json(text, SHORT_TEXT)["error"]
        return f"the service refuses: {str(error['message'])[:200]} ({str(error['code'])[:40]})"
    except (*BAD_CONTENT, LookupError, TypeError):
        return f"the service refuses with status {status}"
