"""Groups of people with an epsilon of their own in a collection in pairs."""

import numpy as np
import pytest

from geomstats_ldp import PrivateFrechetMean, PrivatePCA, Transcript, Tuning
from geomstats_ldp.emulation import emulate
from geomstats_ldp.exceptions import (
    DuplicateMessageError,
    InvalidMessageError,
    MessageError,
    ProtocolError,
    StaleMessageError,
)
from geomstats_ldp.inference import estimate_sandwich
from geomstats_ldp.protocol import InferenceRule, Message
from geomstats_ldp.schedules import gain
from geomstats_ldp.server import Server
from geomstats_ldp.server.regression import skipped_cycles

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")

EPSILON = {"strict": 1.0, "open": 4.0}


def make_pca(**options):
    options = {"norm_bound": 2.0, "epsilon": EPSILON, "initial_point": [1.0, 0.2, 0.1]} | options
    return PrivatePCA(**{"random_state": 0, **options})


def make_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 3)) * [1.0, 0.3, 0.3]
    return rows, np.where(rng.random(n) < 0.4, "strict", "open")


def make_mean(**options):
    options = {"epsilon": EPSILON, "data_radius": 1.0, "random_state": 0} | options
    return PrivateFrechetMean(**options)


# ------------------------------------------------------------------------ by hand


def run_by_hand(record, initial_point, variances, schedule):
    """The weighted recursion of R^d from its messages; also the rows of the regression."""
    point = average = np.array(initial_point, dtype=float)
    n_pairs, spread, clock = np.zeros(2, dtype=int), 10.0 * np.array(variances), 0.0
    rows, people = [], []
    vectors, groups = record.messages, record.addresses[:, 1] // 2
    rounds, start = record.addresses[:, 0], 0
    while start < len(vectors):
        size = int(np.sum(rounds == rounds[start]))
        group, answers = groups[start], vectors[start : start + size]
        now = spread / (10 + n_pairs)
        weight = now.min() / now[group]
        if size == 2:
            direction = schedule.directions[n_pairs[group] % len(schedule.directions)]
            difference = (answers[0] - answers[1]) / 2
            rows.append((group, difference, schedule.radius_maximum * direction))
            spread[group] += 2 * np.sum(difference**2) / len(point)
            n_pairs[group] += 1
        clock += weight * size
        point = point - gain(schedule, weight * size, clock) * answers.mean(axis=0)
        average = average + weight * size / clock * (point - average)
        people += [(group, weight)] * size
        start += size
    return average, rows, people, spread / (10 + n_pairs)


def covariance_by_hand(rows, people, variances, mechanisms):
    """Hessian, and covariance of n^(1/2) H times the estimate, by least squares on the rows."""
    n_directions, weights, used = 4, variances.min() / variances, []
    for group in range(2):
        own = [row for row in rows if row[0] == group]
        first = skipped_cycles(len(own), n_directions) * n_directions
        used += own[first : len(own) - len(own) % n_directions]
    group = np.array([row[0] for row in used])
    y, x = (np.array([row[place] for row in used]) for place in (1, 2))
    root = np.sqrt(weights[group])[:, None]
    design = root * np.concatenate([x, np.ones((len(x), 1))], axis=1)
    slope = np.linalg.lstsq(design, root * y, rcond=None)[0][:2].T
    covariances = []
    for number, mechanism in enumerate(mechanisms):
        left = (y - x @ slope.T)[group == number]
        share = weights[number] * len(left) / np.sum(weights[group])
        left = left - left.mean(axis=0)
        values, vectors = np.linalg.eigh(2 * left.T @ left / (len(left) - 1 - 2 * share))
        values = np.maximum(values, mechanism.noise_variance)
        covariances.append(vectors * values @ vectors.T)
    total = sum(w for _, w in people)
    meat = sum(w**2 * covariances[g] for g, w in people) / total**2
    return (slope + slope.T) / 2, meat * len(people)


@pytest.mark.parametrize("n", [400, 401])
def test_estimate_and_covariance_are_those_of_the_weighted_recursion(n):
    """The recursion, the weights and the regression on R^2, written down once more."""
    rng = np.random.default_rng(n)
    rows, groups = 0.3 * rng.normal(size=(n, 2)), rng.choice(["strict", "open"], size=n)
    rule = InferenceRule(hessian="raw", ridge=0.0, guard=0.0, horizon=False, hessian_floor=1e-9)
    # far from the edges, so that no safeguard enters
    mean = make_mean(region_radius=1e3, tuning=Tuning(inference=rule, keep_transcript=True))
    mean.fit(rows, groups=groups)
    protocol = mean.protocol_
    assert mean.diagnostics_["n_capped_updates"] == mean.diagnostics_["n_projected_updates"] == 0
    mechanisms = list(protocol.mechanisms.values())
    variances = [m.noise_variance + m.bound**2 / 4 for m in mechanisms]
    average, pairs, people, variances = run_by_hand(
        mean.transcript_, protocol.initial_point, variances, protocol.schedule
    )
    np.testing.assert_allclose(mean.estimate_, average, rtol=1e-10, atol=1e-12)
    hessian, meat = covariance_by_hand(pairs, people, variances, mechanisms)
    sandwich = estimate_sandwich(mean.server_.state, protocol)
    np.testing.assert_allclose(sandwich.regression.hessian, hessian, rtol=1e-9)
    np.testing.assert_allclose(mean.score_covariance_, meat, rtol=1e-9)
    bread = np.linalg.inv(mean.hessian_)  # its eigenvalues are at most one
    np.testing.assert_allclose(mean.covariance_, bread @ meat @ bread / n, rtol=1e-9)
    told = mean.diagnostics_["groups"]
    for number, name in enumerate(EPSILON):
        own = [weight for group, weight in people if group == number]
        assert told[name]["n_participants"] == len(own) == np.sum(groups == name)
        expected = np.mean(own) / np.mean([weight for _, weight in people])
        assert told[name]["weight"] == pytest.approx(expected)


