"""Both engines agree to 1e-9 on every space: messages and state.

The recursion sees the messages alone, and mechanisms see frame coordinates alone. So each space
has one loss here, and the mechanism that most compiled fits of other tests have. That the compiled
score of every loss is the interpreted one, on all of its spaces, is tested in
`tests/losses/test_conformance.py`; all mechanisms in the compiled recursion against devices in
`tests/test_emulation.py`; and that safeguards act alike in `tests/geometry/test_engines.py`.
"""

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp.emulation import emulate
from geomstats_ldp.geometry import Geometry, geodesic_ball, region_of_queries
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import (
    FrechetLoss,
    PCALoss,
    PseudoHuberLoss,
    SPDLikelihoodLoss,
    SubspaceLoss,
    VonMisesFisherLoss,
)
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import GainRule, RadiusRule, make_protocol
from geomstats_ldp.server import Server

# Each combination is compiled, ten to forty seconds.
pytestmark = pytest.mark.slow


def frechet(center):
    return FrechetLoss(center=center, data_radius=0.8)


def pseudo_huber(center):
    return PseudoHuberLoss(center=center, data_radius=0.8, scale=0.3)


def spd(metric, n):
    return space_from_spec({"name": f"SPD{metric}", "n": n})


#: Space, origin and a loss.
SPACES = {
    "S2": (Hypersphere(2), np.eye(3)[2], PCALoss(norm_bound=2.0)),
    "S3": (Hypersphere(3), np.eye(4)[0], VonMisesFisherLoss(kappa=2.0)),
    "H5": (Hyperboloid(5), np.eye(6)[0], pseudo_huber(np.eye(6)[0])),
    "R3": (Euclidean(3), np.zeros(3), frechet(np.zeros(3))),
    "affine3": (spd("AffineInvariant", 3), np.eye(3), SPDLikelihoodLoss(norm_bound=2.0)),
    "log-Euclidean3": (spd("LogEuclidean", 3), np.eye(3), frechet(np.eye(3))),
    "lines": (
        space_from_spec({"name": "Grassmannian", "n": 3, "p": 1}),
        np.diag([1.0, 0.0, 0.0]),
        SubspaceLoss(norm_bound=2.0),
    ),
}
N_PAIRS = 300


@pytest.mark.parametrize("name", SPACES)
def test_engines_agree(name):
    space, center, loss = SPACES[name]
    geometry, rng = Geometry(space, center), np.random.default_rng(0)
    n = 2 * N_PAIRS + 1
    region = geodesic_ball(center, 0.3)
    bound = loss.score_bound(geometry, region_of_queries(geometry, region, 0.3))
    protocol = make_protocol(
        geometry,
        loss,
        make_mechanism("privunit", epsilon=4.0, dim=geometry.dim, bound=bound),
        region,
        radius=RadiusRule(0.3, 0.5, 0.27),
        gain=GainRule(0.5, 10.0, 0.6, 0.2),
        n_participants=n,
    )
    data = 0.7 * rng.normal(size=(n, *loss.data_shape(geometry)))
    if loss.data_shape(geometry) == geometry.shape and loss.name != "pca":
        tangent = geometry.lift(0.5 * rng.normal(size=(n, geometry.dim)), center)
        data = geometry.exp(tangent, center)
    servers = [Server(protocol, engine, keep_messages=True) for engine in ("compiled", "geomstats")]
    for server in servers:
        emulate(server, data, 1)
    ours, theirs = (server.messages for server in servers)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * max(1.0, np.max(theirs)))
    ours, theirs = (server.state for server in servers)
    np.testing.assert_array_equal(ours.clock, theirs.clock)
    np.testing.assert_array_equal(ours.safeguards, theirs.safeguards)
    for one, other in [
        (ours.iterate, theirs.iterate),
        (ours.average, theirs.average),
        *zip(ours.sums, theirs.sums),
    ]:
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * max(1.0, np.max(other)))
