"""The squared Fréchet loss: closed forms of its bounds and Hessians."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import logm

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import GeodesicBall
from geomstats_ldp.losses import FrechetLoss
from geomstats_ldp.losses.radial import hessian_comparison, mean_hessian
from geomstats_ldp.testing import LossCase
from geomstats_ldp.testing.search import find_target


def frechet(setting, data_radius=0.5):
    return FrechetLoss(center=setting.center, data_radius=data_radius)


def test_score_bound_is_the_largest_distance(setting):
    loss = frechet(setting)
    bound = loss.score_bound(setting.geometry, setting.region)
    assert bound == pytest.approx(setting.between + 0.4 + 0.5, rel=1e-9)


def closed_form(setting, point, data):
    """Mean Hessian of d^2/2 at constant curvature: 1 along Log, d cot d or d coth d across."""
    geometry = setting.geometry
    total = np.zeros((geometry.dim, geometry.dim))
    for log in geometry.coordinates(geometry.log(data, point), point):
        length = np.linalg.norm(log)
        curvature = geometry.curvature[0]
        across = {1.0: length / math.tan(length), 0.0: 1.0, -1.0: length / math.tanh(length)}
        along = np.outer(log, log) / length**2
        total += along + across[curvature] * (np.eye(geometry.dim) - along)
    return total / len(data)


@pytest.mark.parametrize(
    "key", ["sphere1", "sphere2", "sphere5", "euclidean", "hyperboloid2", "hyperboloid4", "log2"]
)
def test_population_hessian_has_its_closed_form(key, setting_of, hessian):
    setting = setting_of(key)
    loss = frechet(setting, 0.9)
    data = setting.around(setting.center, np.linspace(0.1, 0.9, 15))
    for point in setting.queries()[:2]:
        expected = closed_form(setting, point, data)
        actual = hessian(setting, loss, point, data)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("key", ["hyperboloid2", "hyperboloid4", "affine2", "affine3"])
def test_hessian_bound_is_attained_at_lowest_curvature(key, setting_of, hessian):
    setting = setting_of(key)
    geometry = setting.geometry
    loss = frechet(setting)
    bound = loss.hessian_bound(geometry, setting.region)
    omega = 1.0 if key.startswith("hyper") else math.sqrt(0.5)
    scaled = 1.2 * omega  # D = 0.3 + 0.4 + 0.5
    assert bound == pytest.approx(scaled / math.tanh(scaled), rel=1e-9)
    if key.startswith("hyper"):
        query, datum = setting.farthest(0.5)
    else:
        # The plane of trace-free matrices of one 2 x 2 block has the lowest curvature, -1/2.
        query = np.eye(geometry.shape[0])
        tangent = np.zeros(geometry.shape)
        tangent[0, 0], tangent[1, 1] = 1.2 / math.sqrt(2), -1.2 / math.sqrt(2)
        datum = geometry.exp(tangent, query)
    largest = np.linalg.eigvalsh(hessian(setting, loss, query, datum[None]))[-1]
    assert largest == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize("key", ["sphere2", "euclidean", "log2"])
def test_hessian_bound_is_one_without_negative_curvature(key, setting_of):
    setting = setting_of(key)
    assert frechet(setting).hessian_bound(setting.geometry, setting.region) == 1.0


def test_comparison_is_one_at_distance_zero(setting):
    guard = setting.geometry
    np.testing.assert_allclose(hessian_comparison(guard, [0.0, 1e-300, 1e-9]), 1.0, rtol=1e-15)
    assert np.isfinite(hessian_comparison(guard, 1e6))


def test_unknown_curvature_asks_for_a_hessian_bound(setting_of, monkeypatch):
    setting = setting_of("hyperboloid2")
    monkeypatch.setattr(setting.geometry, "curvature", (-np.inf, np.inf), raising=False)
    with pytest.raises(ProtocolError, match="hessian_bound to make_protocol"):
        frechet(setting).hessian_bound(setting.geometry, setting.region)


@pytest.mark.parametrize("key", ["log2", "log3"])
def test_log_euclidean_mean(key, setting_of):
    """Score, target and bounds are those of the Frobenius geometry of matrix logarithms."""
    setting = setting_of(key)
    geometry, loss = setting.geometry, frechet(setting, 0.9)
    data = setting.around(setting.center, np.linspace(0.1, 0.9, 8))
    logs = np.array([logm(datum) for datum in data])
    point = setting.queries()[2]
    norms = geometry.norm(loss.score(geometry, point, data), point)
    expected = np.linalg.norm(logm(point) - logs, axis=(1, 2))
    np.testing.assert_allclose(norms, expected, atol=1e-9)
    values, vectors = np.linalg.eigh(logs.mean(axis=0))
    mean = (vectors * np.exp(values)) @ vectors.T
    score = loss.score(geometry, mean, data).mean(axis=0)
    np.testing.assert_allclose(score, 0.0, atol=1e-9)
    assert loss.hessian_bound(geometry, setting.region) == 1.0


def test_bound_counts_the_distance_of_the_centres(setting_of):
    setting = setting_of("euclidean")
    geometry = setting.geometry
    near, far = (
        FrechetLoss(center=c, data_radius=1.0).score_bound(geometry, GeodesicBall(np.zeros(3), 2.0))
        for c in (np.zeros(3), np.array([0.0, 3.0, 4.0]))
    )
    assert (near, far) == (3.0, 8.0)


# ------------------------------------------------------------------------ what curvature tells


@pytest.mark.parametrize("seed", range(3))
def test_the_hessian_at_a_mean_is_within_its_bounds(setting, hessian, seed):
    """Data at the edge of their ball, on one side of it or all round."""
    geometry, loss = setting.geometry, frechet(setting)
    region = GeodesicBall(setting.region.center, 0.8)  # holds the ball of data
    known = loss.target_hessian(geometry, region)
    data = setting.around(setting.center, [0.5] * 9, seed)[: (2, 5, 9)[seed]]
    case = LossCase(loss, geometry.space, region.center, region.radius, data)
    target = find_target(case, data)
    assert target is not None
    values = np.linalg.eigvalsh(hessian(setting, loss, target, data))
    assert known.low - 1e-6 <= values[0] <= values[-1] <= known.high + 1e-6  # finite differences


@pytest.mark.parametrize("key", ["sphere2", "sphere5", "hyperboloid2", "hyperboloid4", "log2"])
def test_bounds_at_a_mean_are_nearly_attained(key, setting_of, hessian):
    """Two opposite data at the edge of a ball about the centre of a small region."""
    setting, radius = setting_of(key), 0.9
    geometry, center = setting.geometry, setting.region.center
    loss, region = FrechetLoss(center=center, data_radius=radius), GeodesicBall(center, 1e-3)
    vector = radius * geometry.lift(np.eye(geometry.dim)[0], center)
    data = np.stack([geometry.exp(sign * vector, center) for sign in (1, -1)])
    known = loss.target_hessian(geometry, region)
    values = np.linalg.eigvalsh(hessian(setting, loss, center, data))
    assert values[-1] == pytest.approx(known.high, abs=1e-6)  # finite differences
    assert known.low - 1e-6 <= values[0] <= known.low + 2e-3


def test_bounds_at_a_mean_are_those_of_constant_curvature(setting_of):
    known = {}
    for key in ("sphere2", "euclidean", "hyperboloid2", "affine3"):
        setting = setting_of(key)
        known[key] = frechet(setting).target_hessian(setting.geometry, setting.region)
    # R = 0.3 + 0.5, D = R + 0.4
    chord = (1 - 1.2 / math.tan(1.2)) * (0.8 / 1.2) ** 2
    scaled = 0.8 * math.sqrt(0.5)
    assert known["sphere2"][:2] == pytest.approx((1 - chord, 1.0), rel=1e-9)
    assert known["euclidean"] == (1.0, 1.0, False, 0.0, None)
    assert known["hyperboloid2"][:2] == pytest.approx((1.0, 0.8 / math.tanh(0.8)), rel=1e-9)
    assert known["affine3"][:2] == pytest.approx((1.0, scaled / math.tanh(scaled)), rel=1e-9)


def test_bounds_at_a_mean_need_bounds_on_the_curvature():
    assert mean_hessian(SimpleNamespace(dim=2, curvature=(-1.0, math.inf)), 1.0, 2.0) is None
    assert mean_hessian(SimpleNamespace(dim=2, curvature=(-math.inf, 0.0)), 1.0, 2.0) is None
    assert mean_hessian(SimpleNamespace(dim=1, curvature=(1.0, 1.0)), 1.0, 2.0)[:2] == (1.0, 1.0)
    # at distance pi and more the comparison says nothing
    assert mean_hessian(SimpleNamespace(dim=2, curvature=(1.0, 1.0)), 1.0, math.pi).low == 0.0
    assert mean_hessian(SimpleNamespace(dim=2, curvature=(1.0, 1.0)), 4.0, 3.0).low == 0.0
