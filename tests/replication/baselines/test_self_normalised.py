"""Self-normalised SGD against its definition in plain numpy, and the law of its pivot."""

import numpy as np
import pytest
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp import PrivateFrechetMean
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.replication.baselines import SelfNormalisedSGD
from geomstats_ldp.replication.baselines.self_normalised import CRITICAL_VALUES


def test_it_is_the_average_and_the_scaling_by_definition(mean_protocol, mean_data):
    """Without noise: the scores are x - y, and the whole path can be kept."""
    protocol, data = mean_protocol(), mean_data(500)
    fits = [
        SelfNormalisedSGD(protocol, 0.7, 0.6, engine=e).fit(data) for e in ("auto", "geomstats")
    ]
    point, path = np.array(protocol.initial_point), []
    for t, y in enumerate(data, start=1):
        point = point - 0.7 * t**-0.6 * (point - y)
        path.append(point)
    averages = np.cumsum(path, axis=0) / np.arange(1, 501)[:, None]
    away = np.arange(1, 501)[:, None] * (averages - averages[-1])
    for fitted in fits:
        assert np.allclose(fitted.estimate_, averages[-1], rtol=1e-12)
        assert np.allclose(fitted.scaling_, away.T @ away / 500**2, rtol=1e-8)
        center = fitted.interval(0.95).mean(axis=1)
        assert np.allclose(center, fitted.estimate_) and fitted.n_participants_ == 500
        width = np.diff(fitted.interval(0.95), axis=1)[:, 0] / 2
        assert np.allclose(width, 6.747 * np.sqrt(np.diag(fitted.scaling_) / 500))


def test_the_critical_values_are_those_of_the_pivot():
    """20,000 random walks of 400 steps: shares within four standard errors, and the grid."""
    walks = np.random.default_rng(0).normal(size=(20_000, 400)).cumsum(axis=1) / 20
    bridges = walks - walks[:, -1:] * np.arange(1, 401) / 400
    pivots = np.abs(walks[:, -1]) / np.sqrt(np.mean(bridges**2, axis=1))
    for level, value in CRITICAL_VALUES.items():
        error = 4 * np.sqrt(level * (1 - level) / 20_000) + 0.002
        assert abs(np.mean(pivots < value) - level) < error


def test_what_it_does_not_take_is_refused(mean_protocol, mean_data):
    sphere = PrivateFrechetMean(Hypersphere(2), initial_point=[0.0, 0.0, 1.0]).start().protocol_
    with pytest.raises(ProtocolError, match="Euclidean"):
        SelfNormalisedSGD(sphere).fit(np.eye(3))
    with pytest.raises(ProtocolError, match="exponent"):
        SelfNormalisedSGD(mean_protocol(), exponent=0.5).fit(mean_data(5))
    with pytest.raises(ProtocolError, match="level must be one of"):
        SelfNormalisedSGD(mean_protocol()).fit(mean_data(5)).interval(0.93)


@pytest.mark.slow
def test_intervals_cover_where_the_gradient_is_linear(mean_protocol, mean_data):
    """300 runs, 600 intervals of two nearly independent coordinates: four errors are 0.044."""
    protocol, target = mean_protocol(epsilon=4.0), np.array([0.5, -0.1])
    covered = []
    for seed in range(300):
        fitted = SelfNormalisedSGD(protocol, 1.0, random_state=seed).fit(mean_data(10_000, seed))
        low, high = fitted.interval(0.95).T
        covered += [*((low < target) & (target < high))]
    assert abs(np.mean(covered) - 0.95) < 0.044
