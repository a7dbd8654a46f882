"""Unbiasedness and the stated covariances, by simulation and by their eigenvalues."""

import math

import numpy as np
import pytest

from geomstats_ldp.mechanisms import MECHANISMS, make_mechanism

DELTAS = {"privunit": 0.0, "gaussian": 1e-4, "l2_ball": 0.0}
N = 100_000
# About 500 standardised statistics are compared; P(|normal| > 5.5) = 4e-8 each.
MAX_Z = 5.5


def build(name, epsilon, dim, bound=2.0):
    epsilon = min(epsilon, MECHANISMS[name].largest_epsilon(dim))
    return make_mechanism(name, epsilon=epsilon, delta=DELTAS[name], dim=dim, bound=bound)


def radial_inputs(mechanism, seed=0):
    """Zero, an interior point, a point next to the boundary and a boundary point."""
    direction = np.random.default_rng(seed).normal(size=mechanism.dim)
    direction /= np.linalg.norm(direction)
    return [mechanism.bound * r * direction for r in (0.0, 0.6, 0.999, 1.0)]


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0, 60.0])
@pytest.mark.parametrize("name", DELTAS)
def test_noise_variance_and_floor_are_the_extreme_eigenvalues(name, epsilon, dim):
    mechanism = build(name, epsilon, dim)
    spectra = [np.linalg.eigvalsh(mechanism.noise_covariance(v)) for v in radial_inputs(mechanism)]
    assert np.isclose(np.max(spectra), mechanism.noise_variance, rtol=1e-9)
    lowest = np.min(spectra)
    # subtracting the unit vector v v^T leaves a rounding error of the order of bound^2
    tolerance = 1e-9 * mechanism.noise_variance_floor + 1e-14 * mechanism.bound**2
    assert abs(lowest - mechanism.noise_variance_floor) <= tolerance
    assert 0.0 < mechanism.noise_variance_floor <= mechanism.noise_variance


@pytest.mark.parametrize("name", ["privunit", "l2_ball"])
@pytest.mark.parametrize("dim", [1, 2, 3, 6])
def test_support_radius_is_a_supremum(name, dim):
    mechanism = build(name, 1.0, dim)
    vectors = np.repeat(radial_inputs(mechanism), 20_000, axis=0)
    norms = np.linalg.norm(mechanism.randomise(vectors, 0), axis=-1)
    assert norms.max() <= mechanism.support_radius * (1 + 1e-12)
    assert norms.max() >= mechanism.support_radius * (1 - 1e-3)


@pytest.mark.parametrize("name", ["privunit", "gaussian"])
def test_large_epsilon_approaches_the_identity(name):
    vector = np.array([1.0, -0.5, 0.7])
    variances = [build(name, epsilon, 3).noise_variance for epsilon in (1, 10, 20, 40)]
    assert (np.diff(variances) < 0).all()
    mechanism = build(name, 700.0, 3)
    released = mechanism.randomise(np.tile(vector, (1000, 1)), 0)
    assert np.abs(released - vector).max() <= 6 * math.sqrt(mechanism.noise_variance) + 1e-15