def test_one_group_is_a_collection_without_groups():
    rows, _ = make_rows(301)
    alone = make_pca(epsilon=4.0, tuning=Tuning(keep_transcript=True)).fit(rows)
    group = make_pca(epsilon={"all": 4.0}, n_participants=301).start()
    for start in range(0, 301, 2):
        answers = alone.transcript_.messages[start : start + 2]
        queries = group.queries(group="all")
        group.partial_fit(
            [Message(q.fingerprint, q.round, q.index, v) for q, v in zip(queries, answers)]
        )
    np.testing.assert_array_equal(group.estimate_, alone.estimate_)
    np.testing.assert_array_equal(group.covariance_, alone.covariance_)
    point = alone.estimate_ + [0.0, 0.1, 0.0]
    point /= np.linalg.norm(point)
    assert group.test(point, kind="score") == alone.test(point, kind="score")


# ------------------------------------------------------------------------ emulation and files


@pytest.mark.parametrize("n", [120, 121])
def test_blocks_transcripts_and_checkpoints_give_the_same(n, tmp_path):
    rows, groups = make_rows(n)
    one = make_pca(tuning=Tuning(keep_transcript=True)).fit(rows, groups=groups)
    blocks = make_pca().fit_blocks(np.array_split(rows, 7), n, groups)
    record = one.transcript_
    record.save(tmp_path / "record.npz")
    replayed = make_pca().partial_fit(Transcript.load(tmp_path / "record.npz"))
    replayed.save_state(tmp_path / "state.npz")
    loaded = make_pca().load_state(tmp_path / "state.npz")
    assert one.n_participants_ == n and sorted(record.addresses[:, 1] // 2) == sorted(
        (groups == "open").astype(int)
    )
    for other, tolerance in ((blocks, 0.0), (replayed, 1e-12), (loaded, 1e-12)):
        np.testing.assert_allclose(other.estimate_, one.estimate_, rtol=0, atol=tolerance)
        np.testing.assert_allclose(other.covariance_, one.covariance_, rtol=1e-9)
        np.testing.assert_allclose(other.server_.state.weights, one.server_.state.weights)
    region = one.confidence_region(kind="score")
    assert region.contains(one.estimate_)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda a: a.update(weights=a["weights"] * 1.5), "weights must be sums"),
        (lambda a: a["weights"].__setitem__((0, 1), 1e6), "weights must be sums"),
        (lambda a: a["weights"].__setitem__((0, 2), -1.0), "weights must be sums"),
        (lambda a: a["weights"].__setitem__((1, 3), 3.0), "weights must be sums"),
        (lambda a: a["weights"].__setitem__((0, 0), 1.0), "weights must be sums"),
        (lambda a: a.update(weights=a["weights"][:1]), "weights"),
        (lambda a: a["counts"].__setitem__(1, 40), "counts|pairs"),
        (lambda a: a.update(sums_u=9.0 * a["sums_u"]), "support"),
        (
            lambda a: a.update(pending_index=np.array([0, 3]), pending_vectors=np.zeros((2, 3))),
            "can wait",
        ),
    ],
)
def test_states_that_no_collection_comes_to_are_refused(tmp_path, change, match):
    rows, groups = make_rows(90)
    make_pca().fit(rows, groups=groups).save_state(tmp_path / "state.npz")
    arrays = dict(np.load(tmp_path / "state.npz"))
    change(arrays)
    np.savez(tmp_path / "changed.npz", **arrays)
    with pytest.raises(MessageError, match=match):
        make_pca().load_state(tmp_path / "changed.npz")


def test_rows_that_do_not_fit_are_refused():
    rows, groups = make_rows(60)
    with pytest.raises(ProtocolError, match="groups must name the group of each row"):
        make_pca().fit(rows)
    with pytest.raises(ProtocolError, match="None unless epsilon has groups"):
        make_pca(epsilon=1.0).fit(rows, groups=groups)
    server = Server(make_pca(n_participants=100).start().protocol_)
    for numbers, match in (
        (np.zeros(60, dtype=int), "complete the plan of n_participants=100"),
        (None, "groups must be given where the protocol has groups"),
    ):
        with pytest.raises(ProtocolError, match=match):
            emulate(
                server, np.tile(rows, (2, 1))[: 60 if numbers is not None else 100], groups=numbers
            )
    with pytest.raises(ProtocolError, match="pairs_per_round must be 1 where there are groups"):
        make_pca(tuning=Tuning(pairs_per_round=2)).fit(rows, groups=groups)
    model = make_pca().fit(rows, groups=groups)
    with pytest.raises(InvalidMessageError, match="do not say whose they are"):
        model.partial_fit(np.zeros((2, 3)))


