"""Edges that users reach: mixed inputs, resumed runs, large rounds, parameters that disagree."""

import dataclasses
import json
import pickle
import stat

import numpy as np
import pytest

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivatePCA,
    Protocol,
    Transcript,
    Tuning,
)
from geomstats_ldp.exceptions import (
    InvalidMessageError,
    MessageError,
    NotReadyError,
    ProtocolError,
    StaleMessageError,
)

# Runs are short, and say so; what they say is tested where it is the point.
pytestmark = [
    pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.DiscardWarning"),
    pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.FewParticipantsWarning"),
    pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.SafeguardWarning"),
]


def make_data(n, seed=0):
    return np.random.default_rng(seed).normal([0.6, 0.5, 0.4], 0.3, size=(n, 3))


def make_pca(**parameters):
    return PrivatePCA(**{"norm_bound": 1.5, "epsilon": 4.0, "random_state": 1, **parameters})


def answers(pca, n, seed=0):
    client = pca.participant()
    return [client.respond(query, row) for query, row in zip(pca.queries(), make_data(n, seed))]


# ------------------------------------------------------------------------ transcript


def test_a_transcript_of_mixed_inputs_replays_to_the_same_state():
    pca = make_pca(initial_point=np.ones(3), tuning=Tuning(keep_transcript=True))
    first, second = answers(pca, 2)
    pca.partial_fit(second)
    pca.partial_fit(first.tangent_vec[None])  # a row answers the first open query
    ahead = pickle.loads(pickle.dumps(pca))
    rows = answers(ahead, 2, seed=2)
    rows += answers(ahead.partial_fit(rows), 1, seed=3)
    pca.partial_fit([row.tangent_vec for row in rows])  # one full round, and a row that waits
    assert (pca.n_participants_, len(pca.transcript_)) == (4, 4)
    replayed = make_pca().partial_fit(pca.transcript_)
    np.testing.assert_array_equal(replayed.estimate_, pca.estimate_)
    np.testing.assert_array_equal(replayed.server_.state.sums.dd, pca.server_.state.sums.dd)


def test_a_transcript_needs_to_be_kept_from_the_start():
    pca = make_pca().fit(make_data(40))
    pca.set_params(tuning__keep_transcript=True)
    with pytest.raises(NotReadyError, match="keep_transcript"):
        assert pca.transcript_
    pca = make_pca(
        initial_point=np.ones(3), tuning=Tuning(keep_transcript=True, pairs_per_round=2)
    ).start()
    pca.partial_fit(answers(pca, 1))
    pca.set_params(tuning__pairs_per_round=1).start()
    pca.partial_fit(answers(pca, 2))
    assert len(pca.transcript_) == 2
    pca.partial_fit(pca.queries() and np.zeros((1, 3)))
    with pytest.raises(StaleMessageError, match="starts with the first participant"):
        pca.partial_fit(pca.transcript_)


def test_a_transcript_of_another_protocol_is_refused():
    other = (
        make_pca(epsilon=1.0, tuning=Tuning(keep_transcript=True)).fit(make_data(20)).transcript_
    )
    with pytest.raises(ProtocolError, match="transcript is of protocol"):
        make_pca(initial_point=np.ones(3)).start().partial_fit(other)


# ------------------------------------------------------------------------ resumed runs


def test_the_protocol_in_the_file_decides(tmp_path):
    X = make_data(10)
    pca = make_pca(n_participants=10, initial_point=np.ones(3)).fit(X)
    live = make_pca(n_participants=10, initial_point=np.ones(3)).start()
    live.partial_fit(np.zeros((10, 3)))
    live.save_state(tmp_path / "state.npz")
    resumed = PrivatePCA(norm_bound=9.0).load_state(tmp_path / "state.npz")
    assert resumed.score(X) == live.score(X)
    with pytest.raises(StaleMessageError, match="10 participants are planned"):
        resumed.partial_fit(np.zeros((2, 3)))
    with pytest.raises(NotReadyError, match="keep_transcript"):
        assert resumed.transcript_
    assert pca.protocol_ == live.protocol_
    with pytest.raises(FileNotFoundError, match=r"missing.state\.npz"):
        live.save_state(tmp_path / "missing" / "state.npz")
    mode = stat.S_IMODE((tmp_path / "state.npz").stat().st_mode)
    (tmp_path / "plain").touch()
    assert mode == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


@pytest.mark.parametrize("error", [KeyboardInterrupt, InvalidMessageError])
def test_an_interrupted_extension_changes_nothing(monkeypatch, error):
    pca = make_pca(tuning=Tuning(keep_transcript=True)).fit(make_data(41))
    fingerprint, transcript = pca.protocol_.fingerprint, pca.transcript_.messages

    def interrupt(*args):
        raise error

    monkeypatch.setattr(pca.server_, "engine", pca.server_.engine._replace(replay_rounds=interrupt))
    with pytest.raises(error):
        pca.partial_fit(np.zeros((6, 3)))
    assert pca.protocol_.fingerprint == pca.server_.protocol.fingerprint == fingerprint
    assert pca.n_participants_ == 41
    np.testing.assert_array_equal(pca.transcript_.messages, transcript)


