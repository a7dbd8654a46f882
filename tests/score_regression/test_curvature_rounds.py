"""Rounds that ask for curvature: devices, servers, files and plans."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from geomstats_ldp import Participant, PrivatePCA, Tuning
from geomstats_ldp.defaults import curvature_share
from geomstats_ldp.emulation_in_rounds import emulate_in_rounds
from geomstats_ldp.exceptions import LDPWarning, MessageError, ProtocolError
from geomstats_ldp.losses import LogisticRegressionLoss, loss_of
from geomstats_ldp.protocol import Protocol, Query, RoundPlan
from geomstats_ldp.protocol.rounds import round_sizes, sizes_with_curvature
from geomstats_ldp.schedules import direction_cycle
from geomstats_ldp.score_regression import merge_states, without_messages
from geomstats_ldp.score_regression.curvature import (
    difference_reach,
    first_whitening,
    told_curvature,
    whitening_range,
)
from geomstats_ldp.server import RoundServer

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bending_length", np.nan),
        ("bending_length", -1.0),
        ("bending_length", "far"),
        ("asks_curvature", "no"),
    ],
)
def test_statements_of_a_loss_that_are_none_are_named(protocol_of, monkeypatch, name, value):
    monkeypatch.setattr(LogisticRegressionLoss, name, value)
    with pytest.raises(ProtocolError, match=name):
        protocol_of("logistic", 3000)


# ------------------------------------------------------------------------ devices


@pytest.fixture(scope="module")
def asked(people, protocol_of):
    """A server in its third round, and a question about curvature."""
    protocol = protocol_of("logistic", 3000)
    server = RoundServer(protocol)
    data = np.column_stack(people(sum(protocol.rounds.sizes[:2])))
    emulate_in_rounds(server, data, random_state=0)
    return server, server.queries(1)[0]


def test_a_question_is_a_text(asked):
    _, query = asked
    assert query.round == 2
    again = Query.from_json(query.to_json())
    np.testing.assert_array_equal(again.directions, query.directions)
    assert "directions" not in replace(query, directions=None).to_json()
    assert Query.from_json(replace(query, directions=None).to_json()).directions is None
    record = json.loads(query.to_json())
    record["directions"] = "none"
    with pytest.raises(MessageError, match="text is not a Query"):
        Query.from_json(json.dumps(record))


@pytest.mark.parametrize(
    "directions",
    [
        None,
        np.eye(2),
        np.full((3, 3), np.nan),
        np.eye(3)[0],
        np.zeros((3, 3)),
        np.diag([1.0, 1.0, 1e12]),
        np.diag([1.0, 1.0, 1e200]),
    ],
)
def test_questions_without_proper_directions_are_refused(asked, directions):
    server, query = asked
    participant = Participant(server.protocol, max_epsilon=8.0)
    with pytest.raises(ProtocolError, match="query directions must"):
        participant.respond(replace(query, directions=directions), [0.1, 0.2, 1.0])
    assert not participant.has_answered


def test_directions_are_refused_where_scores_are_asked_for(asked):
    server, query = asked
    with pytest.raises(ProtocolError, match="directions must be None"):
        Participant(server.protocol, max_epsilon=8.0).respond(
            replace(query, round=0), [0.1, 0.2, 1.0]
        )


@pytest.mark.parametrize("end", [None, 0, 1])
@pytest.mark.parametrize(
    "datum", [[0.1, 0.2, 1.0], [np.nan, 0.0, 1.0], [1e300, -1e300, 1e300], "nothing", [1.0]]
)
def test_devices_answer_whatever_the_datum_and_the_directions(asked, datum, end):
    server, query = asked
    participant = Participant(server.protocol, max_epsilon=8.0)
    if end is not None:  # of the public range
        query = replace(query, directions=whitening_range(server.protocol)[end] * np.eye(3))
    message = participant.respond(query, datum)
    assert server.protocol.mechanism.in_support(message.tangent_vec, rtol=1e-6)


@pytest.mark.slow  # many answers
def test_an_answer_is_the_curvature_in_the_ball_of_scores(asked):
    """The mean of what seeded participants release, against the clipped excess by hand."""
    server, query = asked
    protocol, datum = server.protocol, np.array([0.9, -1.1, 1.0])
    participant = Participant(protocol, random_state=0)
    messages = [participant.respond(query, datum).tangent_vec for _ in range(4000)]
    z = np.array([loss_of(protocol).intercept, *datum[:2]])
    along = query.directions @ z
    steps = difference_reach(protocol) / np.linalg.norm(query.directions, axis=1)
    ends = (1 / (1 + np.exp(-z @ query.point - sign * steps * along)) for sign in (1, -1))
    excess = along * np.subtract(*ends) / (2 * steps) - 1
    bound = protocol.rounds.curvature_bound
    excess *= min(1, bound / np.linalg.norm(excess))
    expected = excess * protocol.mechanism.bound / bound
    error = np.sqrt(protocol.mechanism.noise_variance / len(messages))
    assert np.abs(np.mean(messages, axis=0) - expected).max() < 4 * error


def test_losses_without_curvature_are_not_asked(asked):
    protocol = PrivatePCA(epsilon=8.0, n_rounds=8, n_participants=4000).start(3).protocol_
    with pytest.raises(ProtocolError, match="moment is None or 'quadratic'"):
        replace(protocol.rounds, curvature_rounds=(1,), curvature_bound=2.0)
    plan = replace(protocol.rounds, moment=None, curvature_rounds=(1,), curvature_bound=2.0)
    other = replace(protocol, rounds=plan)
    with pytest.raises(ProtocolError, match="is asked for on flat spaces"):
        Participant(other, max_epsilon=8.0)
    with pytest.raises(ProtocolError, match="is asked for on flat spaces"):
        emulate_in_rounds(RoundServer(other), np.ones((10, 3)), random_state=0)


# ------------------------------------------------------------------------ servers agree


@pytest.fixture(scope="module")
def server(protocol_of, collected):
    return collected(protocol_of("huber", 3000, n_rounds=6), "huber", 3000)


def same(one, other):
    assert one.round == other.round
    for part, again in zip(one.state, other.state):
        np.testing.assert_array_equal(part, again)


def test_a_transcript_and_a_checkpoint_give_the_same(server, tmp_path):
    again = RoundServer(server.protocol)
    again.replay_transcript(server.transcript())
    same(again, server)
    server.save(tmp_path / "state.npz")
    loaded = RoundServer.load(tmp_path / "state.npz")
    same(loaded, server)
    np.testing.assert_array_equal(loaded.fit().point, server.fit().point)
    np.testing.assert_array_equal(loaded.directions(2, 1), server.directions(2, 1))


def test_states_of_workers_add_up(server):
    merged = merge_states([server.state, without_messages(server.state)])
    for part, again in zip(server.state, merged):
        np.testing.assert_array_equal(part, again)
    other = server.state.stretches.copy()
    other[2] *= 2
    with pytest.raises(ProtocolError, match="ask at the same points"):
        merge_states([server.state, server.state._replace(stretches=other)])


def test_queries_do_not_depend_on_who_looks_or_stops(server, tmp_path):
    """Regions asked for between rounds, or a server killed and resumed, change nothing."""
    transcript = server.transcript()
    ends = [*transcript.closings.tolist(), len(transcript)]
    quiet, looked = RoundServer(server.protocol), RoundServer(server.protocol)
    for start, end in zip([0, *ends], ends):
        rounds, indices = np.ascontiguousarray(transcript.addresses[start:end].T)
        for one in (quiet, looked):
            one.add_coords(rounds, indices, transcript.messages[start:end])
        if end > start:
            looked.fit()
            looked.predict_scores()
            looked.save(tmp_path / "state.npz")
            looked = RoundServer.load(tmp_path / "state.npz")
            place = quiet.next_place()
            if place[1] is not None:
                with pytest.raises(ProtocolError, match="both, or neither"):
                    looked.close_round(place[0])
            quiet.close_round()
            looked.close_round(*place)
    same(quiet, looked)
    same(quiet, server)


@pytest.mark.parametrize("change", ["short", "skew", "first", "identity of another round"])
def test_files_with_impossible_directions_are_refused(server, tmp_path, change):
    server.save(tmp_path / "state.npz")
    with np.load(tmp_path / "state.npz") as file:
        arrays = dict(file)
    stretches = arrays["stretches"]
    if change == "short":
        stretches[2] = 0.9 * np.eye(3) / np.sqrt(server.protocol.hessian_bound)
    elif change == "skew":
        stretches[4, 0, 1] += 0.1
    else:
        stretches[{"first": 0}.get(change, 3)] *= 2
    np.savez(tmp_path / "made_up.npz", **arrays)
    with pytest.raises(MessageError, match="stretches must be symmetric"):
        RoundServer.load(tmp_path / "made_up.npz")


@pytest.mark.parametrize("engine", [pytest.param("compiled", marks=pytest.mark.slow), "geomstats"])
def test_one_by_one_is_as_at_once(engine, people, protocol_of, collected):
    """People who answer one after the other, with the draws of one participant for all."""
    protocol, n = protocol_of("linear", 1500, n_rounds=5, epsilon=12.0), 1500
    assert protocol.rounds.curvature_rounds == (2,)
    data = np.column_stack(people(n, "linear"))
    one, other = RoundServer(protocol, engine), RoundServer(protocol, "geomstats")
    person = Participant(protocol, random_state=3)
    while not one.is_complete:
        for query in one.queries():
            message = person.respond(query, data[one.n_participants])
            for server in (one, other):
                server.receive(message)
    assert one.n_participants == n
    np.testing.assert_allclose(one.estimate(), other.estimate(), rtol=1e-8)
    error = one.estimate() - collected(protocol, "linear", n).estimate()
    assert np.linalg.norm(error) < 1.5


def test_groups_tell_curvature_in_units_of_their_own(regressions, people):
    model = clone(regressions["logistic"])
    model.set_params(epsilon={"strict": 2.0, "open": 8.0}, random_state=0)
    X, y = people(30_000)
    model.fit(X, y, groups=np.where(np.arange(30_000) % 3 == 0, "strict", "open"))
    told = told_curvature(model.protocol_, model.server_.state)
    assert len(told) == 4
    strict, open_ = told[2:]
    for answers in (strict, open_):
        mean = answers.counts @ answers.means / answers.counts.sum()
        error = np.sqrt(np.diag(answers.covariance) / answers.counts.sum())
        assert np.abs(mean - 1).max() < 0.3 + 4 * error.max()
    assert np.trace(strict.covariance) > 2 * np.trace(open_.covariance)


# ------------------------------------------------------------------------ plans


def test_the_protocol_says_it_and_other_protocols_do_not(regressions, protocol_of):
    protocol = protocol_of("logistic", 20_000)
    assert Protocol.from_json(protocol.to_json()) == protocol
    assert '"curvature_rounds":[2,4]' in protocol.to_json()
    options = {"epsilon": 8.0, "n_participants": 20_000}
    for other in (
        {"n_rounds": 4},
        {"tuning": Tuning(directions=direction_cycle(None, 3))},
        {"n_participants": 100},
        {"n_participants": None, "epsilon": 1.0},
    ):
        model = clone(regressions["logistic"]).set_params(**options | other)
        assert "curvature" not in model.start(2).protocol_.to_json()


def test_plans_without_a_number_of_people_ask_too(regressions, people):
    """Whoever closes rounds by hand says how many are asked."""
    model = clone(regressions["logistic"]).set_params(epsilon=8.0, n_participants=None)
    server = model.start(2).server_
    rounds = server.protocol.rounds
    assert rounds.curvature_rounds == (2, 4) and rounds.sizes is None
    data = np.column_stack(people(8 * 1500))
    for number in range(rounds.n_rounds):
        emulate_in_rounds(server, data[1500 * number : 1500 * (number + 1)], random_state=number)
        server.close_round()
    assert [told.number for told in told_curvature(server.protocol, server.state)] == [2, 4]
    assert model.confidence_region(0.999).contains([-0.3, 0.8, -0.5])


@pytest.mark.parametrize("n", [115_000, 4000])
def test_no_more_than_a_fifth_of_the_people_is_asked(protocol_of, n):
    protocol = protocol_of("logistic", n, epsilon=3.0)
    share, rounds = curvature_share(protocol.mechanism, n), protocol.rounds
    assert (share > 0.2) is (n == 4000)
    asked = sum(rounds.sizes[number] for number in rounds.curvature_rounds)
    assert asked / n == pytest.approx(min(share, 0.2), abs=0.001)


@pytest.mark.parametrize(
    "rounds, bound, message",
    [
        ((0, 2), 1.0, "curvature_rounds must"),
        ((3, 1), 1.0, "curvature_rounds must"),
        ((1, 1), 1.0, "curvature_rounds must"),
        ((), 1.0, "curvature_rounds must"),
        ((1, 8), 1.0, "curvature_rounds must"),
        ((1,), 0.0, "curvature_bound must"),
        (None, 1.0, "curvature_bound must be 0"),
    ],
)
def test_plans_that_make_no_sense_are_refused(rounds, bound, message):
    with pytest.raises(ProtocolError, match=message):
        RoundPlan(8, curvature_rounds=rounds, curvature_bound=bound)


def test_sizes_add_up():
    for n in (500, 3001, 115_000):
        sizes = sizes_with_curvature(round_sizes(n, 8, 16), (1, 3), 0.06, 16)
        assert sum(sizes) == n and min(sizes) >= 16
        others = [size for number, size in enumerate(sizes) if number not in (1, 3)]
        assert others == sorted(others)


def test_no_warning_of_numpy_escapes(protocol_of, collected):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LDPWarning)
        collected(protocol_of("logistic", 3000), "logistic", 3000).predict_scores()


def test_rounds_go_on_where_answers_leave_the_hessian_open(people, protocol_of):
    """Answers about one query point a round lose no round, and none asks far away for them."""
    protocol = protocol_of("logistic", 115_000, epsilon=3.0)
    server, n = RoundServer(protocol), 20
    data = np.column_stack(people(n * len(protocol.rounds.sizes)))
    for number, rows in enumerate(np.split(data, len(protocol.rounds.sizes))):
        [query] = server.queries(1)
        devices = [Participant(protocol, random_state=n * number + i) for i in range(n)]
        server.receive([device.respond(query, row) for device, row in zip(devices, rows)])
        server.close_round()
        assert number > 4 or server.curvature_lost() is None
    first, stretches = first_whitening(protocol), server.state.stretches
    for number in protocol.rounds.curvature_rounds:
        np.testing.assert_array_equal(stretches[number], first)
