"""Transforms of the user: the condition on psi, and the register."""

import numpy as np
import pytest

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import GeodesicBall
from geomstats_ldp.losses import TransformedFrechetLoss, loss_from_spec, register_transform

LOG = (np.log1p, lambda t: 1 / (1 + t), lambda t: -1 / (1 + t) ** 2)


def log_loss(setting, data_radius, transform="log"):
    return TransformedFrechetLoss(
        center=setting.region.center, data_radius=data_radius, transform=transform
    )


@pytest.mark.parametrize("method", ["score_bound", "hessian_bound"])
def test_condition_fails_where_it_should(setting_of, method):
    """For psi = log(1 + t) the condition is (1 - t) / (1 + t)^2 > 0: distances under sqrt(2)."""
    setting = setting_of("euclidean")
    region = GeodesicBall(setting.region.center, 0.4)
    getattr(log_loss(setting, 1.01), method)(setting.geometry, region)
    with pytest.raises(ProtocolError, match=r"transform 'log' .* at t=1\.00.*, distance 1\.41"):
        getattr(log_loss(setting, 1.6), method)(setting.geometry, region)


def test_transforms_that_are_not_finite_are_refused(setting_of):
    setting = setting_of("euclidean")
    register_transform(
        "root", lambda t: np.sqrt(2 * t), lambda t: (2 * t) ** -0.5, lambda t: -((2 * t) ** -1.5)
    )
    with pytest.raises(ProtocolError, match=r"at t=0, distance 0"):
        log_loss(setting, 0.5, "root").score_bound(setting.geometry, setting.region)


def test_scalar_functions_of_convex_transforms_are_taken(setting_of):
    """psi = t + t^2: radial eigenvalue 1 + 3 s^2, the largest at D; norm s + s^3."""
    setting = setting_of("euclidean")
    register_transform("quartic", lambda t: t + t**2, lambda t: 1 + 2 * t, lambda t: 2.0)
    loss = log_loss(setting, 0.6, "quartic")
    assert loss.score_bound(setting.geometry, setting.region) == pytest.approx(2.0)
    assert loss.hessian_bound(setting.geometry, setting.region) == pytest.approx(4.0)


def test_names_must_be_registered():
    with pytest.raises(ProtocolError, match="registered, with register_transform"):
        TransformedFrechetLoss(center=[0.0], data_radius=1.0, transform="mystery")
    spec = {"name": "transformed_frechet", "center": [0.0], "data_radius": 1.0}
    with pytest.raises(ProtocolError, match="registered, with register_transform"):
        loss_from_spec(spec | {"transform": "mystery"})


def test_a_name_keeps_its_meaning():
    register_transform("log", *LOG)  # the same values again, as when a cell is run twice
    with pytest.raises(ProtocolError, match="'log' is taken"):
        register_transform("log", lambda t: 2 * np.log1p(t), *LOG[1:])
    for name in ("", None, 3):
        with pytest.raises(ProtocolError, match="name must be a string"):
            register_transform(name, *LOG)


def test_there_is_no_compiled_form(setting_of):
    assert log_loss(setting_of("sphere2"), 0.3).twin() is None
