"""Both engines agree to 1e-9 on every space, with every loss and mechanism, state included."""

import math

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
    VonMisesFisherLoss,
)
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import GainRule, RadiusRule, make_protocol
from geomstats_ldp.server import Server

# Each combination is compiled, ten to forty seconds.
pytestmark = pytest.mark.slow

#: Space and origin.
SPACES = {
    "S2": (Hypersphere(2), np.eye(3)[2]),
    "S3": (Hypersphere(3), np.eye(4)[0]),
    "H2": (Hyperboloid(2), np.eye(3)[0]),
    "R3": (Euclidean(3), np.zeros(3)),
    "affine2": (space_from_spec({"name": "SPDAffineInvariant", "n": 2}), np.eye(2)),
    "affine3": (space_from_spec({"name": "SPDAffineInvariant", "n": 3}), np.eye(3)),
    "log-Euclidean2": (space_from_spec({"name": "SPDLogEuclidean", "n": 2}), np.eye(2)),
    "log-Euclidean3": (space_from_spec({"name": "SPDLogEuclidean", "n": 3}), np.eye(3)),
}
N_PAIRS = 1000

MECHANISMS = {
    "privunit": {"epsilon": 4.0},
    "gaussian": {"epsilon": 4.0, "delta": 1e-6},
    "l2_ball": {"epsilon": 4.0},
    "identity": {"epsilon": math.inf},
}


def losses_of(name):
    """Losses defined on a space, by name."""
    center = SPACES[name][1]
    found = {
        "frechet": FrechetLoss(center=center, data_radius=0.8),
        "pseudo_huber": PseudoHuberLoss(center=center, data_radius=0.8, scale=0.3),
    }
    if name.startswith("S"):
        found |= {"von_mises_fisher": VonMisesFisherLoss(kappa=2.0), "pca": PCALoss(norm_bound=2.0)}
    if name.startswith("affine"):
        found["likelihood"] = SPDLikelihoodLoss(norm_bound=2.0)
    return found


#: Every loss of every space with one mechanism; the others see nothing but frame coordinates, so
#: one loss is enough for them, on a space of vectors and on one of matrices.
CASES = [(name, loss, "gaussian") for name in SPACES for loss in losses_of(name)]
CASES += [(name, "frechet", mechanism) for name in ("S3", "affine2") for mechanism in MECHANISMS]
CASES = list(dict.fromkeys(CASES))


@pytest.mark.parametrize(("name", "loss", "mechanism"), CASES)
def test_engines_agree(name, loss, mechanism):
    space, center = SPACES[name]
    geometry, loss, rng = Geometry(space, center), losses_of(name)[loss], np.random.default_rng(0)
    n = 2 * N_PAIRS + 1
    region = geodesic_ball(center, 0.3)
    bound = loss.score_bound(geometry, region_of_queries(geometry, region, 0.3))
    options = {"delta": 0.0, "dim": geometry.dim, "bound": bound} | MECHANISMS[mechanism]
    protocol = make_protocol(
        space,
        loss,
        make_mechanism("privunit" if mechanism == "identity" else mechanism, **options),
        region,
        radius=RadiusRule(0.3, 0.5, 0.27),
        gain=GainRule(0.5, 10.0, 0.6, 0.2),
        n_participants=n,
    )
    data = 0.7 * rng.normal(size=(n, *loss.data_shape(geometry)))
    if loss.data_shape(geometry) == geometry.shape and loss.name != "pca":
        tangent = geometry.lift(0.5 * rng.normal(size=(n, geometry.dim)), center)
        data = geometry.exp(tangent, center)
    servers = [Server(protocol, engine) for engine in ("compiled", "geomstats")]
    for server in servers:
        emulate(server, data, 1)
    ours, theirs = (server.state for server in servers)
    np.testing.assert_array_equal(ours.clock, theirs.clock)
    np.testing.assert_array_equal(ours.safeguards, theirs.safeguards)
    for one, other in [
        (ours.iterate, theirs.iterate),
        (ours.average, theirs.average),
        *zip(ours.sums, theirs.sums),
    ]:
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * max(1.0, np.max(other)))
