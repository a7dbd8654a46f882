"""Builders that several test files share, as fixtures of the same names."""

from dataclasses import replace

import numpy as np
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.losses import PCALoss
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import GainRule, InferenceRule, Query, RadiusRule, make_protocol


def pca_protocol(
    dim=2,
    *,
    epsilon=2.0,
    mechanism="privunit",
    delta=0.0,
    norm_bound=2.0,
    region_radius=0.8,
    radius=None,
    gain=None,
    reference=None,
    retraction="exponential",
    **options,
):
    """Protocol of principal directions on the sphere, at a centre of no special position.

    Its state has sums for the exact regression on the second moment.
    """
    if "rounds" not in options:
        options.setdefault("inference", InferenceRule(moment="second"))
    loss = PCALoss(norm_bound=norm_bound)
    center = 1.0 / np.arange(1.0, dim + 2)
    center /= np.linalg.norm(center)
    reference = center if reference is None else reference
    return make_protocol(
        Geometry(Hypersphere(dim=dim), reference, retraction=retraction),
        loss,
        make_mechanism(mechanism, epsilon=epsilon, delta=delta, dim=dim, bound=norm_bound**2 / 2),
        geodesic_ball(center, region_radius),
        radius=RadiusRule(0.3, 0.5, 0.27) if radius is None else radius,
        gain=GainRule(0.5, 10.0, 0.6, 0.5) if gain is None else gain,
        **options,
    )


def pca_data(n, dim=2, seed=0):
    """Rows with decreasing spread; a fair share is longer than the bound 2 and gets clipped."""
    scales = 1.5 / np.arange(1.0, dim + 2)
    return np.random.default_rng(seed).normal(size=(n, dim + 1)) * scales


def same_state(one, other):
    """Whether two server states are equal to the last bit."""
    names = "iterate", "average", "clock", "safeguards"
    pairs = [(getattr(one, name), getattr(other, name)) for name in names]
    sums = [*zip(one.sums, other.sums), *zip(one.moments, other.moments)]
    return all(np.array_equal(a, b) for a, b in [*pairs, *sums])


def score_at(protocol, point, datum):
    """Coordinates of the score that a device computes: its message where nothing is added."""
    spec = protocol.mechanism_spec | {"name": "identity", "epsilon": np.inf, "delta": 0.0}
    protocol = replace(protocol, mechanism_spec=spec)
    query = Query(protocol.fingerprint, 0, 0, "plus", np.asarray(point))
    message = Participant(protocol, random_state=0).respond(query, datum)
    return protocol.geometry.coordinates(message.tangent_vec, query.point)
