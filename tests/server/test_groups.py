"""Groups of people with an epsilon of their own: protocols, devices, servers and estimates."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from geomstats_ldp import (
    Participant,
    PrivateFrechetMean,
    PrivateLinearRegression,
    PrivatePCA,
    Tuning,
)
from geomstats_ldp.exceptions import InvalidMessageError, MessageError, ProtocolError
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.score_regression import (
    RoundState,
    fit_scores,
    initial_round_state,
    query_points,
    without_messages,
)
from geomstats_ldp.server import RoundServer

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")

EPSILON = {"strict": 1.0, "open": 4.0}


def make_pca(**options):
    options = {"norm_bound": 2.0, "epsilon": EPSILON, "initial_point": [1.0, 0.2, 0.1]} | options
    return PrivatePCA(**{"n_rounds": 3, "n_participants": 120, "random_state": 0, **options})


def make_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) * [1.0, 0.3, 0.3], np.where(
        rng.random(n) < 0.5, "strict", "open"
    )


@pytest.fixture
def protocol():
    return make_pca().start().protocol_


# ------------------------------------------------------------------------ protocols


def test_a_protocol_with_groups_is_a_text_and_states_each_promise(protocol):
    again = Protocol.from_json(protocol.to_json())
    assert again == protocol and again.fingerprint == protocol.fingerprint
    assert pickle.loads(pickle.dumps(protocol)) == protocol
    assert [m.epsilon for m in again.mechanisms.values()] == [1.0, 4.0]
    assert again.mechanism.epsilon == 4.0
    assert "'strict': PrivUnit(epsilon=1.0" in repr(again)
    assert "pure 1.0-LDP" in repr(again) and "pure 4.0-LDP" in repr(again)
    assert [again.group_of(i) for i in range(8)] == ["strict"] * 4 + ["open"] * 4
    other = make_pca(epsilon={"strict": 2.0, "open": 4.0}).start().protocol_
    assert other.fingerprint != protocol.fingerprint
    assert "groups" not in make_pca(epsilon=4.0).start().protocol_.to_json()
    with pytest.raises(TypeError, match="frozen"):
        protocol.groups[0]["mechanism"]["epsilon"] = 9.0


def test_estimators_with_groups_are_cloned_and_searched_as_others():
    model = make_pca()
    assert clone(model).get_params()["epsilon"] == EPSILON
    rows, groups = make_rows(120)
    one, two = model.fit(rows, groups=groups), clone(model).fit(rows, groups=list(groups))
    np.testing.assert_array_equal(one.estimate_, two.estimate_)
    blocks = clone(model).fit_blocks(np.array_split(rows, 7), 120, groups)
    np.testing.assert_array_equal(blocks.server_.state.sums, one.server_.state.sums)
    told = one.diagnostics_["groups"]
    assert told["strict"]["n_participants"] == np.sum(groups == "strict")
    counts = np.array([told[g]["n_participants"] for g in EPSILON])
    weights = np.array([told[g]["weight"] for g in EPSILON])
    assert counts @ weights == pytest.approx(120) and weights[1] > 5 * weights[0]


def test_regressions_and_variances_have_groups_too():
    rows, groups = make_rows(400)
    line = PrivateLinearRegression(epsilon=EPSILON, feature_bound=3.0)
    line.fit(rows[:, :2], rows[:, 2], groups)
    told = line.diagnostics_["groups"]
    counts = [told[name]["n_participants"] for name in EPSILON]
    assert counts == [np.sum(groups == name) for name in EPSILON]
    assert told["open"]["weight"] > told["strict"]["weight"]
    pca = make_pca().fit(rows, groups=groups).fit_variance(rows, groups)
    assert np.isfinite(pca.total_variance_.standard_error).all()
    with pytest.raises(ProtocolError, match="epsilon must be"):
        make_pca(norm_bound="scout").fit(rows, groups=groups)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda r: r.update(groups=[]), "groups must name 1 to 64 groups; got 0"),
        (lambda r: r.update(groups=r["groups"] * 40), "at most 64"),
        (lambda r: r.update(groups=r["groups"] * 2), "different names"),
        (lambda r: r.update(groups={}), "list of at most"),
        (lambda r: r["groups"][0].pop("name"), "fields 'name' and 'mechanism'"),
        (lambda r: r["groups"][0].update(name=""), "1 to 64 characters"),
        (lambda r: r["groups"][0].update(name=3), "1 to 64 characters"),
        (lambda r: r["groups"][1]["mechanism"].update(epsilon=8.0), "the largest epsilon"),
        (lambda r: r["groups"][1]["mechanism"].update(dim=10**9), "dim of the mechanism"),
        (lambda r: r["groups"][0]["mechanism"].update(dim=3), "dimension of the space"),
    ],
)
def test_texts_whose_groups_are_none_are_refused(protocol, change, match):
    record = json.loads(protocol.to_json())
    change(record)
    with pytest.raises(ProtocolError, match=match):
        Protocol.from_json(json.dumps(record))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"epsilon": {}}, "epsilon must name 1 to 64 groups; got 0"),
        ({"epsilon": {1: 2.0}}, "epsilon must name groups by texts"),
        ({"epsilon": {"a": -1.0}}, "epsilon of group 'a' must be"),
    ],
)
def test_epsilons_that_are_no_groups_are_refused(options, match):
    with pytest.raises(ProtocolError, match=match):
        make_pca(**options).start()


def test_groups_of_rows_are_checked():
    rows, groups = make_rows(120)
    for wrong, match in (
        (None, "groups must name the group of each row"),
        (groups[:5], "groups must have shape"),
        (np.where(np.arange(120) == 7, "else", groups), "row 7 does not"),
    ):
        with pytest.raises(ProtocolError, match=match):
            make_pca().fit(rows, groups=wrong)
    with pytest.raises(ProtocolError, match="None unless epsilon has groups"):
        make_pca(epsilon=2.0).fit(rows, groups=groups)


# ------------------------------------------------------------------------ devices


def test_a_device_answers_its_own_group_only(protocol):
    server = RoundServer(protocol)
    strict, wide = (server.queries(1, group)[0] for group in EPSILON)
    datum = [1.0, 0.2, 0.1]
    with pytest.raises(ProtocolError, match="group or max_epsilon must be given"):
        Participant(protocol, fingerprint=protocol.fingerprint)
    with pytest.raises(ProtocolError, match=r"at most max_epsilon=0\.5; got 1\.0"):
        Participant(protocol, max_epsilon=0.5)
    with pytest.raises(ProtocolError, match=r"at most max_epsilon=2\.0; got 4\.0"):
        Participant(protocol, group="open", max_epsilon=2.0)
    with pytest.raises(ProtocolError, match="group must be one of"):
        Participant(protocol, group="all", max_epsilon=2.0)
    for device in (
        Participant(protocol, group="strict", fingerprint=protocol.fingerprint),
        Participant(protocol, max_epsilon=2.0),
    ):
        assert "may use {'strict': PrivUnit(epsilon=1.0" in repr(device)
        with pytest.raises(ProtocolError, match="asks 'open'"):
            device.respond(wide, datum)
        with pytest.raises(ProtocolError, match="index must be an integer"):
            device.respond(replace(strict, index=8), datum)
        assert not device.has_answered
        server.receive(device.respond(strict, datum))
    server.receive(Participant(protocol, max_epsilon=4.0).respond(wide, datum))
    assert server.n_in_group().tolist() == [2, 1]
    with pytest.raises(ProtocolError, match="group must be one of the groups"):
        Participant(make_pca(epsilon=1.0).start().protocol_, group="a", max_epsilon=2.0)


def test_a_device_uses_the_mechanism_of_its_group(protocol):
    """The same candidate stands for vectors of different lengths."""
    query = RoundServer(protocol).queries(1, "strict")[0]
    message = Participant(protocol, group="strict", max_epsilon=1.0).respond(query, [1.0, 0.2, 0.1])
    for group, index in (("strict", 0), ("open", 4)):
        vector = protocol.tangent_vec(replace(message, index=index), query.point)
        own = protocol.mechanisms[group].candidate_vector(message.candidate)
        np.testing.assert_allclose(protocol.geometry.coordinates(vector, query.point), own)


# ------------------------------------------------------------------------ servers


def test_a_collection_is_saved_merged_and_replayed(tmp_path):
    rows, groups = make_rows(120)
    plan = {"n_participants": 120, "random_state": None}
    model = make_pca(tuning=Tuning(keep_transcript=True), **plan)
    sizes = model.start().protocol_.rounds.sizes
    person = 0
    for size in sizes:
        part = slice(person, person + size)
        asked = [model.queries(1, group=g)[0] for g in groups[part]]
        answers = [
            model.participant(g).respond(q, x) for q, g, x in zip(asked, groups[part], rows[part])
        ]
        model.partial_fit(answers)
        person += size
    assert model.diagnostics_["is_complete"]
    path = tmp_path / "state.npz"
    model.save_state(path)
    loaded = make_pca().load_state(path)
    np.testing.assert_array_equal(loaded.estimate_, model.estimate_)
    replayed = make_pca().partial_fit(model.transcript_)
    np.testing.assert_array_equal(replayed.estimate_, model.estimate_)
    worker = without_messages(model.server_.state)
    loaded.server_.merge([worker])
    np.testing.assert_array_equal(loaded.estimate_, model.estimate_)
    foreign = replace(model.transcript_, messages=9.0 * model.transcript_.messages)
    with pytest.raises(InvalidMessageError, match="support of the mechanism"):
        make_pca().partial_fit(foreign)


def test_a_state_outside_the_support_of_a_group_is_refused(tmp_path, protocol):
    """A sum that the strict group can have is too large for the open one."""
    server, small = RoundServer(protocol), protocol.mechanisms["open"].support_radius
    large = protocol.mechanisms["strict"].support_radius
    middle = np.array([(small + large) / 2, 0.0])
    for index, fails in ((0, False), (4, True)):
        server = RoundServer(protocol)
        server.add_coords(np.zeros(1, int), np.array([index]), middle[None])
        path = tmp_path / f"{index}.npz"
        server.save(path)
        if fails:
            with pytest.raises(MessageError, match="support"):
                RoundServer.load(path)
        else:
            assert RoundServer.load(path).n_participants == 1


def test_what_does_not_name_a_group_is_refused(protocol):
    server = RoundServer(protocol)
    for group in (None, "all"):
        with pytest.raises(ProtocolError, match=r"group must be one of \['strict', 'open'\]"):
            server.queries(3, group)
    with pytest.raises(InvalidMessageError, match="do not say whose they are"):
        server.replay(np.zeros((4, 3)))
    plain = RoundServer(make_pca(epsilon=1.0).start().protocol_)
    with pytest.raises(ProtocolError, match="group must be None without groups"):
        plain.queries(3, "strict")


# ------------------------------------------------------------------------ estimates


def test_halves_that_say_the_same_are_one_group():
    """A split of every query point into two equal halves changes no estimate."""
    whole = make_pca(epsilon=2.0, n_participants=None).start().protocol_
    halves = make_pca(epsilon={"a": 2.0, "b": 2.0}, n_participants=None).start().protocol_
    rng, n = np.random.default_rng(0), 10**7
    counts = np.full((1, 4), n)
    means = rng.normal(size=(1, 4, 2))
    outer = n * (means[..., None] * means[..., None, :] + 2.0 * np.eye(2))
    places = initial_round_state(whole)[:2]
    one = RoundState(*places, counts, n * means, outer)
    two = RoundState(
        *places,
        *(np.concatenate([p // 2 if p is counts else p / 2] * 2, axis=1) for p in one[2:]),
    )
    first, second = (
        fit_scores(p, state, query_points(p, state)) for p, state in ((whole, one), (halves, two))
    )
    np.testing.assert_allclose(second.precision, 1.0)
    np.testing.assert_allclose(second.point, first.point, atol=1e-9)
    for name in ("score_covariance", "hessian", "information"):
        np.testing.assert_allclose(
            getattr(second, name), getattr(first, name), rtol=1e-6, atol=1e-9
        )


def test_a_flat_mean_is_weighted_by_the_inverse_of_the_released_variance():
    """The estimate and its covariance, from the messages of both groups by hand."""
    rng = np.random.default_rng(0)
    rows = 0.3 * rng.normal(size=(900, 2))
    groups = np.where(np.arange(900) % 3 == 0, "open", "strict")
    mean = PrivateFrechetMean(
        epsilon=EPSILON,
        data_radius=1.0,
        n_rounds=2,
        random_state=0,
        tuning=Tuning(keep_transcript=True),
    ).fit(rows, groups=groups)
    record = mean.transcript_
    parts = [record.messages[record.addresses[:, 1] == number] for number in range(2)]
    covariances = []
    for part, mechanism in zip(parts, mean.protocol_.mechanisms.values()):
        values, vectors = np.linalg.eigh(np.cov(part.T))  # never below the noise that is known
        values = np.maximum(values, mechanism.noise_variance)
        covariances.append(vectors * values @ vectors.T)
    weights = np.array([len(p) / np.trace(c) for p, c in zip(parts, covariances)])
    weights /= weights.sum()
    center = -weights @ [part.mean(axis=0) for part in parts]
    np.testing.assert_allclose(mean.estimate_, center, rtol=1e-9)
    total = sum(w**2 * c / len(p) for w, c, p in zip(weights, covariances, parts))
    np.testing.assert_allclose(mean.covariance_, total, rtol=1e-9)


def test_a_group_of_too_few_does_not_count():
    rows, groups = make_rows(400)
    groups[:] = "strict"
    groups[[100, 300]] = "open"
    model = make_pca(n_participants=None).fit(rows, groups=groups)
    assert model.diagnostics_["groups"]["open"] == {
        "epsilon": 4.0,
        "n_participants": 2,
        "weight": 0.0,
    }
    assert model.server_.fit().n_participants == 398
    assert model.confidence_region().is_informative in (True, False)
    assert model.test(model.estimate_, kind="score") > 0.5


@pytest.mark.slow
def test_half_at_one_and_half_at_four_are_as_good_as_the_best_weights():
    """Error within 5% of the oracle that weighs optimally, and coverage, at three Monte Carlo
    standard errors; everybody at epsilon 1 errs more than twice as much."""
    rng, n, repetitions = np.random.default_rng(0), 2000, 250
    spread, target = np.array([0.15, 0.05]), np.array([0.2, -0.1])
    groups = np.where(np.arange(n) % 2 == 0, "open", "strict")
    squares, covered, alike = [], [], []
    options = {"data_radius": 1.5, "n_rounds": 1}
    for seed in range(repetitions):
        rows = target + spread * rng.uniform(-np.sqrt(3), np.sqrt(3), size=(n, 2))
        mean = PrivateFrechetMean(epsilon=EPSILON, random_state=seed, **options)
        mean.fit(rows, groups=groups)
        squares.append(np.sum((mean.estimate_ - target) ** 2))
        covered.append(mean.confidence_region().contains(target))
        smallest = PrivateFrechetMean(epsilon=1.0, random_state=seed, **options).fit(rows)
        alike.append(np.sum((smallest.estimate_ - target) ** 2))
    noise = [m.noise_variance for m in mean.protocol_.mechanisms.values()]
    precision = sum(n / 2 / (spread**2 + v) for v in noise)
    oracle = np.sum(1 / precision)
    error = np.sqrt(np.mean(squares) / oracle)
    tolerance = 3 * np.std(squares) / np.mean(squares) / 2 / np.sqrt(repetitions)
    assert error < 1.05 + tolerance
    assert np.sqrt(np.mean(alike) / oracle) > 2.0
    assert abs(np.mean(covered) - 0.95) < 3 * np.sqrt(0.95 * 0.05 / repetitions)
