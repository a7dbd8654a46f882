"""Release by candidate: the generator, the weights, the draw, and the law of what is released."""

import itertools
import math
import struct
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms import make_mechanism, make_streams, sphere_points
from geomstats_ldp.mechanisms.candidates import (
    LARGEST_EPSILON,
    N_CANDIDATES,
    draw_candidate,
    largest_levels,
    philox4x32,
    released_epsilon,
)

PURE = ("privunit", "l2_ball")

#: Of the file kat_vectors of Random123, philox4x32 with 10 rounds: counter, key, words.
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000")
    + ("6627e8d5 e169c58d bc57ac4c 9b00dbd8",),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff")
    + ("408f276d 41c83b0e a20bc7c6 6d5451fd",),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0")
    + ("d16cfe09 94fdcceb 5001e420 24126ea1",),
]


def build(name, epsilon, dim, bound=2.0):
    return make_mechanism(name, epsilon=epsilon, dim=dim, bound=bound)


def words(text):
    return tuple(np.array([int(word, 16)], dtype=np.uint64) for word in text.split())


# ------------------------------------------------------------------------ the generator


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_known_answers_of_the_generator(counter, key, expected):
    np.testing.assert_array_equal(philox4x32(words(counter), words(key)), words(expected))


def scalar_point(candidate, width):
    """The documented steps, in integers of Python and one number at a time."""
    normals = []
    for j in range((width + 1) // 2):
        x, key = [j, 0, 0, 0], [candidate % 2**32, candidate // 2**32]
        for _ in range(10):
            a, b = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
            x = [b // 2**32 ^ x[1] ^ key[0], b % 2**32, a // 2**32 ^ x[3] ^ key[1], a % 2**32]
            key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
        h, k = x[0] * 2**20 + x[1] // 2**12, x[2] * 2**20 + x[3] // 2**12
        r = math.sqrt(-2 * math.log((2 * h + 1) * 2.0**-53))
        angle = 2 * math.pi * ((2 * k + 1) * 2.0**-53)
        normals += [r * math.cos(angle), r * math.sin(angle)]
    length = math.sqrt(sum(g * g for g in normals[:width]))
    return [g / length for g in normals[:width]]


@pytest.mark.parametrize("width", [1, 2, 3, 10, 31])
def test_points_follow_the_documented_steps(width):
    numbers = [0, 1, 2**32, 2**53 + 1, 2**63 + 12345, 2**64 - 1]
    points = sphere_points(np.array(numbers, dtype=np.uint64), width)
    np.testing.assert_allclose(points, [scalar_point(c, width) for c in numbers], atol=1e-14)


@pytest.mark.parametrize("width", [1, 2, 3, 10])
def test_points_are_uniform_on_the_sphere(width):
    """Consecutive and random candidates alike: heights along any direction, and signs."""
    rng = np.random.default_rng(width)
    for numbers in (np.arange(50_000), rng.integers(0, 2**64, 50_000, dtype=np.uint64)):
        points = sphere_points(numbers.astype(np.uint64), width)
        np.testing.assert_allclose(np.sum(points**2, axis=1), 1.0, atol=1e-14)
        direction = rng.normal(size=width)
        heights = points @ (direction / np.linalg.norm(direction))
        if width == 1:
            assert stats.binomtest(int(np.sum(heights > 0)), len(heights)).pvalue > 1e-4
        else:
            half = 0.5 * (width - 1)
            law = stats.beta(half, half, loc=-1, scale=2)
            assert stats.kstest(heights, law.cdf).pvalue > 1e-4  # 8 seeded tests


# ------------------------------------------------------------------------ the weights


def score_vectors(mechanism, rng):
    """Scores of every kind: zero, inside, on the edge, past it, tiny, on an axis."""
    direction = rng.normal(size=mechanism.dim)
    direction *= mechanism.bound / np.linalg.norm(direction)
    axis = mechanism.bound * np.eye(mechanism.dim)[0]
    return [0 * axis, 0.5 * direction, direction, -direction, 1e9 * axis, axis, 1e-310 * axis]


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0, LARGEST_EPSILON])
@pytest.mark.parametrize("dim", [1, 2, 9, 30])
@pytest.mark.parametrize("name", PURE)
def test_weights_are_in_range_and_their_mean_is_the_same_for_all(name, dim, epsilon):
    mechanism = build(name, epsilon, dim)
    rng = np.random.default_rng(dim)
    n = 40_000
    points = mechanism.candidate_points(rng.integers(0, 2**64, n, dtype=np.uint64))
    table = np.array([mechanism.weight(points, v) for v in score_vectors(mechanism, rng)])
    assert table.min() >= math.exp(-epsilon)
    assert table.max() <= 1.0
    if name == "l2_ball":
        expected = 1 / (1 + math.tanh(epsilon / 2))
    else:
        expected = math.exp(-epsilon) + -math.expm1(-epsilon) * _cap(mechanism)
    error = table.std(axis=1) / math.sqrt(n) + 3e-4 * (table.std(axis=1) == 0)
    # the standard error of a rare cap that no point fell into is not zero
    error = np.maximum(error, math.sqrt(expected / n))
    assert (np.abs(table.mean(axis=1) - expected) < 5 * error).all()


def _cap(mechanism):
    with mp.workdps(30):
        half, x = mp.mpf(mechanism.dim) / 2, mp.mpf(mechanism.depth) / 2
        return float(mp.betainc(half, half, 0, x, regularized=True))


@pytest.mark.parametrize("name", PURE)
@pytest.mark.parametrize("dim", [1, 2, 5])
def test_the_weighted_mean_of_what_points_stand_for_is_the_score(name, dim):
    """No bias: E w(U, v) x(U) / E w(U, v) = v, x the public map from points to messages."""
    mechanism = build(name, 1.5, dim)
    rng = np.random.default_rng(dim)
    points = mechanism.candidate_points(rng.integers(0, 2**64, 200_000, dtype=np.uint64))
    vectors = mechanism.point_vector(points)
    for v in score_vectors(mechanism, rng)[:4]:
        weights = mechanism.weight(points, v)
        terms = weights[:, None] * (vectors - v) / weights.mean()
        error = terms.std(axis=0) / math.sqrt(len(points))
        assert (np.abs(terms.mean(axis=0)) < 5 * error).all()


# ------------------------------------------------------------------------ the draw


@pytest.mark.parametrize("epsilon", [1e-3, 0.7, 8.0, LARGEST_EPSILON])
def test_probabilities_of_acceptance_keep_to_epsilon_in_exact_arithmetic(epsilon):
    """Whatever a weight is, garbage included, in fractions and without the slack."""
    dim = 9
    least = math.ceil(math.exp(-released_epsilon(epsilon, dim)) * N_CANDIDATES)
    weights = [0.0, -1.0, 5e-324, math.exp(-epsilon), 0.5, 1 - 2**-53, 1.0, 1.5, 1e300, math.inf]
    with np.errstate(invalid="ignore"):
        levels = largest_levels(np.array([*weights, -math.inf, math.nan]), least)
    probabilities = [Fraction(int(level) + 1, N_CANDIDATES) for level in levels]
    assert max(probabilities) == 1
    with mp.workdps(40):
        low = mp.mpf(min(probabilities).numerator) / min(probabilities).denominator
        assert low * mp.exp(mp.mpf(epsilon)) > 1
        assert low * mp.exp(mp.mpf(released_epsilon(epsilon, dim))) >= 1 - mp.mpf(2) ** -50
    if epsilon >= 0.7:
        assert probabilities[4] == Fraction(1, 2)


@pytest.mark.parametrize("dim", [1, 2, 30])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0, 16.0])
def test_the_slack_covers_the_normalising_sums(dim, epsilon):
    """Bernstein's bound over 2^(64 dim) vectors, in mpmath, with variance (1 - mu)(mu - a)."""
    with mp.workdps(40):
        least = mp.exp(-released_epsilon(epsilon, dim))
        worst = 0
        for mean in [2 * least / (1 + least), least * 1.001, (1 + least) / 2]:
            variance = (1 - mean) * (mean - least)
            log_failure = 64 * dim * mp.log(2) + 64 * mp.log(2)
            gap = mp.sqrt(2 * variance * log_failure / 2**64) + 2 * log_failure / 3 / 2**64
            worst = max(worst, gap / mean)
        slack = mp.mpf(epsilon) - released_epsilon(epsilon, dim)
        assert slack > mp.log((1 + worst) / (1 - worst))
        assert (
            slack
            < 1.2 * mp.log((1 + worst) / (1 - worst)) + mp.exp(epsilon) * dim * mp.mpf(2) ** -46
        )
    assert 0 < slack < 1e-5 * epsilon


