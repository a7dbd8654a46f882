"""Collections that ask for curvature, or from afar, over HTTP: questions carry their directions."""

import json

import numpy as np
import pytest

from geomstats_ldp import Participant
from geomstats_ldp.collection import store, tables
from geomstats_ldp.collection.ledger import Ledger
from geomstats_ldp.collection.rehearsal import Rehearsal
from geomstats_ldp.collection.study import fitted_estimator
from geomstats_ldp.protocol import Query
from geomstats_ldp.server import RoundServer

STUDY = """
estimator = "{estimator}"
n_features = 2
[parameters]
{parameters}
feature_bound = 2.0
epsilon = 8.0
n_participants = {n}
n_rounds = {n_rounds}
[service]
lease_seconds = 1
time_precision_seconds = 1
"""

MODELS = {
    "curvature": ("PrivateLogisticRegression", 'classes = [0, 1]', 6),
    "offsets that follow": ("PrivateLogisticRegression", 'classes = [0, 1]', 4),
    "offsets that are held": ("PrivateLinearRegression", 'target_bound = 2.0', 4),
}


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 2))
    answers = rng.uniform(size=n) < 1 / (1 + np.exp(-features @ [1.0, -0.5]))
    return np.column_stack([features, answers])


@pytest.mark.parametrize("name", MODELS)
def test_a_service_asks_where_one_process_would(run_service, make_collection, name):
    estimator, parameters, n_rounds = MODELS[name]
    text = STUDY.format(estimator=estimator, parameters=parameters, n_rounds=n_rounds, n=240)
    collection = make_collection(text=text)
    service = run_service(collection=collection)
    outcome = Rehearsal(service.url, service.tokens(480), people(480)).run()
    assert service.http.get("/v1/status").json()["ended"]
    with tables.reading(collection.engine) as connection:
        ledger = Ledger(collection.engine, store.read_study(connection))
    transcript, rounds = ledger.transcript(), ledger.server.protocol.rounds
    assert (rounds.curvature_rounds is not None) == (name == "curvature")
    again = RoundServer(ledger.server.protocol)
    again.replay_transcript(transcript)
    for part, other in zip(again.state, ledger.server.state):
        np.testing.assert_allclose(part, other, rtol=1e-9, atol=1e-12)
    model = fitted_estimator(collection.description, ledger.server)
    assert model.n_participants_ == len(outcome.acknowledged) == 240


def test_the_question_of_a_service_is_answered_by_a_device(run_service, make_collection):
    estimator, parameters, n_rounds = MODELS["curvature"]
    text = STUDY.format(estimator=estimator, parameters=parameters, n_rounds=n_rounds, n=240)
    service = run_service(collection=make_collection(text=text))
    [token] = service.tokens(1)
    asked = json.dumps(service.post("/v1/query", token).json()["query"])
    query, protocol = Query.from_json(asked), service.service.study.protocol
    assert query.round == 0 and query.directions.shape == (3, 3)
    message = Participant(protocol, max_epsilon=8.0).respond(query, [0.5, -1.0, 1.0])
    assert np.isfinite(message.tangent_vec).all()
