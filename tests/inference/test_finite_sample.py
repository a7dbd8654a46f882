"""The finite-horizon variance and the guard against the models that they are derived from."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from geomstats_ldp.inference.sandwich import horizon_variance
from geomstats_ldp.schedules import Schedule, coordinate_cycle
from geomstats_ldp.score_regression.shrinkage import guard_strength


def schedule(dim, constant, offset):
    return Schedule(
        coordinate_cycle(dim), 1.0, 1.0, 0.0, constant, offset, 0.6, math.inf, np.eye(dim), 1
    )


def exact_variance(hessian, constant, offset, n):
    """n times the variance of the average of the linear recursion, for unit score variance.

    w_t = S_t gamma_t with S_t = I + (I - gamma_{t+1} H) S_{t+1}, in the eigenbasis of H.
    """
    gains = constant * (np.arange(1, n + 1) + offset) ** -0.6
    values, vectors = np.linalg.eigh(hessian)
    total, follow = np.zeros(len(values)), np.zeros(len(values))
    for t in range(n - 1, -1, -1):
        follow = 1.0 + ((1.0 - gains[t + 1] * values) * follow if t < n - 1 else 0.0)
        total += (gains[t] * follow) ** 2
    return (vectors * total / n) @ vectors.T


@pytest.mark.parametrize(
    "constant, offset", [(2.0, 0.0), (2.0, 800.0), (2.0, 1e4), (5.0, 5e4), (2.0, 1e5)]
)
def test_the_horizon_is_that_of_the_linear_recursion(constant, offset):
    n, hessian = 8000, np.array([[0.7, 0.2], [0.2, 0.5]])
    sandwich = np.linalg.inv(hessian @ hessian)
    found = sandwich + horizon_variance(sandwich, hessian, schedule(2, constant, offset), n)
    expected = exact_variance(hessian, constant, offset, n)
    np.testing.assert_allclose(np.linalg.eigvalsh(found), np.linalg.eigvalsh(expected), rtol=0.02)


def test_no_offset_leaves_a_negative_variance():
    sandwich = np.diag([1.0, 25.0])
    for offset in (1e6, 1e9):
        added = horizon_variance(sandwich, np.diag([1.0, 0.2]), schedule(2, 1.0, offset), 1000)
        assert np.all(np.linalg.eigvalsh(sandwich + added) >= 0.4 * np.array([1.0, 25.0]))


@pytest.mark.slow
@pytest.mark.parametrize("dim, n_draws", [(2, 200_000), (6, 60_000), (20, 60_000), (45, 20_000)])
def test_the_guard_covers_the_quantile_of_its_model(dim, n_draws):
    """|Z + EZ|^2 with a symmetric error E of relative size u = 1/2; see docs/theory/spr.md."""
    rng, statistic = np.random.default_rng(0), []
    for _ in range(n_draws // 2000):
        noise = rng.normal(size=(2000, dim, dim)) * math.sqrt(0.25 / dim)
        normal = rng.normal(size=(2000, dim))
        moved = normal + np.einsum("nij,nj->ni", (noise + np.swapaxes(noise, 1, 2)) / 2, normal)
        statistic.append(np.sum(moved**2, axis=1))
    threshold = chi2.ppf(0.95, dim) * (1 + guard_strength(dim) / 4)
    coverage = np.mean(np.concatenate(statistic) <= threshold)
    assert coverage >= 0.95 - 2 * math.sqrt(0.95 * 0.05 / n_draws)
    assert coverage <= 0.975


def test_the_guard_is_what_it_was_in_few_dimensions():
    for dim in range(1, 11):
        assert guard_strength(dim) == pytest.approx(min(2.5, 0.5 + 6 / dim), rel=1e-15)
