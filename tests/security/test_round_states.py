"""Checkpoints and transcripts of rounds that were damaged or made up are refused."""

import io
import json
import random

import numpy as np
import pytest

from geomstats_ldp import PrivatePCA
from geomstats_ldp.exceptions import LDPError, MessageError, ProtocolError
from geomstats_ldp.protocol import Message, Protocol, Transcript
from geomstats_ldp.server import RoundServer, Server, load_server


@pytest.fixture(scope="module")
def server():
    """A server in the middle of its second round of three, with a late answer to the first."""
    pca = PrivatePCA(
        norm_bound=2.0,
        epsilon=4.0,
        initial_point=[1.0, 0.2, 0.1],
        n_rounds=3,
        n_participants=120,
        random_state=0,
    ).start()
    server, late = RoundServer(pca.protocol_, keep_messages=True), None
    client, X = pca.participant(), np.random.default_rng(0).normal(size=(35, 3))
    for number, y in enumerate(X):
        (query,) = server.queries(1)
        message = client.respond(query, y)
        if number == 0:
            late = message
            continue
        server.receive(message)
    server.receive(late)
    assert server.round == 1
    return server


@pytest.fixture(scope="module")
def round_file(server, tmp_path_factory):
    path = tmp_path_factory.mktemp("rounds") / "rounds.npz"
    server.save(path)
    return path.read_bytes()


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


#: What each change is caught by.
CRAFTED = {
    "a center off the sphere": ({"centers": lambda a: a * 1.01}, "center must lie on"),
    "a center out of the region": ({"centers": lambda a: a * [[1], [-1]]}, "in the working region"),
    "another start": ({"centers": lambda a: a[::-1].copy()}, "first center must be"),
    "NaN": ({"centers": put((0, 0), np.nan)}, "centers must be finite"),
    "negative counts": ({"counts": put((0, 0), -1)}, "counts must be in"),
    "counts as floats": ({"counts": lambda a: a * 1.0}, "counts must be int64"),
    "no counts": ({"counts": lambda a: a * 0}, "outer must be|sums of no messages"),
    "sums that squares cannot hold": ({"sums": lambda a: a * 100}, "outer must be"),
    "squares past the support": ({"outer": lambda a: a * 100}, "in the support"),
    "squares below zero": ({"outer": lambda a: -a}, "outer must be"),
    "squares that are not symmetric": (
        {"outer": lambda a: a + [[0.0, 1.0], [-1.0, 0.0]]},
        "outer must be symmetric",
    ),
    "a round too many": ({"n_closed": np.array([2])}, "of the 3 rounds opened"),
    "a round too few": ({"n_closed": np.array([0])}, "of the 1 rounds opened"),
    "more rounds than planned": ({"n_closed": np.array([4])}, "n_closed must be in"),
    "sums of another shape": ({"sums": lambda a: a[:, :, :1]}, "sums must be float64 of shape"),
    "a part of another length": ({"sums": lambda a: a[:1]}, "of the 2 rounds opened"),
    "another engine": ({"engine": np.array("steam")}, "engine must be one of"),
    "no centers": ({"centers": None}, "centers is missing"),
    "more than it should": ({"surprise": np.zeros(3)}, "more than it should"),
}


@pytest.mark.parametrize("what", CRAFTED)
def test_crafted_states_are_refused(round_file, changed, what):
    changes, match = CRAFTED[what]
    with pytest.raises(MessageError, match=match):
        load_server(io.BytesIO(changed(round_file, **changes)))


def test_an_unchanged_file_is_read_and_is_of_its_plan(round_file, changed, server, saved):
    again = load_server(io.BytesIO(changed(round_file)))
    for a, b in zip(again.state, server.state):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(MessageError, match="must have rounds"):
        RoundServer.load(io.BytesIO(saved))
    with pytest.raises(LDPError):
        Server.load(io.BytesIO(round_file))


def damaged(content, rng):
    """Bytes of a file with a few of them changed, left out, or zero."""
    content = bytearray(content)
    for _ in range(rng.choice((1, 1, 4))):
        place = rng.randrange(len(content))
        if rng.random() < 0.3:
            del content[place : place + rng.randrange(40)]
        else:
            content[place] = rng.randrange(256)
    return bytes(content)


def spoiled(arrays, rng):
    """Arrays of a file with one entry, shape or type changed."""
    name = rng.choice(sorted(set(arrays) - {"protocol", "engine"}))
    array = np.array(arrays[name])
    kind = rng.randrange(5)
    if kind == 0:
        array.flat[rng.randrange(array.size)] = rng.choice((0, -1, 1, 2**40, 7))
    elif kind == 1:
        array = array * rng.choice((0, -1, 2, 1000))
    elif kind == 2:
        array = array[: rng.randrange(len(array) + 1)]
    elif kind == 3:
        array = array.astype(rng.choice(("f4", "f8", "i4", "i8", "c16")))
    else:
        array = np.concatenate([array, array])
    return arrays | {name: array}


def packed(arrays):
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["state", "transcript"])
def test_damaged_files_raise_errors_of_the_package_only(server, round_file, tmp_path, kind):
    """What is taken all the same is a state that goes on: it answers, closes and is saved."""
    content = round_file
    if kind == "transcript":
        server.transcript().save(tmp_path / "run.npz")
        content = (tmp_path / "run.npz").read_bytes()
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    taken = 0
    for number in range(600):
        rng = random.Random(number)
        bad = damaged(content, rng) if number % 3 == 0 else packed(spoiled(arrays, rng))
        target = RoundServer(server.protocol)
        before = target.state
        try:
            if kind == "state":
                target = load_server(io.BytesIO(bad))
            else:
                target.replay_transcript(Transcript.load(io.BytesIO(bad)))
        except LDPError:
            assert target.state is before
            continue
        taken += 1
        assert np.isfinite(target.estimate()).all()
        for query in target.queries(4):
            target.receive(Message(query.fingerprint, query.round, query.index, np.zeros(3)))
    assert 0 < taken < 400


PLANS = {
    "n_rounds": (0, -1, 1.5, None, "3", 10**6, True),
    "sizes": ([1, 2], [0, 1, 2], "abc", [1.5, 2, 3], 7, [[1], [2], [3]], [2**70, 1, 1]),
    "minimum": (0, -1, 10**9, "x", None, 2.5),
    "moment": ("third", 1, ["first"], True),
    "bending_length": (0.0, -1.0, "far", None, [1.0]),
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in PLANS.items() for value in values]
)
def test_plans_that_are_none_are_refused(server, name, value):
    record = json.loads(server.protocol.to_json())
    record["rounds"][name] = value
    with pytest.raises(ProtocolError):
        Protocol.from_json(json.dumps(record))
