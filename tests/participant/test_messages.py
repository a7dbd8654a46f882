"""What a participant releases: the randomised score, and how private it is."""

import copy
import dataclasses
import itertools
import math

import numpy as np
import pytest

from geomstats_ldp.exceptions import (
    InvalidMessageError,
)
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Message, Query
from geomstats_ldp.server import Server

# Rows of an array stand for messages here.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.RawDataWarning")

DATUM = np.array([0.7, -1.1, 0.4])


def noise_of(participant, query):
    return participant.respond(query, DATUM).tangent_vec


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
def test_message_is_the_randomised_score_in_the_public_frame(
    pca_protocol, dim, mechanism, first_query
):
    delta = 1e-6 if mechanism == "gaussian" else 0.0
    protocol = pca_protocol(dim, mechanism=mechanism, delta=delta)
    query, datum = first_query(protocol), np.linspace(-1.0, 2.0, dim + 1)
    message = Participant(protocol, random_state=5).respond(query, datum)
    variates = protocol.mechanism.draw(1, make_streams(5))[0]
    coords = protocol.mechanism.release(score_coordinates(protocol, query.point, datum), variates)
    frame = rotation(np.array(protocol.reference), query.point) @ np.array(protocol.basis).T
    assert (message.fingerprint, message.round, message.index) == (protocol.fingerprint, 0, 0)
    np.testing.assert_allclose(message.tangent_vec, frame @ coords, rtol=0, atol=1e-12)


def test_without_noise_the_message_is_the_score(pca_protocol, first_query):
    protocol = pca_protocol(epsilon=math.inf)
    query = first_query(protocol)
    along = DATUM @ query.point
    message = Participant(protocol, random_state=0).respond(query, DATUM)
    np.testing.assert_allclose(
        message.tangent_vec, -along * (DATUM - along * query.point), rtol=0, atol=1e-14
    )


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
    [2, *(pytest.param(dim, marks=pytest.mark.slow) for dim in (1, 3))],
)
@pytest.mark.parametrize("mechanism", ["privunit", "l2_ball"])
def test_any_two_data_have_messages_of_nearly_equal_density(
    pca_protocol, mechanism, dim, epsilon, changed
):
    """Pure privacy, end to end: the definition, for a fixed query and every released message."""
    protocol = pca_protocol(dim, epsilon=epsilon, mechanism=mechanism)
    mechanism = protocol.mechanism
    server = Server(protocol, "geomstats")  # without compilation
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


def test_the_message_lies_in_the_support_whatever_the_datum(pca_protocol, first_query):
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
def test_a_huge_datum_counts_like_the_clipped_one(pca_protocol, size, first_query):
    protocol = pca_protocol()
    query = first_query(protocol)
    direction = np.array([2.0, -1.0, 2.0]) / 3
    with np.errstate(over="ignore"):
        huge = Participant(protocol, random_state=1).respond(query, size * direction)
    clipped = Participant(protocol, random_state=1).respond(
        query, 2.0 * direction
    )  # the bound is 2
    np.testing.assert_allclose(huge.tangent_vec, clipped.tangent_vec, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_messages_are_unbiased_for_the_score(pca_protocol, first_query):
    protocol = pca_protocol(epsilon=2.0)
    query = first_query(protocol)
    participant, n = Participant(protocol, random_state=2), 2000
    noisy = np.array([noise_of(participant, query) for _ in range(n)])
    coords = protocol.geometry.coordinates(noisy, query.point)
    error = math.sqrt(protocol.mechanism.noise_variance / n)
    expected = score_coordinates(protocol, query.point, DATUM)
    assert np.all(np.abs(coords.mean(axis=0) - expected) < 5 * error)  # P(|normal| > 5) = 6e-7


@pytest.mark.parametrize("mechanism", ["privunit", "l2_ball"])
def test_any_two_data_accept_candidates_with_weights_of_bounded_ratio(
    pca_protocol, mechanism, first_query, score_at
):
    """Pure privacy of a device, end to end: the weights of one candidate under all data."""
    protocol = pca_protocol(2, epsilon=1.0, mechanism=mechanism)
    query, mechanism = first_query(protocol), protocol.mechanism
    points = mechanism.candidate_points(np.arange(2000, dtype=np.uint64))
    data = [*extreme_data(query.point), np.nan * DATUM, "text"]
    scores = [score_at(protocol, query.point, datum) for datum in data]
    table = np.array([mechanism.weight(points, score) for score in scores])
    ratios = table.max(axis=0) / table.min(axis=0)
    assert 0.99 * math.e < ratios.max() <= math.e


@pytest.mark.parametrize("mechanism", ["privunit", "l2_ball"])
def test_a_message_travels_as_json_to_the_server(pca_protocol, mechanism, device):
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


@pytest.mark.slow
def test_messages_of_devices_are_unbiased_for_the_score(pca_protocol, first_query, device):
    protocol = pca_protocol(epsilon=4.0)
    query, n = first_query(protocol), 600
    noisy = np.array([device(protocol).respond(query, DATUM).tangent_vec for _ in range(n)])
    coords = protocol.geometry.coordinates(noisy, query.point)
    error = math.sqrt(protocol.mechanism.noise_variance / n)
    expected = score_coordinates(protocol, query.point, DATUM)
    assert np.all(np.abs(coords.mean(axis=0) - expected) < 5 * error)
