"""The participant's side: what is released, from what randomness, and how private it is."""

import contextlib
import copy
import dataclasses
import itertools
import math
import os
import pickle
import sys
import threading
import warnings

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp import participant as participant_module
from geomstats_ldp.exceptions import (
    AlreadyAnsweredError,
    DatumError,
    ForeignMessageError,
    InvalidMessageError,
    ProtocolError,
)
from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.losses import FrechetLoss, score_coords
from geomstats_ldp.mechanisms import make_mechanism, make_streams
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import GainRule, Message, Query, RadiusRule, make_protocol
from geomstats_ldp.server import Server

# Rows of an array stand for messages here.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.RawDataWarning")

DATUM = np.array([0.7, -1.1, 0.4])


def first_query(protocol):
    return Server(protocol).queries()[0]


def rotation(start, end):
    wedge = np.outer(end, start) - np.outer(start, end)
    return np.eye(len(start)) + wedge + wedge @ wedge / (1 + start @ end)


def score_coordinates(protocol, point, datum):
    """B_q^-1 of the score at q, from the definitions: clip, differentiate, rotate, project."""
    bound = protocol.loss_spec["norm_bound"]
    size = math.hypot(*datum)  # without overflow
    datum = datum * (bound / size) if size > bound else datum
    score = -(datum @ point) * (datum - (datum @ point) * point)
    frame = rotation(np.array(protocol.reference), point) @ np.array(protocol.basis).T
    return frame.T @ score


@pytest.mark.parametrize("mechanism", ["privunit", "gaussian", "l2_ball"])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_message_is_the_randomised_score_in_the_public_frame(pca_protocol, dim, mechanism):
    delta = 1e-6 if mechanism == "gaussian" else 0.0
    protocol = pca_protocol(dim, mechanism=mechanism, delta=delta)
    query, datum = first_query(protocol), np.linspace(-1.0, 2.0, dim + 1)
    message = Participant(protocol, random_state=5).respond(query, datum)
    variates = protocol.mechanism.draw(1, make_streams(5))[0]
    coords = protocol.mechanism.release(score_coordinates(protocol, query.point, datum), variates)
    frame = rotation(np.array(protocol.reference), query.point) @ np.array(protocol.basis).T
    assert (message.fingerprint, message.round, message.index) == (protocol.fingerprint, 0, 0)
    np.testing.assert_allclose(message.tangent_vec, frame @ coords, rtol=0, atol=1e-12)


def test_without_noise_the_message_is_the_score(pca_protocol):
    protocol = pca_protocol(epsilon=math.inf)
    query = first_query(protocol)
    along = DATUM @ query.point
    message = Participant(protocol, random_state=0).respond(query, DATUM)
    np.testing.assert_allclose(
        message.tangent_vec, -along * (DATUM - along * query.point), rtol=0, atol=1e-14
    )


# ------------------------------------------------------------------------ randomness


def noise_of(participant, query):
    return participant.respond(query, DATUM).tangent_vec


def test_a_seed_repeats_and_answers_differ(pca_protocol):
    protocol = pca_protocol()
    query = first_query(protocol)
    one, other = Participant(protocol, random_state=3), Participant(protocol, random_state=3)
    first = [noise_of(one, query) for _ in range(4)]
    second = [noise_of(other, query) for _ in range(4)]
    np.testing.assert_array_equal(first, second)
    assert len(np.unique(first, axis=0)) == 4
    assert not np.array_equal(first[0], noise_of(Participant(protocol, random_state=4), query))


def device(protocol, **limits):
    """What runs on the device of one person."""
    return Participant(protocol, **(limits or {"fingerprint": protocol.fingerprint}))


def test_without_a_seed_nothing_repeats(pca_protocol):
    protocol = pca_protocol()
    query = first_query(protocol)
    answers = [device(protocol).respond(query, DATUM) for _ in range(10)]
    assert len({message.candidate for message in answers}) == 10
    assert len(np.unique([message.tangent_vec for message in answers], axis=0)) == 10


