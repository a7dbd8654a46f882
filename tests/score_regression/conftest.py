"""Regressions whose rounds ask for curvature, and people who answer them."""

import numpy as np
import pytest
from sklearn.base import clone

from geomstats_ldp import (
    PrivateHuberRegression,
    PrivateLinearRegression,
    PrivateLogisticRegression,
)
from geomstats_ldp.emulation_in_rounds import emulate_in_rounds
from geomstats_ldp.server import RoundServer


@pytest.fixture(scope="session")
def regressions():
    """Estimators by name."""
    return {
        "logistic": PrivateLogisticRegression(2.0, classes=(0, 1)),
        "huber": PrivateHuberRegression(1.5, 2.0),
        "linear": PrivateLinearRegression(2.0, target_bound=3.0),
    }


@pytest.fixture(scope="session")
def people():
    """``people(n, name, seed)`` draws features and targets."""

    def draw(n, name="logistic", seed=0):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2))
        X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
        X *= np.minimum(1, 2.0 / np.linalg.norm(X, axis=1))[:, None]
        predictor = X @ [0.8, -0.5] - 0.3
        if name == "logistic":
            return X, (rng.uniform(size=n) < 1 / (1 + np.exp(-predictor))) * 1.0
        return X, np.clip(predictor + 0.7 * rng.standard_t(3, size=n), -3, 3)

    return draw


@pytest.fixture(scope="session")
def protocol_of(regressions):
    """``protocol_of(name, n)`` is the protocol of a regression of n people."""

    def make(name, n, epsilon=8.0, **options):
        model = clone(regressions[name])
        model.set_params(epsilon=epsilon, n_participants=n, random_state=1, **options)
        return model.start(2).protocol_

    return make


@pytest.fixture(scope="session")
def collected(people):
    """``collected(protocol, name, n, seed)`` is a server that has all answers."""

    def collect(protocol, name, n, seed=0):
        server = RoundServer(protocol, keep_messages=True)
        emulate_in_rounds(server, np.column_stack(people(n, name, seed)), random_state=seed)
        return server

    return collect
