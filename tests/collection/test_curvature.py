"""Collections that ask for curvature, or from afar, over HTTP: questions carry their directions."""

import json

import numpy as np
import pytest

from geomstats_ldp.collection import store, tables
from geomstats_ldp.collection.device import draw_report
from geomstats_ldp.collection.ledger import Ledger
from geomstats_ldp.collection.rehearsal import Rehearsal
from geomstats_ldp.collection.study import fitted_estimator
from geomstats_ldp.protocol import Query
from geomstats_ldp.server import RoundServer

STUDY = """
estimator = "{estimator}"
n_features = 1
[parameters]
{parameters}
feature_bound = 2.0
epsilon = 16.0
n_participants = {n}
n_rounds = {n_rounds}
[service]
lease_seconds = 1
time_precision_seconds = 1
"""

#: Estimator, its parameters, number of rounds and of people by what is special about the questions.
MODELS = {
    "curvature": ("PrivateLogisticRegression", "classes = [0, 1]", 5, 1000),
    "wide rounds": ("PrivateLogisticRegression", "classes = [0, 1]", 4, 160),
    "offsets that are held": ("PrivateLinearRegression", "target_bound = 2.0", 4, 160),
}


def text_of(name):
    estimator, parameters, n_rounds, n = MODELS[name]
    return STUDY.format(estimator=estimator, parameters=parameters, n_rounds=n_rounds, n=n)


def people(n, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=n)
    answers = rng.uniform(size=n) < 1 / (1 + np.exp(-features))
    return np.column_stack([features, answers])


@pytest.mark.slow  # a service and many answers
@pytest.mark.parametrize("name", ["curvature", "wide rounds", "offsets that are held"])
def test_a_service_asks_where_one_process_would(run_service, make_collection, name):
    collection, n = make_collection(text=text_of(name)), MODELS[name][-1]
    service = run_service(collection=collection)
    Rehearsal(service.url, service.tokens(2 * n), people(2 * n)).run()
    assert service.http.get("/v1/status").json()["ended"]
    with tables.reading(collection.engine) as connection:
        ledger = Ledger(collection.engine, store.read_study(connection))
    transcript, rounds = ledger.transcript(), ledger.server.protocol.rounds
    assert (rounds.curvature_rounds is not None) == (name == "curvature")
    assert ledger.server.state.n_opened == MODELS[name][2]
    again = RoundServer(ledger.server.protocol)
    again.replay_transcript(transcript)
    for part, other in zip(again.state, ledger.server.state):
        np.testing.assert_allclose(part, other, rtol=1e-9, atol=1e-12)
    model = fitted_estimator(collection.description, ledger.server)
    assert model.n_participants_ == len(transcript) >= n
    assert 0 < model.confidence_region().largest_radius < np.inf


def test_a_device_answers_a_question_about_curvature(run_service, make_collection, wait_until):
    collection = make_collection(text=text_of("curvature"))
    service = run_service(collection=collection)
    n = sum(collection.protocol.rounds.sizes[:2]) + 20
    Rehearsal(service.url, service.tokens(n), people(n)).run()
    [token] = service.tokens(1)
    wait_until(lambda: service.post("/v1/questions", token).status_code == 200)
    asked = json.dumps(service.post("/v1/questions", token).json()["query"])
    query = Query.from_json(asked)
    assert query.round == 2 and query.directions.shape == (2, 2)
    found = service.service.ledger.server.directions(2, query.index)
    np.testing.assert_array_equal(query.directions, found)
    report = draw_report(collection.protocol, query, [0.5, 1.0])
    headers = {"Content-Type": "application/json"}
    assert service.post("/v1/reports", token, content=report, headers=headers).status_code == 201
