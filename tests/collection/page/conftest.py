"""A headless Chromium, and a small stand-in of the service with the same HTTP contract."""

import json
import os
import secrets
import shutil
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import geomstats_ldp

PAGE = Path(geomstats_ldp.__file__).parent / "collection" / "page"

#: Set by continuous integration: what these tests need has to be there.
REQUIRED = os.environ.get("GEOMSTATS_LDP_REQUIRE_SERVICES") == "1"

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

#: The first opens a page in a quarter of the time: it has no windows to draw about it.
BROWSERS = "chromium-headless-shell", "chromium", "chromium-browser"

#: Chromium would look for updates, proxies and the like.
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--no-proxy-server"),
]


def _missing(what):
    if REQUIRED:
        pytest.fail(f"GEOMSTATS_LDP_REQUIRE_SERVICES=1, and {what}")
    pytest.skip(what)


@pytest.fixture(scope="session")
def chromium():
    """Chromium of the system, driven by Playwright; its sync API needs a thread without a loop."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        _missing(f"Chromium is not installed (Debian: apt-get install {BROWSERS[0]})")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _missing('Playwright is not installed (pip install "geomstats-ldp[browser]")')
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


class Stub:
    """What the stand-in does and has seen; tests read and change it."""

    def __init__(self):
        self.protocol_text = "{}"
        self.questions = []
        self.form = {}
        self.reports = {}
        self.bodies = []
        self.closed_for = 0
        self.lose_acknowledgements = 0
        self.refusals = {}
        self.tokens = set()
        self.lock = threading.Lock()

    @property
    def url(self):
        """Address of the service."""
        return f"http://127.0.0.1:{self.port}"

    def publish(self, protocol, queries):
        """Offer a protocol, deal its queries in turn, and return a link with a new token."""
        self.protocol_text = protocol.to_json()
        self.questions = [json.loads(query.to_json()) for query in queries]
        return self.invite(protocol.fingerprint)

    def invite(self, fingerprint=None):
        """Link with a new token, and with a fingerprint if one is given."""
        token = secrets.token_urlsafe(16)
        self.tokens.add(token)
        known = f"&fingerprint={fingerprint}" if fingerprint else ""
        return f"{self.url}/#token={token}{known}"

    @property
    def messages(self):
        """JSON texts of the messages that were stored."""
        return [json.dumps(json.loads(body)["message"]) for body in self.reports.values()]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        stub = self.server.stub
        if self.path == "/v1/protocol":
            self._answer(200, stub.protocol_text)
        elif self.path == "/v1/form":
            self._answer(200, json.dumps(stub.form))
        else:
            name = "index.html" if self.path == "/" else self.path.removeprefix("/page/")
            path = PAGE / name
            if path.is_file() and path.parent == PAGE:
                self._answer(200, path.read_text(), KINDS[path.suffix])
            else:
                self._refuse(404, "not_found")

    def do_POST(self):
        stub = self.server.stub
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.path in stub.refusals:
            status, code = stub.refusals[self.path]
            self._refuse(status, code)
        elif token not in stub.tokens:
            self._refuse(401, "unknown_token")
        elif self.path == "/v1/questions":
            self._question(stub, token)
        elif self.path == "/v1/reports":
            self._report(stub, token, body)

    def _question(self, stub, token):
        if token in stub.reports:
            self._refuse(409, "token_spent")
        elif stub.closed_for > 0:
            self._refuse(503, "between_rounds", {"Retry-After": str(stub.closed_for)})
            stub.closed_for = 0
        else:
            question = stub.questions[len(stub.reports) % len(stub.questions)]
            self._answer(200, json.dumps({"query": question, "lease_until": 4102444800}))

    def _report(self, stub, token, body):
        with stub.lock:  # two tabs may report at once
            stub.bodies.append(body)
            is_new = token not in stub.reports
            stored = stub.reports.setdefault(token, body)
        status = 409 if stored != body else 201 if is_new else 200
        if stub.lose_acknowledgements > 0:
            stub.lose_acknowledgements -= 1
            self.close_connection = True
            self.connection.close()
        elif status == 409:
            self._refuse(409, "token_spent")
        else:
            self._answer(status, json.dumps({"status": "stored"}))

    def _refuse(self, status, code, headers=None):
        text = json.dumps({"error": {"code": code, "message": f"the stub says {code}"}})
        self._answer(status, text, headers=headers)

    def _answer(self, status, text, kind="application/json", headers=None):
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", CONTENT_POLICY)
        self.send_header("Cache-Control", "no-store")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        """Say nothing."""


@contextmanager
def _serving():
    """Stand-in of the service on a port of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.stub = Stub()
    server.stub.port = server.server_address[1]
    # It looks that often whether it is to stop; half a second, the default, is long for a test.
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server.stub
    server.shutdown()
    server.server_close()


@pytest.fixture
def stub():
    """Stand-in of the service, which has seen nobody yet."""
    with _serving() as stub:
        yield stub


@pytest.fixture(scope="module")
def javascript(chromium):
    """Run a function of JavaScript in the browser, with the modules of the page at `/page/`.

    The tests of a file share a tab, which has read the modules once.
    """
    with _serving() as stub:
        page = chromium.new_page()
        page.goto(f"{stub.url}/page/sha256.js")
        yield page.evaluate
        page.close()


class Person:
    """Somebody who uses the page; every request and every complaint of the browser is noted."""

    def __init__(self, context, url):
        self.page = context.new_page()
        self.complaints, self.requests = [], []
        self.page.on(
            "console", lambda m: self.complaints.append(m.text) if m.type == "error" else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request))
        self.page.goto(url)

    def waits_for(self, section):
        self.page.wait_for_selector(f"#{section}:not([hidden])", timeout=60000)

    def takes_part(self):
        self.waits_for("before")
        self.page.click("#consent button")
        self.waits_for("numbers")

    def types(self, numbers):
        for i, number in enumerate(numbers):
            self.page.fill(f"#field-{i}", number)

    def continues(self):
        self.page.click("#form button")

    def sends(self):
        self.waits_for("review")
        self.page.click("#send")

    def answers(self, numbers):
        self.takes_part()
        self.types(numbers)
        self.continues()
        self.sends()
        self.waits_for("done")

    def is_told(self, words):
        self.page.locator("#status").filter(has_text=words).wait_for(timeout=60000)

    def remembers(self):
        """All records that this browser keeps for the page."""
        return self.page.evaluate(
            """() => new Promise((resolve, reject) => {
                const opened = indexedDB.open("geomstats-ldp");
                opened.onerror = reject;
                opened.onsuccess = () => {
                    const table = opened.result.transaction("answers").objectStore("answers");
                    table.getAll().onsuccess = (event) => resolve(event.target.result);
                };
            })"""
        )

    def text(self, selector="main"):
        return self.page.inner_text(selector)


@pytest.fixture
def context(chromium):
    context = chromium.new_context(viewport={"width": 360, "height": 740})
    yield context
    context.close()


@pytest.fixture
def visit():
    """Opens the page in a context: a `Person` who uses it."""
    return Person
