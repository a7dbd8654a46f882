"""The mathematics of lifted PrivUnit; docs/theory/lifted_privunit.md has the proofs."""

import math
from fractions import Fraction
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc

from geomstats_ldp.mechanisms import PrivUnit, make_streams


def cosine_of(variates):
    """Decode column 0 of the variates, the signed distance of t to the nearer pole."""
    signed_depth = variates[:, 0]
    return np.copysign(1 - np.abs(signed_depth), signed_depth)


def up_to(epsilon, dim):
    """This epsilon, or the largest that doubles realise."""
    return min(epsilon, PrivUnit.largest_epsilon(dim))


GRID = [(d, up_to(e, d)) for d in (1, 2, 3, 10, 200) for e in (1e-3, 1.0, 8.0, 40.0)]


def cap_moments(depth, dim):
    """Integrate t^k over the cap and over the sphere, k = 0, 1, 2, with t = cos(angle).

    Returns two lists of the uniform law's E[t^k; t >= 1 - depth] and E[t^k].
    """
    edge = 2 * mp.asin(mp.sqrt(mp.mpf(depth) / 2))
    knots = [edge + (mp.pi - edge) * k / 8 for k in range(9)]

    def integral(k, points):
        return mp.quad(lambda a: mp.cos(a) ** k * mp.sin(a) ** (dim - 1), points)

    cap = [integral(k, [edge * j / 4 for j in range(5)]) for k in range(3)]
    rest = [integral(k, knots) for k in range(3)]
    total = cap[0] + rest[0]
    return [c / total for c in cap], [(c + r) / total for c, r in zip(cap, rest)]


def exact_moments(depth, epsilon, dim):
    """Return p, E t and E t^2 of the law with weights e^eps in the cap and 1 outside."""
    cap, all_ = cap_moments(depth, dim)
    ratio = mp.expm1(mp.mpf(epsilon))
    norm = 1 + ratio * cap[0]
    return mp.exp(epsilon) * cap[0] / norm, *((all_[k] + ratio * cap[k]) / norm for k in (1, 2))


@pytest.mark.parametrize(("dim", "epsilon"), GRID)
def test_moments_of_the_cosine(dim, epsilon):
    """p, E t = m = gamma, E t^2 = (d gamma^2 + 1)/(d + 1) and tau^2, by integration."""
    mechanism = PrivUnit(epsilon=epsilon, dim=dim, bound=3.0)
    with mp.workdps(40):
        depth = mp.mpf(mechanism.depth)
        gamma = 1 - depth
        p, mean, square = exact_moments(depth, epsilon, dim)
        assert abs(mechanism.cap_probability / p - 1) < 1e-12
        # eps * 1e-16 is the rounding of e^eps; a tiny gamma is less precise as 1 - depth
        tolerance = 1e-13 * (1 + epsilon) / gamma
        assert abs(mean / gamma - 1) < tolerance
        assert abs(mechanism.mean_cosine / mean - 1) < 1e-12 / min(1, gamma * 1e3)
        assert abs(square * (dim + 1) / (dim * gamma**2 + 1) - 1) < 1e-13 * (1 + epsilon)
        variance = 9 * (1 - square) / dim / mean**2  # of every coordinate across u
        along = 9 * (square - mean**2) / mean**2
        assert abs(mechanism.noise_variance / variance - 1) < 1e-11 / min(1, gamma * 1e3)
        assert abs(along / variance - 1) < 1e-9


@pytest.mark.parametrize(("dim", "epsilon"), GRID)
def test_the_threshold_maximises_the_mean_cosine(dim, epsilon):
    """Against the closed form of m with scipy's incomplete beta function, on a grid."""
    mechanism = PrivUnit(epsilon=epsilon, dim=dim, bound=1.0)
    depth = mechanism.depth * np.geomspace(1e-3, 1.0 / mechanism.depth, 2001)
    complement = depth * (2 - depth)  # 1 - gamma^2
    q = 0.5 * betainc(0.5 * dim, 0.5, complement)
    constant = math.exp(math.lgamma(0.5 * (dim + 1)) - math.lgamma(0.5 * dim))
    height = constant / math.sqrt(math.pi) * complement ** (0.5 * dim) / dim
    mean = math.expm1(epsilon) * height / (1 + math.expm1(epsilon) * q)
    assert mean.max() <= mechanism.mean_cosine * (1 + 1e-10)
    assert mean.max() >= mechanism.mean_cosine * (1 - 1e-3)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 2.0, 8.0, 39.0])
