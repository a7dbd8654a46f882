"""Hessian and score covariance from window sums, against explicit regressions and simulation."""

import math

import numpy as np
import pytest

from geomstats_ldp.exceptions import NotReadyError
from geomstats_ldp.inference.pair_hessian import shrink_hessian
from geomstats_ldp.inference.sandwich import PairRegression, fit_regression
from geomstats_ldp.protocol import InferenceRule
from geomstats_ldp.schedules import coordinate_cycle
from geomstats_ldp.server.regression import RegressionSums

#: P(|normal| > 5) = 6e-7; some dozens of entries are compared.
MAX_Z = 5.0


def cycle_offsets(dim, n_cycles, radii):
    directions = coordinate_cycle(dim)
    return np.concatenate([radii[c % len(radii)] * directions for c in range(n_cycles)])


def window_sums(halves, offsets):
    return RegressionSums(
        len(halves),
        np.sum(offsets**2),
        halves.sum(axis=0),
        halves.T @ offsets,
        halves.T @ halves,
        np.zeros(halves.shape[1]),
    )


def example(dim, seed=0, n_cycles=30):
    rng = np.random.default_rng(seed)
    offsets = cycle_offsets(dim, n_cycles, [0.3, 0.2, 0.1])
    slope = rng.normal(size=(dim, dim))
    halves = offsets @ slope.T + rng.normal(size=offsets.shape) + rng.normal(size=dim)
    return halves, offsets


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("ridge", [0.0, 0.1, 20.0])
@pytest.mark.parametrize("divisor", ["regression", "pairs"])
def test_fit_equals_least_squares_with_ridge_rows(dim, ridge, divisor):
    halves, offsets = example(dim)
    n_participants = 2 * len(halves) + 11
    rule = InferenceRule(ridge=ridge, divisor=divisor)
    fit = fit_regression(window_sums(halves, offsets), coordinate_cycle(dim), rule, n_participants)

    gram = offsets.T @ offsets
    penalty = ridge * np.trace(gram) / dim / math.sqrt(n_participants)
    design = np.block(
        [
            [np.ones((len(offsets), 1)), offsets],
            [np.zeros((dim, 1)), math.sqrt(penalty) * np.eye(dim)],
        ]
    )
    response = np.vstack([halves, np.zeros((dim, dim))])
    solution = np.linalg.lstsq(design, response, rcond=None)[0]
    residuals = halves - solution[0] - offsets @ solution[1:]
    degrees = len(halves) - (dim + 1 if divisor == "regression" else 0)
    # the sums are explicit differences of numbers of size 100: 100 roundings
    close = {"rtol": 0, "atol": 1e-11}
    assert fit.ridge == pytest.approx(penalty, rel=1e-13, abs=0)
    np.testing.assert_allclose(fit.gram, gram, **close)
    np.testing.assert_allclose(fit.slope, solution[1:].T, **close)
    np.testing.assert_allclose(fit.hessian, (solution[1:] + solution[1:].T) / 2, **close)
    np.testing.assert_allclose(fit.score_covariance, 2 * residuals.T @ residuals / degrees, **close)


def test_divisors_differ_by_the_degrees_of_freedom():
    halves, offsets = example(2, n_cycles=3)
    sums, directions = window_sums(halves, offsets), coordinate_cycle(2)
    by_pairs, by_degrees = (
        fit_regression(sums, directions, InferenceRule(divisor=d), 24).score_covariance
        for d in ("pairs", "regression")
    )
    np.testing.assert_allclose(by_degrees, by_pairs * 12 / (12 - 2 - 1), rtol=1e-14)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_too_few_pairs_are_refused(dim):
    halves, offsets = example(dim, n_cycles=3)
    for n_pairs in range(dim + 4):
        sums = window_sums(halves[:n_pairs], offsets[:n_pairs])
        if n_pairs <= dim + 1:
            with pytest.raises(NotReadyError, match=f"holds {n_pairs} pairs"):
                fit_regression(sums, coordinate_cycle(dim), InferenceRule(), 99)
        else:
            fit_regression(sums, coordinate_cycle(dim), InferenceRule(), 99)


