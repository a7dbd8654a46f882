"""Caps of the sphere: probabilities against scipy, quantiles against their definition."""

import math

import numpy as np
import pytest
from scipy import stats

from geomstats_ldp.mechanisms.caps import depth_of_log_tail, log_cap_probability

DIMS = [1, 2, 3, 4, 7, 10, 100, 1000]


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("depth", [1e-6, 0.01, 0.3, 1.0])
def test_probability_of_a_cap_is_that_of_a_beta_law(dim, depth):
    """(1 - t)/2 follows Beta(d/2, d/2)."""
    expected = stats.beta.logcdf(depth / 2, dim / 2, dim / 2)
    if math.isfinite(expected):
        assert log_cap_probability(math.log(depth), dim) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("dim", DIMS)
def test_quantiles_invert_the_probability(dim):
    """Inside the table, at its nodes and edges, and below it, where Newton's method takes over."""
    tails = np.log(0.5) - np.concatenate(
        [[0.0, 1e-12, 1 / 64, 4095 / 64], np.linspace(1e-3, 63.9, 999), [70.0, 300.0, 700.0]]
    )
    depths = depth_of_log_tail(tails, dim)
    assert np.all((depths >= 0) & (depths <= 1))
    assert np.all(np.diff(depths[np.argsort(tails)]) >= 0)
    is_normal = depths > 1e-290
    actual = [log_cap_probability(math.log(depth), dim) for depth in depths[is_normal]]
    # a relative error of the depth is multiplied by up to d/2 in the log probability
    tolerance = 2e-13 * np.maximum(1.0, dim / 2)
    np.testing.assert_allclose(actual, tails[is_normal], rtol=0, atol=tolerance)


@pytest.mark.parametrize("dim", [3, 10])
def test_quantiles_are_the_same_alone_and_together(dim):
    tails = np.log(0.5 * np.random.default_rng(0).random(50))
    alone = [depth_of_log_tail(tails[i : i + 1], dim)[0] for i in range(50)]
    np.testing.assert_array_equal(depth_of_log_tail(tails, dim), alone)


@pytest.mark.parametrize("dim", [3, 4])
def test_a_pole_has_probability_zero(dim):
    np.testing.assert_array_equal(depth_of_log_tail(np.array([-np.inf]), dim), [0.0])