def test_closed_form_on_the_plane(epsilon):
    """At d = 2 the fixed point is gamma = tanh(eps/4)."""
    mechanism = PrivUnit(epsilon=epsilon, dim=2, bound=1.0)
    assert mechanism.threshold == pytest.approx(math.tanh(epsilon / 4), rel=1e-12)
    assert mechanism.depth == pytest.approx(2 / (1 + math.exp(epsilon / 2)), rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 20.0, 29.0])
def test_closed_equation_on_the_line(epsilon):
    """At d = 1 the fixed point solves (e^eps - 1)(tan a - a) = pi, gamma = cos a."""
    mechanism = PrivUnit(epsilon=epsilon, dim=1, bound=1.0)
    with mp.workdps(800):
        angle = 2 * mp.asin(mp.sqrt(mp.mpf(mechanism.depth) / 2))
        residual = mp.expm1(mp.mpf(epsilon)) * (mp.tan(angle) - angle) / mp.pi - 1
        # a relative error r of the depth changes the left side by about 1.5 r, or, for small
        # eps, where it grows like 1/gamma, by r/gamma
        assert abs(residual) < 1e-12 / min(1, mechanism.threshold)


def test_reference_values_on_the_plane():
    expected = {1.0: 5.22, 2.0: 1.23, 4.0: 0.241, 8.0: 0.0253}  # three digits
    for epsilon, variance in expected.items():
        got = PrivUnit(epsilon=epsilon, dim=2, bound=1.0).noise_variance
        assert got == pytest.approx(variance, rel=2.5e-3)


@pytest.mark.parametrize("dim", [1, 2, 3, 30, 1000])
def test_limits_of_the_noise(dim):
    """The leading terms of gamma and tau^2 for small epsilon, of 1 - gamma for large epsilon."""
    small = PrivUnit(epsilon=1e-3, dim=dim, bound=1.0)
    # gamma ~ eps E(t)_+ = eps / (d B(1/2, d/2)), and tau^2 ~ 1/((d+1) gamma^2)
    mean_positive = math.exp(math.lgamma(0.5 * (dim + 1)) - math.lgamma(0.5 * dim))
    mean_positive /= math.sqrt(math.pi) * dim
    assert small.threshold == pytest.approx(1e-3 * mean_positive, rel=2e-3)
    assert small.noise_variance == pytest.approx(1e6 / (dim + 1) / mean_positive**2, rel=4e-3)
    if dim <= 30:
        # E(t - gamma)_+ ~ 2^(d/2) s^(d/2+1) / (B(1/2, d/2) d (d/2+1)) as s = 1 - gamma -> 0
        epsilon = PrivUnit.largest_epsilon(dim)
        large = PrivUnit(epsilon=epsilon, dim=dim, bound=1.0)
        log_beta = math.lgamma(0.5) + math.lgamma(0.5 * dim) - math.lgamma(0.5 * (dim + 1))
        power = 0.5 * dim + 1
        log_depth = (log_beta + math.log(dim * power) - epsilon) / power
        assert math.log(large.depth) == pytest.approx(
            log_depth - 0.5 * dim * math.log(2) / power, abs=1e-6 + 2 * large.depth
        )


