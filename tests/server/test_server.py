"""Ways to feed a server, the two engines, and what survives a crash."""

import math
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean

import geomstats_ldp
from geomstats_ldp.exceptions import InvalidMessageError, MessageError, ProtocolError
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.protocol import Message
from geomstats_ldp.server import Server
from geomstats_ldp.server.engine import make_engine

# Rows of an array stand for messages here.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.RawDataWarning")


def tangent_rows(server_protocol, n, seed):
    """Messages of a replayed run, with the exact tangent vectors of its queries.

    A server is walked along to know the queries.
    """
    rng = np.random.default_rng(seed)
    walker, rows = Server(server_protocol), []
    while len(rows) < n:
        for query in walker.queries():
            vector = rng.normal(size=query.point.shape)
            vector -= vector @ query.point * query.point
            rows.append(vector / np.linalg.norm(vector))
            walker.receive(Message(query.fingerprint, query.round, query.index, rows[-1]))
    return np.array(rows), walker


PLANS = [
    {"n_participants": 48},
    {"n_participants": 47},
    {"n_participants": 47, "pairs_per_round": 3, "retraction": "projection"},
    {"n_participants": 45, "pairs_per_round": 3},
]


@pytest.mark.parametrize("engine", ["compiled", "geomstats"])
@pytest.mark.parametrize("plan", PLANS)
def test_any_order_of_messages_equals_a_replay_to_the_last_bit(
    pca_protocol, same_state, plan, engine
):
    protocol = pca_protocol(**plan)
    n = plan["n_participants"]
    rows, _ = tangent_rows(protocol, n, seed=1)
    replayed, one_by_one = Server(protocol, engine), Server(protocol, engine)
    replayed.replay(rows)
    rng, position = np.random.default_rng(2), 0
    while one_by_one.queries():
        queries = one_by_one.queries()
        for i in rng.permutation(len(queries)):
            query = queries[i]
            one_by_one.receive(
                Message(query.fingerprint, query.round, query.index, rows[position + query.index])
            )
        position += len(queries)
    assert position == n
    assert one_by_one.n_participants == n
    assert same_state(one_by_one.state, replayed.state)


@pytest.mark.parametrize("pieces", [[1] * 47, [5, 13, 2, 27], [46, 1], [3, 44]])
@pytest.mark.parametrize("plan", PLANS[1:3])
def test_replay_in_pieces_equals_one_replay(pca_protocol, same_state, plan, pieces):
    protocol = pca_protocol(**plan)
    rows = np.random.default_rng(3).normal(size=(47, 3))
    whole, pieced = Server(protocol), Server(protocol)
    whole.replay(rows)
    for piece in np.split(rows, np.cumsum(pieces)[:-1]):
        pieced.replay(piece)
    assert same_state(pieced.state, whole.state)
    assert not pieced.pending


def test_replay_fills_a_round_that_messages_began(pca_protocol, same_state):
    protocol = pca_protocol(pairs_per_round=2)
    rows, _ = tangent_rows(protocol, 12, seed=4)
    mixed, whole = Server(protocol), Server(protocol)
    query = mixed.queries()[2]
    mixed.receive(Message(query.fingerprint, query.round, query.index, rows[2]))
    mixed.replay(rows[[0, 1, *range(3, 12)]])
    whole.replay(rows)
    assert same_state(mixed.state, whole.state)


def test_clock_of_an_odd_plan(pca_protocol):
    server = Server(pca_protocol(n_participants=15, pairs_per_round=3))
    sizes, sides = [], []
    while server.queries():
        queries = server.queries()
        assert len({(query.round, query.index) for query in queries}) == len(queries)
        assert {query.round for query in queries} == {server.round}
        sizes.append(server.round_size())
        sides.append([query.side for query in queries])
        server.receive([Message(q.fingerprint, q.round, q.index, np.zeros(3)) for q in queries])
    # 15 = 6 + 6 + 2 + 1: full rounds, a short one, and an ordinary update
    assert sizes == [6, 6, 2, 1]
    assert sides[0] == ["plus", "minus"] * 3
    assert sides[-1] == ["base"]
    assert (server.n_participants, server.n_pairs, server.round_size()) == (15, 7, 0)