@pytest.mark.parametrize(
    "duplicate",
    [lambda p: pickle.loads(pickle.dumps(p)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_a_copy_knows_that_the_person_has_answered(pca_protocol, duplicate):
    participant = device(pca_protocol())
    query = first_query(participant.protocol)
    assert not duplicate(participant).has_answered
    participant.respond(query, DATUM)
    with pytest.raises(AlreadyAnsweredError):
        duplicate(participant).respond(query, DATUM)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_in_one_process_answer_once_altogether(pca_protocol, duplicate):
    participant = device(pca_protocol())
    query = first_query(participant.protocol)
    twin = duplicate(participant)
    twin.respond(query, DATUM)
    assert participant.has_answered
    for one in (participant, twin, duplicate(twin)):
        with pytest.raises(AlreadyAnsweredError):
            one.respond(query, DATUM)


def test_a_pickle_never_shares_noise(pca_protocol):
    participant = device(pca_protocol())
    query = first_query(participant.protocol)
    copies = [participant, *(pickle.loads(pickle.dumps(participant)) for _ in range(2))]
    assert len({p.respond(query, DATUM).candidate for p in copies}) == 3


def test_threads_get_one_answer(pca_protocol):
    """The switch between looking at the latch and closing it is forced, not waited for."""
    protocol = pca_protocol()
    query, n = first_query(protocol), 8
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            participant, barrier, answers = device(protocol), threading.Barrier(n), []

            def answer(participant=participant, barrier=barrier, answers=answers):
                barrier.wait()
                with contextlib.suppress(AlreadyAnsweredError):
                    answers.append(participant.respond(query, DATUM).candidate)

            threads = [threading.Thread(target=answer) for _ in range(n)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(answers) == 1
    finally:
        sys.setswitchinterval(interval)


def test_nothing_of_the_datum_stays_in_a_participant(pca_protocol):
    """A device keeps its participant in a pickle, and that is not the place for a score."""
    protocol = pca_protocol()
    query, blank = first_query(protocol), device(protocol)
    contents = set()
    for datum in (DATUM, -2 * DATUM[::-1], [np.nan, 1.0, 2.0], "271828"):
        participant = device(protocol)
        participant.respond(query, datum)
        participant.protocol = blank.protocol  # caches in it are public
        contents.add(pickle.dumps(participant))
    assert len(contents) == 1


def test_a_seeded_copy_repeats_as_asked(pca_protocol):
    participant = Participant(pca_protocol(), random_state=8)
    query = first_query(participant.protocol)
    twin = pickle.loads(pickle.dumps(participant))
    np.testing.assert_array_equal(noise_of(participant, query), noise_of(twin, query))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_never_shares_noise(pca_protocol):
    """Worker pools fork: parent and child must not release two data under one noise."""
    participant = device(pca_protocol())
    query = first_query(participant.protocol)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # no test machinery may run twice: answer and vanish
        try:
            os.write(write, participant.respond(query, DATUM).candidate.to_bytes(8, "little"))
        finally:
            os._exit(0)
    os.close(write)
    theirs = os.read(read, 1000)
    os.close(read)
    os.waitpid(child, 0)
    assert len(theirs) == 8
    assert int.from_bytes(theirs, "little") != participant.respond(query, DATUM).candidate


# ------------------------------------------------------------------------ one answer


def test_a_person_answers_once(pca_protocol):
    protocol = pca_protocol()
    queries = Server(protocol).queries()
    participant = device(protocol)
    assert not participant.has_answered and "has not answered" in repr(participant)
    with pytest.raises(ForeignMessageError):  # a refused query spends nothing
        participant.respond(changed(queries[0], fingerprint="0"), DATUM)
    participant.respond(queries[0], DATUM)
    assert participant.has_answered and "has answered" in repr(participant)
    for query in queries:
        with pytest.raises(AlreadyAnsweredError, match="another person needs a Participant"):
            participant.respond(query, DATUM)


def test_a_simulation_answers_for_many_and_says_so(pca_protocol):
    participant = Participant(pca_protocol(), random_state=0)
    query = first_query(participant.protocol)
    assert not np.array_equal(noise_of(participant, query), noise_of(participant, query))
    assert "SIMULATION with random_state=0" in repr(participant)


# ------------------------------------------------------------------------ what a device spends


def test_a_device_wants_to_know_what_it_may_spend(pca_protocol):
    protocol = pca_protocol(epsilon=2.0)
    with pytest.raises(ProtocolError, match="fingerprint or max_epsilon must be given"):
        Participant(protocol)
    device(protocol, fingerprint=protocol.fingerprint, max_epsilon=2)
    with pytest.raises(ProtocolError, match=r"at most max_epsilon=1.9; got 2.0"):
        device(protocol, max_epsilon=1.9)
    with pytest.raises(ProtocolError, match="must be the one with fingerprint abc"):
        device(protocol, fingerprint="abc")
    for bad in (math.nan, -1.0, "2", True):
        with pytest.raises((ValueError, TypeError), match="epsilon must be"):
            device(protocol, max_epsilon=bad)


@pytest.mark.parametrize("spoilt", [{"norm_bound": 0.0}, {"evil": 1}, {"name": "mine"}])
def test_a_protocol_with_a_loss_that_cannot_be_made_is_refused_by_name(pca_protocol, spoilt):
    protocol = pca_protocol()
    spec = {**protocol.loss_spec, **spoilt}
    with pytest.raises(ProtocolError, match="protocol must have a loss"):
        device(dataclasses.replace(protocol, loss_spec=spec), max_epsilon=2.0)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"epsilon": math.inf}, "no raw scores"),
        ({"epsilon": 16.5}, "at most 16 on a device"),
        ({"mechanism": "gaussian", "delta": 0.999}, "delta must be at most 0.001"),
    ],
)
def test_a_device_has_limits_of_its_own(pca_protocol, options, match):
    """Whatever the person allows, and before any datum is there."""
    if "delta" in options:
        pytest.importorskip("opendp.measurements")
    protocol = pca_protocol(**options)
    limits = [{"max_epsilon": math.inf}, {"fingerprint": protocol.fingerprint}]
    for limit in limits:
        with pytest.raises(ProtocolError, match=match):
            device(protocol, **limit)
    Participant(protocol, random_state=0)  # a simulation is free to


