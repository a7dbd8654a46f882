"""Radius and gain from public numbers: what the rules trade off, by formulas of their own."""

import math

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from scipy.optimize import minimize_scalar

from geomstats_ldp import PrivateFrechetMean, PrivateMEstimator
from geomstats_ldp.defaults import default_gain, default_radius, wide_and_close_radius
from geomstats_ldp.losses import TransformedFrechetLoss, register_transform
from geomstats_ldp.mechanisms import make_mechanism


def gaussian(epsilon=2.0, bound=1.5, dim=3):
    return make_mechanism("gaussian", epsilon=epsilon, delta=1e-6, dim=dim, bound=bound)


@pytest.mark.parametrize("epsilon", [8.0, 1.0])
def test_the_radius_balances_bias_and_noise_of_the_hessian(epsilon):
    """At 5000 participants: (h / l)^4 against Sigma d / (n h^2 H^2)."""
    mechanism, hessian, length = gaussian(epsilon), 0.8, 2.0
    sigma = mechanism.noise_variance + 1.5**2 / 4

    def error(log_h):
        h = math.exp(log_h)
        return (h / length) ** 4 + sigma * 3 / (5000 * h**2 * hessian**2)

    best = math.exp(minimize_scalar(error, bracket=(-3.0, 1.0)).x)
    rule = default_radius(mechanism, 4.0, length, 100.0, 5000, hessian)
    assert rule.maximum == pytest.approx(best, rel=1e-5)
    assert rule.exponent == 0.0
    many = default_radius(mechanism, 4.0, length, 100.0, 320_000, hessian)
    assert many.maximum == pytest.approx(best * 64**-0.27, rel=1e-5)
    assert default_radius(mechanism, 4.0, length, 0.1, 5000, hessian).maximum == 0.1


def test_an_open_end_has_the_same_radius_at_the_reference():
    mechanism = gaussian()
    fixed = default_radius(mechanism, 4.0, 1.0, 10.0, 5000).maximum
    rule = default_radius(mechanism, 4.0, 1.0, 10.0)
    cycles = 5000 / (4 * 3)  # of 2 d pairs
    assert rule.scale * cycles**-rule.exponent == pytest.approx(fixed, rel=1e-12)


@pytest.mark.parametrize("scale", [0.1, 0.4])
def test_queries_stay_close_where_the_loss_bends(scale):
    """b h^2 / length is at most half a small standard error, b = 0.3."""
    mechanism = gaussian(8.0)
    free = default_radius(mechanism, 1.0, scale, 10.0, 5000)
    held = default_radius(mechanism, 1.0, scale, 10.0, 5000, None, scale)
    error = math.sqrt((mechanism.noise_variance + 0.02 * 1.5**2) / 5000) / 0.5
    assert held.maximum == pytest.approx(math.sqrt(0.5 * error * scale / 0.3), rel=1e-12)
    assert held.maximum < free.maximum


def test_queries_reach_farther_where_nothing_says_that_the_score_bends():
    """The bias counts 0.15 in place of 1, and the radius goes with its third root."""
    bent, mild = (default_radius(gaussian(), 4.0, 1.0, 10.0, 5000, bends=b) for b in (True, False))
    assert mild.maximum / bent.maximum == pytest.approx(0.15 ** (-1 / 3), rel=1e-12)
    # A transform whose loss states neither a length nor its Hessian, and one that states a length.
    register_transform("straight", lambda t: t, np.ones_like, np.zeros_like)
    loss = TransformedFrechetLoss(center=[0.0, 0.0], data_radius=1.0, transform="straight")
    options = {"epsilon": 2.0, "initial_point": [0.0, 0.0], "n_participants": 400_000}
    protocol = PrivateMEstimator(Euclidean(2), loss, **options).start().protocol_
    widest = make_mechanism("privunit", epsilon=2.0, dim=2, bound=2.4)
    expected = default_radius(widest, 1.0, 1.0, 0.4, 400_000, bends=False)
    assert protocol.radius == expected and expected.maximum < 0.4


