"""A Euclidean mean, where everything the baselines do can be written in a few lines."""

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.losses import FrechetLoss
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import GainRule, RadiusRule, make_protocol

CENTER = np.array([0.3, -0.2])


def _mean_protocol(epsilon=np.inf, gain=None, region_radius=1.0, mechanism="privunit", delta=0.0):
    loss = FrechetLoss(center=CENTER, data_radius=1.0)
    bound = region_radius + 0.3 + 1.0
    return make_protocol(
        Geometry(Euclidean(dim=2), CENTER),
        loss,
        make_mechanism(mechanism, epsilon=epsilon, delta=delta, dim=2, bound=bound),
        geodesic_ball(CENTER, region_radius),
        radius=RadiusRule.fixed(0.3),
        gain=GainRule(0.5, 2.0, 0.6, np.inf) if gain is None else gain,
    )


def _mean_data(n, seed=0):
    """Points in the ball of data, so that the mean of the law is CENTER + (0.2, 0.1)."""
    rng = np.random.default_rng(seed)
    return CENTER + [0.2, 0.1] + rng.uniform(-0.5, 0.5, size=(n, 2)) * [1.0, 0.6]


@pytest.fixture
def mean_protocol():
    return _mean_protocol


@pytest.fixture
def mean_data():
    return _mean_data
