"""Collections in rounds under inference rules of the user's."""

import numpy as np
import pytest

from geomstats_ldp import PrivateVMFLocation, Tuning
from geomstats_ldp.protocol import InferenceRule


@pytest.mark.parametrize("rule", [InferenceRule(hessian="raw"), InferenceRule.paper()])
def test_directions_have_a_scalar_hessian_under_any_rule(rule):
    X = np.random.default_rng(0).normal([1.0, 0.5, 0.0], 0.4, size=(2000, 3))
    tuning = Tuning(inference=rule)
    location = PrivateVMFLocation(epsilon=8.0, random_state=0, n_rounds=4, tuning=tuning).fit(X)
    assert location.hessian_ == pytest.approx(location.hessian_[0, 0] * np.eye(2))
    resultant = np.linalg.norm((X / np.linalg.norm(X, axis=1, keepdims=True)).mean(axis=0))
    # At an angle a from the centre the Hessian adds sin(a) times itself to the mean message.
    reach = np.sin(np.arctan(location.protocol_.radius.maximum))
    sd = np.sqrt(location.score_covariance_[0, 0] / len(X)) / reach
    assert location.hessian_[0, 0] == pytest.approx(resultant, abs=4 * sd)
