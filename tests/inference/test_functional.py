"""Intervals of functions of the parameter: their range, their unit, and functions with a kink."""

import math
import warnings

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.spd_matrices import SPDMatrices
from scipy import stats

from geomstats_ldp import PrivateFrechetMean
from geomstats_ldp.exceptions import ProtocolError, SmoothnessWarning
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.inference.functional import smooth_functional

Z = stats.norm.ppf(0.975)


def on_line(h, center=0.3, sd=0.1, **options):
    geometry = Geometry(Euclidean(1), np.zeros(1))
    return smooth_functional(h, geometry, np.array([center]), np.array([[sd**2]]), **options)


def first(point):
    return point[0]


# ------------------------------------------------------------------------ transforms


def test_the_logarithm_gives_the_interval_of_the_logarithm():
    interval = on_line(first, transform="log").interval(0.95)[0]
    expected = 0.3 * np.exp(Z * 0.1 / 0.3 * np.array([-1.0, 1.0]))
    np.testing.assert_allclose(interval, expected, rtol=1e-8)


def test_the_logit_gives_the_interval_of_the_logit():
    interval = on_line(first, transform="logit").interval(0.95)[0]
    odds = 0.3 / 0.7 * np.exp(Z * 0.1 / (0.3 * 0.7) * np.array([-1.0, 1.0]))
    np.testing.assert_allclose(interval, odds / (1 + odds), rtol=1e-8)


@pytest.mark.parametrize("center", [1e-6, 0.01, 0.99, 1 - 1e-6])
def test_intervals_stay_in_the_range(center):
    low, high = on_line(first, center, transform="logit").interval(0.999)[0]
    assert 0.0 <= low < center < high <= 1.0
    assert on_line(first, center, transform="log").interval(0.999)[0, 0] >= 0.0
    plain = on_line(first, center).interval(0.999)[0]
    assert plain[0] < 0.0 or plain[1] > 1.0


def test_a_pair_gives_what_its_name_gives():
    for pair, name in (
        ((np.log, np.exp), "log"),
        ((lambda v: -np.log(v), lambda v: np.exp(-v)), "log"),
    ):
        np.testing.assert_allclose(
            on_line(first, transform=pair).interval(0.9),
            on_line(first, transform=name).interval(0.9),
            rtol=1e-6,
        )


@pytest.mark.parametrize("transform", [None, "log", "logit", (np.arctanh, np.tanh)])
def test_interval_and_test_agree(transform):
    """The ends are where the p-value is five per cent."""
    functional = on_line(first, transform=transform)
    for end in functional.interval(0.95)[0]:
        assert functional.pvalue(end) == pytest.approx(0.05, rel=1e-6)
    assert functional.contains(0.3) and functional.statistic(0.3) == 0.0


def test_a_value_out_of_the_range_is_refuted():
    functional = on_line(first, transform="log")
    assert functional.statistic(-0.1) == math.inf and functional.pvalue(-0.1) == 0.0
    assert not functional.contains(0.0)


@pytest.mark.parametrize(
    ("transform", "match"),
    [
        ("sqrt", "transform must be one of"),
        (np.log, "transform must be one of"),
        ((np.log,), "pair of functions"),
        ((np.log, "exp"), "pair of functions"),
        ((np.log, np.exp2), "the inverse is another"),
        ((lambda v: 0 * v, lambda v: v), "with a slope"),
    ],
)
def test_what_is_no_transform_is_named(transform, match):
    with pytest.raises(ProtocolError, match=match):
        on_line(first, transform=transform)


@pytest.mark.parametrize("center", [-0.2, 0.0, 1.0, 1.5])
def test_an_estimate_out_of_the_range_is_named(center):
    with pytest.raises(ProtocolError, match="transform must be defined at the estimate of h"):
        on_line(first, center, transform="logit")


def anisotropy(matrix):
    """Fractional anisotropy, between 0 and 1."""
    values = np.linalg.eigvalsh(matrix)
    return math.sqrt(1.5) * np.linalg.norm(values - values.mean()) / np.linalg.norm(values)


