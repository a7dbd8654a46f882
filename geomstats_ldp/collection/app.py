"""The service over HTTP, as an ASGI application."""

from __future__ import annotations

import asyncio
import logging
import mimetypes
import threading
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from geomstats_ldp.collection.limits import RateLimit
from geomstats_ldp.collection.openapi import Operation, describe
from geomstats_ldp.collection.web import (
    HEADERS,
    CloseAfterUnreadBody,
    Refusal,
    bearer,
    json_response,
    read_body,
    read_record,
    text_response,
)
from geomstats_ldp.exceptions import NotReadyError

_LOGGER = logging.getLogger(__name__)

#: Files of the page for browsers.
_PAGE = Path(__file__).parent / "page"

#: Seconds between two looks at what other workers have stored.
_TICK = 0.5

#: Requests of one token: a second in the long run, and at once.
_TOKEN_RATE, _TOKEN_BURST = 2.0, 20


class App:
    """Routes of a `Service`; see `make_app`."""

    def __init__(self, service, summarise, client_rate):
        self.service, self._summarise = service, summarise
        self._by_token = RateLimit(_TOKEN_RATE, _TOKEN_BURST, time.monotonic)
        self._by_client = RateLimit(client_rate, max(4 * client_rate, 1), time.monotonic)
        self._result, self._one_at_a_time = (None, None), threading.Lock()

    # ---------------------------------------------------------------- participants

    async def protocol(self, request):
        """What was published; its SHA-256 is the fingerprint."""
        study = self.service.study
        headers = {"X-Protocol-Fingerprint": study.fingerprint}
        return text_response(study.published, headers=headers)

    async def scouted(self, request):
        """What scouts have found, and the protocol that follows."""
        return text_response(self.service.scouted())

    async def form(self, request):
        """Words of the page for browsers."""
        return json_response(self.service.study.description["form"])

    async def question(self, request):
        """The question of an invitation, the same one until its lease ends."""
        token = self._token(request)
        await read_body(request)
        job = self.service.question_job(token, request.query_params.get("group"))
        return text_response(await self._write(job))

    async def report(self, request):
        """Store a report; 200 for one that was stored before."""
        token = self._token(request)
        record = await read_record(request, {"report_id", "message"})
        is_new = await self._write(self.service.report_job(token, record))
        answer = {"report_id": record["report_id"], "status": "stored"}
        return json_response(answer, 201 if is_new else 200)

    async def status(self, request):
        """How far the collection is."""
        return json_response(self.service.status())

    async def result(self, request):
        """Estimate and region so far."""
        return json_response(await run_in_threadpool(self._make_result))

    def _make_result(self):
        view = self.service.ledger.view
        if not view.stage.is_study:
            raise Refusal(409, "not_ready", "scouts are being asked; the study follows")
        server = view.server
        with self._one_at_a_time:  # who comes meanwhile takes what the first one makes
            n_participants, record = self._result
            if n_participants != server.n_participants:
                try:
                    record = self._summarise(self.service.study.description, server)
                except NotReadyError as error:
                    raise Refusal(409, "not_ready", "too few have answered for a region") from error
                self._result = record["n_participants"], record
            return record

    # ---------------------------------------------------------------- admin

    async def close_round(self, request):
        """Close the open round."""
        self.service.check_admin(bearer(request))
        await read_body(request)
        ledger = self.service.ledger
        if ledger.has_ended:
            raise Refusal(409, "ended", "all rounds are closed")
        try:
            await run_in_threadpool(ledger.close_round, ledger.view.number)
        except NotReadyError as error:
            raise Refusal(409, "too_few", str(error)) from error
        return json_response(self.service.status())

    async def invitations(self, request):
        """Make tokens for invitations."""
        self.service.check_admin(bearer(request))
        record = await read_record(request, {"count"})
        tokens = await self._write(self.service.invitations_job(record["count"]))
        answer = {"tokens": tokens, "fingerprint": self.service.study.fingerprint}
        return json_response(answer, 201)

    # ---------------------------------------------------------------- shared

    def _token(self, request):
        """Token of a request that is within its limits, or Refusal."""
        token = bearer(request)
        _check_rate(self._by_token, token)
        return token

    async def _write(self, job):
        outcome = await asyncio.wrap_future(self.service.writer.submit(job))
        if isinstance(outcome, Refusal):
            raise outcome
        return outcome

    def limited(self, endpoint):
        """Endpoint whose clients are limited."""

        async def answer(request):
            _check_rate(self._by_client, request.client.host if request.client else "")
            return await endpoint(request)

        return answer

    async def tend(self):
        """Follow what all workers store, and close rounds that are full or due."""
        while True:
            try:
                await run_in_threadpool(self.service.ledger.close_if_due)
            except Exception:
                _LOGGER.exception("the reports could not be read; trying again")
            await asyncio.sleep(_TICK)