def simulate(dim, hessian, covariance, n_cycles, seed):
    """Pairs of two noisy scores with a common gradient: D = H X + (noise - noise') / 2."""
    rng = np.random.default_rng(seed)
    offsets = cycle_offsets(dim, n_cycles, [0.4, 0.2])
    root = np.linalg.cholesky(covariance)
    plus, minus = (rng.normal(size=offsets.shape) @ root.T for _ in range(2))
    gradient = rng.normal(size=offsets.shape)  # of the moving iterate; it cancels
    plus = gradient + offsets @ hessian + plus
    minus = gradient - offsets @ hessian + minus
    return (plus - minus) / 2, offsets


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_hessian_and_score_covariance_are_recovered(dim):
    rng = np.random.default_rng(dim)
    root = rng.normal(size=(dim, dim))
    hessian = root @ root.T + np.eye(dim)
    root = rng.normal(size=(dim, dim))
    covariance = root @ root.T + np.eye(dim)
    halves, offsets = simulate(dim, hessian, covariance, 6000, seed=dim)
    rule = InferenceRule(ridge=0.0)
    fit = fit_regression(window_sums(halves, offsets), coordinate_cycle(dim), rule, 10**6)
    # Monte Carlo errors: Var B_ij = Sigma_ii / (2 q) with q = s_n / d, and the residual
    # covariance of L normal vectors has Var = (Sigma_ii Sigma_jj + Sigma_ij^2) / L
    information = np.sum(offsets**2) / dim
    diagonal = np.diag(covariance)
    error = np.sqrt(diagonal / (2 * information))[:, None]
    assert np.all(np.abs(fit.slope - hessian) < MAX_Z * error)
    error = np.sqrt((np.outer(diagonal, diagonal) + covariance**2) / len(halves))
    assert np.all(np.abs(fit.score_covariance - covariance) < MAX_Z * error)
    assert np.all(MAX_Z * error < 0.5 * diagonal.max())  # a lost factor 2 would show


# ------------------------------------------------------------------------ shrinkage


def regression_of(hessian, variance, information):
    """Fitted record with D noise of the given variance and Gram matrix information * I."""
    dim = len(hessian)
    covariance = 2 * variance * np.eye(dim)
    return PairRegression(information * np.eye(dim), 0.0, hessian, hessian, covariance)


