"""Servers of rounds: what is asked, what is taken, and when rounds close."""

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from geomstats_ldp import Participant, PrivatePCA
from geomstats_ldp.exceptions import (
    ForeignMessageError,
    InvalidMessageError,
    MessageError,
    NotReadyError,
    ProtocolError,
)
from geomstats_ldp.protocol import Message
from geomstats_ldp.score_regression import without_messages
from geomstats_ldp.server import RoundServer, Server

# Runs are short, and say so; what they say is tested where it is the point.
pytestmark = [
    pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.HessianFloorWarning"),
    pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.UninformativeRegionWarning"),
    pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.WeakCurvatureWarning"),
]


def address(query):
    return query.round, query.index


# ------------------------------------------------------------------------ questions


def test_a_server_takes_the_protocols_of_its_plan(round_protocol, pca_protocol):
    with pytest.raises(ProtocolError, match="must have rounds"):
        RoundServer(pca_protocol())
    with pytest.raises(ProtocolError, match="must ask pairs"):
        Server(round_protocol())


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 41])
def test_questions_are_dealt_evenly_over_the_query_points(round_protocol, n):
    server = RoundServer(round_protocol())
    indices = [query.index for query in server.queries(n)]
    counts = np.bincount(indices, minlength=server.n_directions)
    assert len(indices) == n
    assert np.ptp(counts) <= 1
    more = np.bincount([query.index for query in server.queries(7)], minlength=4)
    assert np.ptp(counts + more) <= 1


def test_without_a_number_as_many_are_dealt_as_are_waited_for(round_protocol, answer):
    server = RoundServer(round_protocol())
    size = server.protocol.rounds.sizes[0]
    queries = server.queries()
    assert len(queries) == size
    server.receive(answer(server, queries[:5]))
    assert len(server.queries()) == size - 5 == server.round_size()
    open_end = RoundServer(round_protocol(n_participants=None))
    assert [query.index for query in open_end.queries()] == [0, 1, 2, 3]
    assert open_end.round_size() is None


@pytest.mark.parametrize("n", [-1, 2.0, True, "3"])
def test_numbers_of_questions_are_checked(round_protocol, n):
    with pytest.raises(ProtocolError, match="n must be an integer of at least 0"):
        RoundServer(round_protocol()).queries(n)


def test_queries_lie_around_the_centre_of_their_round(round_protocol, answer):
    server = RoundServer(round_protocol())
    geometry = server.protocol.geometry
    while not server.is_complete:
        queries, center = server.queries(8), server.state.centers[-1]
        for query in queries:
            vector = geometry.inverse_retract(query.point, center)
            offset = geometry.coordinates(vector, center) / server.protocol.radius.maximum
            direction = np.array(server.protocol.directions)[query.index]
            np.testing.assert_allclose(offset, direction, atol=1e-9)
        queries[0].point[:] = np.nan  # a caller may spoil a copy
        server.receive(answer(server, server.queries()))
    assert server.queries() == server.queries(5) == []


# ------------------------------------------------------------------------ messages


def test_any_order_and_any_batches_of_the_same_order_are_the_same(
    round_protocol, answer, same_sums
):
    protocol = round_protocol(n_participants=None)
    whole, shuffled, single = (RoundServer(protocol) for _ in range(3))
    messages = answer(whole, whole.queries(57))
    order = np.random.default_rng(1).permutation(57)
    whole.receive(messages)
    for message in messages:
        single.receive(message)
    for part in np.array_split(order, 6):
        shuffled.receive([messages[i] for i in part])
    assert same_sums(single.state, whole.state)
    assert same_sums(shuffled.state, whole.state, 1e-13)
    np.testing.assert_allclose(shuffled.estimate(), whole.estimate(), atol=1e-12)


def test_sums_are_those_of_the_messages(round_protocol, answer):
    server = RoundServer(round_protocol(n_participants=None), "geomstats")
    queries = server.queries(50)
    messages = answer(server, queries)
    server.receive(messages)
    geometry = server.protocol.geometry
    for index in range(server.n_directions):
        mine = [
            geometry.coordinates(m.tangent_vec, q.point)
            for m, q in zip(messages, queries)
            if q.index == index
        ]
        np.testing.assert_allclose(server.state.sums[0, index], np.sum(mine, axis=0), rtol=1e-12)
        outer = np.array(mine).T @ np.array(mine)
        np.testing.assert_allclose(server.state.outer[0, index], outer, rtol=1e-12)
        assert server.state.counts[0, index] == len(mine)


def test_late_answers_join_their_query_point(round_protocol, answer, same_sums):
    """Late or in time: the sums at the query are the same; the open round does not fill."""
    protocol = round_protocol(n_participants=None)
    server = RoundServer(protocol)
    messages = answer(server, server.queries(40))
    late = answer(server, server.queries(8), seed=5)
    server.receive(messages)
    server.close_round()
    point, left = server.estimate(), server.n_in_round
    server.receive(late)
    assert server.n_in_round == left == 0
    assert server.state.counts[0].tolist() == [12, 12, 12, 12]
    in_time = RoundServer(protocol)
    in_time.receive([*messages, *late])
    for a, b in zip(server.state[1:], in_time.state[1:]):
        np.testing.assert_array_equal(a[0], b[0])
    assert not np.array_equal(server.estimate(), point)  # asked again, it has heard more


