"""Least squares in rounds: scores are linear at any distance, and bounded where queries are."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from geomstats_ldp import PrivateHuberRegression, PrivateLinearRegression, Tuning
from geomstats_ldp.geometry import geodesic_ball
from geomstats_ldp.protocol.rules import RadiusRule

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")

#: Of two features in [-1, 1], and the longest row with its constant.
BOUND, TARGETS = 1.5, 3.0
ROW = np.hypot(BOUND, BOUND / np.sqrt(2))


def _people(rng, n, slopes=(0.5, -0.3)):
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.clip(0.2 + X @ slopes + 0.3 * rng.standard_t(4, size=n), -TARGETS, TARGETS)


def test_queries_reach_the_edge_of_the_region_and_no_farther():
    """Noise is that of the largest score, |z| (|z| R + C), with R = 2 C / |z| by default."""
    X, y = _people(np.random.default_rng(0), 4000, (2.5, -2.5))
    model = PrivateLinearRegression(BOUND, TARGETS, epsilon=4.0, random_state=0).fit(X, y)
    radius = 2 * TARGETS / ROW
    assert model.protocol_.mechanism.bound == pytest.approx(ROW * (ROW * radius + TARGETS))
    asked = np.concatenate([model.server_.points(number) for number in range(8)])
    longest = np.linalg.norm(asked, axis=1).max()
    assert 0.75 * radius * (1 + 1e-9) < longest <= radius * (1 + 1e-9)


def test_a_target_where_nobody_is_asked_is_found():
    """Centres stay a query radius inside the region; the estimate need not."""
    X, y = _people(np.random.default_rng(1), 40_000, (1.2, -0.8))
    model = PrivateLinearRegression(
        BOUND, TARGETS, epsilon=np.inf, region_radius=2.0, random_state=0
    ).fit(X, y)
    centers = np.linalg.norm(model.server_.state.centers, axis=1)
    assert centers.max() == pytest.approx(0.5)
    assert np.linalg.norm(model.server_.estimate()) > 1.3
    batch, table = LinearRegression().fit(X, y), model.summary()
    errors = model.estimate_ - [batch.intercept_, *batch.coef_]
    assert np.abs(errors / table.standard_error).max() < 4
    assert np.abs(errors).max() < 0.05


def test_the_error_of_the_hessian_falls_with_the_radius():
    """Differences of 2 h between n / d people each: entries have the variance v d / (n h^2).

    Symmetric, off the diagonal half of it: e^2 = d (d + 1) / 2 times this.
    """
    X, y = _people(np.random.default_rng(2), 6000)
    for radius in (None, RadiusRule.fixed(0.5)):
        model = PrivateLinearRegression(
            BOUND,
            TARGETS,
            epsilon=4.0,
            n_rounds=1,
            random_state=0,
            tuning=Tuning(radius=radius),
        ).fit(X, y)
        fit, reach = model.server_.fit(), model.protocol_.reach
        assert reach == pytest.approx(0.5 if radius else 1.5 * TARGETS / ROW)
        variance = np.trace(fit.score_covariance) / 3
        expected = 6 * variance * 3 / (6000 * reach**2)
        assert fit.hessian_error == pytest.approx(expected, rel=0.01)


def test_other_choices_stay_with_whoever_makes_them():
    """A region or a radius of one's own, pairs, and losses that bend."""
    region = geodesic_ball(np.zeros(3), 4.0)
    mine = PrivateLinearRegression(BOUND, TARGETS, tuning=Tuning(working_region=region)).start(2)
    assert not mine.protocol_.working_region.holds_queries
    assert mine.protocol_.reach == pytest.approx(3.0)
    for model in (
        PrivateLinearRegression(BOUND, TARGETS, tuning=Tuning(radius=RadiusRule.fixed(0.5))),
        PrivateLinearRegression(BOUND, TARGETS, n_rounds=None),
        PrivateHuberRegression(0.4, BOUND),
    ):
        protocol = model.start(2).protocol_
        assert not protocol.working_region.holds_queries
        assert protocol.reach < 0.5 * protocol.working_region.radius


@pytest.mark.slow
def test_coverage_and_length_of_intervals_of_least_squares():
    """200 regions; four standard errors of a share are 0.062.

    Intervals are beside those of an oracle who asks everybody at the target, knows the Hessian
    there and uses the same mechanism: H^-1 (Sigma + tau^2 I) H^-1 / n.
    """
    truth, covered, errors = np.array([0.2, 0.5, -0.3]), [], []
    for seed in range(200):
        X, y = _people(np.random.default_rng([3, seed]), 60_000)
        model = PrivateLinearRegression(BOUND, TARGETS, epsilon=4.0, random_state=seed).fit(X, y)
        covered.append(model.confidence_region().contains(truth))
        errors.append(model.summary().standard_error)
    assert abs(np.mean(covered) - 0.95) < 0.062
    rows, scale = np.column_stack([np.ones(60_000), X]), BOUND / np.sqrt(2)  # of the intercept
    inverse = np.linalg.inv(rows.T @ rows / 60_000)
    noise = model.protocol_.mechanism.noise_variance * np.diag([1 / scale**2, 1, 1])
    residual = (rows @ truth - y)[:, None] * rows
    ideal = np.sqrt(np.diag(inverse @ (np.cov(residual.T) + noise) @ inverse) / 60_000)
    ratios = np.median(errors, axis=0) / ideal
    assert 1 < ratios.min() and ratios.max() < 1.15