# ------------------------------------------------------------------------ parameters


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"n_participants": 0}, "n_participants"),
        ({"n_participants": -5}, "n_participants"),
        ({"n_participants": 2.5}, "n_participants"),
        ({"n_participants": "a"}, "n_participants"),
        ({"tuning": Tuning(pairs_per_round=1.5)}, "pairs_per_round"),
        ({"tuning": Tuning(radius=0.1)}, "radius"),
        ({"tuning": Tuning(gain=0.1)}, "gain"),
        ({"tuning": Tuning(inference="a")}, "inference"),
        ({"tuning": {"pairs_per_round": 2}}, "tuning must be a Tuning"),
    ],
)
def test_rules_of_the_wrong_kind_are_named(parameters, name):
    with pytest.raises(ProtocolError, match=name):
        make_pca(**parameters).fit(make_data(20))


@pytest.mark.parametrize(
    "change",
    [
        {"pairs_per_round": 0},
        {"n_participants": -2},
        {"directions": [[1.0, 0.0]]},
        {"preconditioner": [[0.0, 0.0], [0.0, 0.0]]},
        {"hessian_bound": -1.0},
        {"initial_point": [5.0, 5.0, 5.0]},
        {"retraction": "cayley"},
        {"space": {}},
    ],
)
def test_a_text_that_cannot_be_run_is_no_protocol(change):
    record = json.loads(make_pca().start(3).protocol_.to_json())
    with pytest.raises(ProtocolError):
        Protocol.from_json(json.dumps({**record, **change}))


def test_records_of_a_protocol_are_frozen_too():
    protocol = make_pca().start(3).protocol_
    for part in ("space", "loss", "mechanism", "working_region"):
        record = getattr(protocol, f"{part}_spec")
        with pytest.raises(TypeError, match="frozen"):
            record["name"] = "other"
    assert dataclasses.replace(protocol, n_participants=8).n_participants == 8


def test_only_messages_are_messages():
    pca = make_pca(initial_point=np.ones(3)).start()
    first, _ = answers(pca, 2)
    with pytest.raises(MessageError, match="Message objects"):
        pca.partial_fit([first, None])
    assert pca.diagnostics_["n_pending"] == 0
    pca = make_pca().fit(make_data(10))
    assert len(pca.set_params(initial_point=None).start().queries()) == 2


# ------------------------------------------------------------------------ large rounds


@pytest.mark.slow
@pytest.mark.parametrize("pairs_per_round", [20, 100])
def test_large_rounds_keep_coverage(pairs_per_round):
    """200 runs; 0.95 less four Monte Carlo standard errors of 0.015 is 0.89."""
    target, covered = np.array([0.3, -0.2]), 0
    for seed in range(200):
        X = np.random.default_rng(seed).normal(target, 0.2, size=(6000, 2))
        mean = PrivateFrechetMean(
            epsilon=4.0, tuning=Tuning(pairs_per_round=pairs_per_round), random_state=seed
        ).fit(X)
        covered += mean.confidence_region().contains(target)
    assert covered / 200 >= 0.89


def test_transcript_type():
    transcript = make_pca(tuning=Tuning(keep_transcript=True)).fit(make_data(20)).transcript_
    assert isinstance(transcript, Transcript)
    assert transcript.messages.shape == (20, 3)


def test_blocks_give_the_fit_of_all_rows():
    X = np.random.default_rng(0).normal(size=(2001, 3)) * [0.2, 0.9, 0.3]
    options = {"norm_bound": 2.0, "epsilon": 4.0, "initial_point": [0.3, 1.0, 0.3]}
    whole = PrivatePCA(**options, random_state=0).fit(X)
    blocked = PrivatePCA(**options, random_state=0)
    blocked.fit_blocks(np.array_split(X, 7), n_participants=2001)
    np.testing.assert_array_equal(blocked.estimate_, whole.estimate_)
    np.testing.assert_array_equal(blocked.covariance_, whole.covariance_)
    planned = PrivatePCA(**options, random_state=0, n_participants=2001).fit_blocks([X])
    np.testing.assert_array_equal(planned.estimate_, whole.estimate_)


@pytest.mark.parametrize(("rows", "said"), [(90, "got 90 in all"), (110, "got 110 or more")])
def test_blocks_with_another_number_of_rows_change_nothing(rows, said):
    X = np.random.default_rng(0).normal(size=(rows, 3))
    pca = PrivatePCA(epsilon=4.0, random_state=0)
    with pytest.raises(ProtocolError, match=f"must hold 100 rows; {said}"):
        pca.fit_blocks([X[:50], X[50:]], n_participants=100)
    assert not hasattr(pca, "server_")


def test_blocks_need_a_plan_and_rows():
    with pytest.raises(ProtocolError, match="n_participants must be given"):
        PrivatePCA().fit_blocks([np.ones((3, 3))])
    with pytest.raises(ProtocolError, match="no block"):
        PrivatePCA().fit_blocks([], n_participants=4)


@pytest.mark.parametrize("wrong", ["{}", b"{}", {"tangent_vec": [0, 0, 0]}])
def test_what_can_be_no_message_is_refused_by_type(wrong):
    pca = make_pca(initial_point=np.ones(3)).start()
    with pytest.raises(
        InvalidMessageError, match=rf"got {type(wrong).__name__}\. Message.from_json"
    ):
        pca.partial_fit(wrong)
    assert pca.n_participants_ == 0
