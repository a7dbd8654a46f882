"""Offsets that are longer where curvature is small: their law, and that they survive anything."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from geomstats_ldp import PrivateHuberRegression, PrivateLogisticRegression, PrivatePCA, Tuning
from geomstats_ldp.exceptions import LDPWarning, MessageError, ProtocolError
from geomstats_ldp.inference.prediction import weakest_direction
from geomstats_ldp.protocol import Protocol, RoundPlan
from geomstats_ldp.schedules import direction_cycle, round_radius
from geomstats_ldp.score_regression import merge_states, without_messages
from geomstats_ldp.score_regression.stretching import LONGEST, stretch_of
from geomstats_ldp.server import RoundServer

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")

ADAPTIVE = Tuning(directions="adaptive")


def fitted(hessian, information):
    """A fit of which only what says how well it knows the Hessian."""
    dim = len(hessian)
    free = dim * (dim + 1) // 2
    return SimpleNamespace(
        raw_hessian=hessian,
        gram=information * np.eye(free),
        score_covariance=2.0 * np.eye(dim),
    )


def turned(values, seed=0):
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values),) * 2))[0]
    return (turn * values) @ turn.T, turn


def test_a_known_hessian_is_asked_about_at_one_distance_in_its_own_metric():
    hessian, turn = turned([4.0, 1.0, 0.5])
    stretch = stretch_of(fitted(hessian, 1e18))
    np.testing.assert_allclose(stretch, (turn * [1, 2, np.sqrt(8)]) @ turn.T, atol=1e-7)
    np.testing.assert_allclose(stretch @ hessian @ stretch, 4 * np.eye(3), atol=1e-6)


@pytest.mark.parametrize("values", [[4.0, 1e-9, 0.5], [4.0, -3.0, 0.0], [0.0, 0.0, 0.0]])
def test_offsets_are_never_shorter_and_never_much_longer(values):
    """So the Gram matrix of the offsets is at least the even one, and at most 16 times it."""
    for information in (1e-3, 1.0, 1e18):
        stretch = stretch_of(fitted(turned(values)[0], information))
        found = np.linalg.eigvalsh(stretch)
        assert 1 - 1e-12 <= found[0] and found[-1] <= LONGEST + 1e-12
        np.testing.assert_array_equal(stretch, stretch.T)


def test_what_is_not_known_is_not_used():
    """An eigenvalue of 0.01 with a standard error e counts 0.01 + e, one of 1 with it 1 + e."""
    hessian, turn = turned([1.0, 1.0, 0.01])
    for error in (0.0, 0.3, 100.0):
        information = 2.0 / max(error, 1e-9) ** 2
        expected = min(LONGEST, np.sqrt((1 + error) / (0.01 + error)))
        stretch = stretch_of(fitted(hessian, information))
        assert turn[:, 2] @ stretch @ turn[:, 2] == pytest.approx(expected, rel=1e-6)


def test_where_scores_saturate_all_directions_do_so_alike():
    """Half of l^2 k is c h^2 in all, but where that would make an offset shorter."""
    hessian, turn = turned([4.0, 0.25, 0.1])
    stretch = stretch_of(fitted(hessian, 1e18), saturation=0.2)
    np.testing.assert_allclose(stretch, (turn * [1, np.sqrt(1.6), 2]) @ turn.T, atol=1e-7)
    far = stretch_of(fitted(np.zeros((3, 3)), 1e18), saturation=0.2)
    np.testing.assert_allclose(far, LONGEST * np.eye(3))
    unknown = stretch_of(fitted(np.zeros((3, 3)), 1.0), saturation=0.2)
    np.testing.assert_allclose(unknown, np.eye(3))


# ------------------------------------------------------------------------ collections


@pytest.fixture(scope="module")
def people():
    """Rows with two features that are close to each other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    X[:, 1] = 0.95 * X[:, 0] + 0.3 * X[:, 1]
    return X, X @ [1.0, -0.5] + 0.5 * rng.normal(size=3000)


