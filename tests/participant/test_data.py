"""Any datum is answered, and nobody hears of it."""

import warnings

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp import participant as participant_module
from geomstats_ldp.exceptions import (
    DatumError,
    ProtocolError,
)
from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.losses import FrechetLoss, score_coords
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import GainRule, RadiusRule, make_protocol

# Rows of an array stand for messages here.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.RawDataWarning")

DATUM = np.array([0.7, -1.1, 0.4])


def mean_protocol(space, center, **options):
    """Protocol of a Frechet mean, at epsilon 1."""
    loss = FrechetLoss(center=center, data_radius=1.0)
    geometry = Geometry(space, center)
    mechanism = make_mechanism("privunit", epsilon=1.0, dim=geometry.dim, bound=3.0)
    return make_protocol(
        geometry,
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
def protocol(request, first_query, device):
    space, center = SPACES[request.param]
    protocol = mean_protocol(space, np.array(center))
    device(protocol).respond(first_query(protocol), center)  # what has to be compiled says so
    return protocol


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
def test_any_datum_is_answered_without_a_sound(
    protocol, datum, recwarn, capfd, caplog, first_query, device, score_at
):
    """No error, no warning, no line: whether a datum was usable does not leave the device."""
    query = first_query(protocol)
    participant = device(protocol)
    message = participant.respond(query, datum)
    assert 0 <= message.candidate < 2**64
    score = score_at(protocol, query.point, datum)
    assert np.isfinite(score).all() and score.shape == (protocol.dim,)
    assert (list(recwarn), list(caplog.records), *capfd.readouterr()) == ([], [], "", "")


@pytest.mark.parametrize("mechanism", ["privunit", "l2_ball", "gaussian"])
def test_no_floating_point_setting_of_the_program_around_tells(
    pca_protocol, mechanism, first_query, device
):
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


def test_unusable_data_are_answered_like_a_zero_score(pca_protocol, first_query, score_at):
    protocol = pca_protocol(epsilon=3.0)
    point = first_query(protocol).point
    for datum in (np.full(3, np.nan), "secret", np.ones((2, 3)), [1e308, -1e308, np.inf]):
        np.testing.assert_array_equal(score_at(protocol, point, datum), np.zeros(2))
    assert np.any(score_at(protocol, point, DATUM) != 0)


def test_a_datum_that_cannot_be_used_costs_the_time_of_one_that_can(
    protocol, monkeypatch, first_query, device
):
    """One score is computed for every datum: without it the answer came a millisecond sooner."""
    counted = []

    def counting(*args):
        counted.append(args)
        score_coords(*args)

    monkeypatch.setattr(participant_module, "score_coords", counting)
    query = first_query(protocol)
    point = np.asarray(query.point)
    for datum in (point, np.nan * point, "271828", np.ones((2, 3)), Trap()):
        counted.clear()
        device(protocol).respond(query, datum)
        assert len(counted) == 1


def test_a_far_query_is_refused_whatever_the_datum(first_query, device, changed):
    """At distance 101 the score of data on one side overflows: refusing there told the side."""
    protocol = mean_protocol(Hyperboloid(2), np.array([1.0, 0.0, 0.0]))
    far = np.array([np.cosh(101.0), np.sinh(101.0), 0.0])
    query = changed(first_query(protocol), point=far)
    for side in (-1.0, 1.0):
        datum = [np.cosh(0.9), side * np.sinh(0.9), 0.0]
        with pytest.raises(ProtocolError, match=r"query point must lie"):
            device(protocol).respond(query, datum)


def test_a_query_opposite_a_datum_is_answered(first_query, device):
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
def test_the_person_is_told_without_the_datum(name, device):
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
