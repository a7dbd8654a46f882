"""Talking to a service: answers that are repeated until somebody has heard them."""

from __future__ import annotations

import time

import httpx

from geomstats_ldp.exceptions import CollectionError
from geomstats_ldp.protocol import Protocol, Query
from geomstats_ldp.serialization import SHORT_TEXT, canonical_json, parse_json

#: Answers of a service that is to be asked again later.
_LATER = {429, 500, 502, 503, 504}

#: Longest wait between two tries, in seconds.
_LONGEST_WAIT = 60.0


class Client:
    """Client of a service for one token.

    Parameters
    ----------
    url : str
        Of the service, without path.
    token : str
    patience : float
        Seconds for which it keeps on trying.
    transport : httpx transport, optional
        For tests.

    Raises
    ------
    CollectionError
        By every method: if the service refuses, or does not answer in time.
    """

    def __init__(self, url, token, patience=600.0, transport=None):
        self._patience = patience
        self._http = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=30.0,
            transport=transport,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._http.close()

    def protocol(self, fingerprint):
        """The protocol, which must have this fingerprint."""
        return Protocol.from_json(self._send("GET", "/v1/protocol").text, fingerprint)

    def question(self):
        """The `Query` of the token."""
        record = parse_json(self._send("POST", "/v1/questions").text, 2 * SHORT_TEXT)
        if not isinstance(record, dict) or "query" not in record:
            raise CollectionError("the service must answer with a query; it does not")
        return Query.from_json(canonical_json(record["query"]))

    def report(self, body):
        """Send a report, a JSON text, until it is acknowledged."""
        headers = {"Content-Type": "application/json"}
        self._send("POST", "/v1/reports", content=body.encode(), headers=headers)

    def _send(self, verb, path, **options):
        """Answer of the service; what may pass is tried again, after longer and longer waits."""
        give_up, wait = time.monotonic() + self._patience, 0.5
        while True:
            try:
                response = self._http.request(verb, path, **options)
                reason = f"status {response.status_code}"
                if response.is_success:
                    return response
                if response.status_code not in _LATER:
                    raise CollectionError(_reason_of(response))
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


def _reason_of(response):
    try:
        error = response.json()["error"]
        return f"the service refuses: {str(error['message'])[:200]} ({str(error['code'])[:40]})"
    except (ValueError, LookupError, TypeError):
        return f"the service refuses with status {response.status_code}"