def test_a_prediction_is_kept_until_messages_come(round_pca, answer):
    """As the regression is; a region, a test and a functional ask for it again and again."""
    pca = round_pca()
    server = pca.server_
    pca.partial_fit(answer(server, server.queries()))
    pca.partial_fit(answer(server, server.queries()))
    before = server.predict_scores()
    assert server.predict_scores() is before
    pca.partial_fit(answer(server, server.queries()))
    after, afresh = server.predict_scores(), pickle.loads(pickle.dumps(server)).predict_scores()
    assert after is not before
    for mine, theirs in ((after.value, afresh.value), (after.covariance, afresh.covariance)):
        np.testing.assert_array_equal(mine, theirs)
    assert not np.array_equal(after.covariance, before.covariance)


def test_a_finished_estimate_changes_only_when_asked_again(round_pca, answer):
    pca = round_pca()
    server = pca.server_
    late = answer(server, server.queries(20), seed=9)
    while not server.is_complete:
        pca.partial_fit(answer(server, server.queries()))
    estimate, region = pca.estimate_, pca.confidence_region()
    kept = estimate.copy(), region.covariance.copy()
    pca.partial_fit(late)
    np.testing.assert_array_equal(estimate, kept[0])
    np.testing.assert_array_equal(region.covariance, kept[1])
    assert pca.n_participants_ == 140
    assert not np.array_equal(pca.estimate_, estimate)


def test_bad_messages_are_refused_and_change_nothing(round_protocol, answer, same_sums):
    server = RoundServer(round_protocol())
    queries = server.queries(10)
    good, bad = answer(server, queries)[:2]
    vector, before = bad.tangent_vec, server.state
    crafted = {
        "foreign": (replace(bad, fingerprint="0" * 64), ForeignMessageError),
        "round to come": (replace(bad, round=1), InvalidMessageError),
        "negative round": (replace(bad, round=-1), InvalidMessageError),
        "round of a float": (replace(bad, round=0.0), InvalidMessageError),
        "round of a boolean": (replace(bad, round=False), InvalidMessageError),
        "index too large": (replace(bad, index=4), InvalidMessageError),
        "index too small": (replace(bad, index=-1), InvalidMessageError),
        "NaN": (replace(bad, tangent_vec=np.nan * vector), InvalidMessageError),
        "not tangent": (replace(bad, tangent_vec=vector + 1.0), InvalidMessageError),
        "too long": (replace(bad, tangent_vec=1e6 * vector), InvalidMessageError),
        "no message": ("message", MessageError),
    }
    for message, error in crafted.values():
        with pytest.raises(error):
            server.receive([good, message])
        assert server.state is before
    server.receive([])
    assert server.state is before


def test_a_closing_that_fails_leaves_the_server_as_it_was(round_protocol, answer, monkeypatch):
    server = RoundServer(round_protocol(), keep_messages=True)
    messages, before = answer(server, server.queries()), server.state
    monkeypatch.setattr(
        "geomstats_ldp.server.round_record.fit_scores", lambda *args: 1 / 0, raising=True
    )
    for act in (
        lambda: server.receive(messages),
        lambda: server.replay(np.stack([m.tangent_vec for m in messages])),
    ):
        with pytest.raises(ZeroDivisionError):
            act()
        assert server.state is before
        assert (server.n_closed, len(server.transcript())) == (0, 0)
        assert server.transcript().closings.tolist() == []


def test_candidates_of_devices_are_taken(round_pca):
    pca = round_pca(n_participants=None)
    protocol = pca.protocol_
    for query in pca.queries(3):
        person = Participant(protocol, fingerprint=protocol.fingerprint)
        message = person.respond(query, [0.5, 0.4, -0.2])
        assert message.candidate is not None
        pca.partial_fit(Message.from_json(message.to_json()))
    assert pca.n_participants_ == 3
    assert pca.server_.state.counts[0].tolist() == [1, 1, 1, 0]


@pytest.mark.parametrize("n_rounds", [None, 3])
def test_no_messages_are_no_news(n_rounds, round_pca):
    pca = round_pca(n_rounds)
    before = pca.server_.state
    assert pca.partial_fit([]).server_.state is before
    assert pca.partial_fit(()).n_participants_ == 0
    assert not hasattr(PrivatePCA(n_rounds=n_rounds).partial_fit([]), "server_")


# ------------------------------------------------------------------------ rounds


def test_a_round_closes_at_its_quota(round_protocol, answer):
    server = RoundServer(round_protocol())
    sizes = server.protocol.rounds.sizes
    for number in range(len(sizes)):
        messages = answer(server, server.queries())
        server.receive(messages[:-1])
        assert server.round == number
        server.receive(messages[-1])
        assert server.round == number + 1
    assert server.n_participants == sum(sizes) == 120
    assert server.is_complete and server.state.n_opened == len(sizes)
    with pytest.raises(NotReadyError, match="all 3 rounds are closed"):
        server.close_round()


