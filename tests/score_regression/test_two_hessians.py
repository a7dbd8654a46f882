"""Whether answers about curvature and scores tell of the same Hessian, and the warning if not."""

import math
import warnings

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from scipy import stats

from geomstats_ldp import PrivateHuberRegression, PrivateMEstimator
from geomstats_ldp.exceptions import LostCurvatureWarning
from geomstats_ldp.losses import Loss, register_loss
from geomstats_ldp.score_regression.two_hessians import lost_share

#: P(|normal| > 5) = 6e-7.
MAX_Z = 5.0


def draws(rng, n, k, lost, covariances):
    """Pairs of estimates of one vector, of which the second misses a share."""
    truth = np.linspace(1.0, 2.0, k)
    roots = [np.linalg.cholesky(covariance) for covariance in covariances]
    for _ in range(n):
        whole = truth + roots[0] @ rng.normal(size=k)
        less = (1 - lost) * truth + roots[1] @ rng.normal(size=k)
        yield (whole, covariances[0]), (less, covariances[1])


def covariances_of(rng, k):
    roots = rng.normal(size=(2, k, k)) * [[[0.02]], [[0.01]]]
    return [root @ root.T + 1e-5 * np.eye(k) for root in roots]


def test_the_share_is_standard_normal_under_agreement():
    rng, n, k = np.random.default_rng(0), 4000, 6
    found = [lost_share(*pair) for pair in draws(rng, n, k, 0.0, covariances_of(rng, k))]
    z = np.array([share / error for share, error in found])
    assert abs(z.mean()) < MAX_Z / math.sqrt(n)
    assert abs(z.std() - 1) < MAX_Z / math.sqrt(2 * n)
    for level in (0.05, 0.5, 0.95):
        spread = math.sqrt(level * (1 - level) / n)
        assert abs(np.mean(z < stats.norm.ppf(level)) - level) < MAX_Z * spread


def test_the_share_is_what_is_missing():
    # Without noise to speak of: D = lost * K, relative to the mean that both tell.
    k = np.array([1.0, 0.5, 2.0])
    tiny, large = 1e-12 * np.eye(3), 1e-4 * np.eye(3)
    share, error = lost_share((k, tiny), (0.7 * k, large))
    assert share == pytest.approx(0.3, rel=1e-6)
    assert error == pytest.approx(1e-2 / np.linalg.norm(k), rel=1e-6)


@register_loss
class SharpHuber(Loss):
    """Huber's loss of rows with their target last, with a sharp kink."""

    name, scale = "sharp_huber", 0.1

    def check_space(self, geometry):
        pass

    def data_shape(self, geometry):
        return (geometry.dim + 1,)

    def clip(self, geometry, data):
        rows, targets = data[..., :-1], np.clip(data[..., -1:], -6.0, 6.0)
        lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
        return np.concatenate([rows / np.maximum(lengths / 3.0, 1.0), targets], axis=-1)

    def value(self, geometry, point, data):
        size = np.abs(data[..., :-1] @ point - data[..., -1])
        inner = np.minimum(size, self.scale)
        return inner * (size - inner / 2)

    def score(self, geometry, point, data):
        residual = data[..., :-1] @ point - data[..., -1]
        return np.clip(residual, -self.scale, self.scale)[..., None] * data[..., :-1]

    def score_bound(self, geometry, query_region):
        return 3.0 * self.scale

    def hessian_bound(self, geometry, query_region):
        return 9.0

    def to_spec(self):
        return {"name": self.name}


def people(n, seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 2))
    return features, features @ [0.8, -0.5] + rng.standard_t(3, size=n)


def warned(estimator):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.confidence_region(kind="score")
    return [w for w in caught if w.category is LostCurvatureWarning]


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_a_sharp_kink_is_said():
    features, targets = people(20_000, 1)
    sharp = PrivateMEstimator(
        Euclidean(2), SharpHuber(), epsilon=6.0, n_rounds=8, random_state=0, initial_point=[0, 0]
    ).fit(np.column_stack([features, targets]))
    share, error = sharp.server_.curvature_lost()
    assert share > 1 / 3 + 5 * error
    [warning] = warned(sharp)
    assert "asks_curvature = False" in str(warning.message)


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_nothing_is_said_where_both_agree():
    huber = PrivateHuberRegression(1.5, 3.0, epsilon=6.0, random_state=0)
    huber.fit(*people(20_000, 2))
    share, error = huber.server_.curvature_lost()
    assert abs(share) < 1 / 3 and error < 0.5
    assert not warned(huber)
    no_curvature = PrivateHuberRegression(1.5, 3.0, epsilon=6.0, random_state=0, n_rounds=4)
    assert no_curvature.fit(*people(4000, 3)).server_.curvature_lost() is None
