"""What is kept of collections in rounds: transcripts that replay, checkpoints that go on."""

import copy
import math
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import geomstats_ldp
from geomstats_ldp import PrivatePCA, Tuning
from geomstats_ldp.exceptions import (
    FewParticipantsWarning,
    InvalidMessageError,
    NewerStateError,
    NotReadyError,
    StaleMessageError,
)
from geomstats_ldp.server import RoundServer, load_server

# Runs are short, and say so; what they say is tested where it is the point.
pytestmark = [
    pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.HessianFloorWarning"),
    pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.UninformativeRegionWarning"),
    pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.WeakCurvatureWarning"),
]


def untidy(pca, answer, seed=0):
    """Run a collection with lost, late, and shuffled answers, and batches of all sizes."""
    server, rng, late = pca.server_, np.random.default_rng(seed), []
    while not server.is_complete:
        messages = answer(server, server.queries(46), int(rng.integers(10**6)))
        rng.shuffle(messages)
        late += messages[:5]
        for part in np.array_split(np.arange(5, 37), 5):
            if not server.is_complete:
                pca.partial_fit([messages[i] for i in part])
        if server.n_closed > 1:
            pca.partial_fit(late[:7])
            late = late[7:]
        if not server.is_complete and rng.uniform() < 0.5 and server.n_in_round >= 4:
            pca.close_round()
    return pca.partial_fit(late)


@pytest.mark.parametrize("n_participants", [None, 120])
def test_transcripts_replay_to_the_last_bit(round_pca, answer, tmp_path, n_participants):
    for seed in range(3):
        pca = round_pca(4, n_participants, tuning=Tuning(keep_transcript=True))
        pca = untidy(pca, answer, seed)
        pca.transcript_.save(tmp_path / "run.npz")
        for transcript in (pca.transcript_, type(pca.transcript_).load(tmp_path / "run.npz")):
            again = PrivatePCA(tuning=Tuning(keep_transcript=True)).partial_fit(transcript)
            for a, b in zip(again.server_.state, pca.server_.state):
                np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(again.estimate_, pca.estimate_)
            np.testing.assert_array_equal(again.covariance_, pca.covariance_)
            assert again.server_.n_closed == 4
            for name in ("messages", "addresses", "closings"):
                mine, theirs = (getattr(one.transcript_, name) for one in (again, pca))
                np.testing.assert_array_equal(mine, theirs)


def test_a_transcript_that_no_collection_made_is_refused(round_pca, answer):
    pca = untidy(round_pca(tuning=Tuning(keep_transcript=True)), answer)
    record = pca.transcript_
    n, addresses, closings = len(record), record.addresses, record.closings
    early = addresses.copy()
    early[0, 0] = 1
    crafted = {
        "no addresses": ({"addresses": None}, "addresses must have shape"),
        "no closings": ({"closings": None}, "closings must have shape"),
        "too few addresses": ({"addresses": addresses[:-1]}, "addresses must have shape"),
        "floats": ({"addresses": addresses * 1.0}, "addresses must be integers"),
        "ambient vectors": ({"messages": np.zeros((n, 3))}, "messages must have shape"),
        "texts": ({"messages": np.full((n, 2), "a")}, "messages must be an array"),
        "ragged": ({"messages": [[1.0], [1.0, 2.0]]}, "messages must be an array"),
        "NaN": ({"messages": record.messages * np.nan}, "messages must be finite"),
        "too long": ({"messages": record.messages * 1e4}, "in the support"),
        "another query": ({"addresses": addresses + [0, 4]}, "query points under"),
        "a negative one": ({"addresses": addresses - 1}, "query points under"),
        "a round to come": ({"addresses": early}, "rounds that were opened"),
        "descending": ({"closings": closings[::-1]}, "closings must be ascending"),
        "past the end": ({"closings": closings + n}, "closings must be ascending"),
        "at the start": ({"closings": closings * 0}, "closings must be ascending"),
        "too many": ({"closings": np.arange(1, 6)}, "closings must be ascending, 3 at most"),
        "too soon": ({"closings": np.array([1, 2, 3])}, "closings must be those of a collection"),
        "unsigned": ({"closings": closings[::-1].astype("u8")}, "closings must be ascending"),
    }
    for what, (changes, match) in crafted.items():
        fresh = round_pca()
        server, before = fresh.server_, fresh.server_.state
        with pytest.raises(InvalidMessageError, match=match):
            fresh.partial_fit(replace(record, **changes))
        assert server.state is before, what
        assert server.n_closed == 0
    with pytest.raises(StaleMessageError, match="starts with the first participant"):
        pca.partial_fit(record)