def test_a_round_closes_by_hand_from_the_minimum_on(round_protocol, answer):
    server = RoundServer(round_protocol())
    messages = answer(server, server.queries(4))
    for message in messages:
        with pytest.raises(NotReadyError, match="4 answers at least"):
            server.close_round()
        server.receive(message)
    server.close_round()
    assert (server.round, server.round_size()) == (1, server.protocol.rounds.sizes[1])
    with pytest.raises(NotReadyError, match="round 1 has 0"):
        server.close_round()


def test_all_answers_late(round_protocol, answer):
    """Nobody answers round 1 in time, so it cannot close; its answers count when they come."""
    server = RoundServer(round_protocol(n_participants=None))
    server.receive(answer(server, server.queries(12)))
    server.close_round()
    late = answer(server, server.queries(12), seed=3)
    with pytest.raises(NotReadyError):
        server.close_round()
    server.receive(late[:4])
    server.close_round()
    server.receive(late[4:])
    assert server.state.counts.sum(axis=1).tolist() == [12, 12, 0]
    assert server.fit().n_participants == 24


def test_missing_directions_need_nothing(round_protocol, answer):
    server = RoundServer(round_protocol(n_participants=None))
    for _ in range(3):
        messages = answer(server, server.queries(60))
        server.receive([message for message in messages if message.index != 1])
        server.close_round()
    assert (server.state.counts[:, 1] == 0).all()
    assert np.isfinite(server.fit().point).all()
    assert np.isfinite(server.fit().information).all()


def test_a_single_direction_gives_an_estimate(round_protocol, answer):
    """Then the slope across it is known from shrinkage and the floor alone."""
    server = RoundServer(round_protocol(n_participants=None, minimum=1))
    messages = answer(server, server.queries(60))
    server.receive([message for message in messages if message.index == 2])
    server.close_round()
    region = server.protocol.working_region
    assert region.contains(server.protocol.geometry, server.estimate(), slack=1e-9)


# ------------------------------------------------------------------------ workers


def by_worker(server, messages, n_workers=8):
    """States of workers that share messages about the open rounds of a server."""
    for number in range(n_workers):
        worker = RoundServer(server.protocol)
        worker.merge([without_messages(server.state)])
        worker.receive(messages[number::n_workers])
        yield worker.state


def test_eight_workers_equal_one_server_in_any_order(round_protocol, answer):
    protocol, rng = round_protocol(n_participants=None), np.random.default_rng(4)
    single, merged, other = (RoundServer(protocol) for _ in range(3))
    for seed in range(3):
        # Centres agree to rounding only: each collection is asked about its own.
        for server in (single, merged, other):
            messages = answer(server, server.queries(100), seed)
            if server is single:
                server.receive(messages)
                continue
            states = list(by_worker(server, messages))
            order = np.arange(8) if server is merged else rng.permutation(8)
            server.merge([states[i] for i in order])
        for server in (merged, other):
            np.testing.assert_array_equal(server.state.counts, single.state.counts)
            for a, b in zip(server.state, single.state):
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max())
            np.testing.assert_allclose(server.estimate(), single.estimate(), atol=1e-12)
        for server in (single, merged, other):
            server.close_round()


def test_a_merge_closes_a_round_that_it_fills(round_protocol, answer):
    server = RoundServer(round_protocol(), keep_messages=True)
    worker = copy.copy(server)
    n_first = server.protocol.rounds.sizes[0]
    messages = answer(server, server.queries(n_first))
    worker.receive(messages[:-1])
    server.receive(messages[-1:])
    server.merge([worker.state])
    assert (server.n_closed, server.n_participants) == (1, n_first)
    assert server.transcript() is None  # what the worker heard is not here


def test_states_of_a_server_ahead_bring_its_rounds(round_protocol, answer):
    ahead, behind = (RoundServer(round_protocol(n_participants=None)) for _ in range(2))
    ahead.receive(answer(ahead, ahead.queries(20)))
    ahead.close_round()
    behind.merge([ahead.state])
    assert behind.round == 1 == behind.state.n_opened - 1
    np.testing.assert_array_equal(behind.points(1), ahead.points(1))
    with pytest.raises(ProtocolError, match="of one collection"):
        ahead.merge([ahead.state._replace(centers=ahead.state.centers + 1.0)])


@pytest.mark.parametrize("n", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_threads_are_counted(round_protocol, n):
    """Eight threads and many messages: what was accepted is counted, over all rounds."""
    server = RoundServer(round_protocol(n_participants=n))
    zero, lock, asked = np.zeros(3), threading.Lock(), []

    def work(_):
        accepted = 0
        while True:
            with lock:
                queries = server.queries(5) if len(asked) < n else []
                asked.extend(queries)
            if not queries:
                return accepted
            for query in queries:
                server.receive(Message(query.fingerprint, query.round, query.index, zero))
                accepted += 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == n == server.n_participants
    counts = np.zeros_like(server.state.counts)
    for query in asked:
        counts[address(query)] += 1
    np.testing.assert_array_equal(counts, server.state.counts)