# ------------------------------------------------------------------------ people


def test_people_come_in_any_order_and_all_answer():
    """A pair waits for its second answer from the same group; the last ones answer alone."""
    names = ["open", "strict", "strict", "open", "open", "strict", "open", "strict", "open"]
    model = make_pca(n_participants=9, random_state=None).start()
    waiting, sides = list(range(9)), []
    while waiting:
        for person in list(waiting):
            queries = model.queries(group=names[person])
            if queries:
                device = model.participant(names[person])
                model.partial_fit(device.respond(queries[0], [1.0, 0.2, 0.1]))
                waiting.remove(person)
                sides.append(queries[0].side)
    assert sides == ["plus", "minus"] * 4 + ["base"]
    assert model.queries(group="open") == model.queries(group="strict") == []
    told = model.diagnostics_["groups"]
    assert [told[name]["n_participants"] for name in EPSILON] == [4, 5]


def test_answers_of_another_group_do_not_join_a_pair():
    server = Server(make_pca().start().protocol_)
    strict, wide = (server.queries(group) for group in EPSILON)
    for query, index in zip(strict + wide, range(4)):
        assert query.index == index
    np.testing.assert_array_equal(strict[0].point, wide[0].point)  # first pairs of both
    answers = [Message(q.fingerprint, q.round, q.index, np.zeros(3)) for q in strict + wide]
    server.receive(answers[0])
    assert server.queries("open") == [] and [q.index for q in server.queries("strict")] == [1]
    with pytest.raises(StaleMessageError, match="waits for an answer of the group 'strict'"):
        server.receive(answers[3])
    with pytest.raises(DuplicateMessageError):
        server.receive(answers[0])
    with pytest.raises(InvalidMessageError, match="one of the 2 open queries"):
        server.receive(Message(answers[0].fingerprint, 0, 4, np.zeros(3)))
    with pytest.raises(ProtocolError, match="group must be one of"):
        server.queries("all")
    server.receive(answers[1])
    assert server.n_pairs == 1
    # the open group begins its cycle of directions where the strict one began its own
    later = server.queries("open")[0].point - server.state.iterate
    first = strict[0].point - np.array(server.protocol.initial_point)
    assert later @ first > 0.9 * np.linalg.norm(later) * np.linalg.norm(first)


def test_a_longer_message_than_the_open_group_sends_is_refused():
    server = Server(make_pca().start().protocol_)
    strict, wide = (server.queries(group)[0] for group in EPSILON)
    mechanisms = server.protocol.mechanisms
    length = (mechanisms["strict"].support_radius + mechanisms["open"].support_radius) / 2
    for query, refused in ((wide, True), (strict, False)):
        vector = length * server.protocol.geometry.lift(np.array([1.0, 0.0]), query.point)
        message = Message(query.fingerprint, query.round, query.index, vector)
        if refused:
            with pytest.raises(InvalidMessageError, match="support"):
                server.receive(message)
        else:
            server.receive(message)


# ------------------------------------------------------------------------ statistics


@pytest.mark.slow
def test_half_at_one_and_half_at_four_are_as_good_as_the_best_weights():
    """Error within 5% of the oracle that weighs optimally, and coverage of both regions, at three
    Monte Carlo standard errors."""
    n, repetitions = 4000, 300
    spread, target = np.array([0.25, 0.1]), np.array([0.2, -0.1])
    outcomes = []
    for seed in range(repetitions):
        rng = np.random.default_rng(seed)
        rows = target + spread * rng.uniform(-np.sqrt(3), np.sqrt(3), size=(n, 2))
        groups = rng.choice(["strict", "open"], size=n)
        mean = make_mean(data_radius=1.5, random_state=seed).fit(rows, groups=groups)
        square = np.sum((mean.estimate_ - target) ** 2)
        kinds = ("wald", "score")
        outcomes.append(
            [square, *(mean.confidence_region(kind=kind).contains(target) for kind in kinds)]
        )
    squares, *covered = np.array(outcomes, dtype=float).T
    mechanisms = mean.protocol_.mechanisms.values()
    precision = np.mean([1 / (spread**2 + m.noise_variance) for m in mechanisms], axis=0)
    ratio = squares / np.sum(1 / (n * precision))
    assert np.sqrt(ratio.mean()) < 1.05 + 3 * ratio.std() / np.sqrt(repetitions) / 2
    for inside in covered:
        assert abs(inside.mean() - 0.95) < 0.02 + 3 * np.sqrt(0.05 * 0.95 / repetitions)
