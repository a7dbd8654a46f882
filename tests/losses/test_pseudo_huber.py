"""The pseudo-Huber loss: its bounds and Hessians."""

import math

import numpy as np
import pytest

from geomstats_ldp.losses import PseudoHuberLoss, TransformedFrechetLoss, register_transform


def huber(setting, scale, data_radius=0.5):
    return PseudoHuberLoss(center=setting.center, data_radius=data_radius, scale=scale)


@pytest.mark.parametrize("scale", [1e-3, 0.3, 1.0, 1e6])
def test_score_bound_is_below_the_scale_and_the_distance(setting, scale):
    bound = huber(setting, scale).score_bound(setting.geometry, setting.region)
    reach = 0.3 + 0.4 + 0.5
    assert bound == pytest.approx(reach / math.sqrt(1 + (reach / scale) ** 2), rel=1e-9)
    assert bound < scale
    assert bound < reach * (1 + 1e-9)


def formula(setting, loss, point, data):
    """Population Hessian of section S.1.2 at constant curvature."""
    geometry = setting.geometry
    total = np.zeros((geometry.dim, geometry.dim))
    for log in geometry.coordinates(geometry.log(data, point), point):
        length = np.linalg.norm(log)
        across = {1.0: length / math.tan(length), 0.0: 1.0, -1.0: length / math.tanh(length)}
        along = np.outer(log, log) / length**2
        rest = np.eye(geometry.dim) - along
        weight = (1 + (length / loss.scale) ** 2) ** -0.5
        squared = along + across[geometry.curvature[0]] * rest
        total += weight * squared - weight**3 / loss.scale**2 * np.outer(log, log)
    return total / len(data)


@pytest.mark.parametrize(
    "key", ["sphere1", "sphere2", "sphere5", "euclidean", "hyperboloid2", "hyperboloid4", "log2"]
)
def test_population_hessian_is_that_of_the_paper(key, setting_of, hessian):
    setting = setting_of(key)
    loss = huber(setting, 0.4, data_radius=0.9)
    data = setting.around(setting.center, np.linspace(0.1, 0.9, 15))
    for point in setting.queries()[:2]:
        expected = formula(setting, loss, point, data)
        actual = hessian(setting, loss, point, data)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("scale", [0.2, 1.0, 5.0])
@pytest.mark.parametrize("data_radius", [0.5, 3.0, 20.0])
def test_hessian_bound_covers_every_distance(setting_of, scale, data_radius):
    """On the hyperbolic plane the eigenvalue across is s coth(s) (1 + s^2 / rho^2)^(-1/2)."""
    setting = setting_of("hyperboloid2")
    bound = huber(setting, scale, data_radius).hessian_bound(setting.geometry, setting.region)
    s = np.linspace(1e-6, 0.7 + data_radius, 10001)
    largest = np.max(s / np.tanh(s) / np.hypot(1, s / scale))
    assert largest <= bound <= 1.7 * largest
    assert bound <= math.hypot(1, scale)


def test_value_keeps_its_digits_close_to_the_datum(setting_of):
    setting = setting_of("euclidean")
    loss = huber(setting, 1.0)
    datum = setting.center + np.array([1e-7, 0.0, 0.0])
    distance = np.linalg.norm(datum - setting.center)
    value = loss.value(setting.geometry, setting.center, datum)
    assert value == pytest.approx(distance**2 / 2, rel=1e-12)


def test_large_scale_is_the_squared_distance(setting):
    loss = huber(setting, 1e8)
    data = setting.around(setting.center, [0.1, 0.3, 0.5])
    point = setting.queries()[2]
    score = loss.score(setting.geometry, point, data)
    np.testing.assert_allclose(score, -setting.geometry.log(data, point), rtol=0, atol=1e-13)


@pytest.mark.parametrize("key", ["euclidean", "hyperboloid2", "sphere2"])
def test_the_typical_hessian_of_small_scales_is_that_of_spread_data(key, setting_of, hessian):
    """Otherwise the default of the package holds, and both agree where they meet."""
    setting = setting_of(key)
    data = setting.around(setting.center, np.linspace(0.05, 0.6, 40))
    for scale in (0.01, 0.03):
        loss = huber(setting, scale, data_radius=0.8)
        typical = loss.typical_hessian(setting.geometry, setting.region)
        actual = np.linalg.eigvalsh(hessian(setting, loss, setting.center, data))
        assert typical / 4 < actual.mean() < 4 * typical
        assert loss.bending_length == 0.1
    at_the_edge = huber(setting, 0.1, data_radius=0.8 + 1e-9)
    assert at_the_edge.typical_hessian(setting.geometry, setting.region) == pytest.approx(0.2)
    assert huber(setting, 0.1, 0.8).typical_hessian(setting.geometry, setting.region) is None


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_bad_scales_are_refused(scale):
    with pytest.raises(ValueError, match="scale"):
        PseudoHuberLoss(center=[0.0], data_radius=1.0, scale=scale)


def test_it_is_a_transform_that_passes_the_examination_at_any_distance(setting):
    built_in = huber(setting, 0.4, data_radius=1.0)
    functions = (built_in.psi, built_in.psi_prime, built_in.psi_second)
    register_transform("pseudo-Huber 0.4", *functions)
    loss = TransformedFrechetLoss(
        center=setting.center, data_radius=1.0, transform="pseudo-Huber 0.4"
    )
    loss.check_transform(1e4)
    geometry, region = setting.geometry, setting.region
    assert loss.score_bound(geometry, region) == pytest.approx(
        built_in.score_bound(geometry, region), rel=1e-12
    )
    bound = loss.hessian_bound(geometry, region)
    assert bound <= built_in.hessian_bound(geometry, region) * (1 + 1e-12)
    data, point = setting.around(setting.center, [0.1, 0.9]), setting.queries()[2]
    np.testing.assert_allclose(
        loss.score(geometry, point, data), built_in.score(geometry, point, data), atol=1e-14
    )
