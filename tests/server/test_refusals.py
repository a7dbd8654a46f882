"""Every message the server must refuse, and that a refusal changes nothing."""

import dataclasses
import math
import pickle

import numpy as np
import pytest

from geomstats_ldp.exceptions import (
    DuplicateMessageError,
    ForeignMessageError,
    InvalidMessageError,
    MessageError,
    StaleMessageError,
)
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Message
from geomstats_ldp.server import Server

# Rows of an array stand for messages here.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.RawDataWarning")


def answer(server, query, seed=0):
    """A valid message: a random score of the right length, tangent at the query."""
    coords = np.random.default_rng([seed, query.round, query.index]).normal(size=2)
    vector = server.protocol.geometry.lift(0.5 * coords / np.linalg.norm(coords), query.point)
    return Message(query.fingerprint, query.round, query.index, vector)


def snapshot(server):
    """Everything a later call can depend on, as bytes."""
    parts = [server.state.iterate, server.state.average, server.state.clock, *server.state.sums]
    pending = [(index, server.pending[index].tobytes()) for index in sorted(server.pending)]
    return pickle.dumps(([part.tobytes() for part in parts], pending, server.protocol.to_json()))


@pytest.fixture
def server(pca_protocol):
    """A few rounds in, with one of four answers of the open round received."""
    server = Server(pca_protocol(pairs_per_round=2, n_participants=103), "geomstats")
    for _ in range(3):
        server.receive([answer(server, query) for query in server.queries()])
    server.receive(answer(server, server.queries()[1]))
    return server


def with_vector(change):
    def make(message, query):
        return dataclasses.replace(message, tangent_vec=change(message.tangent_vec, query.point))

    return make


def entry(value):
    def change(vector, point):
        vector = vector.copy()
        vector[1] = value
        return vector

    return with_vector(change)


REFUSALS = {
    "nan": (entry(np.nan), InvalidMessageError, "finite"),
    "inf": (entry(np.inf), InvalidMessageError, "finite"),
    "short": (with_vector(lambda v, p: v[:2]), InvalidMessageError, "shape"),
    "row": (with_vector(lambda v, p: v[None, :]), InvalidMessageError, "shape"),
    "scalar": (with_vector(lambda v, p: 1.0), InvalidMessageError, "shape"),
    "text": (with_vector(lambda v, p: "score"), InvalidMessageError, "tangent_vec"),
    "nothing": (with_vector(lambda v, p: None), InvalidMessageError, "tangent_vec"),
    "complex": (with_vector(lambda v, p: v + 1e-3j), InvalidMessageError, "tangent_vec"),
    "ragged": (with_vector(lambda v, p: [[1.0], [1.0, 2.0]]), InvalidMessageError, "tangent_vec"),
    "not tangent": (with_vector(lambda v, p: v + 1e-6 * p), InvalidMessageError, "tangent at"),
    "normal": (with_vector(lambda v, p: 0.1 * p), InvalidMessageError, "tangent at"),
    "too long": (with_vector(lambda v, p: 100 * v), InvalidMessageError, "support"),
    "stale": (lambda m, q: dataclasses.replace(m, round=2), StaleMessageError, "round 2"),
    "early": (lambda m, q: dataclasses.replace(m, round=4), StaleMessageError, "round 4"),
    "duplicate": (lambda m, q: dataclasses.replace(m, index=1), DuplicateMessageError, "already"),
    "foreign": (lambda m, q: dataclasses.replace(m, fingerprint="f"), ForeignMessageError, "f"),
    "no fingerprint": (
        lambda m, q: dataclasses.replace(m, fingerprint=None),
        ForeignMessageError,
        "protocol",
    ),
    "index too large": (lambda m, q: dataclasses.replace(m, index=4), InvalidMessageError, "ind"),
    "index negative": (lambda m, q: dataclasses.replace(m, index=-1), InvalidMessageError, "ind"),
    "index fraction": (lambda m, q: dataclasses.replace(m, index=0.5), InvalidMessageError, "ind"),
    "index float": (lambda m, q: dataclasses.replace(m, index=0.0), InvalidMessageError, "index"),
    "index bool": (lambda m, q: dataclasses.replace(m, index=False), InvalidMessageError, "index"),
    "index text": (lambda m, q: dataclasses.replace(m, index="0"), InvalidMessageError, "index"),
    "array": (lambda m, q: m.tangent_vec, MessageError, "Message objects"),
    "query": (lambda m, q: q, MessageError, "Message objects"),
}


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("batch", ["alone", "first", "last"])
def test_refused_messages_leave_everything_as_it_was(server, case, batch):
    spoil, error, match = REFUSALS[case]
    queries = server.queries()
    good = [answer(server, query) for query in queries]
    bad = spoil(good[0], queries[0])
    messages = {"alone": [bad], "first": [bad, *good[1:]], "last": [*good[1:], bad]}[batch]
    before = snapshot(server)
    with pytest.raises(error, match=match):
        server.receive(messages)
    assert snapshot(server) == before
    assert [query.index for query in server.queries()] == [0, 2, 3]
    # and the collection goes on as if nothing had happened
    server.receive(good)
    assert server.n_participants == 16
    assert not server.pending


def test_a_message_on_the_edge_of_tolerance_is_only_rounding(server):
    query = server.queries()[0]
    message = answer(server, query)
    nearly = message.tangent_vec + 1e-12 * query.point
    server.receive(dataclasses.replace(message, tangent_vec=nearly))
    assert sorted(server.pending) == [0, 1]


