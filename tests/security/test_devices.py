"""What a device refuses is public, and what it answers does not depend on the datum."""

import itertools
import math

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

from geomstats_ldp import Participant, PrivateFrechetMean
from geomstats_ldp.exceptions import ArgumentTypeError, ProtocolError
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.mechanisms import candidates, make_mechanism
from geomstats_ldp.mechanisms.privunit import PrivUnit
from geomstats_ldp.protocol import Query


def device(protocol):
    return Participant(protocol, fingerprint=protocol.fingerprint)


# ------------------------------------------------------------------------ the largest epsilon


@pytest.mark.parametrize("wrong", ["3", True, [1.0], "a", 1j])
def test_a_largest_epsilon_of_another_type_is_named(pca_protocol, wrong):
    with pytest.raises(ArgumentTypeError, match="max_epsilon must be a real number"):
        Participant(pca_protocol(), max_epsilon=wrong)


@pytest.mark.parametrize("wrong", [math.nan, -1.0, 0.0, 1e-9, 5e5])
def test_a_largest_epsilon_out_of_range_is_named(pca_protocol, wrong):
    with pytest.raises(ProtocolError, match=r"max_epsilon must be in \[1e-3, 700\] or inf"):
        Participant(pca_protocol(), max_epsilon=wrong)


# ------------------------------------------------------------------------ queries at the edge


def spd(name, unit):
    return space_from_spec({"name": name, "n": 2}), unit * np.array([[2.0, 0.3], [0.3, 1.0]])


PLACES = {
    "sphere": (Hypersphere(2), np.array([0.0, 0.6, 0.8]), 1.0),
    "hyperboloid": (Hyperboloid(2), np.array([1.0, 0.0, 0.0]), 1.0),
    "hyperboloid, far out": (Hyperboloid(2), np.array([np.cosh(9), 0.0, np.sinh(9)]), 1.0),
    "rotations": (SpecialOrthogonal(3), np.eye(3), 1.0),
    **{f"R3 in {u:g}": (Euclidean(3), np.zeros(3), u) for u in (1e-12, 1e-6, 1.0, 1e6, 1e12)},
    "R3, far off": (Euclidean(3), np.array([1e12, 3e11, 1.0]), 1.0),
    **{
        f"{name} in {u:g}": (*spd(name, u), 1.0)
        for name in ("SPDAffineInvariant", "SPDLogEuclidean")
        for u in (1e-12, 1.0, 1e12)
    },
}


@pytest.mark.parametrize("radius", [1e-9, 1e-4, 1.0])
@pytest.mark.parametrize("place", PLACES)
def test_queries_are_taken_up_to_the_edge_and_no_farther(place, radius):
    """The edge moved by 1e-6 in any unit, which was far out in a small one."""
    space, center, unit = PLACES[place]
    mean = PrivateFrechetMean(
        space, initial_point=center, region_radius=radius * unit, data_radius=unit, n_rounds=4
    )
    protocol = mean.start().protocol_
    geometry, region = protocol.geometry, protocol.query_region
    rng = np.random.default_rng(0)
    rounding = 30 * geometry.rounding(geometry.reference)
    for _ in range(10):
        axis = rng.normal(size=geometry.dim)
        axis *= region.radius / np.linalg.norm(axis)
        for factor, taken in ((1.0, True), (1.0 + 1e-5, False)):
            if not taken and 1e-5 * region.radius < rounding:
                continue
            point = geometry.exp(geometry.lift(factor * axis, center), center)
            query = Query.from_json(Query(protocol.fingerprint, 0, 0, "round", point).to_json())
            if taken:
                device(protocol)._check_query(query)
            else:
                with pytest.raises(ProtocolError, match="public region of queries"):
                    device(protocol)._check_query(query)


def test_the_rounding_of_a_point():
    """To move the smallest eigenvalue of a matrix takes less the larger the others are."""
    space, _ = spd("SPDAffineInvariant", 1.0)
    eps = np.finfo(float).eps
    for ratio in (1.0, 1e-3, 1e-6):
        turn = np.array([[0.6, -0.8], [0.8, 0.6]])
        mean = PrivateFrechetMean(space, initial_point=turn @ np.diag([1.0, ratio]) @ turn.T)
        geometry = mean.start().protocol_.geometry
        largest = np.max(np.abs(geometry.reference))
        rounding = geometry.rounding(geometry.reference)
        np.testing.assert_allclose(rounding, largest * eps / ratio, rtol=1e-6)


