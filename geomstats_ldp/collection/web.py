"""What every route shares: refusals as JSON, secrets of a header, bodies of a limited size."""

from __future__ import annotations

import asyncio
import json
import math

from starlette.responses import Response

from geomstats_ldp.collection.limits import LARGEST_BODY, LONGEST_SECRET, LONGEST_UPLOAD
from geomstats_ldp.serialization import BAD_CONTENT, parse_json

#: The page may run its own files and talk to this service, and nothing else.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": CONTENT_POLICY,
    "Cache-Control": "no-store",
}


class Refusal(Exception):
    """A request that is answered with an error.

    Parameters
    ----------
    status : int
        Of HTTP.
    code : str
        For programs.
    message : str
        For people; it holds nothing of the request.
    retry_after : float, optional
        Seconds.
    """

    def __init__(self, status, code, message, retry_after=None):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        self.retry_after = retry_after

    def response(self):
        """The answer."""
        record = {"error": {"code": self.code, "message": self.message}}
        headers = {}
        if self.retry_after is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_after)))
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return json_response(record, self.status, headers)


def json_response(record, status=200, headers=None):
    """Answer with a record."""
    return text_response(json.dumps(record, allow_nan=False), status, headers)


def text_response(text, status=200, headers=None):
    """Answer with a JSON text."""
    return Response(text, status, {**HEADERS, **(headers or {})}, "application/json")


def bearer(request):
    """Secret of the header of a request, or Refusal."""
    values = request.headers.getlist("authorization")
    scheme, _, secret = (values[0] if len(values) == 1 else "").partition(" ")
    if scheme.lower() != "bearer" or not 0 < len(secret) <= LONGEST_SECRET:
        raise Refusal(401, "no_token", "the header Authorization must be: Bearer TOKEN")
    return secret


class CloseAfterUnreadBody:
    """ASGI middleware: whoever is answered before their body has arrived loses the connection.

    Otherwise a client that sends the rest slowly would hold the connection after its refusal.
    """

    def __init__(self, app):
        self._app = app

    async def __call__(self, scope, receive, send):
        """Answer a request (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        names = dict(scope["headers"])
        is_read = b"transfer-encoding" not in names and names.get(b"content-length", b"0") == b"0"

        async def receive_part():
            nonlocal is_read
            message = await receive()
            is_read = is_read or not message.get("more_body", False)
            return message

        async def send_part(message):
            if message["type"] == "http.response.start" and not is_read:
                message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        await self._app(scope, receive_part, send_part)


async def read_body(request):
    """Body of a request, or Refusal once it is too large or takes too long."""
    try:
        return await asyncio.wait_for(_read_parts(request), LONGEST_UPLOAD)
    except asyncio.TimeoutError:
        message = f"a body has to arrive within {LONGEST_UPLOAD} seconds"
        raise Refusal(408, "too_slow", message) from None


async def _read_parts(request):
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > LARGEST_BODY:
            raise Refusal(413, "too_large", f"bodies have at most {LARGEST_BODY} bytes")
        parts.append(part)
    return b"".join(parts)


async def read_record(request, fields):
    """JSON object of exactly these fields in the body of a request, or Refusal."""
    kind, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = parameters.strip().lower().replace('"', "")
    if kind.strip().lower() != "application/json" or charset not in ("", "charset=utf-8"):
        raise Refusal(415, "not_json", "the content type must be application/json, in UTF-8")
    try:
        record = parse_json(await read_body(request), LARGEST_BODY)
    except BAD_CONTENT as error:
        raise Refusal(400, "malformed", "the body must be plain JSON") from error
    if not isinstance(record, dict) or record.keys() != fields:
        raise Refusal(422, "malformed", f"the body must be an object of {sorted(fields)}")
    return record
