"""Services on loopback, with SQLite or with a PostgreSQL of their own."""

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

#: Continuous integration sets it: what is missing there is a failure.
REQUIRED = os.environ.get("GEOMSTATS_LDP_REQUIRE_SERVICES") == "1"

try:
    import httpx
    import uvicorn
    from sqlalchemy import text

    from geomstats_ldp.collection import app, course, store, study, tables
    from geomstats_ldp.collection.migrations import migrate
    from geomstats_ldp.collection.service import Service
except ImportError as error:
    if REQUIRED:
        raise
    collect_ignore_glob = ["*"]
    print(f"tests/collection is skipped: there is no {error.name}", file=sys.stderr)

STUDY = """
estimator = "PrivatePCA"
[parameters]
norm_bound = 2.0
epsilon = {epsilon}
initial_point = [0.3, 1.0, 0.3]
n_participants = {n_participants}
n_rounds = {n_rounds}
[rounds]
{rounds}
[service]
lease_seconds = {lease_seconds}
time_precision_seconds = 1
{service}
"""


def _free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _wait(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


def _is_up(url):
    """Whether a service of another process answers."""
    try:
        return httpx.get(f"{url}/v1/status", timeout=60.0).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def is_up():
    return _is_up


@pytest.fixture
def wait_until():
    return _wait


@pytest.fixture
def free_port():
    return _free_port


@pytest.fixture
def study_text():
    def make(n_participants=60, n_rounds=3, lease_seconds=1, rounds="", service="", epsilon=4.0):
        return STUDY.format(**locals())

    return make


@pytest.fixture
def sqlite_url(tmp_path):
    return f"sqlite:///{tmp_path}/collection.db"


@pytest.fixture
def make_collection(sqlite_url, study_text):
    """Database with a collection, and its admin key; connections are closed at the end."""
    engines = []

    def make(url=sqlite_url, text=None, **options):
        description = study.read_study_file(study_text(**options) if text is None else text)
        published = study.make_published(description)
        engine = tables.connect(url)
        engines.append(engine)
        migrate(engine)
        with tables.writing_alone(engine) as connection:
            key = store.add_study(connection, published, description, int(time.time()))
        return SimpleNamespace(
            engine=engine, key=key, protocol=published, description=description, url=url
        )

    yield make
    for engine in engines:
        engine.dispose()


class Running:
    """A service in a thread of this process, behind a real socket."""

    def __init__(self, service, client_rate):
        port = _free_port()
        self.url, self.service = f"http://127.0.0.1:{port}", service
        application = app.make_app(service, study.summarise, client_rate)
        config = uvicorn.Config(application, port=port, log_level="error", access_log=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        _wait(lambda: self._server.started)
        # Without TLS, certificates are of no use, and to load them takes longer than a test.
        self.http = httpx.Client(base_url=self.url, timeout=30.0, verify=False)

    def stop(self):
        self.http.close()
        self._server.should_exit = True
        self._thread.join()

    def post(self, path, token=None, **options):
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.http.post(path, headers={**headers, **options.pop("headers", {})}, **options)

    def tokens(self, n):
        with tables.writing(self.service.engine) as connection:
            return store.add_invitations(connection, n)

    def count(self, table):
        with tables.reading(self.service.engine) as connection:
            return connection.execute(text(f"SELECT count(*) FROM {table}")).scalar()


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch):
    """Let services see to their rounds every 50 ms; half a second is long for a test."""
    monkeypatch.setattr(app, "_TICK", 0.05)


@pytest.fixture
def run_service(make_collection):
    """Start services; they are stopped at the end."""
    running = []

    def start(client_rate=1e6, clock=time.time, collection=None, **options):
        collection = make_collection(**options) if collection is None else collection
        service = Service(tables.connect(collection.url), clock, course.stage_after)
        running.append(Running(service, client_rate))
        running[-1].key, running[-1].collection = collection.key, collection
        return running[-1]

    yield start
    for service in running:
        service.stop()


# ------------------------------------------------------------------ PostgreSQL


def _postgres_tools():
    """Folder of initdb and postgres, or None."""
    found = shutil.which("initdb")
    folders = [Path(os.path.realpath(found)).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


def _as_user(command):
    """The command as a user that initdb does not refuse."""
    return ["runuser", "-u", "postgres", "--", *command] if os.getuid() == 0 else command


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """A PostgreSQL cluster of its own, on a socket in a temporary folder."""
    tools = _postgres_tools()
    if tools is None:
        if REQUIRED:
            pytest.fail("PostgreSQL is required here and missing")
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    folder = Path(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    data = folder / "data"
    options = ["-D", str(data), "-A", "trust", "-U", "postgres", "--encoding=UTF8"]
    subprocess.run(
        _as_user([str(tools / "initdb"), *options]), check=True, capture_output=True, cwd=folder
    )
    settings = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
    process = subprocess.Popen(
        _as_user([str(tools / "postgres"), "-D", str(data), *settings]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )
    _wait(lambda: (folder / ".s.PGSQL.5432").exists() and (data / "postmaster.pid").exists())
    yield folder
    subprocess.run(
        _as_user([str(tools / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop"]),
        check=True,
        capture_output=True,
        cwd=folder,
    )
    process.wait()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres, request):
    """URL of an empty database."""
    if not REQUIRED:
        pytest.importorskip("psycopg", reason="needs the extra postgresql")
    import psycopg

    name = "test_" + str(abs(hash(request.node.nodeid)))

    def ready():
        try:
            with psycopg.connect(host=str(postgres), user="postgres", autocommit=True) as server:
                server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
                server.execute(f"CREATE DATABASE {name}")
        except psycopg.OperationalError:
            return False
        return True

    _wait(ready)
    return f"postgresql+psycopg://postgres@/{name}?host={postgres}"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database_url(request):
    """Both databases, PostgreSQL among the slow tests: a cluster of its own takes seconds."""
    return request.getfixturevalue(
        {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
    )
