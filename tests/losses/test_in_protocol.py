"""Every loss in a protocol: records, and one participant's answer."""

import json

import numpy as np
import pytest

from geomstats_ldp.exceptions import DatumError
from geomstats_ldp.losses import (
    LOSSES,
    FrechetLoss,
    HuberRegressionLoss,
    LinearRegressionLoss,
    LogisticRegressionLoss,
    PCALoss,
    PseudoHuberLoss,
    SPDLikelihoodLoss,
    SubspaceLoss,
    TransformedFrechetLoss,
    VonMisesFisherLoss,
    loss_from_spec,
    loss_of,
)
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import GainRule, Message, Protocol, RadiusRule, make_protocol
from geomstats_ldp.server import Server

RADIUS = RadiusRule(0.2, 0.2, 0.27)
ROW = {"feature_bound": 1.5, "intercept": 0.8}
CASES = {
    "von_mises_fisher": ("sphere2", lambda c: VonMisesFisherLoss(kappa=2.0)),
    "pca": ("sphere2", lambda c: PCALoss(norm_bound=1.5)),
    "frechet": ("sphere2", lambda c: FrechetLoss(center=c, data_radius=0.6)),
    "frechet on the hyperboloid": (
        "hyperboloid2",
        lambda c: FrechetLoss(center=c, data_radius=0.6),
    ),
    "log-Euclidean mean": ("log2", lambda c: FrechetLoss(center=c, data_radius=0.6)),
    "frechet on SPD": ("affine2", lambda c: FrechetLoss(center=c, data_radius=0.6)),
    "pseudo_huber": (
        "hyperboloid2",
        lambda c: PseudoHuberLoss(center=c, data_radius=0.6, scale=0.3),
    ),
    "transformed_frechet": (
        "hyperboloid2",
        lambda c: TransformedFrechetLoss(center=c, data_radius=0.4, transform="log"),
    ),
    "linear_regression": ("euclidean", lambda c: LinearRegressionLoss(**ROW, target_bound=2.0)),
    "logistic_regression": ("euclidean", lambda c: LogisticRegressionLoss(**ROW)),
    "huber_regression": ("euclidean", lambda c: HuberRegressionLoss(**ROW, scale=0.5)),
    "subspace": ("lines", lambda c: SubspaceLoss(norm_bound=1.5)),
    "spd_likelihood": ("affine2", lambda c: SPDLikelihoodLoss(norm_bound=1.5)),
}


def test_every_loss_is_tested():
    # losses that other packages, or the studies, have registered are theirs to test
    own = {
        name for name, cls in LOSSES.items() if cls.__module__.startswith("geomstats_ldp.losses.")
    }
    assert {make(np.zeros(1)).name for _, make in CASES.values()} == own


@pytest.fixture(params=list(CASES))
def case(request, setting_of):
    key, make = CASES[request.param]
    setting = setting_of(key)
    return setting, make(setting.center)


def data_of(setting, loss, n):
    """Raw data of which some must be clipped."""
    shape = loss.data_shape(setting.geometry)
    if shape == setting.geometry.shape:
        return setting.around(setting.center, np.linspace(0.05, 0.8, n))
    return np.random.default_rng(0).normal(size=(n, *shape))


def protocol_of(setting, loss, n, epsilon=4.0):
    region = setting.region
    # Queries reach the radius rule's maximum beyond the region.
    bound = loss.score_bound(setting.geometry, region._replace(radius=region.radius + 0.2))
    return make_protocol(
        setting.geometry,
        loss,
        make_mechanism("privunit", epsilon=epsilon, dim=setting.geometry.dim, bound=bound),
        region,
        radius=RADIUS,
        gain=GainRule(0.5, 10.0, 0.6, 0.4),
        n_participants=n,
    )


def test_protocol_reads_back_through_json(case):
    protocol = protocol_of(*case, 20)
    copy = Protocol.from_json(protocol.to_json())
    assert copy.fingerprint == protocol.fingerprint
    assert loss_of(copy) == case[1]
    assert loss_from_spec(json.loads(json.dumps(case[1].to_spec()))) == case[1]


def test_a_participant_answers(case):
    setting, loss = case
    protocol = protocol_of(setting, loss, 20)
    server, datum = Server(protocol, "geomstats"), data_of(setting, loss, 5)[-1]
    query = server.queries()[0]
    participant = Participant(protocol, max_epsilon=protocol.mechanism.epsilon)
    participant.check(datum)
    with pytest.raises(DatumError, match="datum must be finite"):
        participant.check(np.nan * datum)
    with pytest.raises(DatumError, match="datum must have shape"):
        participant.check(datum[..., :1])
    message = participant.respond(query, datum)
    assert message.tangent_vec.shape == setting.geometry.shape
    server.receive(Message.from_json(message.to_json()))
