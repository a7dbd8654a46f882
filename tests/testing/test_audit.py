"""The audit finds what leaks, and nothing where nothing does."""

import math

import numpy as np
import pytest

from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.server import Server
from geomstats_ldp.testing import (
    audit_release,
    candidate_release,
    device_release,
    direct_release,
)
from geomstats_ldp.testing.audit import largest_bound


def pair(mechanism):
    axis = mechanism.bound * np.eye(mechanism.dim)[0]
    return 0 * axis, axis


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 2, 3, 9])
@pytest.mark.parametrize(("name", "delta"), [("privunit", 0.0), ("gaussian", 1e-6)])
def test_the_last_digits_of_doubles_tell_data_apart(name, delta, dim):
    """The direct sampler at epsilon = 0.1: why nothing of the kind leaves a device."""
    mechanism = make_mechanism(name, epsilon=0.1, delta=delta, dim=dim, bound=1.0)
    unit = getattr(mechanism, "sigma", mechanism.support_radius)
    result = audit_release(
        direct_release(mechanism), pair(mechanism), n=1000, unit=unit, delta=delta
    )
    assert result.bits > 1.0
    assert result.epsilon == result.bits


@pytest.mark.slow  # many releases
@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("name", ["privunit", "l2_ball"])
def test_candidates_tell_no_more_than_epsilon(name, dim):
    for epsilon in (0.1, 1.0):
        mechanism = make_mechanism(name, epsilon=epsilon, dim=dim, bound=1.0)
        zero, axis = pair(mechanism)
        for data in ((zero, axis), (axis, -axis)):
            result = audit_release(
                candidate_release(mechanism), data, n=600, unit=mechanism.support_radius
            )
            assert result.epsilon <= epsilon  # fails with probability 0.01 at most


@pytest.mark.slow
def test_a_difference_that_is_allowed_is_found():
    """Power of the honest kind: at epsilon 3 most of it is seen in the place."""
    mechanism = make_mechanism("privunit", epsilon=3.0, dim=1, bound=1.0)
    _, axis = pair(mechanism)
    result = audit_release(candidate_release(mechanism), (axis, -axis), n=3000)
    assert 1.5 < result.place <= 3.0


def test_randomised_response_gives_its_epsilon_from_below():
    rng = np.random.default_rng(0)

    def release(bit):
        told = bit if rng.random() < math.e / (1 + math.e) else 1 - bit
        return bytes([told]), [float(told)]

    result = audit_release(release, (0, 1), n=20_000)
    for bound in (result.place, result.classifier):
        assert 0.9 < bound <= 1.0


def test_a_refusal_is_an_event():
    def release(datum):
        if datum > 0:
            raise ValueError("cannot")
        return b"fine", [0.0]

    result = audit_release(release, (-1.0, 1.0), n=400)
    assert result.refusal == pytest.approx(largest_bound(400))
    same = audit_release(release, (-1.0, -2.0), n=400)
    assert same.epsilon == 0.0


def test_what_is_allowed_by_delta_is_no_leak():
    rng = np.random.default_rng(1)

    def release(datum):
        return b"", [datum if rng.random() < 0.05 else 0.0]

    assert audit_release(release, (0.0, 1.0), n=4000).epsilon > 1.0
    assert audit_release(release, (0.0, 1.0), n=4000, delta=0.08).epsilon <= 0.0


@pytest.mark.slow  # many devices
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_a_device_on_an_honest_query(pca_protocol, epsilon):
    """End to end: two opposite extreme data, data that are refused elsewhere, and garbage."""
    protocol = pca_protocol(2, epsilon=epsilon)
    query = Server(protocol).queries()[0]
    side = np.linalg.svd(query.point[None, :])[2][1]
    data = (2.0 * (query.point + side), 2.0 * (query.point - side))
    release = device_release(protocol, query)
    unit = protocol.mechanism.support_radius
    for other in (data[1], np.zeros(3), np.full(3, np.nan)):
        result = audit_release(release, (data[0], other), n=300, unit=unit)
        assert result.refusal == 0.0
        assert result.epsilon <= epsilon