@pytest.mark.parametrize("dim", [2, 3, 5])
def test_shrinkage_follows_its_formula(dim):
    rng = np.random.default_rng(dim)
    root = rng.normal(size=(dim, dim))
    hessian = root + root.T
    variance, information = 0.01, 0.7
    mean = np.trace(hessian) / dim
    values = np.linalg.eigvalsh(hessian) - mean
    noise = (dim * (dim + 1) // 2 - 1) * variance / information
    factor = max(0.0, 1 - noise / np.sum(values**2))
    assert 0 < factor < 1
    shrunk = shrink_hessian(regression_of(hessian, variance, information))[0]
    np.testing.assert_allclose(shrunk, shrunk.T, atol=1e-14)
    np.testing.assert_allclose(np.linalg.eigvalsh(shrunk), mean + factor * values, rtol=1e-12)
    assert np.trace(shrunk) == pytest.approx(np.trace(hessian), rel=1e-13)


def test_shrinkage_limits():
    hessian = np.array([[2.0, 0.4], [0.4, 1.0]])
    gaps = [
        np.abs(shrink_hessian(regression_of(hessian, v, 1.0))[0] - hessian).max()
        for v in (1e-3, 1e-6, 1e-9)
    ]
    # linear in the noise: 1 - factor = 2 v / |H_0|^2
    np.testing.assert_allclose(gaps, [2 * v / 0.82 * 0.5 for v in (1e-3, 1e-6, 1e-9)], rtol=1e-5)
    collapsed = shrink_hessian(regression_of(hessian, 10.0, 1.0))[0]
    np.testing.assert_array_equal(collapsed, 1.5 * np.eye(2))
    isotropic = shrink_hessian(regression_of(3.0 * np.eye(2), 1e-9, 1.0))[0]
    np.testing.assert_array_equal(isotropic, 3.0 * np.eye(2))
    line = shrink_hessian(regression_of(np.array([[1.3]]), 10.0, 1.0))[0]
    np.testing.assert_array_equal(line, [[1.3]])  # nothing deviates in one dimension


@pytest.mark.parametrize("dim", [2, 5])
def test_a_known_range_bounds_the_share_that_is_kept(dim):
    """Signal over signal plus noise, for data along a geodesic: the error is less."""
    rng, low, high, variance = np.random.default_rng(dim), 1.0, 1.6, 0.05
    signal, noise = (1 - 1 / dim) * 0.6**2, (dim * (dim + 1) / 2 - 1) * variance
    errors, kept = [], []
    for _ in range(2000):
        frame = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
        hessian = (frame * np.append(low, np.full(dim - 1, high))) @ frame.T
        root = math.sqrt(variance) * rng.normal(size=(dim, dim))
        regression = regression_of(hessian + (root + root.T) / 2, variance, 1.0)
        fits = [shrink_hessian(regression, known) for known in ((low, high), None)]
        errors.append([np.sum((fit - hessian) ** 2) for fit, _ in fits])
        kept.append([factor for _, factor in fits])
    ranged, free = np.transpose(kept)
    share = signal / (signal + noise)
    np.testing.assert_allclose(ranged, np.minimum(free, share), rtol=1e-12)
    assert np.mean(free > share) > 0.1
    gain = np.diff(errors)
    assert gain.mean() > 4 * gain.std() / math.sqrt(len(gain))


@pytest.mark.parametrize("dim", [2, 3])
def test_noise_of_the_deviator_is_what_the_shrinkage_assumes(dim):
    """With H = c I, |H_0|^2 / (v / q) follows chi^2 with d(d+1)/2 - 1 degrees of freedom."""
    rng = np.random.default_rng(dim)
    variance, n_cycles, n_runs = 0.5, 10, 4000
    offsets = cycle_offsets(dim, n_cycles, [0.4, 0.2])
    information = np.sum(offsets**2) / dim
    sizes, collapsed = [], 0
    for _ in range(n_runs):
        halves = 2.0 * offsets + math.sqrt(variance) * rng.normal(size=offsets.shape)
        slope = halves.T @ offsets / information
        hessian = (slope + slope.T) / 2
        deviator = hessian - np.trace(hessian) / dim * np.eye(dim)
        sizes.append(np.sum(deviator**2) / (variance / information))
        shrunk = shrink_hessian(regression_of(hessian, variance, information))[0]
        collapsed += np.ptp(np.linalg.eigvalsh(shrunk)) < 1e-12
    degrees = dim * (dim + 1) // 2 - 1
    # chi^2 has variance 2 degrees; under the mean, P(chi^2 < degrees) > 1/2, it collapses
    assert abs(np.mean(sizes) - degrees) < MAX_Z * math.sqrt(2 * degrees / n_runs)
    below = np.mean(np.array(sizes) <= degrees)
    assert collapsed == pytest.approx(n_runs * below, abs=1)
    assert collapsed > n_runs / 2


@pytest.mark.parametrize("spread", [0.0, 0.2, 0.5, 3.0])
@pytest.mark.parametrize("dim", [2, 3])
def test_guard_charges_the_error_of_a_shrunk_hessian(dim, spread):
    """The deviator errs by about (1 + kept) / 2 times its noise, less where there is no signal."""
    n_runs, rng = 4000, np.random.default_rng(7)
    free = dim * (dim + 1) // 2 - 1
    hessian = 2.0 * np.eye(dim) + spread * np.diag(np.linspace(1, -1, dim))
    noise = rng.normal(size=(n_runs, dim, dim))
    noise = 0.1 * (noise + np.swapaxes(noise, 1, 2)) / 2  # v / q = 0.01
    errors, kept = [], []
    for one in noise:
        shrunk, factor = shrink_hessian(regression_of(hessian + one, 0.01, 1.0))
        off = shrunk - hessian
        off = off - np.trace(off) / dim * np.eye(dim)
        errors.append(np.sum(off**2) / 0.01)
        kept.append(factor)
    charged = free * (1 + np.mean(kept)) / 2
    standard_error = np.std(errors) / math.sqrt(n_runs)
    assert np.mean(errors) < 1.5 * charged
    if spread == 0:
        assert np.mean(errors) < charged
    if spread == 3:
        assert abs(np.mean(errors) - charged) < MAX_Z * standard_error + 0.01 * free