def scripted(seed, requests):
    """Entropy from a seed, which notes how much was asked for."""
    rng = np.random.default_rng(seed)

    def entropy(size):
        requests.append(size)
        return rng.bytes(size)

    return entropy


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [("privunit", 4.0), pytest.param("l2_ball", 4.0, marks=pytest.mark.slow)],
)
def test_how_much_is_drawn_does_not_depend_on_the_score(name, epsilon):
    """Bytes taken from the operating system, for two opposite scores: one law."""
    mechanism = build(name, epsilon, 2)
    counts = []
    for sign in (1, -1):
        requests = []
        entropy = scripted(sign + 1, requests)
        for _ in range(1500):
            draw_candidate(mechanism, np.array([2.0 * sign, 0.0]), entropy)
            requests.append(0)
        groups = itertools.groupby(requests, key=bool)
        counts.append([sum(group) for is_block, group in groups if is_block])
    assert stats.ks_2samp(*counts).pvalue > 1e-4
    assert max(max(c) for c in counts) >= 16 * 64


def test_the_first_accepted_candidate_is_sent():
    """By hand: candidate i is accepted if its level is below its weight."""
    mechanism = build("privunit", 3.0, 2)
    vector = np.array([0.3, -1.5])
    raw = np.random.default_rng(5).bytes(16 * 64)
    numbers = struct.unpack("<128Q", raw)
    weights = [mechanism.weight(mechanism.candidate_points([c]), vector)[0] for c in numbers[:64]]
    first = next(i for i in range(64) if numbers[64 + i] < int(weights[i] * 2.0**64))
    assert first > 0
    assert draw_candidate(mechanism, vector, lambda size: raw[:size]) == numbers[first]


