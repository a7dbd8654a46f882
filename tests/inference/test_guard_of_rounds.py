"""The guard of rounds: what errors of the Hessian ask for, and no more than its range allows."""

import math
from dataclasses import replace

import numpy as np
import pytest
from geomstats.geometry.spd_matrices import SPDMatrices
from scipy import stats

from geomstats_ldp import PrivateFrechetMean, Tuning
from geomstats_ldp.inference import estimate_round_sandwich
from geomstats_ldp.protocol import InferenceRule
from geomstats_ldp.score_regression.shrinkage import guard_of_parts


@pytest.mark.parametrize("dim", [2, 3, 5, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["spherical", "deviatoric"])
def test_the_guard_of_rounds_is_what_either_kind_of_error_asks_for(dim, kind):
    # Statistic |(I + E) Z|^2 with an error of the mean eigenvalue alone, or of all else.
    rng, size, n = np.random.default_rng(dim), 0.12, 200_000
    noise = rng.normal(size=(n, dim, dim))
    noise = noise + np.swapaxes(noise, 1, 2)
    mean = np.trace(noise, axis1=1, axis2=2)[:, None, None] / dim * np.eye(dim)
    noise = mean if kind == "spherical" else noise - mean
    square = np.mean(np.sum(noise**2, axis=(1, 2)))
    noise *= size * math.sqrt(dim / square)
    z = rng.normal(size=(n, dim, 1))
    statistic = np.sum((z + noise @ z) ** 2, axis=(1, 2))
    parts = (size**2 * dim, 0.0) if kind == "spherical" else (0.0, size**2 * dim)
    guard = guard_of_parts(*parts, np.eye(dim), 0.0, InferenceRule(), dim)
    bound = stats.chi2.ppf(0.95, dim)
    error = 3 * math.sqrt(0.95 * 0.05 / n)
    missed = 0.95 - np.mean(statistic <= bound)
    assert missed > 2 * error  # it is needed
    # To second order: what is left is of the order of the square of what was missed.
    assert abs(np.mean(statistic <= guard * bound) - 0.95) < error + missed / 6


@pytest.mark.parametrize("kind", ["spherical", "deviatoric"])
@pytest.mark.parametrize(("size", "dim"), [(2, 3), (2, 5), (5, 7)])
def test_a_block_bears_the_guard_of_its_error_alone(kind, size, dim):
    """Statistic |G^-1/2 (I + E) Z|^2, with E and a guard G other than one in one block only."""
    rng, relative, n = np.random.default_rng(dim), 0.12, 200_000
    noise = rng.normal(size=(n, size, size))
    noise = noise + np.swapaxes(noise, 1, 2)
    mean = np.trace(noise, axis1=1, axis2=2)[:, None, None] / size * np.eye(size)
    noise = mean if kind == "spherical" else noise - mean
    noise *= relative * math.sqrt(size / np.mean(np.sum(noise**2, axis=(1, 2))))
    z = rng.normal(size=(n, dim))
    inside = z[:, :size] + np.einsum("nij,nj->ni", noise, z[:, :size])
    lengths, rest = np.sum(inside**2, axis=1), np.sum(z[:, size:] ** 2, axis=1)
    parts = (relative**2 * size, 0.0) if kind == "spherical" else (0.0, relative**2 * size)
    guard = guard_of_parts(*parts, np.eye(size), 0.0, InferenceRule(), dim)
    bound, error = stats.chi2.ppf(0.95, dim), 3 * math.sqrt(0.95 * 0.05 / n)
    missed = 0.95 - np.mean(lengths + rest <= bound)
    assert missed > error
    assert abs(np.mean(lengths / guard + rest <= bound) - 0.95) < error + missed / 6


def test_the_guard_of_rounds_leaves_no_hessian_smaller_than_it_is_known_to_be():
    """Where all eigenvalues are at the edge of their range the region is that without a guard."""
    tuning = Tuning(engine="geomstats")  # it would compile for this test alone
    estimator = PrivateFrechetMean(SPDMatrices(2), n_rounds=3, random_state=0, tuning=tuning)
    fit = estimator.fit(SPDMatrices(2).random_point(120)).server_.fit()
    low = estimator.protocol_.inference.hessian_range[0]
    edge = replace(fit, hessian=low * np.eye(3), errors=np.array([[0.1, 0.2]]))
    known = replace(edge, errors=np.zeros((1, 2)))
    guarded = estimate_round_sandwich(edge, estimator.protocol_)
    assert guarded.guard > 1.1
    added = 0.3 / 6 * edge.offset @ edge.offset * np.eye(3)  # what the slope is charged with
    plain = estimate_round_sandwich(known, estimator.protocol_).covariance
    assert guarded.covariance - plain == pytest.approx(added / low**2, rel=1e-9)
    above = replace(edge, hessian=10 * low * np.eye(3))
    without = replace(above, errors=np.zeros((1, 2)))
    covariances = [estimate_round_sandwich(one, estimator.protocol_) for one in (above, without)]
    shares = [np.trace(one.covariance) for one in covariances]
    assert shares[0] > covariances[0].guard * shares[1]
