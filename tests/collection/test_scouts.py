"""Collections whose first participants are scouts: what the study asks follows from them."""

import json
import time

import numpy as np
import pytest

from geomstats_ldp.cli import main
from geomstats_ldp.collection import course, scouts, store, study, tables
from geomstats_ldp.collection.client import Client
from geomstats_ldp.collection.device import answer, draw_report
from geomstats_ldp.collection.ledger import Ledger
from geomstats_ldp.collection.rehearsal import Rehearsal
from geomstats_ldp.collection.scouts import read_published
from geomstats_ldp.collection.service import Service
from geomstats_ldp.collection.web import Refusal
from geomstats_ldp.exceptions import CollectionError, DatumError, NotReadyError, ProtocolError
from geomstats_ldp.protocol import Message, Protocol, Query
from geomstats_ldp.serialization import canonical_json

AXIS = np.array([0.3, 0.9, 0.3]) / np.linalg.norm([0.3, 0.9, 0.3])

SCOUTED = """
estimator = "PrivatePCA"
n_features = 3
[parameters]
norm_bound = {norm_bound}
epsilon = 8.0
initial_point = {initial_point}
n_participants = 60
n_rounds = 2
[scouts]
n_participants = {n_scouts}
n_rounds = 2
[service]
lease_seconds = 60
time_precision_seconds = 1
"""


def scouted_text(norm_bound='"scout"', initial_point='"scout"', n_scouts=30):
    return SCOUTED.format(**locals())


def people(n, unit=50.0, spread=0.2):
    rng = np.random.default_rng(0)
    return unit * (rng.normal(size=(n, 1)) * AXIS + spread * rng.normal(size=(n, 3)))


class Crowd:
    """People who answer one after the other, each as a device does, without HTTP."""

    def __init__(self, collection):
        self.service = Service(collection.engine, stage_after=course.stage_after)
        self.published, self.reports, self._study = collection.protocol, {}, None

    def tokens(self, n):
        with tables.writing(self.service.engine) as connection:
            return store.add_invitations(connection, n)

    def ask(self, token):
        text = self.service.writer.submit(self.service.question_job(token)).result()
        while isinstance(text, Refusal) and text.code == "no_question":  # questions are counted
            time.sleep(0.01)
            text = self.service.writer.submit(self.service.question_job(token)).result()
        return Query.from_json(canonical_json(json.loads(text)["query"]))

    def protocol_of(self, query):
        plan = self.published.plan
        for question in (plan.norms, plan.start):
            if question is not None and question.fingerprint == query.fingerprint:
                return question
        if self._study is None:
            self._study = course.check_study(self.published, json.loads(self.service.scouted()))
        return self._study

    def send(self, token, query, datum):
        record = json.loads(draw_report(self.protocol_of(query), query, datum))
        stored = self.service.writer.submit(self.service.report_job(token, record)).result()
        self.reports[record["report_id"]] = Message.from_json(canonical_json(record["message"]))
        self.service.ledger.follow()
        return stored

    def answer(self, data):
        for token, datum in zip(self.tokens(len(data)), data):
            self.send(token, self.ask(token), datum)

    @property
    def stage(self):
        return self.service.ledger.view.stage.name

    def close(self):
        self.service.close()


@pytest.fixture
def crowd_of(make_collection):
    crowds = []

    def make(**options):
        crowds.append(Crowd(make_collection(text=scouted_text(**options))))
        return crowds[-1]

    yield make
    for crowd in crowds:
        crowd.close()


@pytest.fixture
def scouted(crowd_of):
    """A collection in which scouts have answered, and a few people of the study."""
    crowd = crowd_of()
    data = people(90)
    crowd.answer(data[:60])
    assert crowd.stage == "study", "the start is told after one round"
    crowd.answer(data[60:])
    return crowd


def test_scouts_find_the_protocol_of_the_study(scouted):
    found = json.loads(scouted.service.scouted())
    assert found.keys() == {"norm_bound", "initial_point", "protocol"}
    assert 5 < found["norm_bound"] < 100 and abs(found["initial_point"] @ AXIS) > 0.8
    protocol = Protocol.from_json(found["protocol"])
    model = study.make_estimator(scouted.service.study.description)
    plan = scouted.published.plan
    messages = list(scouted.reports.values())
    by_hand = plan.norms.sets([m.candidate for m in messages[:30]])
    assert [m.fingerprint for m in messages[:30]] == [plan.norms.fingerprint] * 30
    server = scouted.service.ledger.views[1].server
    assert server.n_participants == 30
    parameters = plan.parameters(by_hand, server)
    assert model.set_params(**parameters).start(3).protocol_.to_spec()["loss"] == protocol.loss_spec
    np.testing.assert_allclose(protocol.initial_point, parameters["initial_point"])
    status = scouted.service.status()
    assert (status["stage"], status["n_participants"]) == ("study", 30)
    assert status["fingerprint"] == scouted.published.fingerprint != protocol.fingerprint
    record = study.summarise(scouted.service.study.description, scouted.service.ledger.server)
    assert record["n_participants"] == 30 and abs(record["estimate"] @ AXIS) > 0.8