@pytest.fixture(scope="module")
def model(people):
    tuning = Tuning(directions="adaptive", keep_transcript=True)
    model = PrivateHuberRegression(1.5, 3.0, epsilon=8.0, n_rounds=4, random_state=1, tuning=tuning)
    return model.fit(*people)


def same(one, other):
    assert one.round == other.round
    for part, again in zip(one.state, other.state):
        np.testing.assert_array_equal(part, again)
    for number in range(one.state.n_opened):
        np.testing.assert_array_equal(one.points(number), other.points(number))


def test_queries_lie_where_the_stretches_say(model):
    server, protocol = model.server_, model.protocol_
    directions = np.concatenate([np.eye(3), -np.eye(3)])
    assert np.linalg.eigvalsh(server.state.stretches[-1])[-1] > 2
    for number, (center, stretch) in enumerate(zip(server.state.centers, server.state.stretches)):
        asked = center + round_radius(protocol.radius, number) * directions @ stretch
        found = server.points(number)
        np.testing.assert_allclose(np.sort(found, axis=0), np.sort(asked, axis=0), atol=1e-12)
        gram = (found - center).T @ (found - center)
        even = 2 * round_radius(protocol.radius, number) ** 2
        assert np.linalg.eigvalsh(gram)[0] >= even * (1 - 1e-12)
        assert np.linalg.norm(found - center, axis=1).max() <= protocol.reach
    assert protocol.reach == LONGEST * protocol.radius.maximum


def test_a_transcript_gives_the_same_queries(model):
    again = RoundServer(model.protocol_)
    again.replay_transcript(model.transcript_)
    same(again, model.server_)


def test_queries_do_not_depend_on_who_looks_or_stops(model, tmp_path):
    """Regions asked for between rounds, or a server killed and resumed, change nothing."""
    transcript = model.transcript_
    ends = [*transcript.closings.tolist(), len(transcript)]
    quiet, looked = RoundServer(model.protocol_), RoundServer(model.protocol_)
    for start, end in zip([0, *ends], ends):
        rounds, indices = np.ascontiguousarray(transcript.addresses[start:end].T)
        for server in (quiet, looked):
            server.add_coords(rounds, indices, transcript.messages[start:end])
        if end > start:
            looked.fit()
            looked.predict_scores()
            for own, other in zip(looked.next_place(), quiet.next_place()):
                np.testing.assert_array_equal(own, other)
            looked.save(tmp_path / "state.npz")
            looked = RoundServer.load(tmp_path / "state.npz")
            with pytest.raises(ProtocolError, match="both, or neither"):
                looked.close_round(looked.estimate())
            place = quiet.next_place()
            quiet.close_round()
            looked.close_round(*place)
    same(quiet, looked)
    same(quiet, model.server_)


def test_states_about_other_queries_do_not_add_up(model):
    state = model.server_.state
    merged = merge_states([state, without_messages(state)])
    for part, again in zip(state, merged):
        np.testing.assert_array_equal(part, again)
    other = state._replace(stretches=np.stack([np.eye(3)] * state.n_opened))
    with pytest.raises(ProtocolError, match="ask at the same points"):
        merge_states([state, other])


@pytest.mark.parametrize("change", ["longer", "shorter", "skew", "first"])
def test_files_with_other_stretches_are_refused(model, tmp_path, change):
    with np.load(_saved(model, tmp_path)) as file:
        arrays = dict(file)
    stretches = arrays["stretches"]
    if change == "first":
        stretches[0] *= 2
    elif change == "skew":
        stretches[-1, 0, 1] += 0.1
    else:
        stretches[-1] *= {"longer": 2 * LONGEST, "shorter": 0.5}[change]
    np.savez(tmp_path / "made_up.npz", **arrays)
    with pytest.raises(MessageError, match="stretches must be symmetric"):
        RoundServer.load(tmp_path / "made_up.npz")


