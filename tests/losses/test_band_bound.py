"""Score bound of the covariance likelihood where the region states its smallest eigenvalue."""

import math

import numpy as np
import pytest

from geomstats_ldp import PrivateSPDCovariance, Tuning
from geomstats_ldp.geometry import Geometry, spectral_band
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import SPDLikelihoodLoss


@pytest.mark.parametrize("n, expected", [(2, math.hypot(1, 7) / 2), (5, math.hypot(2, 7) / 2)])
def test_the_score_bound_of_a_band_is_attained(n, expected):
    """a = 0.5, B = 2: for m = 5 3.64, where the ball about its centre has 15.1."""
    geometry = Geometry(space_from_spec({"name": "SPDAffineInvariant", "n": n}), np.eye(n))
    band, loss = spectral_band(n, 0.5, 4.5), SPDLikelihoodLoss(norm_bound=2.0)
    bound = loss.score_bound(geometry, band)
    assert bound == pytest.approx(expected, rel=1e-12)
    point, datum = 0.5 * np.eye(n), 2.0 * np.eye(n)[0]
    assert geometry.norm(loss.score(geometry, point, datum), point) == pytest.approx(bound)
    assert loss.hessian_bound(geometry, band) == pytest.approx(4.0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        frame = np.linalg.qr(rng.normal(size=(n, n)))[0]
        point = (frame * rng.uniform(0.5, 4.5, n)) @ frame.T
        datum = loss.clip(geometry, rng.normal(size=n))
        assert geometry.norm(loss.score(geometry, point, datum), point) <= bound


@pytest.mark.slow
def test_a_covariance_is_sought_in_a_band():
    X = np.random.default_rng(0).normal(size=(400, 2))
    band = spectral_band(2, 0.2, 3.0, holds_queries=True)
    options = {"working_region": band, "engine": "geomstats"}
    bounds = []
    for tuning in (Tuning(**options), Tuning(**options, pairs_per_round=2)):  # one query, and pairs
        model = PrivateSPDCovariance(
            norm_bound=3.0, epsilon=8.0, tuning=tuning, random_state=0
        ).fit(X)
        assert band.contains(model.protocol_.geometry, model.estimate_)
        bounds.append(model.protocol_.mechanism.bound)
    assert bounds == pytest.approx([math.sqrt(0.5), 0.5 * math.hypot(1.0, 9.0 / 0.2 - 1.0)])