def test_a_gaussian_device_without_exact_noise_says_why(pca_protocol, monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.measurements", None)
    with pytest.raises(ProtocolError, match=r"install geomstats-ldp\[opendp\], or take 'privunit'"):
        device(pca_protocol(mechanism="gaussian", delta=1e-6))


def test_a_gaussian_device_sends_integers(pca_protocol):
    pytest.importorskip("opendp.measurements")
    server = Server(pca_protocol(mechanism="gaussian", delta=1e-6))
    message = device(server.protocol).respond(server.queries()[0], DATUM)
    assert [type(number) for number in message.candidate] == [int, int]
    server.receive(Message.from_json(message.to_json()))
    np.testing.assert_array_equal(server.pending[0], message.tangent_vec)


# ------------------------------------------------------------------------ refusals


def changed(query, **changes):
    return Query(**(query.__dict__ | changes))


def test_foreign_queries_are_refused(pca_protocol):
    protocol, other = pca_protocol(), pca_protocol(epsilon=8.0)
    participant = Participant(protocol, random_state=1)
    for fingerprint in (other.fingerprint, "", None):
        with pytest.raises(ForeignMessageError):
            participant.respond(changed(first_query(protocol), fingerprint=fingerprint), DATUM)
    with pytest.raises(ForeignMessageError, match=other.fingerprint[:12]):
        participant.respond(first_query(other), DATUM)


@pytest.mark.parametrize(
    ("spoil", "came"), [(Query.to_json, "str"), (lambda q: [q], "list"), (lambda q: None, "None")]
)
def test_what_is_no_query_is_named(pca_protocol, spoil, came):
    protocol = pca_protocol()
    query = spoil(first_query(protocol))
    with pytest.raises(ProtocolError, match=f"query must be one Query, .* got {came}"):
        device(protocol).respond(query, DATUM)


@pytest.mark.parametrize(
    "point",
    [
        [2.0, 0.0, 0.0],
        [0.0, 0.0, 0.0],
        [1.0, 1e-3, 0.0],
        [np.nan, 0.0, 1.0],
        [np.inf, 0.0, 0.0],
        [1.0, 0.0],
        [[1.0, 0.0, 0.0]],
    ],
)
def test_queries_off_the_manifold_are_refused(pca_protocol, point):
    protocol = pca_protocol()
    query = changed(first_query(protocol), point=np.array(point))
    with pytest.raises(ProtocolError, match="query point"):
        Participant(protocol, random_state=1).respond(query, DATUM)


def test_queries_outside_of_the_public_region_are_refused(pca_protocol):
    protocol = pca_protocol()
    region, geometry = protocol.query_region, protocol.geometry
    participant = device(protocol)
    for factor, taken in ((0.99, True), (1.01, False), (1.5, False)):
        length = factor * region.radius
        point = geometry.exp(length * geometry.basis[0], np.array(protocol.reference))
        query = changed(first_query(protocol), point=point)
        if not taken:
            with pytest.raises(ProtocolError, match="public region of queries"):
                participant.respond(query, DATUM)
    participant.respond(changed(query, point=region.center), DATUM)


# ------------------------------------------------------------------------ any datum is answered


def mean_protocol(space, center, **options):
    """Protocol of a Frechet mean, at epsilon 1."""
    loss = FrechetLoss(center=center, data_radius=1.0)
    geometry = Geometry(space, center)
    mechanism = make_mechanism("privunit", epsilon=1.0, dim=geometry.dim, bound=3.0)
    return make_protocol(
        space,
        loss,
        mechanism,
        geodesic_ball(center, 1.0),
        radius=RadiusRule.fixed(0.2),
        gain=GainRule(0.5, 10.0, 0.6, 0.5),
        **options,
    )


SPACES = {
    "sphere": (Hypersphere(2), [0.0, 0.0, 1.0]),
    "hyperboloid": (Hyperboloid(2), [1.0, 0.0, 0.0]),
    "plane": (Euclidean(3), [0.0, 0.0, 0.0]),
}


@pytest.fixture(params=SPACES)
def protocol(request):
    space, center = SPACES[request.param]
    return mean_protocol(space, np.array(center))


class Trap:
    """No datum at all: whoever converts it to an array hears of it."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("the secret 271828")


@pytest.mark.parametrize(
    "datum",
    [
        [np.nan, 0.0, 1.0],
        [np.inf, 0.0, 1.0],
        [0.0, -np.inf, 1.0],
        [1.0, 2.0],
        1.0,
        np.ones((1, 3)),
        np.ones((2, 3)),
        [],
        None,
        "271828",
        ["2.71828", "a", "b"],
        [[1.0], [2.0, 3.0]],
        [1j, 0.0, 0.0],
        {"secret": 271828},
        Trap(),
        [1e200, 0.3, 0.4],
        [2.71828, 0.1, 0.2],
        np.array([271828.0, -1e160, 1e161]),
    ],
)
def test_any_datum_is_answered_without_a_sound(protocol, datum, recwarn, capfd, caplog):
    """No error, no warning, no line: whether a datum was usable does not leave the device."""
    query = first_query(protocol)
    participant = device(protocol)
    message = participant.respond(query, datum)
    assert 0 <= message.candidate < 2**64
    score = participant._score(np.asarray(query.point), datum)
    assert np.isfinite(score).all() and score.shape == (protocol.dim,)
    assert (list(recwarn), list(caplog.records), *capfd.readouterr()) == ([], [], "", "")


@pytest.mark.parametrize("mechanism", ["privunit", "l2_ball", "gaussian"])
def test_no_floating_point_setting_of_the_program_around_tells(pca_protocol, mechanism):
    """With np.seterr(all="raise") a score whose squares underflow raised, and no other did."""
    delta = 1e-6 if mechanism == "gaussian" else 0.0
    if delta:
        pytest.importorskip("opendp.measurements")
    protocol = pca_protocol(mechanism=mechanism, delta=delta)
    query = first_query(protocol)
    device(protocol).respond(query, DATUM)
    tiny = [[1e-160, 1e-160, 1e-163], [1e-310, 0.0, 0.0], [1.0, 1e-320, 0.0], [1e300, 1.0, 1e-300]]
    participants = [device(protocol) for _ in tiny]
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for participant, datum in zip(participants, tiny):
            participant.respond(query, datum)


def test_unusable_data_are_answered_like_a_zero_score(pca_protocol):
    protocol = pca_protocol(epsilon=3.0)
    point = first_query(protocol).point
    participant = device(protocol)
    for datum in (np.full(3, np.nan), "secret", np.ones((2, 3)), [1e308, -1e308, np.inf]):
        np.testing.assert_array_equal(participant._score(point, datum), np.zeros(2))
    assert np.any(participant._score(point, DATUM) != 0)


def test_a_datum_that_cannot_be_used_costs_the_time_of_one_that_can(protocol, monkeypatch):
    """One score is computed for every datum: without it the answer came a millisecond sooner."""
    counted = []

    def counting(*args):
        counted.append(args)
        score_coords(*args)

    monkeypatch.setattr(participant_module, "score_coords", counting)
    point, participant = np.asarray(first_query(protocol).point), device(protocol)
    for datum in (point, np.nan * point, "271828", np.ones((2, 3)), Trap()):
        counted.clear()
        participant._score(point, datum)
        assert len(counted) == 1


def test_a_far_query_is_refused_whatever_the_datum():
    """At distance 101 the score of data on one side overflows: refusing there told the side."""
    protocol = mean_protocol(Hyperboloid(2), np.array([1.0, 0.0, 0.0]))
    far = np.array([np.cosh(101.0), np.sinh(101.0), 0.0])
    query = changed(first_query(protocol), point=far)
    for side in (-1.0, 1.0):
        datum = [np.cosh(0.9), side * np.sinh(0.9), 0.0]
        with pytest.raises(ProtocolError, match=r"query point must lie"):
            device(protocol).respond(query, datum)


def test_a_query_opposite_a_datum_is_answered():
    protocol = mean_protocol(Hypersphere(2), np.array([0.0, 0.0, 1.0]))
    query = first_query(protocol)
    for datum in (-np.asarray(query.point), [0.0, 0.0, -1.0], [0.0, 0.0, 1.0]):
        device(protocol).respond(query, datum)


SECRETS = {
    "sphere": [2.71828, 0.1, 0.2],
    "hyperboloid": [2.71828, 0.1, 0.2],
    "plane": [2.71828, np.nan, 0.2],
}


@pytest.mark.parametrize("name", SPACES)
def test_the_person_is_told_without_the_datum(name):
    """Texts end up in logs: the rule that is broken and the place, never a value."""
    space, center = SPACES[name]
    participant = device(mean_protocol(space, np.array(center)))
    assert participant.check(center) is None
    for datum in (
        SECRETS[name],
        "2.71828",
        ["2.71828", "a", "b"],
        {"271828": 1},
        Trap(),
        [2.71828],
        np.array(center) + 2.71828j,
        [10**400] * len(center),
    ):
        with pytest.raises(DatumError) as caught:
            participant.check(datum)
        assert "271828" not in str(caught.value).replace(".", "")
        assert caught.value.__cause__ is None and caught.value.__context__ is None


# ------------------------------------------------------------------------ privacy


def extreme_data(point):
    """Data that pull the score to every extreme, and some that should not matter."""
    side = np.linalg.svd(point[None, :])[2][1:]
    data = [np.zeros(len(point)), point, -3.0 * point, 1e-300 * np.ones(len(point))]
    for direction in (*side, -side[0]):
        worst = point + direction  # at 45 degrees the score is as long as the bound allows
        data += [0.3 * worst, 1e3 * worst, 1e100 * worst, 1e200 * worst, 1e300 * worst, direction]
    data += [-worst, np.full(len(point), 1.7e308), np.eye(len(point))[0] * 5e-324]
    return data


@pytest.mark.parametrize("epsilon", [pytest.param(0.1, marks=pytest.mark.slow), 1.0, 8.0])
@pytest.mark.parametrize(
    "dim",
    [2, *(pytest.param(dim, marks=pytest.mark.slow) for dim in (1, 3))],  # compile
)
@pytest.mark.parametrize("mechanism", ["privunit", "l2_ball"])
def test_any_two_data_have_messages_of_nearly_equal_density(pca_protocol, mechanism, dim, epsilon):
    """Pure privacy, end to end: the definition, for a fixed query and every released message."""
    protocol = pca_protocol(dim, epsilon=epsilon, mechanism=mechanism)
    mechanism = protocol.mechanism
    server = Server(protocol)
    server.replay(np.random.default_rng(0).normal(size=(10, dim + 1)))
    query = server.queries()[1]
    data = extreme_data(query.point)
    participant = Participant(protocol, random_state=dim)
    with np.errstate(over="ignore"):
        messages = [participant.respond(query, datum) for datum in data for _ in range(6)]
        # what the randomiser is really given, without the noise: the non-private protocol
        open_protocol = pca_protocol(dim, epsilon=math.inf)
        open_query = changed(query, fingerprint=open_protocol.fingerprint)
        scores = [
            open_protocol.geometry.coordinates(
                Participant(open_protocol, random_state=0).respond(open_query, datum).tangent_vec,
                query.point,
            )
            for datum in data
        ]
    released = np.array(
        [protocol.geometry.coordinates(m.tangent_vec, query.point) for m in messages]
    )
    densities = np.array([mechanism.log_density(released, score) for score in scores])
    assert np.isfinite(densities).all()
    # each density is a ratio of incomplete beta values, good to some 1e-12; l2_ball's and
    # privunit's densities have two levels, so the bound is attained by the extreme data
    gaps = densities.max(axis=0) - densities.min(axis=0)
    assert gaps.max() <= epsilon * (1 + 1e-9) + 1e-12
    assert gaps.max() > 0.9 * epsilon
    # every message passes the strict checks of the server
    for message in itertools.islice(messages, 0, None, 7):
        Server.receive(copy.deepcopy(server), message)


def test_the_message_lies_in_the_support_whatever_the_datum(pca_protocol):
    protocol = pca_protocol(epsilon=0.5)
    query = first_query(protocol)
    participant = Participant(protocol, random_state=0)
    with np.errstate(over="ignore"):
        for datum in extreme_data(query.point):
            vector = participant.respond(query, datum).tangent_vec
            assert np.isfinite(vector).all()
            assert abs(vector @ query.point) < 1e-13 * np.linalg.norm(vector)
            assert np.linalg.norm(vector) <= protocol.mechanism.support_radius * (1 + 1e-12)


@pytest.mark.parametrize("size", [1e3, 1e160, 1e300])
def test_a_huge_datum_counts_like_the_clipped_one(pca_protocol, size):
    protocol = pca_protocol()
    query = first_query(protocol)
    direction = np.array([2.0, -1.0, 2.0]) / 3
    with np.errstate(over="ignore"):
        huge = Participant(protocol, random_state=1).respond(query, size * direction)
    clipped = Participant(protocol, random_state=1).respond(
        query, 2.0 * direction
    )  # the bound is 2
    np.testing.assert_allclose(huge.tangent_vec, clipped.tangent_vec, rtol=0, atol=1e-12)


def test_messages_are_unbiased_for_the_score(pca_protocol):
    protocol = pca_protocol(epsilon=2.0)
    query = first_query(protocol)
    participant, n = Participant(protocol, random_state=2), 2000
    noisy = np.array([noise_of(participant, query) for _ in range(n)])
    coords = protocol.geometry.coordinates(noisy, query.point)
    error = math.sqrt(protocol.mechanism.noise_variance / n)
    expected = score_coordinates(protocol, query.point, DATUM)
    assert np.all(np.abs(coords.mean(axis=0) - expected) < 5 * error)  # P(|normal| > 5) = 6e-7


@pytest.mark.parametrize("mechanism", ["privunit", "l2_ball"])
def test_any_two_data_accept_candidates_with_weights_of_bounded_ratio(pca_protocol, mechanism):
    """Pure privacy of a device, end to end: the weights of one candidate under all data."""
    protocol = pca_protocol(2, epsilon=1.0, mechanism=mechanism)
    query, mechanism = first_query(protocol), protocol.mechanism
    participant = device(protocol)
    points = mechanism.candidate_points(np.arange(2000, dtype=np.uint64))
    data = [*extreme_data(query.point), np.nan * DATUM, "text"]
    scores = [participant._score(query.point, datum) for datum in data]
    table = np.array([mechanism.weight(points, score) for score in scores])
    ratios = table.max(axis=0) / table.min(axis=0)
    assert 0.99 * math.e < ratios.max() <= math.e


@pytest.mark.parametrize("mechanism", ["privunit", "l2_ball"])
def test_a_message_travels_as_json_to_the_server(pca_protocol, mechanism):
    protocol = pca_protocol(mechanism=mechanism)
    server = Server(protocol)
    query = Query.from_json(server.queries()[1].to_json())
    message = device(protocol).respond(query, DATUM)
    text = message.to_json()
    assert len(text) < 160
    server.receive(Message.from_json(text))
    np.testing.assert_array_equal(server.pending[1], message.tangent_vec)
    for candidate in (-1, 2**64, 1.5, None, (1, 2)):
        bad = dataclasses.replace(message, index=0, candidate=candidate, tangent_vec=None)
        with pytest.raises(InvalidMessageError):
            server.receive(bad)


def test_messages_of_devices_are_unbiased_for_the_score(pca_protocol):
    protocol = pca_protocol(epsilon=4.0)
    query, n = first_query(protocol), 600
    noisy = np.array([device(protocol).respond(query, DATUM).tangent_vec for _ in range(n)])
    coords = protocol.geometry.coordinates(noisy, query.point)
    error = math.sqrt(protocol.mechanism.noise_variance / n)
    expected = score_coordinates(protocol, query.point, DATUM)
    assert np.all(np.abs(coords.mean(axis=0) - expected) < 5 * error)
