"""The participant's side: what is released, from what randomness, and how private it is."""

import copy
import itertools
import math
import os
import pickle

import numpy as np
import pytest

from geomstats_ldp.exceptions import ForeignMessageError, ProtocolError
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Message, Query
from geomstats_ldp.server import Server

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
    message = Participant(protocol).respond(query, DATUM)
    np.testing.assert_allclose(
        message.tangent_vec, -along * (DATUM - along * query.point), rtol=0, atol=1e-14
    )


# ------------------------------------------------------------------------ randomness


def noise_of(participant, query):
    return participant.respond(query, DATUM).tangent_vec


def test_a_seed_repeats_and_answers_differ(pca_protocol):
    protocol = pca_protocol()
    query = first_query(protocol)
    one, other = Participant(protocol, 3), Participant(protocol, 3)
    first = [noise_of(one, query) for _ in range(4)]
    second = [noise_of(other, query) for _ in range(4)]
    np.testing.assert_array_equal(first, second)
    assert len(np.unique(first, axis=0)) == 4
    assert not np.array_equal(first[0], noise_of(Participant(protocol, 4), query))


def test_without_a_seed_nothing_repeats(pca_protocol):
    protocol = pca_protocol()
    query = first_query(protocol)
    answers = [noise_of(Participant(protocol), query) for _ in range(5)]
    participant = Participant(protocol)
    answers += [noise_of(participant, query) for _ in range(5)]
    assert len(np.unique(answers, axis=0)) == 10


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize(
    "duplicate",
    [lambda p: pickle.loads(pickle.dumps(p)), copy.copy, copy.deepcopy],
    ids=["pickle", "copy", "deepcopy"],
)
def test_a_copy_never_shares_noise(pca_protocol, used, duplicate):
    participant = Participant(pca_protocol())
    query = first_query(participant.protocol)
    if used:
        noise_of(participant, query)
    copies = [participant, duplicate(participant), duplicate(participant)]
    answers = [noise_of(p, query) for p in copies for _ in range(3)]
    assert len(np.unique(answers, axis=0)) == 9


def test_a_seeded_copy_repeats_as_asked(pca_protocol):
    participant = Participant(pca_protocol(), random_state=8)
    query = first_query(participant.protocol)
    twin = pickle.loads(pickle.dumps(participant))
    np.testing.assert_array_equal(noise_of(participant, query), noise_of(twin, query))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("used", [False, True])
def test_a_forked_process_never_shares_noise(pca_protocol, used):
    """Worker pools fork: parent and child must not release two data under one noise."""
    participant = Participant(pca_protocol())
    query = first_query(participant.protocol)
    if used:
        noise_of(participant, query)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # no test machinery may run twice: answer and vanish
        try:
            os.write(write, noise_of(participant, query).tobytes())
        finally:
            os._exit(0)
    os.close(write)
    theirs = np.frombuffer(os.read(read, 1000))
    os.close(read)
    os.waitpid(child, 0)
    assert theirs.shape == (3,)
    assert not np.array_equal(theirs, noise_of(participant, query))


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
        Participant(protocol).respond(query, DATUM)


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
    ],
)
def test_bad_data_are_refused_before_any_noise_is_spent(pca_protocol, datum):
    protocol = pca_protocol()
    query = first_query(protocol)
    participant = Participant(protocol, random_state=1)
    with pytest.raises(ValueError, match="datum"):
        participant.respond(query, datum)
    fresh = Participant(protocol, random_state=1)
    np.testing.assert_array_equal(noise_of(participant, query), noise_of(fresh, query))


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


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("dim", [1, 2, 3])
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
                Participant(open_protocol).respond(open_query, datum).tangent_vec, query.point
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
        huge = Participant(protocol, 1).respond(query, size * direction)
    clipped = Participant(protocol, 1).respond(query, 2.0 * direction)  # the bound is 2
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


def test_a_message_travels_as_json_to_the_server(pca_protocol):
    protocol = pca_protocol()
    server = Server(protocol)
    query = Query.from_json(server.queries()[1].to_json())
    message = Participant(protocol, 0).respond(query, DATUM)
    server.receive(Message.from_json(message.to_json()))
    np.testing.assert_array_equal(server.pending[1], message.tangent_vec)