def test_odd_last_participant_is_asked_at_the_iterate(pca_protocol):
    server = Server(pca_protocol(n_participants=3))
    server.replay(np.random.default_rng(0).normal(size=(2, 3)))
    (query,) = server.queries()
    np.testing.assert_array_equal(query.point, server.state.iterate)


def test_queries_do_not_change_while_a_round_is_open(pca_protocol):
    server = Server(pca_protocol(pairs_per_round=2))
    first = server.queries()
    first[0].point[:] = np.nan  # a caller may spoil a copy
    server.receive(Message(first[1].fingerprint, 0, 1, np.zeros(3)))
    again = {query.index: query.point for query in server.queries()}
    assert sorted(again) == [0, 2, 3]
    for query in first[2:]:
        np.testing.assert_array_equal(again[query.index], query.point)
    assert np.isfinite(again[0]).all()


def test_an_open_end_follows_a_completed_plan(pca_protocol):
    server = Server(pca_protocol(n_participants=4))
    server.replay(np.zeros((4, 3)))
    old = server.protocol.fingerprint
    with pytest.raises(InvalidMessageError):  # a refusal leaves the plan as it was
        server.replay(np.full((1, 3), np.nan), extend=True)
    assert server.protocol.fingerprint == old
    server.replay(np.zeros((1, 3)), extend=True)
    server.pending = {}
    queries = server.queries()
    assert len(queries) == 2
    assert {query.fingerprint for query in queries} == {server.protocol.fingerprint} != {old}


# ------------------------------------------------------------------------ engines


@pytest.mark.slow  # 4000 participants through geomstats
@pytest.mark.parametrize("options", [{}, {"retraction": "projection", "pairs_per_round": 3}])
def test_engines_agree_over_2000_pairs(pca_protocol, options):
    protocol = pca_protocol(3, **options)
    rng = np.random.default_rng(5)
    drift = np.array(protocol.basis)[0]
    rows = 2 * rng.normal(size=(4002, 4)) + 3 * drift * rng.uniform(size=(4002, 1))
    compiled, through_geomstats = Server(protocol, "compiled"), Server(protocol, "geomstats")
    compiled.replay(rows)
    through_geomstats.replay(rows)
    one, other = compiled.state, through_geomstats.state
    assert one.clock[1] == 2001
    np.testing.assert_array_equal(one.clock, other.clock)
    np.testing.assert_array_equal(one.safeguards, other.safeguards)
    assert one.safeguards[0] > 0 < one.safeguards[1]  # both safeguards were tried
    # the requirement of the design; rounding alone is 1e-16 times some thousand terms
    for a, b in [
        (one.iterate, other.iterate),
        (one.average, other.average),
        *zip(one.sums, other.sums),
    ]:
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_engine_names(pca_protocol, monkeypatch):
    assert Server(pca_protocol()).engine.name == "compiled"
    flat = Geometry(Euclidean(dim=2), np.zeros(2))
    assert make_engine("auto", flat).name == "compiled"
    monkeypatch.setattr(flat, "twin", lambda: None)  # as for a space without closed forms
    assert make_engine("auto", flat).name == "geomstats"
    with pytest.raises(ProtocolError, match="closed forms"):
        make_engine("compiled", flat)
    with pytest.raises(ProtocolError, match="engine must be one of"):
        Server(pca_protocol(), "turbo")


# ------------------------------------------------------------------------ checkpoints


def half_way(protocol, engine="auto"):
    """Server in the middle of a round, its unanswered queries, and all 24 rows."""
    rows, _ = tangent_rows(protocol, 24, seed=6)
    server = Server(protocol, engine)
    server.replay(rows[:12])
    for query in server.queries()[3:1:-1]:
        server.receive(Message(query.fingerprint, query.round, query.index, rows[12 + query.index]))
    assert sorted(server.pending) == [2, 3]
    return server, rows