@pytest.mark.parametrize("dim", [1, 2, 3, 50, 300, 1000])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 100.0, 700.0])
def test_extreme_dimension_and_epsilon(dim, epsilon):
    mechanism = PrivUnit(epsilon=up_to(epsilon, dim), dim=dim, bound=1.0)
    assert 0 < mechanism.threshold <= 1
    assert 0 < mechanism.depth < 1
    assert 0 < mechanism.noise_variance < math.inf
    assert mechanism.mean_cosine == pytest.approx(mechanism.threshold, rel=1e-12)
    vectors = np.random.default_rng(0).normal(size=(200, dim))
    variates = mechanism.draw(200, make_streams(0))
    released = mechanism.release(vectors, variates)
    assert np.isfinite(released).all()
    norms = np.linalg.norm(released, axis=-1)
    assert norms.max() <= mechanism.support_radius * (1 + 1e-12)
    assert (variates[:, 0] != 0).all()


def exact_tail(depth, dim):
    """P(1 - t <= depth) under the uniform law, also far below the smallest double."""
    half, x = mp.mpf(dim) / 2, mp.mpf(float(depth)) / 2
    return mp.betainc(half, half, 0, x, regularized=True)


def depths_at(mechanism, levels):
    """What is drawn where the uniform numbers are these."""
    uniform = SimpleNamespace(random=lambda n: levels)
    streams = SimpleNamespace(uniform=uniform, normal=np.random.default_rng(0))
    return mechanism.draw(len(levels), streams)[:, 0]


@pytest.mark.parametrize("epsilon", [1e-3, 2.0, 100.0, 700.0])
@pytest.mark.parametrize("dim", [1, 2, 3, 6, 40, 300, 1000])
def test_quantile_inverts_the_law_of_the_cosine_in_both_tails(dim, epsilon):
    epsilon = up_to(epsilon, dim)
    mechanism = PrivUnit(epsilon=epsilon, dim=dim, bound=1.0)
    p = mechanism.cap_probability
    levels = np.array([2.0**-53, 1e-9, 0.5 * p, p * (1 - 1e-9), p + (1 - p) * 0.3])
    levels = np.append(levels, [1 - (1 - p) * 0.3, 1 - 1e-9, 1 - 2.0**-53])
    levels = levels[levels < 1]
    depths = depths_at(mechanism, levels)
    with mp.workdps(60):
        q = exact_tail(mechanism.depth, dim)
        normaliser = 1 + mp.expm1(mp.mpf(epsilon)) * q
        for level, depth in zip(levels, depths):
            tail = exact_tail(abs(depth), dim)
            if level < p:  # P(t >= cosine) = level, to relative precision
                assert 0 < depth <= mechanism.depth
                assert abs(tail * mp.exp(epsilon) / normaliser / mp.mpf(level) - 1) < 2e-12
            elif depth < 0:  # P(t <= cosine) = 1 - level, to relative precision
                assert abs(tail / normaliser / (1 - mp.mpf(level)) - 1) < 2e-12
            else:
                assert depth >= mechanism.depth
                gap = (1 - tail) / normaliser - (1 - mp.mpf(level))
                assert abs(gap) < 2e-12 * (1 - level)


def test_quantile_at_level_zero_is_the_pole():
    for dim in (1, 2, 5):
        mechanism = PrivUnit(epsilon=2.0, dim=dim, bound=1.0)
        depth = depths_at(mechanism, np.array([0.0]))
        assert depth == 0.0
        variates = np.append(depth, np.ones(dim + 1))
        assert np.isfinite(mechanism.release(np.zeros(dim), variates)).all()


def uniform_cdf(cosine, dim):
    return betainc(0.5 * dim, 0.5 * dim, 0.5 * (1 + cosine))


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 6.0])
@pytest.mark.parametrize("dim", [1, 2, 3, 6, 50])
def test_sampled_cosine_follows_its_law(dim, epsilon):
    """Kolmogorov-Smirnov against P(T <= t) = (F(t) + (e^eps - 1)(F(t) - F(gamma))_+)/norm."""
    mechanism = PrivUnit(epsilon=epsilon, dim=dim, bound=1.0)
    cosine = cosine_of(mechanism.draw(20_000, make_streams(dim)))
    below = uniform_cdf(mechanism.threshold, dim)

    def cdf(t):
        f = uniform_cdf(t, dim)
        ratio = math.expm1(epsilon)
        return (f + ratio * np.maximum(f - below, 0)) / (1 + ratio * (1 - below))

    assert stats.kstest(cosine, cdf).pvalue > 1e-4  # 15 seeded tests


