"""Floors, guard, horizon term and the assembled sandwich, each by its own formula."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from geomstats_ldp.exceptions import NotReadyError
from geomstats_ldp.inference import estimate_sandwich
from geomstats_ldp.inference.pair_hessian import hessian_error
from geomstats_ldp.inference.sandwich import PairRegression, horizon_variance
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import InferenceRule
from geomstats_ldp.schedules import Schedule, coordinate_cycle
from geomstats_ldp.score_regression.shrinkage import (
    clip_eigenvalues,
    covariance_floor,
    guard_of_error,
    guard_strength,
    hessian_floor,
    steady_guard_strength,
)
from geomstats_ldp.server import Server

# Rows of an array stand for messages here.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.RawDataWarning")


def symmetric(dim, seed):
    root = np.random.default_rng(seed).normal(size=(dim, dim))
    return root + root.T


# ------------------------------------------------------------------------ eigenvalue bounds


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_clipping_is_the_nearest_matrix_within_the_bounds(dim):
    matrix = symmetric(dim, dim)
    clipped = clip_eigenvalues(matrix, -0.5, 0.8)
    # same eigenvectors: both commute; eigenvalues are moved one by one
    np.testing.assert_allclose(clipped @ matrix, matrix @ clipped, atol=1e-13)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(clipped), np.clip(np.linalg.eigvalsh(matrix), -0.5, 0.8), atol=1e-13
    )
    rng, distance = np.random.default_rng(1), np.linalg.norm(clipped - matrix)
    for _ in range(200):
        frame = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
        other = (frame * rng.uniform(-0.5, 0.8, size=dim)) @ frame.T
        mixed = clipped + rng.uniform() * (other - clipped)  # the set is convex
        assert np.linalg.norm(mixed - matrix) >= distance - 1e-13


def test_clipping_leaves_matrices_within_the_bounds():
    matrix = symmetric(3, 0)
    np.testing.assert_allclose(clip_eigenvalues(matrix, -100.0, 100.0), matrix, atol=1e-13)
    np.testing.assert_allclose(clip_eigenvalues(np.zeros((2, 2)), 0.3), 0.3 * np.eye(2))


@pytest.mark.parametrize("n", [10, 500, 8000])
@pytest.mark.parametrize("bound", [0.1, 6.25])
@pytest.mark.parametrize("eigenvalues", [[0.2, 0.4], [-3.0, 5.0]])
def test_hessian_floor_is_that_of_the_paper(n, bound, eigenvalues):
    size = (abs(eigenvalues[0]) + abs(eigenvalues[1])) / 2
    expected = min(bound / 2, 0.5 * max(1.0, size) * n**-0.25)
    floor = hessian_floor(np.array(eigenvalues), InferenceRule.paper(), bound, n)
    assert floor == pytest.approx(expected, rel=1e-14)
    relative = hessian_floor(np.array(eigenvalues), InferenceRule(), bound, n)
    assert relative == pytest.approx(min(bound / 2, 0.5 * size * n**-0.25), rel=1e-14)


def test_hessian_floor_stays_positive_without_any_signal():
    assert hessian_floor(np.zeros(2), InferenceRule(), 4.0, 100) > 0


@pytest.mark.parametrize("n", [10, 8000])
@pytest.mark.parametrize("eigenvalues", [[0.2, 0.4], [3.0, 5.0]])
def test_covariance_floor_is_that_of_the_paper(n, eigenvalues):
    open_mechanism = make_mechanism("identity", epsilon=math.inf, dim=2, bound=1.0)
    expected = 0.1 * max(1.0, sum(eigenvalues) / 2) * n ** (-1 / 3)
    floor = covariance_floor(np.array(eigenvalues), InferenceRule.paper(), open_mechanism, n)
    assert floor == pytest.approx(expected, rel=1e-14)
    assert covariance_floor(np.zeros(2), InferenceRule(), open_mechanism, n) > 0
    noisy = make_mechanism("gaussian", epsilon=2.0, delta=1e-6, dim=2, bound=1.0)
    # sigma = 4.46095 at epsilon = 2, delta = 1e-6 and sensitivity 2 (six digits are public)
    floor = covariance_floor(np.array(eigenvalues), InferenceRule.paper(), noisy, n)
    assert floor == pytest.approx(4.46095**2, rel=1e-5)


@pytest.mark.parametrize("cap", [0.05, 10.0])
@pytest.mark.parametrize("strength", [0.0, 1.5])
@pytest.mark.parametrize("power", [1.0, 2.0])
def test_guard_is_that_of_the_paper(cap, strength, power):
    hessian, covariance = np.diag([2.0, 1.0]), np.array([[1.0, 0.2], [0.2, 0.5]])
    gram, ridge = 3.0 * np.eye(2), 0.5
    regression = PairRegression(gram, ridge, hessian, hessian, covariance)
    rule = InferenceRule(guard=strength, guard_cap=cap, guard_power=power)
    u = math.sqrt(0.5 * 1.5 * (2 / 3.5)) / math.sqrt(5.0)
    assert 0.05 < u < 10
    expected = 1 + strength * min(u, cap) ** power
    error = math.sqrt(hessian_error(regression, 1.0, covariance, rule))
    factor = guard_of_error(error, hessian, 0.1, rule)
    assert factor == pytest.approx(expected, rel=1e-13)
    # a floor above the norm of the Hessian takes its place
    expected = 1 + strength * min(u * math.sqrt(5.0) / 7.0, cap) ** power
    factor = guard_of_error(error, hessian, 7.0, rule)
    assert factor == pytest.approx(expected, rel=1e-13)


# ------------------------------------------------------------------------ horizon


def exact_covariance(hessian, covariance, schedule, n):
    """n times the exact covariance of the average of the linear pair recursion.

    e_k = (I - g_k P H) e_(k-1) - g_k P U_k with Cov U = Sigma / 2: the average is the sum of
    -g_j S_j P U_j / K, with S_j the sum of the products of the later factors.
    """
    dim, n_pairs = len(hessian), n // 2
    drift = schedule.preconditioner @ hessian
    k = np.arange(1, n_pairs + 1)
    gains = (
        2 * schedule.gain_constant * (2.0 * k + schedule.gain_offset) ** -(schedule.gain_exponent)
    )
    later, total = np.eye(dim), np.zeros((dim, dim))
    for j in range(n_pairs - 1, -1, -1):
        weight = gains[j] * later @ schedule.preconditioner / n_pairs
        total += weight @ (covariance / 2) @ weight.T
        later = np.eye(dim) + later @ (np.eye(dim) - gains[j] * drift)
    return n * total


HORIZONS = [1_000, 10_000, 100_000]


@pytest.mark.slow
@pytest.mark.parametrize("offset", [0.0, 20.0])
@pytest.mark.parametrize("preconditioner", [np.eye(2), np.array([[1.2, 0.3], [0.3, 0.8]])])
def test_horizon_term_is_the_leading_excess_over_the_sandwich(offset, preconditioner):
    hessian = np.array([[1.5, 0.3], [0.3, 0.9]])
    covariance = np.array([[2.0, -0.4], [-0.4, 1.0]])
    schedule = Schedule(
        coordinate_cycle(2), 0.3, 0.5, 0.27, 0.8, offset, 0.6, 0.5, preconditioner, 1
    )
    inverse = np.linalg.inv(hessian)
    sandwich = inverse @ covariance @ inverse
    errors, remainders = [], []
    for n in HORIZONS:
        excess = exact_covariance(hessian, covariance, schedule, n) - sandwich
        term = horizon_variance(sandwich, hessian, schedule, n)
        np.testing.assert_allclose(term, term.T, atol=1e-13)
        errors.append(np.linalg.norm(excess - term) / np.linalg.norm(excess))
        remainders.append(np.linalg.norm(excess - term) / np.linalg.norm(sandwich))
    # relative to the term, of order n^(a - 1), what is left is of an order smaller by a power
    # of n; with an offset the part of its start makes it small from the first horizon on
    if offset == 0.0:
        assert errors[1] < errors[0] / 1.5
        assert errors[2] < errors[1] / 1.5
        assert errors[2] < 0.2
    else:
        assert max(errors) < 0.1
    assert remainders[2] < 0.005


def test_horizon_term_solves_its_lyapunov_equation():
    hessian, sandwich = np.diag([2.0, 0.5]), np.array([[1.0, 0.3], [0.3, 2.0]])
    schedule = Schedule(coordinate_cycle(2), 0.3, 0.5, 0.27, 0.8, 4.0, 0.6, 0.5, np.eye(2), 1)
    n = 500
    # with a diagonal drift the equation reads (a_i + a_j) Y_ij = Xi_ij
    expected = sandwich / np.add.outer([2.0, 0.5], [2.0, 0.5]) / (n * 0.8 * (n + 4.0) ** -0.6)
    # and A^-1 Xi + Xi A^-T has the entries (1 / a_i + 1 / a_j) Xi_ij
    expected -= sandwich * np.add.outer([0.5, 2.0], [0.5, 2.0]) / (n * 0.8 * 4.0**-0.6)
    term = horizon_variance(sandwich, hessian, schedule, n)
    np.testing.assert_allclose(term, expected, rtol=1e-13)


# ------------------------------------------------------------------------ assembled


def pairs_at_iterates(protocol, rows):
    """Transported half-differences by walking a server, with rotations written out here."""
    server, halves = Server(protocol, "geomstats"), []
    reference, basis = np.array(protocol.reference), np.array(protocol.basis)
    for plus, minus in zip(rows[0::2], rows[1::2]):
        frame = rotation(reference, server.state.iterate) @ basis.T
        z = []
        for query, message in zip(server.queries(), (plus, minus)):
            tangent = message - (message @ query.point) * query.point
            z.append(frame.T @ rotation(query.point, server.state.iterate) @ tangent)
        halves.append((z[0] - z[1]) / 2)
        server.replay(np.stack([plus, minus]))
    return np.array(halves), server


def rotation(start, end):
    wedge = np.outer(end, start) - np.outer(start, end)
    return np.eye(len(start)) + wedge + wedge @ wedge / (1 + start @ end)


@pytest.mark.parametrize(("epsilon", "guard"), [(math.inf, 0.0), (2.0, 1.5)])
def test_sandwich_of_the_paper_from_stored_pairs(pca_protocol, epsilon, guard):
    rule = InferenceRule.paper(guard=guard)
    protocol = pca_protocol(epsilon=epsilon, inference=rule)
    rows = np.random.default_rng(7).normal(size=(406, 3))
    halves, server = pairs_at_iterates(protocol, rows)
    # K = 203: ceil(K^(1/3)) = 6, window from pair 9 to pair 200; d = 2
    k = np.arange(203)
    radii = np.minimum(0.3, 0.5 * (k // 4 + 1.0) ** -0.27)
    offsets = radii[:, None] * coordinate_cycle(2)[k % 4]
    d, x, n, bound = halves[8:200], offsets[8:200], 406, 4.0
    gram = x.T @ x
    ridged = gram + 0.1 * np.trace(gram) / 2 / math.sqrt(n) * np.eye(2)
    mean = d.mean(axis=0)
    slope = (d - mean).T @ x @ np.linalg.inv(ridged)
    residuals = d - mean - x @ slope.T
    covariance = 2 * residuals.T @ residuals / len(d)
    raw = (slope + slope.T) / 2

    def with_floor(matrix, low, high):
        values, vectors = np.linalg.eigh(matrix)
        return vectors @ np.diag(np.clip(values, low, high)) @ vectors.T

    floor = min(bound / 2, 0.5 * max(1, np.abs(np.linalg.eigvalsh(raw)).mean()) * n**-0.25)
    hessian = with_floor(raw, floor, bound)
    spread = np.linalg.eigvalsh(covariance).mean()
    noise = protocol.mechanism.noise_variance_floor
    least = noise if noise > 0 else 0.1 * max(1, spread) * n ** (-1 / 3)
    covariance = with_floor(covariance, least, np.inf)
    xi = np.linalg.inv(hessian) @ covariance @ np.linalg.inv(hessian)
    u = math.sqrt(0.5 * np.trace(covariance) * np.trace(np.linalg.inv(ridged)))
    u /= max(np.linalg.norm(hessian), floor)
    xi *= 1 + guard * min(u, 0.35)

    estimate = estimate_sandwich(server.state, protocol)
    # sums of 200 terms and one inversion of a well-conditioned Gram matrix
    np.testing.assert_allclose(estimate.hessian, hessian, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(estimate.score_covariance, covariance, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(estimate.covariance, xi / n, rtol=1e-9, atol=1e-13)
    assert estimate.hessian_floor == pytest.approx(floor, rel=1e-10)
    assert estimate.hessian_floor_active == (np.linalg.eigvalsh(raw)[0] < floor)
    assert estimate.guard == pytest.approx(1 + guard * min(u, 0.35), rel=1e-10)


def test_default_rule_adds_the_horizon_term_and_the_shrinkage(pca_protocol):
    rows = np.random.default_rng(8).normal(size=(400, 3))
    results = {}
    for shrunk, horizon in itertools.product(["raw", "shrunk"], [False, True]):
        rule = InferenceRule(hessian=shrunk, horizon=horizon, guard=0.0)
        protocol = pca_protocol(inference=rule)
        server = Server(protocol)
        server.replay(rows)
        results[shrunk, horizon] = estimate_sandwich(server.state, protocol)
        result = results[shrunk, horizon]
        inverse = np.linalg.inv(result.hessian)
        xi = inverse @ result.score_covariance @ inverse
        if horizon:
            xi = xi + horizon_variance(xi, result.hessian, protocol.schedule, 400)
        np.testing.assert_allclose(result.covariance, xi / 400, rtol=1e-12, atol=1e-15)
    raw, shrunk = (np.linalg.eigvalsh(results[name, False].hessian) for name in ("raw", "shrunk"))
    assert np.ptp(raw) > np.ptp(shrunk)


def sandwich_under(pca_protocol, rule):
    protocol = pca_protocol(inference=rule)
    server = Server(protocol)
    server.replay(np.random.default_rng(8).normal(size=(400, 3)))
    return estimate_sandwich(server.state, protocol)


def test_an_isotropic_hessian_is_the_mean_eigenvalue_and_guarded_for_it_alone(pca_protocol):
    raw = sandwich_under(pca_protocol, InferenceRule(hessian="raw", guard=1.0))
    rule = InferenceRule(hessian="isotropic", guard=1.0, guard_cap=100.0)
    result = sandwich_under(pca_protocol, rule)
    mean = np.trace(raw.regression.hessian) / 2
    assert raw.hessian_floor < mean < raw.hessian_bound
    np.testing.assert_allclose(result.hessian, mean * np.eye(2), rtol=1e-12)
    # the variance of the mean of d entries is that of one over d
    gram = raw.regression.gram[0, 0] + raw.regression.ridge
    variance = np.trace(raw.score_covariance) / 4 / gram
    assert result.guard == pytest.approx(1 + variance / (2 * mean**2) * 4 / 3, rel=1e-12)


def test_an_isotropic_hessian_stays_so_under_a_prior(pca_protocol):
    prior = {"prior_hessian": ((1.0, 0.2), (0.2, 3.0)), "prior_sd": 0.5}
    pulled = sandwich_under(pca_protocol, InferenceRule(hessian="raw", **prior)).regression.hessian
    result = sandwich_under(pca_protocol, InferenceRule(hessian="isotropic", **prior))
    np.testing.assert_allclose(result.hessian, np.trace(pulled) / 2 * np.eye(2), rtol=1e-12)


@pytest.mark.parametrize("bounds", [(2.0, 2.0), (1.9, 2.0), (0.001, 3.9)])
def test_a_range_of_the_hessian_holds_the_eigenvalues_and_the_error(pca_protocol, bounds):
    free = sandwich_under(pca_protocol, InferenceRule(guard=1.0, guard_cap=100.0))
    known = sandwich_under(
        pca_protocol, InferenceRule(guard=1.0, guard_cap=100.0, hessian_range=bounds)
    )
    values = np.linalg.eigvalsh(known.hessian)
    assert bounds[0] * (1 - 1e-14) <= values[0] <= values[1] <= bounds[1] * (1 + 1e-14)
    assert known.guard <= free.guard
    assert (known.hessian_floor_active, known.hessian_bound_active) == (False, False)
    width = bounds[1] - bounds[0]
    most = (2 * width**2 / 3 + width**2 / 2) * 4 / 3 / np.sum(values**2)
    assert known.guard <= 1 + most * (1 + 1e-12)
    if width == 0:
        np.testing.assert_array_equal(known.hessian, 2.0 * np.eye(2))
        assert known.guard == 1.0


def test_the_vanishing_floor_is_reported_where_nothing_larger_is_known(pca_protocol):
    rule = InferenceRule(hessian="raw", hessian_floor=100.0)  # half the bound
    floored = sandwich_under(pca_protocol, rule)
    assert floored.hessian_floor_active
    assert floored.hessian_floor == floored.hessian_bound / 2
    ranged = sandwich_under(pca_protocol, replace(rule, hessian_range=(3.0, 3.5)))
    assert not ranged.hessian_floor_active
    assert (ranged.hessian_floor, ranged.hessian_bound) == (3.0, 3.5)


def test_sandwich_needs_pairs_in_the_window(pca_protocol):
    protocol = pca_protocol()
    server = Server(protocol)
    ready = []
    for n_pairs in range(1, 15):
        server.replay(np.random.default_rng(n_pairs).normal(size=(2, 3)))
        try:
            estimate_sandwich(server.state, protocol)
            ready.append(n_pairs)
        except NotReadyError as error:
            assert f"{2 * n_pairs} participants" in str(error)
    # one cycle of four is skipped; at K = 8 the window holds four pairs, one residual
    assert ready == list(range(8, 15))


@pytest.mark.parametrize(("dim", "most"), [(2, 0.975), (3, 0.975), (6, 0.965), (10, 0.96)])
def test_the_guard_pays_for_the_noise_of_the_hessian_in_every_dimension(dim, most):
    # The model of the theory page: statistic |Z + EZ|^2, with u^2 / d the variance of an entry
    # of E before it is made symmetric.
    rng, u, n = np.random.default_rng(0), 0.5, 60_000
    noise = rng.normal(size=(n, dim, dim)) * u / math.sqrt(dim)
    z = rng.normal(size=(n, dim, 1))
    statistic = np.sum((z + (noise + np.swapaxes(noise, 1, 2)) / 2 @ z) ** 2, axis=(1, 2))
    bound = stats.chi2.ppf(0.95, dim) * (1 + guard_strength(dim) * u**2)
    coverage = np.mean(statistic <= bound)
    error = math.sqrt(0.95 * 0.05 / n)
    assert 0.95 - 3 * error < coverage < most
    steady = stats.chi2.ppf(0.95, dim) * (1 + steady_guard_strength(dim) * u**2)
    assert abs(np.mean(statistic <= steady) - 0.95) < 0.004
    assert np.mean(statistic <= stats.chi2.ppf(0.95, dim)) < 0.94  # it is needed