def test_a_fit_replays_to_the_last_bit(round_pca):
    X = np.random.default_rng(0).normal(size=(400, 3)) * [1.5, 0.8, 0.4]
    pca = round_pca(tuning=Tuning(keep_transcript=True)).fit(X)
    again = PrivatePCA().partial_fit(pca.transcript_)
    for a, b in zip(again.server_.state, pca.server_.state):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(again.estimate_, pca.estimate_)


# ------------------------------------------------------------------------ checkpoints


def test_a_checkpoint_after_each_batch_loses_nothing(round_pca, answer, tmp_path):
    live, resumed = round_pca(), round_pca()
    path, late = tmp_path / "state.npz", []
    while not live.server_.is_complete:
        messages = answer(live.server_, live.queries())
        late += messages[:2]
        batches = [*np.array_split(np.arange(2, len(messages)), 3), None]
        for batch in batches:
            part = late[-2:] if batch is None else [messages[i] for i in batch]
            live.partial_fit(part)
            resumed.partial_fit(part).save_state(path)
            resumed = PrivatePCA().load_state(path)
            for a, b in zip(resumed.server_.state, live.server_.state):
                np.testing.assert_array_equal(a, b)
            assert resumed.server_.n_closed == live.server_.n_closed
            np.testing.assert_array_equal(resumed.estimate_, live.estimate_)
            for number in range(live.server_.state.n_opened):
                points = (each.server_.points(number) for each in (resumed, live))
                np.testing.assert_array_equal(*points)
    np.testing.assert_array_equal(resumed.covariance_, live.covariance_)
    assert isinstance(load_server(path), RoundServer)
    with pytest.raises(NotReadyError, match="keep_transcript"):
        _ = resumed.transcript_
    with pytest.raises(NewerStateError):
        round_pca().save_state(path)


def test_copies_and_pickles_go_on_alike(round_protocol, answer, same_sums):
    server = RoundServer(round_protocol(), keep_messages=True)
    server.receive(answer(server, server.queries(30)))
    for one in (pickle.loads(pickle.dumps(server)), copy.copy(server), copy.deepcopy(server)):
        before = server.state
        messages = answer(one, one.queries(9), 3)
        one.receive(messages)
        assert server.state is before
        assert (len(server.transcript()), len(one.transcript())) == (30, 39)
        other = pickle.loads(pickle.dumps(server))
        other.receive(messages)
        assert same_sums(one.state, other.state)


KILLED = """
import os, signal, sys
import numpy as np
from geomstats_ldp.protocol import Message
from geomstats_ldp.server import load_server

server = load_server(sys.argv[1])
for query, vector in zip(server.queries(), np.load(sys.argv[2])):
    server.receive(Message(query.fingerprint, query.round, query.index, vector))
    server.save(sys.argv[1])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow  # a fresh interpreter imports geomstats and numba
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_kill_9_in_the_middle_of_a_round_loses_nothing(round_protocol, answer, tmp_path, same_sums):
    server = RoundServer(round_protocol())
    server.receive(answer(server, server.queries()))  # the second round is open
    server.save(tmp_path / "state.npz")
    messages = answer(server, server.queries()[:5], 8)
    np.save(tmp_path / "messages.npy", np.stack([m.tangent_vec for m in messages]))
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "state.npz", tmp_path / "messages.npy"],
        cwd=Path(geomstats_ldp.__file__).parents[1],
        capture_output=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == -9, done.stderr.decode()
    server.receive(messages)
    resumed = load_server(tmp_path / "state.npz")
    assert same_sums(resumed.state, server.state)
    rest = answer(server, server.queries(), 9)
    for one in (server, resumed):
        one.receive(rest)
    assert same_sums(resumed.state, server.state)
    np.testing.assert_array_equal(resumed.estimate(), server.estimate())


def test_infinite_epsilon_and_few_people(round_pca, tmp_path):
    """One participant, and fewer than rounds: an estimate there is, a region there is not."""
    data = np.random.default_rng(0).normal(size=(5, 3))
    for n in (1, 2, 5):
        pca = round_pca(8, n, epsilon=math.inf)
        with pytest.warns(FewParticipantsWarning):
            pca.fit(data[:n])
        assert pca.n_participants_ == n
        assert np.isfinite(pca.estimate_).all()
        with pytest.raises(NotReadyError, match="participants more than query points"):
            pca.confidence_region()
        pca.save_state(tmp_path / f"{n}.npz")
        loaded = PrivatePCA().load_state(tmp_path / f"{n}.npz")
        np.testing.assert_array_equal(loaded.estimate_, pca.estimate_)
