"""Bulk emulation is the interactive collection, only faster."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest

from geomstats_ldp import PrivatePCA, emulation
from geomstats_ldp.emulation import emulate, emulate_blocks
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Message
from geomstats_ldp.server import Server

MECHANISMS = [
    {"epsilon": 2.0},
    {"epsilon": 2.0, "mechanism": "gaussian", "delta": 1e-6},
    {"epsilon": 2.0, "mechanism": "l2_ball"},
    {"epsilon": math.inf},
]
RUNS = pytest.mark.parametrize(
    ("engine", "mechanism"),
    [(engine, mechanism) for engine in ("geomstats", "compiled") for mechanism in MECHANISMS],
)
SHAPES = [
    {"n_participants": 41},
    {"n_participants": 41, "pairs_per_round": 3, "retraction": "projection"},
    {"n_participants": 60, "pairs_per_round": 4},
    {"n_participants": 1},
]


def collect(protocol, data, seed, engine="auto"):
    """The interactive loop: one participant's code answers row by row."""
    server, participant, messages = (
        Server(protocol, engine),
        Participant(protocol, random_state=seed),
        [],
    )
    while server.queries():
        for query in server.queries():
            message = participant.respond(query, data[len(messages)])
            messages.append(message.tangent_vec)
            server.receive(message)
    return server, np.array(messages)


def emulated(server, data, random_state=None):
    """Emulate, and return the messages this has added to a server that keeps them."""
    known = len(server.messages)
    emulate(server, data, random_state)
    return server.messages[known:]


def assert_close_states(one, other, tolerance):
    np.testing.assert_array_equal(one.clock, other.clock)
    np.testing.assert_array_equal(one.safeguards, other.safeguards)
    pairs = [(one.iterate, other.iterate), (one.average, other.average)]
    sums = [*zip(one.sums, other.sums), *zip(one.moments, other.moments)]
    for a, b in [*pairs, *sums]:
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@RUNS
@pytest.mark.parametrize("shape", SHAPES)
def test_emulation_equals_the_interactive_loop(pca_protocol, pca_data, mechanism, shape, engine):
    protocol = pca_protocol(**mechanism, **shape)
    data = pca_data(shape["n_participants"], seed=1)
    expected, wanted = collect(protocol, data, seed=7, engine=engine)
    server = Server(protocol, engine, keep_messages=True)
    messages = emulated(server, data, 7)
    # messages have the size of the noise, up to 20; engines differ by roundings of 1e-16
    np.testing.assert_allclose(messages, wanted, rtol=1e-12, atol=1e-12)
    assert_close_states(server.state, expected.state, 1e-12 * len(data))
    assert server.n_participants == len(data)
    assert server.queries() == []


@pytest.mark.parametrize("shape", SHAPES[:3])
def test_kept_messages_replay_to_the_same_state(pca_protocol, pca_data, shape):
    protocol = pca_protocol(**shape)
    server, replayed = Server(protocol, keep_messages=True), Server(protocol)
    messages = emulated(server, pca_data(shape["n_participants"]), 0)
    replayed.replay(messages)
    # one projection to the tangent space of a vector that is tangent but for a rounding
    assert_close_states(replayed.state, server.state, 1e-13 * len(messages))


@pytest.mark.parametrize("block", [1, 2, 6, 7, 64, 1000])
@pytest.mark.parametrize("shape", SHAPES[:3])
def test_results_do_not_depend_on_the_block_size(
    pca_protocol, pca_data, same_state, monkeypatch, shape, block
):
    protocol = pca_protocol(**shape)
    data = pca_data(shape["n_participants"])
    whole, pieced = (Server(protocol, keep_messages=True) for _ in range(2))
    expected = emulated(whole, data, 3)
    monkeypatch.setattr(emulation, "BLOCK", block)
    messages = emulated(pieced, data, 3)
    np.testing.assert_array_equal(messages, expected)
    assert same_state(pieced.state, whole.state)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("engine", ["compiled", "geomstats"])
def test_bad_data_raise_before_anything_happens(
    pca_protocol, pca_data, same_state, monkeypatch, bad, engine
):
    monkeypatch.setattr(emulation, "BLOCK", 8)  # the bad row is in the last of many blocks
    data = pca_data(41)
    data[-1, 1] = bad
    server = Server(pca_protocol(n_participants=41), engine)
    untouched = Server(server.protocol)
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    with pytest.raises(ValueError, match="finite"):
        emulate(server, data, generator)
    assert same_state(server.state, untouched.state)
    assert generator.bit_generator.state == before


def test_a_huge_finite_datum_does_not_stop_the_collection(pca_protocol, pca_data):
    data = pca_data(20)
    data[7] = [1.7e308, 1.7e308, -1.7e308]
    for engine in ("compiled", "geomstats"):
        server = Server(pca_protocol(n_participants=20), engine, keep_messages=True)
        with np.errstate(over="ignore"):
            messages = emulated(server, data, 0)
        assert np.isfinite(messages).all()