def _saved(model, folder):
    model.server_.save(folder / "state.npz")
    return folder / "state.npz"


def test_wide_rounds_of_logistic_regression_follow_by_default(people):
    for n_rounds, is_adaptive in ((8, True), (None, False)):
        model = PrivateLogisticRegression(2.0, n_rounds=n_rounds, n_participants=3000)
        rounds = model.start(2).protocol_.rounds
        assert (rounds is not None and rounds.adaptive) is is_adaptive
    # Five rounds would ask for curvature, and no wide ones after the first.
    model = PrivateLogisticRegression(2.0, epsilon=8.0, n_rounds=4, random_state=0)
    model.fit(people[0], people[1] > 0)
    longest = np.linalg.eigvalsh(model.server_.state.stretches)[:, -1]
    assert longest[0] == 1 and longest[2] > 1.3


def test_the_protocol_says_it(model, people):
    protocol = model.protocol_
    assert Protocol.from_json(protocol.to_json()) == protocol
    even = PrivateHuberRegression(1.5, 3.0, epsilon=8.0, n_rounds=4)
    even = even.set_params(n_participants=3000).start(2).protocol_
    assert even.fingerprint != protocol.fingerprint
    assert "adaptive" not in even.to_json() and '"adaptive":true' in protocol.to_json()
    assert even.reach == even.radius.maximum


def test_plans_that_cannot_adapt_are_refused(people):
    with pytest.raises(ProtocolError, match=r"directions must be .*in rounds.*n_rounds=None"):
        PrivateHuberRegression(n_rounds=None, tuning=ADAPTIVE).fit(*people)
    with pytest.raises(ProtocolError, match=r"directions must be .* states a third derivative"):
        PrivatePCA(n_rounds=4, tuning=ADAPTIVE).fit(people[0])
    with pytest.raises(ProtocolError, match=r"directions must be one of \('adaptive',\); got 'up'"):
        PrivatePCA(n_rounds=4, tuning=Tuning(directions="up")).fit(people[0])
    with pytest.raises(ProtocolError, match="adaptive must be False unless"):
        RoundPlan(4, adaptive=True)


# ------------------------------------------------------------------------ what it gains


def close_features(rng, n):
    """Three features, neighbours with correlation 0.9, in the ball of radius 2.6."""
    between = 0.9 ** np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    X = rng.normal(size=(n, 3)) @ np.linalg.cholesky(between).T
    return X * np.minimum(1, 2.6 / np.linalg.norm(X, axis=1))[:, None]


@pytest.mark.slow
def test_close_features_are_told_apart():
    """Beside even offsets the Hessian's worst error is halved, the region shorter and as honest.

    40 regions on the same draws; coverage of 0.95 is over 0.8 but for a chance of 2e-4.
    """
    rng, truth, n = np.random.default_rng(4), np.array([0.3, 0.8, -0.5, 0.3]), 20_000
    even, adaptive = [], []
    # Even directions that are given: the default would ask for curvature.
    plans = ((direction_cycle(None, 4), even), ("adaptive", adaptive))
    for seed in range(40):
        X = close_features(rng, n)
        y = truth[0] + X @ truth[1:] + rng.standard_t(3, size=n)
        for directions, found in plans:
            model = PrivateHuberRegression(feature_bound=2.6, epsilon=8.0, n_rounds=8, scale=1.5)
            model.set_params(tuning=Tuning(directions=directions), random_state=seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LDPWarning)
                region = model.fit(X, y).confidence_region()
            error, _ = weakest_direction(model._prediction())
            found.append([error, region.contains(truth), region.semi_axis_lengths[0]])
    even, adaptive = np.array(even, dtype=float), np.array(adaptive, dtype=float)
    assert np.median(adaptive[:, 0]) < 0.65 * np.median(even[:, 0])
    assert adaptive[:, 1].mean() > 0.8
    assert np.median(adaptive[:, 2]) < 1.05 * np.median(even[:, 2])