@pytest.mark.slow
def test_the_interval_of_an_anisotropy_stays_between_zero_and_one():
    rng = np.random.default_rng(0)
    axes = rng.normal(size=(3000, 3, 3)) * 0.35
    logs = (axes + np.swapaxes(axes, 1, 2)) / 2 + np.diag([0.25, 0.0, -0.1])
    values, vectors = np.linalg.eigh(logs)
    X = (vectors * np.exp(values)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    mean = PrivateFrechetMean(SPDMatrices(3), epsilon=2.0, n_rounds=5, random_state=1).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        low, high = mean.functional(anisotropy, transform="logit").interval(0.95)[0]
        plain = mean.functional(anisotropy).interval(0.95)[0]
    assert 0.0 < low < high < 1.0
    assert plain[0] < low


# ------------------------------------------------------------------------ units


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("sd", [1e-7, 1e-3, 0.3])
def test_derivatives_do_not_depend_on_the_unit(unit, sd):
    """Steps of 1e-5 in the unit of the data went far past small data, and drowned beside large."""

    def h(point):
        return np.sin(point[0] / unit) * np.exp(point[1] / unit)

    geometry = Geometry(Euclidean(2), np.zeros(2))
    center = unit * np.array([0.7, 0.2])
    functional = smooth_functional(h, geometry, center, (sd * unit) ** 2 * np.eye(2))
    exact = np.exp(0.2) * np.array([np.cos(0.7), np.sin(0.7)]) / unit
    np.testing.assert_allclose(functional.jacobian[0], exact, rtol=1e-5)


def test_a_small_uncertainty_far_from_the_origin():
    """Where the spread is below the digits of the point, a derivative is still one."""
    geometry = Geometry(Euclidean(1), np.zeros(1))
    center, covariance = np.array([1e8]), np.array([[1e-20]])
    functional = smooth_functional(lambda x: x[0] ** 2, geometry, center, covariance)
    np.testing.assert_allclose(functional.jacobian, [[2e8]], rtol=1e-6)


# ------------------------------------------------------------------------ kinks


def told(h, center, sd=0.1):
    return float(on_line(h, center, sd).bend[0]) > 0.5


@pytest.mark.parametrize("center", [0.0, 0.02, -0.05])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_kink_within_the_uncertainty_is_seen(center, unit):
    assert told(lambda x: abs(x[0]), center * unit, 0.1 * unit)
    assert told(lambda x: x[0] ** 2, center * unit, 0.1 * unit)


@pytest.mark.parametrize("h", [first, lambda x: 2.0, lambda x: math.exp(x[0]), lambda x: x[0] ** 3])
def test_smooth_functions_are_not_told_of(h):
    assert not told(h, 1.0)


def test_a_kink_past_the_uncertainty_is_none():
    assert not told(lambda x: abs(x[0]), 0.3)


def test_a_function_without_values_close_by_is_told_of():
    assert on_line(lambda x: math.log(x[0]), 0.05, 0.1).bend[0] == math.inf


def test_constant_components_are_not_told_of():
    functional = on_line(lambda x: [x[0], np.sin(x[0]) ** 2 + np.cos(x[0]) ** 2], 0.7)
    assert np.all(functional.bend < 1e-3)


def test_the_estimator_says_that_a_function_has_a_kink():
    X = np.random.default_rng(0).normal(0.2, 0.1, size=(400, 3))
    mean = PrivateFrechetMean(epsilon=8.0, n_rounds=3, random_state=0).fit(X)
    here = mean.estimate_

    def distance(point):
        return np.linalg.norm(point - here)

    with pytest.warns(SmoothnessWarning, match="a kink or a stationary point") as caught:
        mean.functional(distance)
    assert [one.filename for one in caught if one.category is SmoothnessWarning] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error", SmoothnessWarning)
        mean.functional(first)
        mean.functional(lambda point: np.linalg.norm(point + 3.0))
