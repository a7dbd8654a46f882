"""Losses of regressions: targets by independent programs, bounds that are attained, clipping."""

import math

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import (
    HuberRegressionLoss,
    LinearRegressionLoss,
    LogisticRegressionLoss,
)

GEOMETRY = Geometry(Euclidean(3), np.zeros(3))
COMMON = {"feature_bound": 2.0, "intercept": 0.5}
LOSSES = {
    "linear": LinearRegressionLoss(**COMMON, target_bound=3.0),
    "logistic": LogisticRegressionLoss(**COMMON),
    "huber": HuberRegressionLoss(**COMMON, scale=0.7),
}


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 2))
    targets = 0.4 + features @ [0.8, -0.5] + rng.standard_t(3, size=400)
    return np.column_stack([features, targets])


def minimiser(loss, data):
    """Minimum of the mean value, which needs none of the scores."""
    mean = lambda point: loss.value(GEOMETRY, point, data).mean()  # noqa: E731
    options = {"xatol": 1e-9, "fatol": 1e-14, "maxiter": 10_000}
    return minimize(mean, np.zeros(3), method="Nelder-Mead", options=options).x


@pytest.mark.parametrize("name", LOSSES)
def test_the_mean_score_vanishes_where_the_mean_value_is_least(name, rows):
    loss = LOSSES[name]
    data = rows.copy()
    if name == "logistic":
        data[:, -1] = data[:, -1] > 0
    data = loss.clip(GEOMETRY, data)
    score = loss.score(GEOMETRY, minimiser(loss, data), data).mean(axis=0)
    assert np.abs(score).max() < 1e-5


def test_the_logistic_target_is_that_of_scikit_learn(rows):
    loss, data = LOSSES["logistic"], rows.copy()
    data[:, -1] = data[:, -1] > 0
    data = loss.clip(GEOMETRY, data)
    model = LogisticRegression(C=1e10, tol=1e-10).fit(data[:, :2], data[:, 2])
    point = np.append(model.intercept_ / loss.intercept, model.coef_)
    assert np.abs(loss.score(GEOMETRY, point, data).mean(axis=0)).max() < 1e-6


def test_the_linear_target_is_least_squares(rows):
    loss = LOSSES["linear"]
    data = loss.clip(GEOMETRY, rows)
    design = np.column_stack([np.full(len(data), loss.intercept), data[:, :2]])
    point = np.linalg.lstsq(design, data[:, 2], rcond=None)[0]
    assert np.abs(loss.score(GEOMETRY, point, data).mean(axis=0)).max() < 1e-12


@pytest.mark.parametrize("name", LOSSES)
def test_the_score_bound_is_attained(name):
    """By a row at the bound whose predictor and target lie at opposite ends."""
    loss, region = LOSSES[name], geodesic_ball(np.zeros(3), 40.0)
    z = np.array([0.5, 2.0, 0.0])
    point = 40.0 * z / np.linalg.norm(z)
    [datum] = loss.clip(GEOMETRY, np.array([[4.0, 0.0, -1e6]]))
    score = loss.score(GEOMETRY, point, datum)
    assert np.linalg.norm(score) == pytest.approx(loss.score_bound(GEOMETRY, region), rel=1e-12)
    assert loss.row_bound == math.hypot(0.5, 2.0)


def test_scores_of_extreme_data_are_numbers():
    data = np.array([[1e300, -1e300, 1e300], [0.0, 0.0, -1e300]])
    for loss in LOSSES.values():
        clipped = loss.clip(GEOMETRY, data)
        assert np.isfinite(loss.score(GEOMETRY, np.full(3, 1e3), clipped)).all()
        assert np.isfinite(loss.value(GEOMETRY, np.full(3, 1e3), clipped)).all()


def test_spaces_without_room_for_a_feature_are_refused():
    line = Geometry(Euclidean(1), np.zeros(1))
    LogisticRegressionLoss(feature_bound=1.0, intercept=0.0).check_space(line)
    with pytest.raises(ProtocolError, match="needs dimension 2"):
        LogisticRegressionLoss(feature_bound=1.0, intercept=1.0).check_space(line)
    sphere = Geometry(space_from_spec({"name": "Hypersphere", "dim": 2}), [0.0, 0.0, 1.0])
    with pytest.raises(ProtocolError, match="needs Euclidean space"):
        LOSSES["huber"].check_space(sphere)


def test_a_logistic_score_saturates_as_fast_as_its_loss_says():
    """Twice the typical rate at probability one half, for a row at the bound between all axes.

    Such a row has predictors of h |z| / d^(1/2) where a query is h along one axis.
    """
    loss, h = LogisticRegressionLoss(feature_bound=2.0, intercept=math.sqrt(2)), 0.1
    row = np.array([math.sqrt(2), math.sqrt(2), 0.5])
    point = np.array([0.0, h, 0.0])
    scores = [loss.score(GEOMETRY, sign * point, row)[1] for sign in (1, -1)]
    secant = (scores[0] - scores[1]) / (2 * h)
    rate = (2.0 * 0.25 / secant - 1) / h**2
    assert rate == pytest.approx(2 * loss.saturation(GEOMETRY), rel=0.01)
    assert LOSSES["huber"].saturation(GEOMETRY) == 0