def _check_rate(limit, name):
    wait = limit.wait(name)
    if wait > 0:
        raise Refusal(429, "too_often", "too many requests; try again later", wait)


def _page_routes():
    """Routes of the files of the page, which are read once."""
    for path in sorted(_PAGE.rglob("*")):
        if path.is_file() and path.suffix in (".html", ".css", ".js", ".svg", ".png", ".ico"):
            name = path.relative_to(_PAGE).as_posix()
            yield Route(f"/page/{name}", _serve_file(path))
            if name == "index.html":
                yield Route("/", _serve_file(path))


def _serve_file(path):
    kind = "text/javascript" if path.suffix == ".js" else mimetypes.guess_type(path.name)[0]
    content, headers = path.read_bytes(), {**HEADERS, "Cache-Control": "no-cache"}

    async def serve(request):
        return Response(content, headers=headers, media_type=kind)

    return serve


async def _refuse(request, refusal):
    return refusal.response()


async def _refuse_http(request, error):
    codes = {404: "not_found", 405: "not_allowed"}
    code = codes.get(error.status_code, "refused")
    response = Refusal(error.status_code, code, error.detail).response()
    response.headers.update(error.headers or {})
    return response


async def _refuse_nobody(request, error):
    # The client has gone; nobody reads this, and nothing is to be logged.
    return Refusal(400, "gone", "the request was not complete").response()


async def _refuse_database(request, error):
    _LOGGER.error("the database does not answer: %s", type(error).__name__)
    return Refusal(503, "unavailable", "the service cannot store now; try again", 2).response()


async def _refuse_failure(request, error):
    return Refusal(500, "failure", "the service has failed at this request").response()


def make_app(service, summarise, client_rate=100.0):
    """ASGI application of a worker.

    Parameters
    ----------
    service : Service
    summarise : callable
        Makes the record of the result from the description of the study and the server.
    client_rate : float
        Requests a second of one address, in the long run.
    """
    app = App(service, summarise, client_rate)
    operations = [
        Operation("GET", "/v1/protocol", app.protocol, {200: "Published"}),
        Operation("GET", "/v1/scouted", app.scouted, {200: "Scouted"}, (409,)),
        Operation("GET", "/v1/form", app.form, {200: "Form"}),
        Operation("GET", "/v1/status", app.status, {200: "Status"}),
        Operation("GET", "/v1/result", app.result, {200: "Result"}, (409,)),
        Operation(
            *("POST", "/v1/questions", app.question, {200: "Question"}, (409, 410, 422)),
            query=("group",),
        ),
        Operation(
            "POST", "/v1/reports", app.report, {201: "Stored", 200: "Stored"}, (409,), "Report"
        ),
        Operation("POST", "/v1/admin/close-round", app.close_round, {200: "Status"}, (409,)),
        Operation("POST", "/v1/admin/invitations", app.invitations, {201: "Tokens"}, (), "Count"),
    ]
    document = describe(operations)

    async def openapi(request):
        return json_response(document)

    @asynccontextmanager
    async def lifespan(_):
        await run_in_threadpool(service.ledger.warm_up)
        await run_in_threadpool(service.ledger.follow)
        tending = asyncio.create_task(app.tend())
        yield
        tending.cancel()
        with suppress(asyncio.CancelledError):
            await tending
        await run_in_threadpool(service.close)

    table = [*operations, Operation("GET", "/v1/openapi.json", openapi, {})]
    routes = [Route(each.path, app.limited(each.endpoint), methods=[each.verb]) for each in table]
    handlers = {
        Refusal: _refuse,
        HTTPException: _refuse_http,
        ClientDisconnect: _refuse_nobody,
        SQLAlchemyError: _refuse_database,
        Exception: _refuse_failure,
    }
    application = Starlette(
        routes=[*routes, *_page_routes()],
        middleware=[Middleware(CloseAfterUnreadBody)],
        exception_handlers=handlers,
        lifespan=lifespan,
    )
    # A redirection would go wherever the header Host of the request says.
    application.router.redirect_slashes = False
    return application
