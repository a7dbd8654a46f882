"""What statistics are compared with: one look, and all looks by the normal mixture."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from geomstats_ldp.exceptions import ArgumentTypeError, ProtocolError
from geomstats_ldp.inference import AnyLook, OneLook

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
