"""The baselines on spaces whose points are matrices, or that have no compiled form."""

import numpy as np
import pytest
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import FrechetLoss
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import GainRule, RadiusRule, make_protocol
from geomstats_ldp.replication.baselines import HalfSampleProbes, SameTrajectoryRegression


def setting(space, center, n):
    """Protocol and data of a Fréchet mean close to a centre."""
    geometry = Geometry(space, center)
    coords = np.random.default_rng(1).normal(size=(n, geometry.dim))
    coords = 0.1 + 0.2 * coords / np.linalg.norm(coords, axis=1, keepdims=True)
    data = np.stack([geometry.exp(geometry.lift(c, center), center) for c in coords])
    loss = FrechetLoss(center=center, data_radius=0.6)
    protocol = make_protocol(
        geometry,
        loss,
        make_mechanism("privunit", epsilon=8.0, dim=geometry.dim, bound=1.5),
        geodesic_ball(center, 0.5),
        radius=RadiusRule.fixed(0.3),
        gain=GainRule(0.5, 30.0, 0.6, 0.4),
    )
    return protocol, data


def fits(protocol, data, engine):
    common = {"engine": engine, "random_state": 0}
    return [
        SameTrajectoryRegression(protocol, **common).fit(data),
        HalfSampleProbes(protocol, 0.3, **common).fit(data),
    ]


@pytest.mark.slow  # compiles for each space
@pytest.mark.parametrize(
    ("spec", "center"),
    [
        ({"name": "Hyperboloid", "dim": 2}, [1.5, 0.5, -1.0]),
        ({"name": "SPDLogEuclidean", "n": 2}, [[2.0, 0.3], [0.3, 0.7]]),
    ],
)
def test_engines_agree(spec, center):
    protocol, data = setting(space_from_spec(spec), np.array(center), 90)
    for compiled, interpreted in zip(
        fits(protocol, data, "compiled"), fits(protocol, data, "geomstats")
    ):
        assert (compiled.engine_, interpreted.engine_) == ("compiled", "geomstats")
        for name in ("estimate_", "hessian_", "score_covariance_", "covariance_"):
            one, other = getattr(compiled, name), getattr(interpreted, name)
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.slow  # every operation goes through geomstats
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_a_space_without_closed_forms_runs_on_geomstats():
    protocol, data = setting(SpecialOrthogonal(n=3), np.eye(3), 16)
    for fitted in fits(protocol, data, "auto"):
        assert fitted.engine_ == "geomstats"
        region = fitted.confidence_region()
        assert region.contains(fitted.estimate_)
        assert fitted.protocol.geometry.is_on(fitted.estimate_, 1e-8)
