"""A collection over HTTP counts what it acknowledged, once, and comes to the same estimate."""

import time

import httpx
import numpy as np
import pytest
from sqlalchemy import text

from geomstats_ldp.collection import store, study, tables
from geomstats_ldp.collection.client import Client
from geomstats_ldp.collection.device import answer
from geomstats_ldp.collection.ledger import Ledger
from geomstats_ldp.collection.rehearsal import Habits, Rehearsal, is_another_question
from geomstats_ldp.exceptions import CollectionError, ProtocolError
from geomstats_ldp.server import RoundServer


def people(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)) @ np.diag([0.4, 1.2, 0.6])


def in_process(protocol, messages, ends):
    """Server that received the messages one by one, and closed rounds after so many at last."""
    server = RoundServer(protocol)
    for number, message in enumerate(messages, start=1):
        server.receive(message)
        if number in ends and server.n_closed <= ends.index(number):
            server.close_round()
    return server


def stored(engine):
    with tables.reading(engine) as connection:
        ids = connection.execute(text("SELECT report_id FROM reports ORDER BY id")).scalars()
        return list(ids)


def check_against_in_process(engine, description, outcome):
    """Everything acknowledged is counted once, and the estimate is that of one process."""
    order = stored(engine)
    assert sorted(order) == sorted(outcome.acknowledged)
    with tables.reading(engine) as connection:
        ledger = Ledger(engine, store.read_study(connection))
    transcript = ledger.transcript()
    messages = [outcome.acknowledged[report_id] for report_id in order]
    server = in_process(ledger.study.protocol, messages, transcript.closings.tolist())
    assert server.n_closed == ledger.server.n_closed
    ours, theirs = (study.summarise(description, one) for one in (ledger.server, server))
    assert ours["n_participants"] == theirs["n_participants"] == len(messages)
    for name in ("estimate", "covariance"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-12, atol=1e-12)
    again = study.make_estimator(description).partial_fit(transcript)
    np.testing.assert_allclose(again.estimate_, ours["estimate"], rtol=0, atol=1e-14)
    return ours


@pytest.mark.slow  # a service and many answers
def test_people_who_drop_out_come_late_and_send_garbage(run_service, database_url):
    service = run_service(url=database_url, n_participants=60, n_rounds=3)
    habits = Habits(dropout=0.2, late=0.3, duplicate=0.05, garbage=0.02)
    rehearsal = Rehearsal(service.url, service.tokens(160), people(160), habits)
    outcome = rehearsal.run()
    assert service.http.get("/v1/status").json()["ended"]
    assert not {status for status in outcome.statuses if status >= 500} - {503}
    ours = check_against_in_process(service.service.engine, service.collection.description, outcome)
    published = service.http.get("/v1/result").json()
    if published["n_participants"] == ours["n_participants"]:
        np.testing.assert_allclose(published["estimate"], ours["estimate"], rtol=0, atol=1e-14)


