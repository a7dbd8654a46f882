"""A worker that lags, a database that fails half-way, clocks and clients that misbehave."""

import json
import socket
import threading
import time

import numpy as np
import pytest

from geomstats_ldp import Transcript
from geomstats_ldp.collection import ledger as ledger_module
from geomstats_ldp.collection import study, web
from geomstats_ldp.collection.device import draw_report
from geomstats_ldp.protocol import Query

JSON = {"Content-Type": "application/json"}


def ask(service, token):
    return service.post("/v1/questions", token)


def ask_patiently(service, token, tries=25):
    """Answer to a question, asked again while the worker counts what is out.

    Less and less often: who asks too often is refused.
    """
    for number in range(tries):
        answer = ask(service, token)
        if answer.status_code != 503:
            break
        time.sleep(min(0.02 * 1.3**number, 2.0))
    return answer


def send(service, token, answer, datum=(0.1, 1.0, 0.2)):
    query = Query.from_json(json.dumps(answer.json()["query"]))
    body = draw_report(service.collection.protocol, query, datum)
    return service.post("/v1/reports", token, content=body, headers=JSON)


def answer_all(service, tokens):
    """Let everybody answer the open round."""
    for token in tokens:
        assert send(service, token, ask_patiently(service, token)).status_code == 201


@pytest.fixture
def idle(monkeypatch):
    """Make workers follow only what a test tells them to."""
    monkeypatch.setattr("geomstats_ldp.collection.app._TICK", 3600.0)


def first_round(service):
    return service.collection.protocol.rounds.sizes[0]


def test_a_worker_that_lags_says_to_ask_again(idle, run_service, make_collection, database_url):
    collection = make_collection(url=database_url, lease_seconds=100)
    one, two = (run_service(collection=collection) for _ in range(2))
    *early, token = one.tokens(first_round(one) + 1)
    answer_all(one, early)
    one.service.ledger.follow()
    question = ask_patiently(one, token)
    assert question.json()["query"]["round"] == 1
    behind = ask(two, token)
    assert behind.status_code == 503 and behind.json()["error"]["code"] == "behind"
    assert int(behind.headers["Retry-After"]) >= 1
    two.service.ledger.follow()
    assert ask(two, token).text == question.text
    assert send(two, token, question).status_code == 201