def test_depth_is_resolved_where_the_cosine_is_not():
    """At eps = 39, d = 2 the cap holds few of the doubles next to 1."""
    mechanism = PrivUnit(epsilon=39.0, dim=2, bound=1.0)
    assert mechanism.depth < 1e-8
    n = 20_000
    variates = mechanism.draw(n, make_streams(0))
    assert stats.kstest(variates[:, 0] / mechanism.depth, "uniform").pvalue > 1e-4
    noise = mechanism.release(np.zeros(2), variates)
    # In the cap 1 - t is uniform on [0, depth], and each coordinate has variance E(1 - t^2)/2.
    spread = np.mean(noise**2, axis=0) / (0.5 * mechanism.depth)
    assert np.abs(spread - 1).max() < 5 * math.sqrt(2 / n)  # kurtosis below the normal's


def test_rare_part_of_the_variance_at_large_epsilon():
    """The points outside the cap carry 1/(d + 2) of the variance as eps grows, however rare."""
    for dim, epsilon in ((1, 29.0), (2, 39.0), (3, 48.0), (6, 60.0)):
        mechanism = PrivUnit(epsilon=epsilon, dim=dim, bound=1.0)
        with mp.workdps(40):
            cap, all_ = cap_moments(mechanism.depth, dim)
            norm = 1 + mp.expm1(epsilon) * cap[0]
            outside = ((all_[0] - cap[0]) - (all_[2] - cap[2])) / norm / dim
        assert outside / mechanism.noise_variance == pytest.approx(1 / (dim + 2), rel=1e-2)


@pytest.mark.parametrize("dim", [1, 2, 3, 6])
def test_kernel_keeps_the_drawn_cosine(dim):
    """For boundary v, <release, v> = t G^2/m, and the rest is orthogonal of length sin."""
    mechanism = PrivUnit(epsilon=2.0, dim=dim, bound=1.5)
    direction = np.random.default_rng(0).normal(size=dim)
    direction /= np.linalg.norm(direction)
    variates = mechanism.draw(500, make_streams(0))
    released = mechanism.release(1.5 * direction, variates) * mechanism.mean_cosine / 1.5
    cosine = cosine_of(variates)
    np.testing.assert_allclose(released @ direction, cosine, atol=1e-7)  # lift: sqrt(1e-16)
    for v in (np.zeros(dim), 0.6 * direction):
        lifted = np.append(v, math.sqrt(1 - v @ v))
        point = mechanism.release(1.5 * v, variates) * mechanism.mean_cosine / 1.5
        across = variates[:, 1:] - np.outer(variates[:, 1:] @ lifted, lifted)
        across /= np.linalg.norm(across, axis=-1, keepdims=True)
        expected = np.outer(cosine, lifted) + np.sqrt(1 - cosine**2)[:, None] * across
        np.testing.assert_allclose(point, expected[:, :dim], atol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3, 10, 30])
def test_the_realised_epsilon_is_the_nominal_one_up_to_the_largest(dim):
    """By exact fractions: a level k 2^-53 falls in the cap for k < p 2^53."""
    largest = PrivUnit.largest_epsilon(dim)
    for epsilon in (1.0, 8.0, 0.9 * largest, largest):
        mechanism = PrivUnit(epsilon=epsilon, dim=dim, bound=1.0)
        levels = math.ceil(Fraction(mechanism.cap_probability) * 2**53)
        with mp.workdps(60):
            q = exact_tail(mechanism.depth, dim)
            realised = mp.log(mp.mpf(levels) / (2**53 - levels)) - mp.log(q / (1 - q))
            assert abs(realised / mp.mpf(epsilon) - 1) < 1e-9
    with pytest.raises(ValueError, match=f"at most {math.floor(100 * largest) / 100}"):
        PrivUnit(epsilon=2 * largest, dim=dim, bound=1.0)
