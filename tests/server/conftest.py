"""Collections in rounds that several test files share."""

from dataclasses import replace

import numpy as np
import pytest
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp import PrivateFrechetMean, PrivatePCA, PrivateVMFLocation


def _make_pca(n_rounds=3, n_participants=120, **options):
    """PCA on the sphere, started, with a seed."""
    options = {"norm_bound": 2.0, "epsilon": 4.0, "initial_point": [1.0, 0.2, 0.1]} | options
    pca = PrivatePCA(n_rounds=n_rounds, n_participants=n_participants, random_state=0, **options)
    return pca.start()


@pytest.fixture
def round_pca():
    return _make_pca


@pytest.fixture
def round_protocol():
    """Protocol of rounds whose sizes are left open where `n_participants` is None."""

    def make(n_rounds=3, n_participants=120, minimum=None, **options):
        protocol = _make_pca(n_rounds, n_participants, **options).protocol_
        if minimum is None:
            return protocol
        return replace(protocol, rounds=replace(protocol.rounds, minimum=minimum))

    return make


ROUND_MODELS = {
    "S2 vMF": (PrivateVMFLocation(initial_point=[0.0, 0.6, 0.8]), 3),
    "S2 PCA": (PrivatePCA(norm_bound=2.0, initial_point=[1.0, 0.2, 0.1]), 3),
    "R3 mean": (PrivateFrechetMean(initial_point=[0.1, 0.2, 0.3]), 3),
    "H2 mean": (PrivateFrechetMean(Hyperboloid(2), initial_point=[1.0, 0.0, 0.0]), 3),
    "S2 mean": (PrivateFrechetMean(Hypersphere(2), initial_point=[0.0, 0.6, 0.8]), 3),
}


@pytest.fixture(params=ROUND_MODELS)
def round_model(request):
    return ROUND_MODELS[request.param]


def _zero_answers(server, queries, seed=0):
    """Messages to queries, drawn by the mechanism for a zero score, as `tangent_vec`."""
    from geomstats_ldp.protocol import Message

    protocol, rng = server.protocol, np.random.default_rng(seed)
    coords = protocol.mechanism.randomise(np.zeros((len(queries), protocol.dim)), rng)
    vectors = [protocol.geometry.lift(c, q.point) for c, q in zip(coords, queries)]
    return [Message(q.fingerprint, q.round, q.index, v) for q, v in zip(queries, vectors)]


@pytest.fixture
def answer():
    return _zero_answers


def _same_sums(one, other, rtol=0.0):
    """Whether two states of rounds are equal, to the last bit unless a tolerance is given."""
    return all(
        a.shape == b.shape and np.allclose(a, b, rtol=rtol, atol=rtol) for a, b in zip(one, other)
    )


@pytest.fixture
def same_sums():
    return _same_sums
