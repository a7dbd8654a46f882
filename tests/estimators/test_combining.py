"""One estimate from collections with privacy regimes of their own."""

import copy

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivateLinearRegression,
    PrivatePCA,
    PrivateVMFLocation,
    combine,
    compare,
)
from geomstats_ldp.exceptions import (
    ArgumentTypeError,
    ClippingWarning,
    NotReadyError,
    ProtocolError,
)

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")


def fit_mean(rows, radius, seed, **options):
    options = {"epsilon": 4.0, "n_rounds": 1} | options
    return PrivateFrechetMean(data_radius=radius, random_state=seed, **options).fit(rows)


@pytest.fixture(scope="module")
def parts():
    rows = np.random.default_rng(0).uniform(-0.3, 0.5, size=(3000, 2))
    return fit_mean(rows[:1000], 3.0, 0, epsilon=1.0), fit_mean(rows[1000:], 1.0, 1)


def test_flat_estimates_are_weighted_by_the_inverses_of_their_covariances(parts):
    precisions = [np.linalg.inv(part.covariance_) for part in parts]
    covariance = np.linalg.inv(sum(precisions))
    region = combine(*parts, level=0.9)
    pulled = sum(p @ part.estimate_ for p, part in zip(precisions, parts))
    np.testing.assert_allclose(region.center, covariance @ pulled, rtol=1e-9)
    np.testing.assert_allclose(region.covariance, covariance, rtol=1e-9)
    away = region.center + 0.02
    statistic = (away - region.center) @ np.linalg.solve(covariance, away - region.center)
    assert region.pvalue(away) == pytest.approx(stats.chi2.sf(statistic, 2))
    assert region.level == 0.9


def test_a_moment_bound_adds_the_squares_of_the_biases(parts):
    bound = (4, 0.2)
    sizes = [one.confidence_region(moment_bound=bound).calibration.noncentrality for one in parts]
    region = combine(*parts, moment_bound=bound)
    assert region.calibration.noncentrality == pytest.approx(sum(sizes))
    assert sizes[1] > sizes[0] > 0  # the shorter radius cuts more
    assert region.largest_radius > combine(*parts).largest_radius


def test_that_is_the_most_that_biases_can_do():
    """|C^(1/2) sum C_j^-1 b_j|^2 over biases of given sizes, for covariances at random."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        roots = rng.normal(size=(3, 2, 4, 4))
        covariances = [root @ root.T for root in roots[:, 0]]
        biases = rng.normal(size=(3, 4))
        inverses = [np.linalg.inv(c) for c in covariances]
        pulled = sum(inverse @ bias for inverse, bias in zip(inverses, biases))
        combined = pulled @ np.linalg.inv(sum(inverses)) @ pulled
        assert combined <= 1.000001 * sum(b @ i @ b for i, b in zip(inverses, biases))


def test_axes_take_the_sign_of_the_first():
    rows = np.random.default_rng(1).normal(size=(4000, 3)) * [1.0, 0.3, 0.3]
    options = {"epsilon": 8.0, "n_rounds": 3}
    first = PrivatePCA(norm_bound=3.0, initial_point=[1, 0.3, 0], random_state=0, **options)
    turned = PrivatePCA(norm_bound=2.0, initial_point=[-1, 0.3, 0], random_state=1, **options)
    first.fit(rows[:2000]), turned.fit(rows[2000:])
    region = combine(first, turned)
    assert region.center @ first.estimate_ > 0.95 and turned.estimate_ @ first.estimate_ < -0.95
    parts = (first.confidence_region(), turned.confidence_region())
    assert region.largest_radius < min(part.largest_radius for part in parts)
    with pytest.raises(ProtocolError, match="loss"):
        compare(first, turned)  # whose parameters might differ by their bounds


def test_bounds_that_cut_data_differently_are_told():
    rows = np.random.default_rng(2).choice([[-0.2, 0.0], [2.0, 0.0]], size=4000, p=[0.9, 0.1])
    both = fit_mean(rows[:2000], 2.5, 0), fit_mean(rows[2000:], 0.5, 1)
    with pytest.warns(ClippingWarning, match="differ by more than chance"):
        combine(*both)


def test_what_cannot_be_combined_is_refused(parts):
    with pytest.raises(ArgumentTypeError, match="argument 1 must be an estimator"):
        combine(parts[0], 3)
    with pytest.raises(NotReadyError, match="argument 1 must be fitted"):
        combine(parts[0], PrivateFrechetMean())
    with pytest.raises(ProtocolError, match="level"):
        combine(*parts, level=2.0)
    rows = np.random.default_rng(0).normal([1.0, 0.0, 0.0], 0.1, size=(200, 3))
    other = PrivateVMFLocation(initial_point=[1, 0, 0], n_rounds=1, random_state=3).fit(rows)
    with pytest.raises(ProtocolError, match="must have the space"):
        combine(parts[0], other)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_regressions_may_have_bounds_of_their_own(fit_intercept):
    """Their intercepts are in the unit of each bound inside; coefficients are the user's."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = fit_intercept + X @ [0.5, -0.3] + 0.2 * rng.normal(size=4000)
    options = {"epsilon": 8.0, "n_rounds": 4, "fit_intercept": fit_intercept}
    models = [PrivateLinearRegression(b, 3.0, random_state=int(b), **options) for b in (2.0, 3.0)]
    parts = models[0].fit(X[:2000], y[:2000]), models[1].fit(X[2000:], y[2000:])
    region = combine(*parts)
    precisions = [np.linalg.inv(part.covariance_) for part in parts]
    pulled = sum(p @ part.estimate_ for p, part in zip(precisions, parts))
    np.testing.assert_allclose(region.center, np.linalg.solve(sum(precisions), pulled), rtol=1e-9)
    with pytest.raises(ProtocolError, match=r"must have the loss .*'feature_bound': 2.0"):
        compare(*parts)


def test_scales_are_part_of_the_target():
    rows = np.random.default_rng(0).normal(size=(400, 2))
    both = [
        fit_mean(rows[200 * place :][:200], 3.0, place, loss="pseudo_huber", scale=scale)
        for place, scale in enumerate((0.5, 1.0))
    ]
    with pytest.raises(ProtocolError, match=r"loss of the first one, .*{'scale': 0.5}; got {'scal"):
        combine(*both)


def test_nobody_is_counted_twice(parts, tmp_path):
    first = parts[0]
    first.save_state(tmp_path / "first.npz")
    loaded = clone(first).load_state(tmp_path / "first.npz")
    for again in (first, copy.deepcopy(first), loaded):
        with pytest.raises(ProtocolError, match="arguments 0 and 2 must be collections from diff"):
            combine(first, parts[1], again)


@pytest.mark.slow
def test_combined_regions_cover_what_a_later_regime_depends_on():
    """The second protocol starts where the first has ended; at three Monte Carlo errors."""
    covered, target, n = [], np.array([0.2, -0.1]), 1500
    for seed in range(600):
        rng = np.random.default_rng(seed)
        rows = target + rng.uniform(-0.4, 0.4, size=(n, 2))
        first = fit_mean(rows[: n // 3], 3.0, 2 * seed)
        second = fit_mean(rows[n // 3 :], 1.0, 2 * seed + 1, initial_point=first.estimate_)
        covered.append(combine(first, second).contains(target))
    assert abs(np.mean(covered) - 0.95) < 0.01 + 3 * np.sqrt(0.95 * 0.05 / 600)