@pytest.mark.parametrize(("n_participants", "rows"), [(41, 39), (41, 42), (None, 7)])
def test_data_must_fit_the_plan(pca_protocol, pca_data, same_state, n_participants, rows):
    server = Server(pca_protocol(n_participants=n_participants))
    with pytest.raises(ProtocolError, match=f"{n_participants}.*whole rounds of 2; got {rows} row"):
        emulate(server, pca_data(rows), 0)
    assert same_state(server.state, Server(server.protocol).state)


@pytest.mark.parametrize("rows", [2, 4])
def test_a_piece_ends_with_its_round(pca_protocol, pca_data, rows):
    server = Server(pca_protocol(n_participants=41, pairs_per_round=3))
    with pytest.raises(ProtocolError, match=f"whole rounds of 6; got {rows} rows"):
        emulate(server, pca_data(rows), 0)


@RUNS
@pytest.mark.parametrize("shape", SHAPES[:3])
def test_pieces_give_the_state_of_one_call(
    pca_protocol, pca_data, same_state, mechanism, shape, engine
):
    protocol, data = pca_protocol(**mechanism, **shape), pca_data(shape["n_participants"])
    whole, pieced = (Server(protocol, engine, keep_messages=True) for _ in range(2))
    emulate(whole, data, 5)
    streams, seen = make_streams(5), []
    for piece in (data[:24], data[24:24], data[24:]):  # 24 is a multiple of every round here
        emulate(pieced, piece, streams)
        seen.append(pieced.n_participants)
    assert seen == [24, 24, len(data)]
    assert same_state(pieced.state, whole.state)
    np.testing.assert_array_equal(pieced.messages, whole.messages)


def test_an_open_plan_goes_on_by_whole_rounds(pca_protocol, pca_data, same_state):
    whole, pieced = (Server(pca_protocol(pairs_per_round=2)) for _ in range(2))
    data, streams = pca_data(20), make_streams(1)
    emulate(whole, data, 1)
    for piece in (data[:8], data[8:]):
        emulate(pieced, piece, streams)
    assert same_state(pieced.state, whole.state)
    assert len(pieced.queries()) == 4  # the collection stays open


def test_emulation_continues_where_messages_ended(pca_protocol, pca_data):
    protocol, data = pca_protocol(n_participants=41), pca_data(41)
    server = Server(protocol)
    rows = emulated(Server(protocol, keep_messages=True), data, 3)[:10]
    server.replay(rows)
    query = server.queries()[0]
    server.receive(Message(query.fingerprint, query.round, query.index, np.zeros(3)))
    with pytest.raises(ProtocolError, match="open round"):
        emulate(server, data[11:], 0)
    again = Server(protocol, keep_messages=True)
    again.replay(rows)
    messages = emulated(again, data[10:], 0)
    whole = Server(protocol)
    whole.replay(np.concatenate([rows, messages]))
    assert_close_states(again.state, whole.state, 1e-11)


def test_without_a_seed_nothing_repeats(pca_protocol, pca_data):
    protocol, data = pca_protocol(n_participants=10), pca_data(10)
    one, other = (emulated(Server(protocol, keep_messages=True), data) for _ in range(2))
    assert not np.isclose(one, other).all(axis=1).any()


def test_messages_are_dropped_unless_asked_for(pca_protocol, pca_data):
    server = Server(pca_protocol(n_participants=10))
    emulate(server, pca_data(10), 0)
    assert server.messages is None


@pytest.mark.slow
def test_without_noise_the_estimate_nears_the_leading_direction(pca_protocol):
    """The limit case end to end: with many exact scores the average is the eigenvector."""
    n, dim = 20_000, 2
    protocol = pca_protocol(dim, epsilon=math.inf, n_participants=n, region_radius=1.0)
    start = protocol.working_region.center
    leading = start + np.array([0.3, -0.2, 0.1])
    leading /= np.linalg.norm(leading)
    others = np.linalg.svd(leading[None, :])[2][1:]
    spread = np.sqrt([2.0, 0.5, 0.3])
    signs = np.random.default_rng(4).choice([-1.0, 1.0], size=(n, 3))
    data = (signs * spread) @ np.vstack([leading, others])  # norm 1.67, under the bound 2
    server = Server(protocol)
    emulate(server, data, 0)
    # sandwich: Var = lambda_1 lambda_j / (lambda_1 - lambda_j)^2 / n for Rademacher coordinates
    variance = sum(2.0 * s / (2.0 - s) ** 2 for s in (0.5, 0.3)) / n
    angle = math.acos(min(1.0, abs(server.state.average @ leading)))
    assert angle < 5 * math.sqrt(variance)  # five standard deviations; the finite-n bias is less


