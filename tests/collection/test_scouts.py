"""Collections whose first participants are scouts: what the study asks follows from them."""

import json

import numpy as np
import pytest
from sqlalchemy import text

from geomstats_ldp.collection import course, store, study, tables
from geomstats_ldp.collection.client import Client
from geomstats_ldp.collection.device import answer
from geomstats_ldp.collection.ledger import Ledger
from geomstats_ldp.collection.rehearsal import Habits, Rehearsal
from geomstats_ldp.collection.scouts import ScoutedStudy, read_published
from geomstats_ldp.exceptions import DatumError, NotReadyError, ProtocolError

AXIS = np.array([0.3, 0.9, 0.3]) / np.linalg.norm([0.3, 0.9, 0.3])

SCOUTED = """
estimator = "PrivatePCA"
n_features = 3
[parameters]
norm_bound = {norm_bound}
epsilon = 8.0
initial_point = {initial_point}
n_participants = 60
n_rounds = 3
[scouts]
n_participants = {n_scouts}
n_rounds = 2
[service]
lease_seconds = 1
time_precision_seconds = 1
{service}
"""


def scouted_text(norm_bound='"scout"', initial_point='"scout"', n_scouts=40, service=""):
    return SCOUTED.format(**locals())


def people(n, unit=50.0, seed=0):
    rng = np.random.default_rng(seed)
    return unit * (rng.normal(size=(n, 1)) * AXIS + 0.2 * rng.normal(size=(n, 3)))


@pytest.fixture
def start(run_service):
    """A service whose collection asks scouts first."""

    def make(**options):
        return run_service(text=scouted_text(**options))

    return make


def test_scouts_find_the_protocol_of_the_study(start):
    service = start()
    published = service.collection.protocol
    outcome = Rehearsal(service.url, service.tokens(300), people(300), Habits(late=0.2)).run(4)
    assert outcome.acknowledged
    status = service.http.get("/v1/status").json()
    assert status["ended"] and status["stage"] == "study"
    assert status["fingerprint"] == published.fingerprint
    found = service.http.get("/v1/scouted").json()
    assert 5 < found["norm_bound"] < 100 and abs(found["initial_point"] @ AXIS) > 0.8
    protocol = course.check_study(published, found)
    assert protocol.loss_spec["norm_bound"] == found["norm_bound"]
    result = service.http.get("/v1/result").json()
    assert abs(np.array(result["estimate"]) @ AXIS) > 0.9
    counted = [m for m in outcome.acknowledged.values() if m.fingerprint == protocol.fingerprint]
    assert result["n_participants"] <= len(counted) < len(outcome.acknowledged) - 40