@pytest.mark.slow
def test_two_workers_come_to_the_same(run_service, make_collection, postgres_url):
    collection = make_collection(url=postgres_url, n_participants=150, n_rounds=3)
    one, two = (run_service(collection=collection) for _ in range(2))
    tokens, data = one.tokens(300), people(300)
    import threading

    outcomes = []
    halves = [(one, slice(0, 300, 2)), (two, slice(1, 300, 2))]
    threads = [
        threading.Thread(
            target=lambda s=s, part=part: outcomes.append(
                Rehearsal(s.url, tokens[part], data[part], Habits(late=0.3)).run(4)
            )
        )
        for s, part in halves
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    outcomes[0].acknowledged.update(outcomes[1].acknowledged)
    check_against_in_process(collection.engine, collection.description, outcomes[0])
    one.service.ledger.follow()
    two.service.ledger.follow()
    states = one.service.ledger.server.state, two.service.ledger.server.state
    assert all(np.array_equal(a, b) for a, b in zip(*states))


@pytest.mark.parametrize("n_participants", [60])
def test_a_round_ends_with_the_report_that_fills_it(run_service, n_participants):
    service = run_service(n_participants=n_participants, n_rounds=3)
    Rehearsal(service.url, service.tokens(120), people(120)).run(4)
    status = service.http.get("/v1/status").json()
    with tables.reading(service.service.engine) as connection:
        ledger = Ledger(service.service.engine, store.read_study(connection))
    transcript = ledger.transcript()
    assert status["ended"] and len(transcript.closings) == len(status["sizes"])
    for number, (end, size) in enumerate(zip(transcript.closings, status["sizes"])):
        # On a slow machine a question is asked again before its answer comes, in a later round.
        rounds = transcript.addresses[:end, 0]
        assert np.sum(rounds == number) == size and rounds[-1] == number


# ------------------------------------------------------------------------ groups

#: Two epsilons that people may choose from.
EPSILONS = "{strict = 1.0, open = 4.0}"


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["privunit", "gaussian"])
def test_people_choose_their_epsilon(run_service, mechanism, wait_until):
    """Every report is read with the mechanism of its group, and all enter one estimate."""
    epsilon = EPSILONS
    if mechanism == "gaussian":
        pytest.importorskip("opendp", reason="the mechanism is released by OpenDP")
        epsilon += '\nmechanism = "gaussian"\ndelta = 1e-6'
    service = run_service(n_participants=120, n_rounds=2, epsilon=epsilon)
    chosen = np.random.default_rng(1).choice(["strict", "open"], size=300, p=[0.3, 0.7])
    tokens = service.tokens(300)
    outcome = Rehearsal(service.url, tokens, people(300), groups=chosen.tolist()).run()
    engine, description = service.service.engine, service.collection.description
    wait_until(lambda: service.http.get("/v1/status").json()["ended"])
    check_against_in_process(engine, description, outcome)
    told = service.http.get("/v1/status").json()["groups"]
    assert sum(told.values()) == len(outcome.acknowledged) and min(told.values()) > 15
    protocol = service.collection.protocol
    counted = [protocol.group_of(message.index) for message in outcome.acknowledged.values()]
    assert told == {name: counted.count(name) for name in protocol.mechanisms}


def test_an_invitation_keeps_the_group_that_was_chosen(run_service):
    service = run_service(epsilon=EPSILONS)
    token, other = service.tokens(2)
    protocol = service.collection.protocol
    asked = service.post("/v1/questions", token, params={"group": "strict"})
    assert protocol.group_of(asked.json()["query"]["index"]) == "strict"
    again = service.post("/v1/questions", token, params={"group": "strict"})
    assert again.json()["query"] == asked.json()["query"]
    for group, status, code in (("open", 409, "other_group"), ("all", 422, "bad_group")):
        refused = service.post("/v1/questions", token, params={"group": group})
        assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
    assert service.post("/v1/questions", other).status_code == 422
    plain = run_service(url=f"{service.collection.url}2")
    (token,) = plain.tokens(1)
    assert plain.post("/v1/questions", token, params={"group": "open"}).status_code == 422
    assert "groups" not in plain.http.get("/v1/status").json()


def test_a_device_answers_for_the_group_of_its_owner(run_service, tmp_path, wait_until):
    service = run_service(epsilon=EPSILONS)
    fingerprint = service.collection.protocol.fingerprint
    token, other = service.tokens(2)
    datum, paths = [0.4, 1.2, 0.6], [tmp_path / "a.json", tmp_path / "b.json"]
    with Client(service.url, token) as client:
        with pytest.raises(ProtocolError, match="group or max_epsilon must be given"):
            answer(client, fingerprint, datum, paths[0])
        with pytest.raises(ProtocolError, match="group must be one of the groups"):
            answer(client, fingerprint, datum, paths[0], group="all")
        assert answer(client, fingerprint, datum, paths[0], group="strict")
        assert not answer(client, fingerprint, datum, paths[0], group="strict")
    with Client(service.url, other) as client:
        client.question("open")
        with pytest.raises(CollectionError, match="other_group"):
            answer(client, fingerprint, datum, paths[1], group="strict")
        assert not paths[1].exists()
    wait_until(lambda: service.http.get("/v1/status").json()["groups"]["strict"] == 1)


@pytest.mark.parametrize(
    ("query", "lasts", "is_other"),
    [({"round": 0}, 60, False), ({"round": 1}, 60, True), ({"round": 1}, -1, False)],
)
def test_a_question_is_another_one_only_while_its_lease_lasts(query, lasts, is_other):
    """After the lease a round may have closed, and the invitation is asked in the next one."""
    until = time.time() + lasts
    first = httpx.Response(200, json={"query": {"round": 0}, "lease_until": until})
    again = httpx.Response(200, json={"query": query, "lease_until": until + 30})
    assert is_another_question(first, again) == is_other
    assert not is_another_question(first, httpx.Response(503))
    assert not is_another_question(None, again)
