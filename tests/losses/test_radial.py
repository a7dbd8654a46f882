"""What squared, pseudo-Huber and transformed Fréchet losses share, on every space."""

import math
import pickle

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp.exceptions import LDPWarning, ProtocolError
from geomstats_ldp.geometry import GeodesicBall, Geometry
from geomstats_ldp.losses import (
    FrechetLoss,
    PseudoHuberLoss,
    TransformedFrechetLoss,
    loss_from_spec,
    register_transform,
)
from geomstats_ldp.registry import Registry

MAKERS = {
    "frechet": FrechetLoss,
    "pseudo_huber": lambda **ball: PseudoHuberLoss(scale=0.4, **ball),
    "transformed_frechet": lambda **ball: TransformedFrechetLoss(transform="log", **ball),
}
RADIUS = 0.5


@pytest.fixture(params=list(MAKERS))
def loss(request, setting):
    return MAKERS[request.param](center=setting.center, data_radius=RADIUS)


def clipped_data(setting, loss, seed=2):
    raw = setting.around(setting.center, np.linspace(0.02, 1.5, 12), seed)
    return loss.clip(setting.geometry, raw)


def test_score_bound_holds_and_is_attained(setting, loss):
    geometry, region = setting.geometry, setting.region
    bound = loss.score_bound(geometry, region)
    data = loss.clip(geometry, setting.around(setting.center, np.linspace(0.0, 1.8, 60), 3))
    for point in setting.around(region.center, np.linspace(0.0, region.radius, 10), 4):
        norms = geometry.norm(loss.score(geometry, point, data), point)
        assert norms.max() <= bound * (1 + 1e-12)  # rounding
    query, datum = setting.farthest(RADIUS)
    norm = geometry.norm(loss.score(geometry, query, loss.clip(geometry, datum)), query)
    assert norm == pytest.approx(bound, rel=1e-10)


def test_value_agrees_with_the_transform_of_the_distance(setting, loss):
    lengths = np.array([0.0, 0.1, 0.3, 0.5])
    data = setting.around(setting.center, lengths)
    value = loss.value(setting.geometry, setting.center, data)
    np.testing.assert_allclose(value, loss.psi(lengths**2 / 2), rtol=0, atol=1e-13)


def test_transforms_and_their_derivatives_agree(setting, loss):
    t, step = np.linspace(0.01, 0.7, 9), 1e-6
    for function, derivative in ((loss.psi, loss.psi_prime), (loss.psi_prime, loss.psi_second)):
        difference = (function(t + step) - function(t - step)) / (2 * step)
        np.testing.assert_allclose(derivative(t), difference, atol=1e-8)


def test_clipping_is_the_projection_onto_the_ball(setting, loss):
    geometry, center = setting.geometry, setting.center
    lengths = np.array([0.0, 0.2, 0.49, 0.51, 1.0, 1.5])
    raw = setting.around(center, lengths)
    data = loss.clip(geometry, raw)
    np.testing.assert_allclose(data[:3], raw[:3], rtol=0, atol=1e-15)
    np.testing.assert_allclose(
        geometry.norm(geometry.log(data, center), center),
        np.minimum(lengths, RADIUS),
        rtol=0,
        atol=1e-13,
    )
    along, raw_along = (geometry.log(points, center)[3:] for points in (data, raw))
    shrink = (RADIUS / lengths[3:]).reshape(-1, *[1] * len(geometry.shape))
    np.testing.assert_allclose(along, shrink * raw_along, rtol=0, atol=1e-10)
    np.testing.assert_allclose(loss.clip(geometry, data), data, rtol=0, atol=1e-13)
    np.testing.assert_allclose(loss.clip(geometry, raw[4]), data[4], rtol=0, atol=1e-13)


def test_data_off_the_space_are_refused(setting, loss):
    geometry = setting.geometry
    good = setting.around(setting.center, [0.1, 5.0 if geometry.curvature[1] <= 0 else 2.0])
    np.testing.assert_array_equal(loss.check_data(geometry, good), good)
    np.testing.assert_array_equal(loss.check_data(geometry, good[0]), good[0])
    assert loss.check_data(geometry, good[:0]).shape == (0, *geometry.shape)
    for bad in (good * np.nan, good * np.inf):
        with pytest.raises(ValueError, match="datum must be finite"):
            loss.check_data(geometry, bad)
    with pytest.raises(ValueError, match="datum must have shape"):
        loss.check_data(geometry, good[0][:-1])
    if geometry.name != "Euclidean":
        for factor in (0.0, -1.001):
            with pytest.raises(ValueError, match="datum must lie on"):
                loss.check_data(geometry, np.stack([good[0], factor * good[1]]))