def finish(server, rows):
    for query in server.queries():
        server.receive(Message(query.fingerprint, query.round, query.index, rows[12 + query.index]))
    server.replay(rows[18:])
    return server


def save_and_load(server, path):
    server.save(path)
    return Server.load(path)


def pickled(server, path):
    return pickle.loads(pickle.dumps(server))


@pytest.mark.parametrize("copy", [save_and_load, pickled])
@pytest.mark.parametrize("engine", ["compiled", "geomstats"])
def test_a_copy_in_the_middle_of_a_round_loses_nothing(
    pca_protocol, same_state, tmp_path, engine, copy
):
    server, rows = half_way(pca_protocol(pairs_per_round=3, epsilon=4.0), engine)
    resumed = copy(server, tmp_path / "state.npz")
    assert resumed.protocol == server.protocol
    assert resumed.engine.name == server.engine.name == engine
    assert same_state(resumed.state, server.state)
    assert sorted(resumed.pending) == sorted(server.pending)
    for index, vector in server.pending.items():
        np.testing.assert_array_equal(resumed.pending[index], vector)
    for mine, theirs in zip(resumed.queries(), server.queries()):
        assert (mine.round, mine.index, mine.side) == (theirs.round, theirs.index, theirs.side)
        np.testing.assert_array_equal(mine.point, theirs.point)
    assert same_state(finish(resumed, rows).state, finish(server, rows).state)


def test_a_saved_server_with_infinite_epsilon_and_nothing_pending(pca_protocol, tmp_path):
    server = Server(pca_protocol(epsilon=math.inf))
    resumed = save_and_load(server, tmp_path / "state.npz")
    assert resumed.protocol == server.protocol
    assert resumed.pending == {}
    with np.load(tmp_path / "state.npz", allow_pickle=False) as file:
        assert all(file[name].dtype.kind in "fiU" for name in file.files)


KILLED = """
import os, sys
import numpy as np
from geomstats_ldp.protocol import Message
from geomstats_ldp.server import Server

server = Server.load(sys.argv[1])
query = server.queries()[0]
server.receive(Message(query.fingerprint, query.round, query.index, np.load(sys.argv[2])))
server.save(sys.argv[1])
os._exit(9)
"""


@pytest.mark.slow  # a fresh interpreter imports geomstats and numba
def test_a_killed_process_loses_nothing_that_was_saved(pca_protocol, same_state, tmp_path):
    server, rows = half_way(pca_protocol(pairs_per_round=3))
    server.save(tmp_path / "state.npz")
    np.save(tmp_path / "message.npy", rows[12])
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "state.npz", tmp_path / "message.npy"],
        cwd=Path(geomstats_ldp.__file__).parents[1],
        capture_output=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 9, done.stderr.decode()
    resumed = Server.load(tmp_path / "state.npz")
    assert sorted(resumed.pending) == [0, 2, 3]
    assert same_state(finish(resumed, rows).state, finish(server, rows).state)


@pytest.mark.parametrize("corruption", ["empty", "text", "truncated", "damaged", "other"])
def test_files_that_are_no_server_are_refused(pca_protocol, tmp_path, corruption):
    path = tmp_path / "state.npz"
    Server(pca_protocol()).save(path)
    good = path.read_bytes()
    middle = len(good) // 2
    if corruption == "other":
        np.savez(path, numbers=np.ones(3))
    else:
        path.write_bytes(
            {
                "empty": b"",
                "text": b"this is not a server at all",
                "truncated": good[:middle],
                "damaged": good[: middle - 100] + bytes(200) + good[middle + 100 :],
            }[corruption]
        )
    with pytest.raises(MessageError, match="not a saved server") as caught:
        Server.load(path)
    assert "pickle" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        Server.load(tmp_path / "nowhere.npz")