# ------------------------------------------------------------------------ weights of other people


class Odd(PrivUnit):
    """Its weight fails for half of the scores, in a way that is chosen."""

    name = "odd"
    failure = None

    def weight(self, points, vector):
        weights = super().weight(points, vector)
        return weights if vector[0] <= 0.0 else self.failure(weights)


def _raise(weights):
    raise RuntimeError("the secret 271828")


FAILURES = {
    "raises": _raise,
    "stops": lambda weights: next(iter(())),
    "divides by zero": lambda weights: 1 // 0,
    "nan": lambda weights: np.nan * weights,
    "infinite": lambda weights: np.inf * weights,
    "negative": lambda weights: -weights,
    "one number": lambda weights: weights[0],
    "a column": lambda weights: weights[:, None],
    "too few": lambda weights: weights[:-1],
    "nothing": lambda weights: None,
    "texts": lambda weights: ["a"] * len(weights),
    "imaginary": lambda weights: weights * 1j,
}


def odd(failure, epsilon=1.0):
    mechanism = Odd(epsilon=epsilon, dim=2, bound=1.0)
    object.__setattr__(mechanism, "failure", staticmethod(FAILURES[failure]).__func__)
    return mechanism


@pytest.mark.parametrize("failure", FAILURES)
def test_a_weight_that_fails_is_answered_without_a_sound(failure, recwarn, capfd, caplog):
    mechanism = odd(failure)
    for score in ([0.7, 0.1], [-0.7, 0.1], [0.0, 0.0]):
        assert 0 <= mechanism.release_candidate(score) < 2**64
    assert (list(recwarn), list(caplog.records), *capfd.readouterr()) == ([], [], "", "")


@pytest.mark.parametrize("failure", ["raises", "one number", "a column", "texts", "imaginary"])
def test_a_weight_that_fails_is_that_of_a_zero_score(failure):
    mechanism = odd(failure)
    points = mechanism.candidate_points(np.arange(5000, dtype=np.uint64))
    weights = candidates._weights(mechanism, points, np.array([0.7, 0.1]))
    np.testing.assert_array_equal(weights, mechanism.weight(points, np.zeros(2)))


@pytest.mark.parametrize("failure", FAILURES)
def test_weights_that_fail_keep_epsilon(failure):
    """Ratios of the levels that accept a candidate, over scores whose weights fail or do not."""
    mechanism = odd(failure, epsilon=0.5)
    least = math.ceil(mechanism.least_weight * 2**64)
    points = mechanism.candidate_points(np.arange(3000, dtype=np.uint64))
    scores = np.array([[0.7, 0.1], [-0.7, 0.1], [0.0, 0.0], [0.0, -1.0]])
    with np.errstate(all="ignore"):
        levels = [
            candidates.largest_levels(candidates._weights(mechanism, points, score), least)
            for score in scores
        ]
    table = np.array(levels).astype(float) + 1.0
    for one, other in itertools.permutations(table, 2):
        assert np.max(one / other) <= math.exp(0.5)


@pytest.mark.parametrize("name", ["privunit", "l2_ball"])
def test_the_number_of_weights_does_not_depend_on_the_score(name, monkeypatch):
    """Blocks of candidates that 500 answers take, by score; four standard errors."""
    mechanism = make_mechanism(name, epsilon=6.0, dim=3, bound=1.0)
    calls = []
    weights = candidates._weights
    monkeypatch.setattr(
        candidates, "_weights", lambda *args: calls.append(len(args[1])) or weights(*args)
    )
    counts = []
    for score in (np.zeros(3), np.eye(3)[0], -np.eye(3)[0], np.full(3, 1e-160), np.full(3, 0.3)):
        calls.clear()
        for _ in range(500):
            mechanism.release_candidate(score)
        counts.append(len(calls) / 500)
    # The number of blocks is geometric: its standard deviation is below its mean.
    spread = max(counts) * math.sqrt(2 / 500)
    assert max(counts) - min(counts) < 4 * spread
