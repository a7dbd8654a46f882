"""The non-private limit."""

import math

import numpy as np
import pytest

from geomstats_ldp.mechanisms import Identity, make_streams


def test_identity_returns_the_vectors_to_the_last_bit():
    mechanism = Identity(dim=3, bound=2.0)
    vectors = np.random.default_rng(0).uniform(-1, 1, size=(100, 3))
    np.testing.assert_array_equal(mechanism.randomise(vectors), vectors)
    assert mechanism.draw(4, make_streams(0)).shape == (4, 0)


def test_identity_states_that_it_is_not_private():
    mechanism = Identity(dim=2, bound=2.0)
    assert mechanism.epsilon == math.inf
    assert "NOT PRIVATE" in repr(mechanism)
    assert mechanism.support_radius == 2.0
    assert mechanism.noise_variance == mechanism.noise_variance_floor == 0.0
    np.testing.assert_array_equal(mechanism.noise_covariance(np.ones(2)), np.zeros((2, 2)))
    with pytest.raises(NotImplementedError, match="no density"):
        mechanism.log_density(np.ones(2), np.ones(2))
