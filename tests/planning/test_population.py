"""A pilot taken for the population: targets with closed forms, and what clipping does to them."""

import numpy as np
import pytest

from geomstats_ldp import PrivateFrechetMean, PrivatePCA, PrivateVMFLocation
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.planning.oracle import oracle_covariance
from geomstats_ldp.planning.population import population_of

ROWS = np.random.default_rng(0).normal(size=(300, 3)) * [0.3, 0.9, 0.4]


def protocol_of(estimator):
    return estimator.set_params(n_participants=4000).start(3).protocol_


def clipped(rows, bound):
    return rows * np.minimum(1, bound / np.linalg.norm(rows, axis=1))[:, None]


def leading(rows):
    vector = np.linalg.eigh(rows.T @ rows)[1][:, -1]
    return vector * np.sign(vector[1])


def test_targets_have_their_closed_forms():
    pca = protocol_of(PrivatePCA(norm_bound=1.5, initial_point=[0.5, 1.0, -0.3]))
    found = population_of(pca, ROWS).target
    np.testing.assert_allclose(found, leading(clipped(ROWS, 1.5)), atol=1e-7)
    directions = ROWS + [1.0, 0.5, 0.2]
    location = protocol_of(PrivateVMFLocation(initial_point=[1.0, 1.0, 1.0]))
    mean = (directions / np.linalg.norm(directions, axis=1)[:, None]).mean(axis=0)
    found = population_of(location, directions).target
    np.testing.assert_allclose(found, mean / np.linalg.norm(mean), atol=1e-7)


def test_the_oracle_of_a_flat_mean_is_that_of_a_mean():
    protocol = protocol_of(PrivateFrechetMean(data_radius=1.2, epsilon=4.0))
    population, kept = population_of(protocol, ROWS), clipped(ROWS, 1.2)
    np.testing.assert_allclose(population.target, kept.mean(axis=0), atol=1e-7)
    # The Hessian is the identity: covariance of the rows plus the mean one of the noise.
    basis = protocol.geometry.basis
    scores = (population.target - kept) @ basis.T
    noise = np.mean([protocol.mechanism.noise_covariance(score) for score in scores], axis=0)
    expected = np.cov(scores.T, bias=True) + noise
    found = oracle_covariance(population, protocol.mechanism)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("bound", [2.0, 1.6])
def test_the_shift_is_what_clipping_does_to_first_order(bound):
    """The rows of 1.0 and more are few: the second order is a small part of the first."""
    protocol = protocol_of(PrivatePCA(norm_bound=bound, initial_point=[0.1, 1.0, 0.1]))
    rows = ROWS + 0.5 * np.abs(ROWS[:, 1:2]) * [1.0, 0.0, 0.0]
    population = population_of(protocol, rows)
    truth = np.arccos(leading(rows) @ leading(clipped(rows, bound)))
    assert population.shift == pytest.approx(truth, rel=0.3)
    assert population.clipped_share == np.mean(np.linalg.norm(rows, axis=1) > bound)


def test_nothing_is_clipped_where_bounds_are_wide():
    population = population_of(protocol_of(PrivatePCA(norm_bound=9.0)), ROWS)
    assert (population.clipped_share, population.shift) == (0.0, 0.0)


def test_a_target_outside_of_the_working_region_is_refused():
    protocol = protocol_of(PrivatePCA(initial_point=[1.0, 0.0, 0.0], region_radius=0.5))
    with pytest.raises(ProtocolError, match="region_radius of initial_point"):
        population_of(protocol, ROWS)
