"""Threads that share a collection: what is accepted is counted, nothing is refused by chance."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from geomstats_ldp import PrivatePCA, Tuning
from geomstats_ldp.exceptions import DuplicateMessageError, StaleMessageError
from geomstats_ldp.protocol import Message
from geomstats_ldp.server import Server

N_THREADS, ROUND = 8, 40


def zero(query):
    return Message(query.fingerprint, query.round, query.index, np.zeros_like(query.point))


def in_threads(work):
    barrier = threading.Barrier(N_THREADS)

    def start(number):
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(start, range(N_THREADS)))


@pytest.fixture(params=[800, pytest.param(4000, marks=pytest.mark.slow)])
def n_messages(request):
    return request.param


@pytest.fixture(params=["server", pytest.param("estimator", marks=pytest.mark.slow)])
def collection(request, pca_protocol):
    """How to ask, how to answer, and the server."""
    if request.param == "server":
        server = Server(pca_protocol(pairs_per_round=ROUND // 2), engine="geomstats")
        return server.queries, server.receive, server
    pca = PrivatePCA(
        norm_bound=2.0,
        epsilon=4.0,
        initial_point=[1.0, 0.2, 0.1],
        tuning=Tuning(engine="geomstats", pairs_per_round=ROUND // 2),
    )
    pca.start()
    return pca.queries, pca.partial_fit, pca.server_


def test_every_thread_answers_its_share_and_nothing_is_lost(collection, n_messages):
    """Each query has one thread that answers it; rounds open as soon as all have."""
    queries, receive, server = collection
    share = n_messages // ROUND
    turn = threading.Barrier(N_THREADS)

    def work(number):
        for _ in range(share):
            mine = [query for query in queries() if query.index % N_THREADS == number]
            turn.wait()  # all know their queries before the first answer can close the round
            for query in mine:
                receive(zero(query))
            turn.wait()
        return share * len(mine)

    assert sum(in_threads(work)) == n_messages
    assert server.n_participants == server.n_received == n_messages
    assert server.n_pairs == n_messages // 2
    assert server.state.sums.n_pairs[:2].sum() == n_messages // 2


def test_threads_that_race_for_queries_are_told_and_counted(collection, n_messages):
    queries, receive, server = collection

    def work(number):
        accepted = refused = 0
        rng = np.random.default_rng(number)
        while server.n_participants < n_messages // 5:
            for query in rng.permutation(np.array(queries(), dtype=object))[:5]:
                try:
                    receive(zero(query))
                    accepted += 1
                except (DuplicateMessageError, StaleMessageError):
                    refused += 1
        return accepted, refused

    outcomes = np.array(in_threads(work))
    assert outcomes[:, 0].sum() == server.n_received >= n_messages // 5
    assert outcomes[:, 1].sum() > 0  # they did race


def test_the_estimate_is_that_of_the_last_state():
    pca = PrivatePCA(
        norm_bound=2.0,
        epsilon=4.0,
        initial_point=[1.0, 0.2, 0.1],
        tuning=Tuning(engine="geomstats"),
    )

    def work(number):
        for _ in range(100):
            for query in pca.queries():
                try:
                    pca.partial_fit(zero(query))
                except (DuplicateMessageError, StaleMessageError):
                    pass

    in_threads(work)  # they come together: one of them opens the collection, for all
    assert pca.n_participants_ == pca.server_.n_participants > 0
    np.testing.assert_array_equal(pca.estimate_, pca.server_.state.average)


def test_a_server_is_saved_and_pickled_while_threads_write(pca_protocol, tmp_path, same_state):
    server = Server(pca_protocol(pairs_per_round=2), engine="geomstats", keep_messages=True)

    def work(number):
        for turn in range(30):
            if number == 0:
                server.save(tmp_path / "state.npz")
                copy = Server.load(tmp_path / "state.npz")
            elif number == 1:
                copy = pickle.loads(pickle.dumps(server))
                assert len(copy.messages) == copy.n_participants
            else:
                for query in server.queries()[turn % 2 :]:
                    try:
                        server.receive(zero(query))
                    except (DuplicateMessageError, StaleMessageError):
                        pass
                continue
            assert copy.state.sums.n_pairs[:2].sum() == copy.n_pairs
            copy.receive([zero(query) for query in copy.queries()])
            assert copy.n_participants == copy.n_received

    in_threads(work)
    assert len(server.messages) == server.n_participants