def test_centre_must_be_a_point_of_the_space(setting, loss):
    loss.check_space(setting.geometry)
    others = [np.zeros(2), np.zeros((4, 4)), np.zeros(9)]
    if setting.geometry.name != "Euclidean":
        others += [np.zeros(setting.geometry.shape)]
    for center in others:
        spec = loss.to_spec() | {"center": center}
        with pytest.raises(ProtocolError, match="center must be a point"):
            loss_from_spec(spec).check_space(setting.geometry)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_bad_public_bounds_are_refused(make):
    for radius in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="data_radius"):
            make(center=[0.0], data_radius=radius)
    with pytest.raises(ProtocolError, match="center must be finite"):
        make(center=[np.nan], data_radius=1.0)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_data_ball_must_keep_off_the_cut_locus(make, setting_of):
    setting = setting_of("sphere2")
    geometry = setting.geometry
    center = setting.region.center
    make(center=center, data_radius=1.0).largest_distance(geometry, GeodesicBall(center, 2.14))
    for method in ("score_bound", "hessian_bound"):
        with pytest.raises(ProtocolError, match=r"data_radius=1\.0* and|data_radius=1 and"):
            getattr(make(center=center, data_radius=1.0), method)(
                geometry, GeodesicBall(center, 2.15)
            )


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_balls_in_which_the_mean_need_not_be_unique_are_warned_of(make, setting_of, recwarn):
    setting = setting_of("sphere2")
    make(center=setting.center, data_radius=1.57).check_space(setting.geometry)
    assert not recwarn.list
    with pytest.warns(LDPWarning, match=r"data_radius=1\.58 .* under 1\.5708"):
        make(center=setting.center, data_radius=1.58).check_space(setting.geometry)


def test_data_at_the_cut_locus_move_to_the_edge_of_the_ball(setting_of):
    setting = setting_of("sphere2")
    geometry = setting.geometry
    loss = FrechetLoss(center=setting.center, data_radius=RADIUS)
    for datum in (-setting.center, np.stack([-setting.center, setting.center])):
        distance = geometry.dist(loss.clip(geometry, datum), setting.center)
        np.testing.assert_allclose(np.atleast_1d(distance)[0], RADIUS, rtol=1e-12)


@pytest.mark.parametrize("size", [1e100, 1e200, 1e307])
def test_huge_vectors_are_clipped_without_overflow(size):
    geometry = Geometry(Euclidean(3), np.zeros(3))
    loss = FrechetLoss(center=[1.0, 2.0, 3.0], data_radius=0.5)
    direction = np.array([1.0, -2.0, 2.0])
    data = loss.check_data(geometry, np.stack([size * direction / 3, [1.0, 2.0, 3.1]]))
    expected = np.array([[1.0, 2.0, 3.0] + direction / 6, [1.0, 2.0, 3.1]])
    np.testing.assert_allclose(loss.clip(geometry, data), expected, rtol=1e-14)


@pytest.mark.parametrize("key", ["hyperboloid2", "affine2", "log2"])
@pytest.mark.parametrize("size", [1e6, 1e150, 1e300])
def test_huge_points_are_clipped_or_refused(key, size, setting_of):
    setting = setting_of(key)
    loss = FrechetLoss(center=setting.center, data_radius=RADIUS)
    far = size * np.array([1.0, 0.6, 0.8]) if key == "hyperboloid2" else size * setting.center
    try:
        data = loss.clip(setting.geometry, loss.check_data(setting.geometry, far))
    except ValueError as error:
        assert "datum" in str(error)  # nothing is released
    else:
        norm = setting.geometry.norm(setting.geometry.log(data, setting.center), setting.center)
        assert norm == pytest.approx(RADIUS, rel=1e-9)


def test_records_and_pickles_read_back(setting, loss):
    for copy in (loss_from_spec(loss.to_spec()), pickle.loads(pickle.dumps(loss))):
        assert copy == loss
        assert hash(copy) == hash(loss)
    names = {cls.__name__: cls for cls in (FrechetLoss, PseudoHuberLoss, TransformedFrechetLoss)}
    assert eval(repr(loss), names) == loss
    assert loss_from_spec(loss.to_spec() | {"data_radius": 0.6}) != loss


def test_the_bending_length_is_where_the_slope_changes_by_its_own_size(loss):
    """psi'(0) / |psi''(0)| is rho^2 for the pseudo-Huber loss and 1 for log(1 + t)."""
    expected = {"frechet": math.inf, "pseudo_huber": 0.4, "transformed_frechet": 1.0}
    assert loss.bending_length == pytest.approx(expected[loss.name], rel=1e-12)


@pytest.mark.parametrize("start", [math.nan, -math.inf])
def test_a_transform_that_is_not_smooth_has_no_bending_length(start, monkeypatch):
    monkeypatch.setattr(
        "geomstats_ldp.losses.transformed_frechet._TRANSFORMS", Registry("transform", repr)
    )
    register_transform("rough", lambda t: t, np.ones_like, lambda t: np.full(np.shape(t), start))
    loss = TransformedFrechetLoss(center=[0.0], data_radius=1.0, transform="rough")
    assert loss.bending_length == math.inf
