"""The contract of the service: who is answered what, and what changes nothing."""

import concurrent.futures
import json
import secrets

import numpy as np
import pytest
from sqlalchemy import inspect, text

from geomstats_ldp import Protocol
from geomstats_ldp.collection import tables
from geomstats_ldp.collection.device import draw_report
from geomstats_ldp.collection.limits import LARGEST_BODY
from geomstats_ldp.collection.web import CONTENT_POLICY
from geomstats_ldp.protocol import Query

JSON = {"Content-Type": "application/json"}


class Clock:
    """A time that tests move."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def ask(service, token):
    return service.post("/v1/questions", token)


def report_of(service, answer):
    query = Query.from_json(json.dumps(answer.json()["query"]))
    return draw_report(service.collection.protocol, query, [0.1, 1.0, 0.2])


def send(service, token, body):
    return service.post("/v1/reports", token, content=body, headers=JSON)


def code(response):
    record = response.json()
    assert record.keys() == {"error"} and record["error"].keys() == {"code", "message"}
    return response.status_code, record["error"]["code"]


def contents(service):
    """Everything stored, for comparison."""
    with tables.reading(service.service.engine) as connection:
        return [
            connection.execute(text(f"SELECT * FROM {table}")).all()
            for table in ("invitations", "questions", "reports", "closings")
        ]


def test_the_protocol_is_what_was_published(run_service):
    service = run_service()
    answer = service.http.get("/v1/protocol")
    protocol = Protocol.from_json(answer.text, answer.headers["X-Protocol-Fingerprint"])
    assert protocol == service.collection.protocol


def test_a_token_has_one_question_while_its_lease_runs(run_service, clock):
    service = run_service(clock=clock, lease_seconds=30)
    [token] = service.tokens(1)
    first, second = ask(service, token), ask(service, token)
    assert first.status_code == 200 and first.text == second.text
    assert first.json()["lease_until"] == clock.now + 30
    clock.now += 31  # the round is still open: the same question with another lease
    third = ask(service, token).json()
    assert third["query"] == first.json()["query"]
    assert third["lease_until"] == first.json()["lease_until"] + 31


def test_an_expired_question_of_a_closed_round_becomes_one_of_the_open_round(run_service, clock):
    service = run_service(clock=clock, lease_seconds=30)
    [late, *others] = service.tokens(40)
    old = ask(service, late)
    for token in others:
        answer = ask(service, token)
        if answer.status_code == 200:
            send(service, token, report_of(service, answer))
    service.service.ledger.follow()
    number = service.service.ledger.server.round
    if number == 0:
        service.service.ledger.close_round(0)
        number = 1
    assert ask(service, late).text == old.text  # still under lease
    clock.now += 31
    assert ask(service, late).json()["query"]["round"] == number
    # A report to the old question, drawn before, still counts at its own query.
    assert send(service, late, report_of(service, old)).status_code == 201
    service.service.ledger.follow()
    assert code(ask(service, late)) == (409, "token_spent")


def test_no_more_questions_are_out_than_answers_are_missing(run_service, clock):
    service = run_service(clock=clock, lease_seconds=30)
    size = service.collection.protocol.rounds.sizes[0]
    answers = []
    for token in service.tokens(3 * size):
        clock.now += 0.1
        answers.append(ask(service, token))
    n_dealt = sum(answer.status_code == 200 for answer in answers)
    refused = [answer for answer in answers if answer.status_code != 200]
    assert n_dealt == size
    assert all(code(answer) == (503, "no_question") for answer in refused)
    assert all(int(answer.headers["Retry-After"]) >= 1 for answer in refused)
    directions = [a.json()["query"]["index"] for a in answers if a.status_code == 200]
    assert np.ptp(np.bincount(directions)) <= 1, "the query points are dealt evenly"
    clock.now += 60  # everybody has gone silent: their places are dealt again
    [token] = service.tokens(1)
    assert ask(service, token).status_code == 200


def test_the_same_report_twice_is_one(run_service, database_url):
    service = run_service(url=database_url)
    [token, other] = service.tokens(2)
    body = report_of(service, ask(service, token))
    first, second = send(service, token, body), send(service, token, body)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()
    assert service.count("reports") == 1
    before = contents(service)
    changed = json.loads(body)
    changed["message"]["candidate"] ^= 1
    assert code(send(service, token, json.dumps(changed))) == (409, "conflict")
    changed = json.loads(body) | {"report_id": secrets.token_urlsafe(24)}
    assert code(send(service, token, json.dumps(changed))) == (409, "conflict")
    ask(service, other)
    assert code(send(service, other, body))[0] == 409
    assert [before[i] for i in (0, 2, 3)] == [contents(service)[i] for i in (0, 2, 3)]
    assert code(ask(service, token)) == (409, "token_spent")


def test_racing_requests_store_one_report(run_service, database_url):
    service = run_service(url=database_url)
    [token] = service.tokens(1)
    answer = ask(service, token)
    bodies = [report_of(service, answer) for _ in range(4)] * 3
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda body: send(service, token, body).status_code, bodies))
    assert found.count(201) == 1 and found.count(200) == 2 and found.count(409) == 9
    assert service.count("reports") == 1


def test_a_question_has_to_be_asked_before_it_is_answered(run_service):
    service = run_service()
    [token, idle] = service.tokens(2)
    body = report_of(service, ask(service, token))
    assert code(send(service, idle, body)) == (409, "not_asked")
    record = json.loads(body)
    record["message"]["index"] = (record["message"]["index"] + 1) % 4
    assert code(send(service, token, json.dumps(record))) == (409, "not_asked")
    record["message"]["round"] = 2
    assert code(send(service, token, json.dumps(record))) == (409, "not_asked")
    assert service.count("reports") == 0


def test_candidates_at_both_ends_of_64_bits_are_kept(run_service, database_url):
    service = run_service(url=database_url)
    ends = [0, 2**63 - 1, 2**63, 2**64 - 1]
    tokens = service.tokens(len(ends))
    for token, candidate in zip(tokens, ends):
        record = json.loads(report_of(service, ask(service, token)))
        record["message"]["candidate"] = candidate
        assert send(service, token, json.dumps(record)).status_code == 201
    transcript = service.service.ledger.transcript()
    mechanism = service.collection.protocol.mechanism
    expected = [mechanism.candidate_vector(candidate) for candidate in ends]
    np.testing.assert_array_equal(transcript.messages, expected)


BAD = {
    "no JSON": (b"{", 400),
    "no UTF-8": (b'{"report_id":"\xff"}', 400),
    "too deep": (b"[" * 1000 + b"]" * 1000, 400),
    "a field twice": (b'{"report_id":1,"report_id":2,"message":{}}', 400),
    "NaN": (b'{"report_id":NaN,"message":{}}', 400),
    "too large": (b'"' + b"x" * LARGEST_BODY + b'"', 413),
    "a list": (b"[]", 422),
    "another field": (b'{"report_id":"aaaaaaaaaaaaaaaa","message":{},"datum":[1,2,3]}', 422),
    "a short identifier": (b'{"report_id":"a","message":{}}', 422),
    "no message": (b'{"report_id":"aaaaaaaaaaaaaaaa","message":{}}', 422),
    "nothing": (b"", 400),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_report_changes_nothing(run_service, name):
    service = run_service()
    body, status = BAD[name]
    [token] = service.tokens(1)
    ask(service, token)
    before = contents(service)
    assert code(send(service, token, body))[0] == status
    assert contents(service) == before


@pytest.mark.parametrize("candidate", [-1, 2**64, 1.5, "1", None, True, [1, 2], [], [2**60]])
def test_what_is_no_candidate_changes_nothing(run_service, candidate):
    service = run_service()
    [token] = service.tokens(1)
    record = json.loads(report_of(service, ask(service, token)))
    record["message"]["candidate"] = candidate
    assert code(send(service, token, json.dumps(record))) == (422, "bad_message")
    record["message"] |= {"candidate": 1, "fingerprint": "0" * 64}
    assert code(send(service, token, json.dumps(record))) == (422, "foreign_message")
    assert service.count("reports") == 0


def test_the_type_of_the_body_has_to_be_json(run_service):
    service = run_service()
    [token] = service.tokens(1)
    body = report_of(service, ask(service, token))
    for kind in ("text/plain", "application/json; charset=latin-1", "multipart/form-data"):
        answer = service.post("/v1/reports", token, content=body, headers={"Content-Type": kind})
        assert code(answer) == (415, "not_json")
    kind = {"Content-Type": 'application/json; charset="UTF-8"'}
    assert service.post("/v1/reports", token, content=body, headers=kind).status_code == 201


def test_forged_tokens_and_keys_open_nothing(run_service):
    service = run_service()
    [token] = service.tokens(1)
    body = report_of(service, ask(service, token))
    before = contents(service)
    for forged in (token[:-1], token + "A", token.swapcase(), "x" * 128, "é".encode()):
        forged = forged.decode("latin-1") if isinstance(forged, bytes) else forged
        header = {"Authorization": f"Bearer {forged}".encode("latin-1")}
        assert code(service.post("/v1/questions", headers=header))[0] == 401
        answer = service.post("/v1/reports", content=body, headers={**header, **JSON})
        assert code(answer)[0] == 401
    for header in ({}, {"Authorization": "Basic abc"}, {"Authorization": "Bearer " + "x" * 200}):
        assert code(service.post("/v1/questions", headers=header)) == (401, "no_token")
    for path in ("/v1/admin/close-round", "/v1/admin/invitations"):
        answer = service.post(path, token, content=b'{"count":1}', headers=JSON)
        assert code(answer) == (401, "not_admin")
    assert contents(service) == before


def test_the_admin_invites_and_closes_rounds(run_service, clock):
    service = run_service(clock=clock, lease_seconds=30)
    for count in (0, -1, 1.5, "3", 10**6, None, True):
        answer = service.post("/v1/admin/invitations", service.key, json={"count": count})
        assert code(answer) == (422, "bad_count")
    answer = service.post("/v1/admin/invitations", service.key, json={"count": 10})
    assert answer.status_code == 201 and len(set(answer.json()["tokens"])) == 10
    assert code(service.post("/v1/admin/close-round", service.key)) == (409, "too_few")
    for token in answer.json()["tokens"][:6]:  # of eight that the first round waits for
        clock.now += 1
        send(service, token, report_of(service, ask(service, token)))
    status = service.post("/v1/admin/close-round", service.key).json()
    assert status["open_round"] == 1 and status["answers"] == [6, 0, 0]


def test_nothing_secret_is_stored_or_logged(run_service, capfd, caplog):
    service = run_service()
    [token] = service.tokens(1)
    send(service, token, report_of(service, ask(service, token)))
    service.post("/v1/admin/close-round", service.key)
    send(service, token, b"{")
    stored = repr(contents(service))
    with tables.reading(service.service.engine) as connection:
        stored += repr(connection.execute(text("SELECT * FROM study")).all())
    written = "".join(capfd.readouterr()) + caplog.text
    for secret in (token, service.key):
        assert secret not in stored and secret not in written
    assert "127.0.0.1" not in stored


def test_times_are_cut(run_service, clock):
    service = run_service(clock=clock, lease_seconds=30)
    clock.now += 0.7
    [token] = service.tokens(1)
    assert ask(service, token).json()["lease_until"] == 1_000_031
    columns = inspect(service.service.engine).get_columns("reports")
    assert {column["name"] for column in columns} == {
        *("id", "token_hash", "report_id", "round", "direction", "candidate", "grid")
    }, "a report has no time"


def test_a_round_closes_at_its_deadline_with_the_smallest_batch(
    run_service, make_collection, clock
):
    options = {"rounds": "minimum_batch = 6", "service": "deadline_seconds = 100"}
    collection = make_collection(**options, lease_seconds=30)
    with collection.engine.begin() as connection:
        connection.execute(text("UPDATE study SET opened = :now"), {"now": int(clock.now)})
    service = run_service(clock=clock, collection=collection)
    ledger, tokens = service.service.ledger, service.tokens(6)
    for token in tokens[:5]:
        send(service, token, report_of(service, ask(service, token)))
    clock.now += 102
    ledger.close_if_due()
    assert ledger.server.round == 0, "fewer than the smallest batch have answered"
    send(service, tokens[5], report_of(service, ask(service, tokens[5])))
    ledger.close_if_due()
    assert ledger.server.round == 1
    clock.now += 99
    ledger.close_if_due()
    assert ledger.server.round == 1


def test_those_who_ask_too_often_wait(run_service):
    service = run_service(client_rate=1.0)
    found = [service.http.get("/v1/status") for _ in range(6)]
    assert [answer.status_code for answer in found[:4]] == [200] * 4
    assert code(found[-1]) == (429, "too_often") and int(found[-1].headers["Retry-After"]) >= 1


def test_one_token_cannot_flood(run_service):
    service = run_service()
    [token, other] = service.tokens(2)
    assert [ask(service, token).status_code for _ in range(40)].count(429) >= 15
    assert ask(service, other).status_code == 200


def test_a_lost_database_is_a_wait_and_not_a_failure(run_service, monkeypatch):
    service = run_service()
    [token] = service.tokens(1)
    body = report_of(service, ask(service, token))
    engine = tables.connect("postgresql+psycopg://nobody@/none?host=/nowhere")
    monkeypatch.setattr(service.service.writer, "_engine", engine)
    answer = send(service, token, body)
    assert code(answer) == (503, "unavailable") and "Retry-After" in answer.headers
    monkeypatch.setattr(service.service.writer, "_engine", service.service.engine)
    assert send(service, token, body).status_code == 201


def test_the_page_comes_with_a_strict_policy(run_service):
    service = run_service()
    for path in ("/", "/page/main.js", "/v1/status", "/nowhere"):
        answer = service.http.get(path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Content-Security-Policy"] == CONTENT_POLICY
    assert service.http.get("/").headers["Content-Type"].startswith("text/html")
    assert service.http.get("/page/main.js").headers["Content-Type"].startswith("text/javascript")
    for path in ("/page/../store.py", "/page/%2e%2e/store.py", "/page//etc/passwd", "/page/"):
        assert service.http.get(path).status_code == 404