@pytest.mark.parametrize("epsilon", [8.0, 1.0])
@pytest.mark.parametrize("answers", [2, 20])
def test_the_first_step_neither_overshoots_nor_leaves_the_region(epsilon, answers):
    mechanism, bound = gaussian(epsilon), 4.0
    rule = default_gain(mechanism, bound, 1.0, 0.6, np.eye(3), 8000, answers // 2)
    first = answers * rule.constant * (answers + rule.offset) ** -rule.exponent
    assert first * bound <= 1 + 1e-12
    assert first * math.sqrt(mechanism.noise_variance * 3 / answers) <= 0.6 * (1 + 1e-12)
    assert rule.step_cap == 0.6


@pytest.mark.slow  # 300 runs
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.WeakCurvatureWarning")
def test_outliers_on_one_side_do_not_shift_a_robust_centre():
    """A fifth of the data six scales away; queries as far out as usual covered with 0.67."""
    rng = np.random.default_rng(5)
    population = np.where(rng.random((20_000, 1)) < 0.2, [[1.8, 0.0]], [[0.1, 0.1]])
    population = population + 0.1 * rng.normal(size=population.shape)
    target = np.zeros(2)
    for _ in range(500):  # the population's centre, by descent on the pseudo-Huber loss
        away = population - target
        target += np.mean(away / np.sqrt(1 + np.sum(away**2, axis=1, keepdims=True) / 0.09), axis=0)
    covered = 0
    for seed in range(300):
        mean = PrivateFrechetMean(
            Euclidean(2), "pseudo_huber", 0.3, 2.0, epsilon=8.0, random_state=seed
        )
        sample = population[np.random.default_rng(seed).integers(20_000, size=8000)]
        covered += mean.fit(sample).confidence_region(0.95).contains(target)
    assert covered / 300 > 0.95 - 4 * math.sqrt(0.95 * 0.05 / 300)


@pytest.mark.parametrize(("n_rounds", "n_wide"), [(1, 1), (2, 1), (8, 3), (16, 6)])
def test_wide_rounds_balance_what_is_unknown_of_saturation_with_noise(n_rounds, n_wide):
    """(2 c h^2 / 5)^2 against v d / (n' h^2 H^2) at n' = n / 5 and a twentieth of the bound."""
    mechanism, bound, saturation, n = gaussian(), 4.0, 0.3, 40_000
    variance = mechanism.noise_variance + 0.02 * 1.5**2

    def error(log_h):
        h = math.exp(log_h)
        return (0.4 * saturation * h**2) ** 2 + variance * 3 / (n / 5 * h**2 * (bound / 20) ** 2)

    best = math.exp(minimize_scalar(error, bracket=(-3.0, 1.0)).x)
    rule = wide_and_close_radius(mechanism, bound, 10.0, saturation, n, n_rounds)
    assert rule.maximum == pytest.approx(best, rel=1e-5)
    assert rule.n_wide == n_wide
    assert wide_and_close_radius(mechanism, bound, 0.1, saturation, n, n_rounds).maximum == 0.1


def test_of_all_radii_wide_and_close_ones_leave_the_gradient_best_known():
    """Least squares on (1, h^2 / 2): random radii that tell as much of the Hessian do worse."""
    rng, sizes = np.random.default_rng(0), np.array([1, 1.3, 1.7, 2.2, 2.9, 3.7, 4.9, 6.3])
    shares = sizes / sizes.sum()

    def variance(squares):
        design = np.column_stack([np.ones(8), squares / 2])
        return np.linalg.inv(design.T @ (shares[:, None] * design))[0, 0]

    wide = np.arange(8) % 2 * -1.0 + 1.0
    wide[5:] = 0.0
    assert variance(wide) == pytest.approx(1 / (1 - shares @ wide), rel=1e-9)
    rivals = rng.uniform(0, 1, size=(500, 8))
    rivals = rivals[rivals @ shares >= shares @ wide]
    assert len(rivals) > 100
    assert min(variance(squares) for squares in rivals) > variance(wide)
