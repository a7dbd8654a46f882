"""What statistics are compared with: one look, and all looks by the normal mixture."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from geomstats_ldp.exceptions import ArgumentTypeError, ProtocolError
from geomstats_ldp.inference import AnyLook, BiasedLook, OneLook

LEVELS = (0.5, 0.9, 0.95, 0.999)


@pytest.mark.parametrize("dim", [1, 2, 7])
def test_one_look_is_chi_squared(dim):
    statistic = np.array([0.0, 0.3, 2.0, 40.0])
    np.testing.assert_allclose(OneLook().pvalue(statistic, dim), stats.chi2.sf(statistic, dim))
    for level in LEVELS:
        np.testing.assert_allclose(OneLook().quantile(level, dim), stats.chi2.ppf(level, dim))


@pytest.mark.parametrize("calibration", [OneLook(), AnyLook(300, 2000), AnyLook(9000, 2000)])
@pytest.mark.parametrize("dim", [1, 3])
def test_a_point_at_the_edge_of_a_region_has_one_minus_its_level_for_a_pvalue(calibration, dim):
    for level in LEVELS:
        edge = calibration.quantile(level, dim)
        np.testing.assert_allclose(calibration.pvalue(edge, dim), 1 - level, rtol=1e-9)


def variance_of_mixture(narrowest_at, dim):
    """The variance for which 95% bounds are smallest at a number of participants, by a search."""

    def bound(log_variance):
        x = narrowest_at * math.exp(log_variance)
        return (1 + 1 / x) * (2 * math.log(20) + dim * math.log1p(x))

    found = optimize.minimize_scalar(bound, bracket=(-math.log(narrowest_at), 0.0), tol=1e-12)
    return math.exp(found.x), found.fun


@pytest.mark.parametrize("dim", [1, 2, 10])
@pytest.mark.parametrize("m", [50, 4000])
def test_bounds_are_smallest_where_they_are_said_to_be(m, dim):
    variance, smallest = variance_of_mixture(m, dim)
    np.testing.assert_allclose(AnyLook(m, m).quantile(0.95, dim), smallest, rtol=1e-9)
    n = 3 * m
    x = n * variance
    bound = (1 + 1 / x) * (2 * math.log(10) + dim * math.log1p(x))
    np.testing.assert_allclose(AnyLook(n, m).quantile(0.9, dim), bound, rtol=1e-5)


@pytest.mark.parametrize("n", [40, 900])
def test_the_pvalue_is_one_over_the_mixture_of_likelihood_ratios(n):
    """In one dimension, with the mixture integrated over shifts of the mean by quadrature."""
    m, walk = 200, 3.1 * math.sqrt(n)
    variance, _ = variance_of_mixture(m, 1)

    def ratio(shift):
        density = stats.norm.pdf(shift, scale=math.sqrt(variance))
        return math.exp(shift * walk - n * shift**2 / 2) * density

    peak = walk / (n + 1 / variance)
    mixture, _ = integrate.quad(ratio, peak - 2, peak + 2, points=[peak], epsabs=1e-12)
    np.testing.assert_allclose(AnyLook(n, m).pvalue(walk**2 / n, 1), 1 / mixture, rtol=1e-5)
    assert AnyLook(n, m).pvalue(0.0, 1) == 1.0


@pytest.mark.parametrize("dim", [1, 3])
def test_the_chance_of_ever_missing_is_what_is_left_of_the_level(dim):
    """Of a Brownian motion, at so many looks over so long that nearly all of it is used."""
    n_walks, alpha, m = 4000, 0.1, 1000
    looks = np.unique(np.geomspace(1, 1e8, 500).astype(int))
    rng, is_missed, is_missed_once = np.random.default_rng(dim), False, False
    walks, last = np.zeros((n_walks, dim)), 0
    for n in looks:
        walks += math.sqrt(n - last) * rng.normal(size=(n_walks, dim))
        last, statistic = n, np.sum(walks**2, axis=1) / n
        is_missed |= statistic > AnyLook(int(n), m).quantile(1 - alpha, dim)
        is_missed_once |= statistic > OneLook().quantile(1 - alpha, dim)
    error = math.sqrt(alpha * (1 - alpha) / n_walks)
    assert 0.6 * alpha < np.mean(is_missed) < alpha + 3 * error
    assert np.mean(is_missed_once) > 0.7


@pytest.mark.parametrize("number", [0, -3, 2.5, True, "many"])
def test_numbers_of_participants_are_checked(number):
    for numbers in [(100, number), (number, 100)]:
        with pytest.raises((ProtocolError, ArgumentTypeError), match="must be an integer"):
            AnyLook(*numbers)


def test_without_a_bias_nothing_changes():
    for base in (OneLook(), AnyLook(500, 1000)):
        biased = BiasedLook(base, 0.0)
        for dim in (1, 4):
            assert biased.quantile(0.9, dim) == pytest.approx(base.quantile(0.9, dim))
            assert biased.pvalue(7.0, dim) == pytest.approx(base.pvalue(7.0, dim))
        assert biased.note.startswith(base.note)


def test_one_biased_number_has_the_folded_normal_law():
    # The critical values of Armstrong and Kolesar: P(|Z + t| > c) = 0.05.
    for t, critical in ((0.5, 2.18), (1.0, 2.65)):
        biased = BiasedLook(OneLook(), t**2)
        c = np.sqrt(biased.quantile(0.95, 1))
        assert c == pytest.approx(critical, abs=0.005)
        outside = stats.norm.cdf(-c - t) + stats.norm.sf(c - t)
        assert outside == pytest.approx(0.05, rel=1e-9)
        assert biased.pvalue(c**2, 1) == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize("base", [OneLook(), AnyLook(500, 1000)], ids=["one", "any"])
def test_a_bias_costs_no_more_than_its_length(base):
    for noncentrality in (0.01, 4.0, 0.999e6, 1.001e6, 1e12):
        biased = BiasedLook(base, noncentrality)
        for dim in (1, 3):
            quantile = biased.quantile(0.95, dim)
            most = np.sqrt(base.quantile(0.95, dim)) + np.sqrt(noncentrality)
            assert base.quantile(0.95, dim) < quantile <= most**2 * (1 + 1e-12)
            assert biased.pvalue(quantile, dim) == pytest.approx(0.05, rel=1e-3)


@pytest.mark.parametrize("wrong", [-1.0, np.inf, np.nan, "much"])
def test_what_is_no_noncentrality_is_refused(wrong):
    with pytest.raises((ProtocolError, ArgumentTypeError), match="noncentrality must be"):
        BiasedLook(OneLook(), wrong)
