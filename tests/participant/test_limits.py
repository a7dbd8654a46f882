"""What a device spends at most, and the queries that it refuses."""

import dataclasses
import math
import sys

import numpy as np
import pytest

from geomstats_ldp.exceptions import (
    ForeignMessageError,
    ProtocolError,
)
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Message, Query
from geomstats_ldp.server import Server

# Rows of an array stand for messages here.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.RawDataWarning")

DATUM = np.array([0.7, -1.1, 0.4])


def test_a_device_wants_to_know_what_it_may_spend(pca_protocol, device):
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
def test_a_protocol_with_a_loss_that_cannot_be_made_is_refused_by_name(
    pca_protocol, spoilt, device
):
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
def test_a_device_has_limits_of_its_own(pca_protocol, options, match, device):
    """Whatever the person allows, and before any datum is there."""
    if "delta" in options:
        pytest.importorskip("opendp.measurements")
    protocol = pca_protocol(**options)
    limits = [{"max_epsilon": math.inf}, {"fingerprint": protocol.fingerprint}]
    for limit in limits:
        with pytest.raises(ProtocolError, match=match):
            device(protocol, **limit)
    Participant(protocol, random_state=0)  # a simulation is free to


def test_a_gaussian_device_without_exact_noise_says_why(pca_protocol, monkeypatch, device):
    monkeypatch.setitem(sys.modules, "opendp.measurements", None)
    with pytest.raises(ProtocolError, match=r"install geomstats-ldp\[opendp\], or take 'privunit'"):
        device(pca_protocol(mechanism="gaussian", delta=1e-6))


def test_a_gaussian_device_sends_integers(pca_protocol, device):
    pytest.importorskip("opendp.measurements")
    server = Server(pca_protocol(mechanism="gaussian", delta=1e-6))
    message = device(server.protocol).respond(server.queries()[0], DATUM)
    assert [type(number) for number in message.candidate] == [int, int]
    server.receive(Message.from_json(message.to_json()))
    np.testing.assert_array_equal(server.pending[0], message.tangent_vec)


# ------------------------------------------------------------------------ refusals


def test_foreign_queries_are_refused(pca_protocol, first_query, changed):
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
def test_what_is_no_query_is_named(pca_protocol, spoil, came, first_query, device):
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
def test_queries_off_the_manifold_are_refused(pca_protocol, point, first_query, changed):
    protocol = pca_protocol()
    query = changed(first_query(protocol), point=np.array(point))
    with pytest.raises(ProtocolError, match="query point"):
        Participant(protocol, random_state=1).respond(query, DATUM)


def test_queries_outside_of_the_public_region_are_refused(
    pca_protocol, first_query, device, changed
):
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