def accepted_points(mechanism, vector, n):
    """Points of the first n candidates that are accepted: many draws at once."""
    rng, found = np.random.default_rng(mechanism.dim), []
    least = math.ceil(mechanism.least_weight * N_CANDIDATES)
    while sum(map(len, found)) < n:
        numbers, levels = rng.integers(0, 2**64, (2, 50_000), dtype=np.uint64)
        points = mechanism.candidate_points(numbers)
        found.append(points[levels <= largest_levels(mechanism.weight(points, vector), least)])
    return np.concatenate(found)[:n]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("dim", [1, 2, 6])
@pytest.mark.parametrize("name", PURE)
def test_candidates_and_the_direct_sampler_have_one_law(name, dim, epsilon):
    """Two-sample tests of every marginal, of the cosine with the score, and of the length."""
    mechanism = build(name, epsilon, dim)
    direction = np.random.default_rng(dim).normal(size=dim)
    direction *= mechanism.bound / np.linalg.norm(direction)
    n = 5000
    for length in (0.0, 0.7, 1.0):
        vector = length * direction
        released = mechanism.point_vector(accepted_points(mechanism, vector, n))
        direct = mechanism.release(vector, mechanism.draw(5 * n, make_streams(dim)))
        pairs = [(released[:, i], direct[:, i]) for i in range(dim)]
        pairs.append((released @ direction, direct @ direction))
        pairs.append((np.linalg.norm(released, axis=1), np.linalg.norm(direct, axis=1)))
        for one, other in pairs:
            one, other = np.round(one, 9), np.round(other, 9)  # spheres: lengths differ by digits
            assert stats.ks_2samp(one, other).pvalue > 1e-5  # 54 cases of up to 8 comparisons