def test_another_worker_comes_to_the_same(scouted):
    """Whenever it starts: a crash while scouts answer loses nothing."""
    ours = scouted.service.ledger
    with tables.reading(ours.engine) as connection:
        other = Ledger(ours.engine, store.read_study(connection), stage_after=course.stage_after)
    assert not other.view.stage.is_study
    other.follow()
    assert other.found() == ours.found() and other.view.stage.protocol == ours.view.stage.protocol
    assert all(np.array_equal(a, b) for a, b in zip(other.server.state, ours.server.state))
    transcript = other.transcript()
    again = study.make_estimator(scouted.service.study.description).partial_fit(transcript)
    np.testing.assert_allclose(again.estimate_, ours.server.estimate(), rtol=0, atol=1e-14)


def test_a_worker_that_stops_among_scouts_is_followed_by_one_that_goes_on(crowd_of):
    crowd = crowd_of()
    data = people(60)
    crowd.answer(data[:17])
    later = Crowd.__new__(Crowd)
    later.service = Service(crowd.service.engine, stage_after=course.stage_after)
    later.published, later.reports, later._study = crowd.published, {}, None
    later.service.ledger.follow()
    assert later.service.status()["answers"] == [17] and later.stage == "norms"
    with pytest.raises(NotReadyError, match="scouts are being asked"):
        later.service.ledger.transcript()
    later.answer(data[17:])
    crowd.service.ledger.follow()
    assert crowd.stage == "study"
    assert crowd.service.ledger.found() == later.service.ledger.found()
    later.service.writer.close()


def test_an_answer_of_a_scout_that_comes_late_is_stored_and_changes_nothing(crowd_of):
    crowd = crowd_of()
    [late] = crowd.tokens(1)
    query = crowd.ask(late)
    data = people(61)
    crowd.answer(data[:29])
    crowd.service.ledger.close_round(0)  # half of the plan, or more, have answered
    crowd.answer(data[29:59])
    before = crowd.service.ledger.found()
    assert crowd.stage == "study"
    assert crowd.send(late, query, data[60])
    assert crowd.service.ledger.found() == before
    assert crowd.service.ledger.server.n_participants == 0


def test_too_few_scouts_do_not_close_a_round(crowd_of):
    crowd = crowd_of()
    crowd.answer(people(14))
    with pytest.raises(NotReadyError, match="15 answers at least; the open one has 14"):
        crowd.service.ledger.close_round(0)


def test_more_are_asked_where_the_first_do_not_tell_the_start(crowd_of):
    crowd = crowd_of(norm_bound=1.0)
    assert crowd.published.names == ["start"] and crowd.stage == "start"
    noise = np.random.default_rng(1).normal(size=(60, 3))  # no direction at all
    crowd.answer(noise[:30])
    assert crowd.stage == "start" and crowd.service.status()["open_round"] == 1
    crowd.answer(noise[30:])
    assert crowd.stage == "study"  # that was the last round of scouts
    found = crowd.service.ledger.found()
    assert found.keys() == {"initial_point", "known_moment", "protocol"}
    # Asked under the bound of the study, what scouts say of the moment enters its estimate.
    rounds = crowd.service.ledger.view.stage.protocol.rounds
    np.testing.assert_array_equal(rounds.known_covariance, found["known_moment"][1])
    crowd.answer(people(1))  # a device agrees to it


def test_norms_out_of_range_end_the_collection(crowd_of):
    crowd = crowd_of(initial_point="[0.3, 0.9, 0.3]")
    crowd.answer(people(30, unit=1e9))
    ledger, (token,) = crowd.service.ledger, crowd.tokens(1)
    assert ledger.has_ended and "more than half are above" in ledger.failure
    assert crowd.service.writer.submit(crowd.service.question_job(token)).result().code == "ended"
    assert crowd.service.status()["ended"]