def test_support_is_the_support_of_the_mechanism(server):
    query = server.queries()[0]
    message = answer(server, query)
    direction = message.tangent_vec / np.linalg.norm(message.tangent_vec)
    support = server.protocol.mechanism.support_radius
    with pytest.raises(InvalidMessageError, match="support"):
        server.receive(dataclasses.replace(message, tangent_vec=1.0001 * support * direction))
    server.receive(dataclasses.replace(message, tangent_vec=support * direction))
    assert sorted(server.pending) == [0, 1]


@pytest.mark.parametrize("size", [1e3, 1e125, 1e300])
def test_gaussian_messages_that_can_never_be_are_refused(pca_protocol, size):
    """Normal noise is unbounded, but 40 standard deviations are never seen."""
    server = Server(pca_protocol(mechanism="gaussian", delta=1e-6), "geomstats")
    query = server.queries()[0]
    message = answer(server, query)
    before = snapshot(server)
    for vector in (size * message.tangent_vec, size * query.point):
        with pytest.raises(InvalidMessageError):
            server.receive(dataclasses.replace(message, tangent_vec=vector))
        assert snapshot(server) == before
    far = message.tangent_vec * 30 * server.protocol.mechanism.sigma
    far /= np.linalg.norm(message.tangent_vec)
    server.receive(dataclasses.replace(message, tangent_vec=far))
    assert list(server.pending) == [0]


def test_l2_ball_messages_lie_on_their_sphere(pca_protocol):
    server = Server(pca_protocol(mechanism="l2_ball"), "geomstats")
    query = server.queries()[0]
    message = Participant(server.protocol, random_state=0).respond(query, [1.0, 0.5, 0.2])
    for factor in (0.0, 0.5, 1.01):
        with pytest.raises(InvalidMessageError, match="support"):
            server.receive(dataclasses.replace(message, tangent_vec=factor * message.tangent_vec))
    server.receive(message)


@pytest.mark.parametrize("rows", [[[1.7e308, -1.7e308, 0.0]] * 4, [[1e200, 0.0, 0.0]] * 3])
def test_rows_that_overflow_are_refused(pca_protocol, rows):
    server = Server(pca_protocol(), keep_messages=True)
    server.replay(np.ones((5, 3)))
    before = snapshot(server), len(server.messages)
    with pytest.raises(InvalidMessageError), np.errstate(all="ignore"):
        server.replay(rows)
    assert (snapshot(server), len(server.messages)) == before


def test_a_duplicate_inside_one_batch_is_refused(server):
    message = answer(server, server.queries()[0])
    before = snapshot(server)
    with pytest.raises(DuplicateMessageError):
        server.receive([message, message])
    assert snapshot(server) == before


def test_a_message_of_a_complete_round_is_stale(server):
    old = [answer(server, query) for query in server.queries()]
    server.receive(old)
    before = snapshot(server)
    for message in old:
        with pytest.raises(StaleMessageError):
            server.receive(message)
    assert snapshot(server) == before


def test_nothing_is_taken_past_the_plan(pca_protocol):
    server = Server(pca_protocol(n_participants=5), "geomstats")
    messages = []
    while server.queries():
        messages.append(answer(server, server.queries()[0]))
        server.receive(messages[-1])
    assert server.n_participants == server.n_received == 5
    before = snapshot(server)
    for late in (dataclasses.replace(messages[-1], round=server.round), messages[-1]):
        with pytest.raises(StaleMessageError, match="complete"):
            server.receive(late)
    with pytest.raises(StaleMessageError, match="5 participants are planned"):
        server.replay(np.zeros((1, 3)))
    assert snapshot(server) == before


def test_messages_of_another_run_of_the_same_people_are_foreign(server, pca_protocol):
    other = Server(pca_protocol(pairs_per_round=2, n_participants=104), "geomstats")
    message = Participant(other.protocol, random_state=0).respond(other.queries()[0], np.ones(3))
    with pytest.raises(ForeignMessageError, match=other.protocol.fingerprint[:12]):
        server.receive(message)


@pytest.mark.parametrize(
    ("rows", "error", "match"),
    [
        (np.zeros((3, 2)), InvalidMessageError, "shape"),
        (np.zeros(3), InvalidMessageError, "shape"),
        (np.full((4, 3), np.nan), InvalidMessageError, "finite"),
        (np.array([[0.0, math.inf, 0.0]]), InvalidMessageError, "finite"),
        (np.zeros((91, 3)), StaleMessageError, "planned"),
    ],
)
def test_refused_rows_leave_everything_as_it_was(server, rows, error, match):
    before = snapshot(server)
    with pytest.raises(error, match=match):
        server.replay(rows)
    assert snapshot(server) == before
    server.replay(np.zeros((90, 3)))  # exactly what the plan still allows
    assert server.n_received == 103


def test_a_failure_in_the_middle_of_a_replay_changes_nothing(server, monkeypatch):
    calls = []

    def fail(*args):
        calls.append(args[3])
        args[3].iterate[:] = np.nan  # the recursion had begun to write
        raise FloatingPointError("in the middle")

    monkeypatch.setattr(server, "engine", server.engine._replace(replay_rounds=fail))
    before = snapshot(server)
    with pytest.raises(FloatingPointError):
        server.replay(np.zeros((20, 3)))
    assert len(calls) == 1
    assert snapshot(server) == before


def test_a_failure_in_the_middle_of_an_update_changes_nothing(server, monkeypatch):
    def fail(*args):
        args[3].iterate[:] = np.nan
        raise FloatingPointError("in the middle")

    messages = [answer(server, query) for query in server.queries()]
    with monkeypatch.context() as patch:
        patch.setattr(server, "engine", server.engine._replace(close_round=fail))
        before = snapshot(server)
        with pytest.raises(FloatingPointError):
            server.receive(messages)
        assert snapshot(server) == before
    server.receive(messages)
    assert server.n_participants == 16