# ------------------------------------------------------------------------ refusals


def test_what_a_device_cannot_release_is_refused_with_the_reason():
    zero = np.zeros(2)
    with pytest.raises(ProtocolError, match="no raw scores"):
        build("identity", math.inf, 2).release_candidate(zero)
    with pytest.raises(ProtocolError, match="at most 16 on a device"):
        build("privunit", 16.1, 2).release_candidate(zero)
    build("l2_ball", 16.0, 2).release_candidate(zero)


@pytest.mark.parametrize(
    ("candidate", "error"),
    [(-1, ValueError), (2**64, ValueError), (1.0, TypeError), (True, TypeError), (None, TypeError)],
)
def test_what_is_no_candidate_has_no_vector(candidate, error):
    for name in PURE:
        with pytest.raises(error, match="candidate must"):
            build(name, 1.0, 2).candidate_vector(candidate)
    with pytest.raises(ValueError, match="releases no candidates"):
        build("identity", math.inf, 2).candidate_vector(5)


# ------------------------------------------------------------------------ the Gaussian mechanism


def gaussian(**changes):
    options = {"epsilon": 1.0, "delta": 1e-6, "dim": 3, "bound": 2.0} | changes
    return make_mechanism("gaussian", **options)


def test_the_gaussian_mechanism_needs_exact_noise(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "opendp.measurements", None)
    with pytest.raises(ProtocolError, match=r"geomstats-ldp\[opendp\], or take 'privunit'"):
        gaussian().release_candidate(np.zeros(3))


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 8.0, 16.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3])
def test_the_noise_of_the_grid_keeps_its_slack(epsilon, delta):
    """Balle and Wang's delta of the widened noise, by mpmath, at the smaller epsilon."""
    mechanism = gaussian(epsilon=epsilon, delta=delta)
    sigma = mechanism.grid_sigma
    assert 0 < sigma / mechanism.sigma - 1 < 1e-8
    with mp.workdps(50):
        s, low = mp.mpf(sigma) / (2 * mp.mpf(mechanism.bound)), mp.mpf(epsilon) * (1 - 1e-9)
        phi = mp.ncdf
        reached = phi(1 / (2 * s) - low * s) - mp.exp(low) * phi(-1 / (2 * s) - low * s)
        assert reached <= mp.mpf(delta) * (1 - mp.mpf("9e-10"))


@pytest.mark.slow
def test_messages_of_the_grid():
    pytest.importorskip("opendp.measurements")
    mechanism, vector = gaussian(), np.array([1.0, 0.2, -0.5])
    numbers = [mechanism.release_candidate(vector) for _ in range(2000)]
    assert all(type(number) is int for number in itertools.chain(*numbers))
    noise = (np.array([mechanism.candidate_vector(c) for c in numbers]) - vector) / mechanism.sigma
    for column in noise.T:
        assert stats.kstest(column, "norm").pvalue > 1e-4
    assert np.abs(np.corrcoef(noise.T) - np.eye(3)).max() < 5 / math.sqrt(2000)
    # the last digits of the integers do not tell the score
    last = np.array([mechanism.release_candidate(np.zeros(3)) for _ in range(2000)]) % 16
    table = [np.bincount(x.ravel(), minlength=16) for x in (np.array(numbers) % 16, last)]
    assert stats.chi2_contingency(table).pvalue > 1e-4


@pytest.mark.parametrize("bad", [5, (1, 2), (1, 2, 3.0), (1, 2, 2**54), (2**52, 2**52, 0), "abc"])
def test_what_is_off_the_grid_has_no_vector(bad):
    with pytest.raises((TypeError, ValueError), match=r"candidate|number"):
        gaussian().candidate_vector(bad)