def test_devices_answer_whatever_they_are_asked(run_service, tmp_path, wait_until):
    service = run_service(text=scouted_text(n_scouts=2))
    fingerprint, data = service.collection.protocol.fingerprint, people(12)
    ledger, stages = service.service.ledger, set()
    with Client(service.url, "nobody", patience=0.0) as client:
        with pytest.raises(CollectionError, match="not_ready"):
            client.scouted()
    for number, (token, datum) in enumerate(zip(service.tokens(12), data)):
        stages.add(service.http.get("/v1/status").json()["stage"])
        with Client(service.url, token) as client:
            path = tmp_path / f"{number}.json"
            if number == 0:
                with pytest.raises(DatumError, match="datum must have shape"):
                    answer(client, fingerprint, [0.1, 0.2], path)
                with pytest.raises(ProtocolError, match="group must be left out"):
                    answer(client, fingerprint, datum, path, group="strict")
            assert answer(client, fingerprint, datum, path)
            assert not answer(client, fingerprint, datum, path)
        stored = service.count("reports")
        assert stored == number + 1
        wait_until(lambda n=stored: sum(v.server.n_participants for v in ledger.views) == n)
    assert stages == {"norms", "start", "study"}


def test_a_study_that_does_not_follow_is_refused(scouted):
    found = json.loads(scouted.service.scouted())
    published = scouted.published
    for name, value in (("epsilon", 12.0), ("norm_bound", 3.0), ("n_rounds", 3)):
        parameters = {**published.study["parameters"], **found, name: value}
        del parameters["protocol"]
        other = study.make_study_protocol({**published.study, "parameters": parameters})
        with pytest.raises(ProtocolError, match="must be the one that was published"):
            course.check_study(published, {**found, "protocol": other.to_json()})
    assert course.check_study(published, found).fingerprint


def test_rounding_is_relative_to_the_unit():
    small = {"bound": 1e-12, "point": [1e-12, 0.0], "names": ["a", None]}
    assert scouts.agree_to_rounding(small, {**small, "point": [1e-12, 1e-22]})
    for change in ({"bound": 1e-10}, {"point": [1e-12, 1e-15]}, {"names": ["a", 0.0]}):
        assert not scouts.agree_to_rounding(small, {**small, **change})


def test_anybody_can_compute_the_study_from_the_answers(scouted, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["collect", "export", "--database", str(scouted.service.engine.url)]) == 0
    check = ["collect", "check-scouts", "transcript.scouts.json", "--fingerprint"]
    assert main([*check, scouted.published.fingerprint]) == 0
    printed = capsys.readouterr().out
    assert "60 answers of scouts" in printed and "the study follows from the answers" in printed
    record = json.loads((tmp_path / "transcript.scouts.json").read_text())
    # Fewer answers about the norm may say the same bin, and so the same bound.
    found = {**record["found"], "norm_bound": 1.01 * record["found"]["norm_bound"]}
    answers = {**record["answers"], "start": record["answers"]["start"][:15]}
    for wrong in ({"found": found}, {"answers": answers}):
        (tmp_path / "transcript.scouts.json").write_text(json.dumps({**record, **wrong}))
        assert main([*check, scouted.published.fingerprint]) == 2
        assert "must be what the answers of scouts say" in capsys.readouterr().err
    assert main([*check, "0" * 64]) == 2


def test_the_record_reads_back_and_has_one_fingerprint(crowd_of):
    published = crowd_of().published
    text = published.to_json()
    assert read_published(text, published.fingerprint) == published
    with pytest.raises(ProtocolError, match="with fingerprint"):
        read_published(text.replace('"scouts":30', '"scouts":31'), published.fingerprint)
    with pytest.raises(ProtocolError, match="record of a scouted study"):
        read_published(text.replace('"scouts"', '"scout"', 1))


BAD_STUDIES = {
    scouted_text().replace("n_features = 3", ""): "n_features must be given",
    scouted_text().replace("n_rounds = 2\n[scouts]", "[scouts]"): "n_rounds must be among",
    scouted_text().replace("epsilon = 8.0", "epsilon = {a = 1.0, b = 2.0}"): "epsilon",
    scouted_text().replace("epsilon = 8.0", "epsilon = 20.0"): "at most 16",
    scouted_text(n_scouts=1): "n_participants",
    scouted_text("2.0", "[1.0, 0.0, 0.0]"): "no parameter is",
    scouted_text("2.0").replace("PrivatePCA", "PrivateSPDCovariance"): "no parameter that scouts",
}


@pytest.mark.parametrize("text", BAD_STUDIES)
def test_a_study_file_that_does_not_fit_is_refused_by_name(text):
    with pytest.raises(ProtocolError, match=BAD_STUDIES[text]):
        study.make_published(study.read_study_file(text))


@pytest.mark.slow
def test_a_rehearsal_with_scouts_over_http(run_service):
    service = run_service(text=scouted_text())
    outcome = Rehearsal(service.url, service.tokens(160), people(160)).run(4)
    status = service.http.get("/v1/status").json()
    assert status["ended"] and status["stage"] == "study"
    result = service.http.get("/v1/result").json()
    assert abs(np.array(result["estimate"]) @ AXIS) > 0.9
    assert len(outcome.acknowledged) >= 120