@pytest.mark.parametrize("engine", ["compiled", "geomstats"])
@pytest.mark.parametrize("shape", SHAPES[:3])
@pytest.mark.parametrize("cuts", [[], [1, 2, 5, 5, 31], [40]])
def test_blocks_of_any_sizes_give_the_state_of_one_call(
    pca_protocol, pca_data, same_state, monkeypatch, shape, engine, cuts
):
    monkeypatch.setattr(emulation, "BLOCK", 12)
    protocol, data = pca_protocol(**shape), pca_data(shape["n_participants"])
    whole, blocked = (Server(protocol, engine, keep_messages=True) for _ in range(2))
    emulate(whole, data, 5)
    emulate_blocks(blocked, iter(np.split(data, cuts)), 5)
    assert same_state(blocked.state, whole.state)
    np.testing.assert_array_equal(blocked.messages, whole.messages)


def test_a_source_may_write_its_blocks_to_one_place(pca_protocol, pca_data, same_state):
    data, buffer = pca_data(40), np.empty((10, 3))

    def source():
        for start in range(0, 40, 10):
            buffer[...] = data[start : start + 10]
            yield buffer

    whole, blocked = (Server(pca_protocol(n_participants=40)) for _ in range(2))
    emulate(whole, data, 5)
    emulate_blocks(blocked, source(), 5)
    assert same_state(blocked.state, whole.state)


@pytest.mark.parametrize(("rows", "said"), [(39, "got 39 rows"), (45, "got 45 rows"), (7, "got 7")])
def test_blocks_with_a_wrong_total_change_nothing(pca_protocol, pca_data, same_state, rows, said):
    server = Server(pca_protocol(n_participants=41, pairs_per_round=2), keep_messages=True)
    with pytest.raises(ProtocolError, match=said):
        emulate_blocks(server, np.array_split(pca_data(rows), 5), 0)
    assert same_state(server.state, Server(server.protocol).state)
    assert len(server.messages) == 0 and server.n_participants == 0


def test_an_endless_source_is_read_no_farther_than_the_plan(pca_protocol, pca_data):
    server, data = Server(pca_protocol(n_participants=40)), pca_data(16)
    with pytest.raises(ProtocolError, match="got 48 rows"):
        emulate_blocks(server, itertools.repeat(data), 0)


def test_a_bad_row_in_a_late_block_changes_nothing(pca_protocol, pca_data, same_state):
    blocks = [pca_data(20), np.full((21, 3), np.nan)]
    server = Server(pca_protocol(n_participants=41))
    with pytest.raises(ValueError, match="finite"):
        emulate_blocks(server, blocks, 0)
    assert same_state(server.state, Server(server.protocol).state)


def test_rows_of_the_wrong_shape_are_named(pca_protocol):
    server = Server(pca_protocol(n_participants=3))
    with pytest.raises(ValueError, match=r"shape \(n, 3\)"):
        emulate(server, np.ones(3), 0)


@pytest.mark.parametrize("source", ["memmap", "blocks"])
def test_memory_does_not_grow_with_the_data(pca_protocol, tmp_path, source):
    peaks = []
    for n in (100_000, 400_000):
        path = tmp_path / f"{n}.dat"
        data = np.memmap(path, dtype=np.float32, mode="w+", shape=(n, 3))
        data[...] = 1.0
        server = Server(pca_protocol(n_participants=n))
        tracemalloc.start()
        if source == "memmap":
            emulate(server, data, 0)
        else:
            emulate_blocks(server, (data[i : i + 1000] for i in range(0, n, 1000)), 0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert server.n_participants == n
    # far under the 12 bytes a row that the data have; the list of blocks takes a little
    assert peaks[1] < peaks[0] + 1e5 and peaks[1] < 6e6


def test_a_bar_is_shown_on_demand(pca_protocol, pca_data, capsys):
    emulate(Server(pca_protocol(n_participants=40)), pca_data(40), 0)
    assert capsys.readouterr().err == ""
    emulate(Server(pca_protocol(n_participants=40)), pca_data(40), 0, progress=True)
    assert "40/40" in capsys.readouterr().err


def test_a_wrong_row_far_down_is_found(monkeypatch):
    monkeypatch.setattr("geomstats_ldp.emulation.BLOCK", 64)
    rows = np.ones((200, 3))
    rows[150, 1] = np.nan
    pca = PrivatePCA(initial_point=np.ones(3), n_participants=200).start()
    with pytest.raises(ValueError, match=r"finite.*at index 22, counted from row 128"):
        emulate(pca.server_, rows)
    with pytest.raises(ValueError, match=r"finite.*at index 50, counted from row 100"):
        emulate_blocks(pca.server_, [rows[:100], rows[100:]])
    assert pca.server_.n_participants == 0