@pytest.mark.parametrize("broken", ["last_report", "read_reports", "closing", "add_closing"])
def test_a_worker_keeps_what_it_knows_while_the_database_fails(
    idle, run_service, database_url, monkeypatch, broken
):
    service = run_service(url=database_url, lease_seconds=100)
    ledger, sizes = service.service.ledger, service.collection.protocol.rounds.sizes
    tokens = service.tokens(sizes[0] + sizes[1] + 1)
    answer_all(service, tokens[: sizes[0]])
    ledger.follow()
    known = service.http.get("/v1/status").json()
    answer_all(service, tokens[sizes[0] : -1])

    def fail(*_):
        raise OSError("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr(ledger_module.store, broken, fail)
        with pytest.raises(OSError):
            ledger.follow()
        assert service.http.get("/v1/status").json() == known
    ledger.follow()
    assert service.http.get("/v1/status").json()["answers"][:2] == list(sizes[:2])
    assert ask_patiently(service, tokens[-1]).json()["query"]["round"] == 2


def test_a_closing_that_was_not_stored_has_not_happened(idle, run_service, monkeypatch):
    service = run_service(lease_seconds=100)
    ledger = service.service.ledger
    answer_all(service, service.tokens(first_round(service) - 1))
    ledger.follow()

    def fail(*_):
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(ledger_module.store, "add_closing", fail)
        with pytest.raises(OSError):
            ledger.close_round(0)
    assert ledger.server.round == 0 and service.count("closings") == 0
    ledger.close_round(0)
    assert ledger.server.round == 1 and service.count("closings") == 1


def test_a_clock_that_is_set_back_stops_nobody(run_service):
    now = [2_000_000.0]
    service = run_service(
        clock=lambda: now.__setitem__(0, now[0] + 1e-3) or now[0],
        n_participants=400,
        lease_seconds=100,
    )
    tokens = service.tokens(first_round(service))
    found = [ask(service, token).status_code for token in tokens[:3]]
    now[0] -= 7200.0
    for token in tokens[3:]:
        now[0] += 0.1
        found.append(ask(service, token).status_code)
    assert found == [200] * len(tokens)


@pytest.mark.slow  # a service and many answers
def test_late_answers_and_closings_by_hand_replay_to_the_same(run_service, database_url, tmp_path):
    service = run_service(url=database_url, n_participants=120, n_rounds=4, lease_seconds=100)
    ledger, rng, late, n_sent = service.service.ledger, np.random.default_rng(0), [], 0
    for number, token in enumerate(service.tokens(120)):
        answer = ask_patiently(service, token, tries=10)
        if answer.status_code == 410:  # a closing that compiles first looks like silence too
            break
        if answer.status_code == 503:  # the rest of this round has gone silent
            service.post("/v1/admin/close-round", service.key)
        elif number % 5 == 0:
            late.append((token, answer))
        else:
            n_sent += send(service, token, answer, rng.normal(size=3)).status_code == 201
        if number % 11 == 10 and late:
            n_sent += send(service, *late.pop(0), rng.normal(size=3)).status_code == 201
        ledger.follow()
    n_sent += sum(send(service, *one, rng.normal(size=3)).status_code == 201 for one in late)
    ledger.follow()
    ledger.transcript().save(tmp_path / "transcript.npz")
    transcript = Transcript.load(tmp_path / "transcript.npz")
    again = study.make_estimator(service.collection.description).partial_fit(transcript)
    published = service.http.get("/v1/result").json()
    assert published["n_participants"] == again.n_participants_ == n_sent
    assert len(transcript.closings) >= 2
    np.testing.assert_allclose(again.estimate_, published["estimate"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(again.covariance_, published["covariance"], rtol=1e-12)


# ------------------------------------------------------------------ clients


def talk(service, request, wait=60.0):
    """Raw bytes to the service, and all that comes back until it closes the connection."""
    port, heard = int(service.url.rpartition(":")[2]), b""
    with socket.create_connection(("127.0.0.1", port), timeout=wait) as connection:
        connection.sendall(request)
        while part := connection.recv(65536):
            heard += part
    return heard


def test_a_body_that_does_not_arrive_ends(run_service, monkeypatch):
    monkeypatch.setattr(web, "LONGEST_UPLOAD", 0.2)
    service = run_service()
    [token] = service.tokens(1)
    head = f"POST /v1/questions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    heard = talk(service, f"{head}Content-Length: 9\r\n\r\nabc".encode())
    assert heard.startswith(b"HTTP/1.1 408") and b"too_slow" in heard
    assert b"connection: close" in heard.lower()
    assert service.count("questions") == 0


@pytest.mark.parametrize(
    "head", ["POST /v1/questions", "POST /v1/nothing", "GET /v1/status", "POST /v1/reports"]
)
def test_who_sends_the_rest_slowly_holds_no_connection(run_service, head):
    """Whatever is answered before its body has arrived ends the connection, whoever asks."""
    service = run_service()
    heard = talk(service, f"{head} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na".encode())
    assert heard.lower().count(b"connection: close") == 1


def test_a_client_that_hangs_up_leaves_no_trace(run_service, capfd):
    service = run_service()
    [token] = service.tokens(1)
    head = f"POST /v1/questions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    port = int(service.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"{head}Content-Length: 9\r\n\r\nabc".encode())
        time.sleep(0.2)
    time.sleep(0.2)
    assert ask(service, token).status_code == 200
    assert "Traceback" not in "".join(capfd.readouterr())


def test_nobody_is_sent_to_the_host_that_a_request_names(run_service):
    service = run_service()
    answer = service.http.get("/v1/protocol/", headers={"Host": "other.example"})
    assert answer.status_code == 404 and "location" not in answer.headers


def test_those_who_want_the_result_at_once_wait_for_one_computation(run_service, monkeypatch):
    running, most = [0], [0]
    lock = threading.Lock()

    def slow(description, server):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.1)
        with lock:
            running[0] -= 1
        return {"n_participants": server.n_participants}

    monkeypatch.setattr(study, "summarise", slow)
    service = run_service()
    threads = [threading.Thread(target=lambda: service.http.get("/v1/result")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
