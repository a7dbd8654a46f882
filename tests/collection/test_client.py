"""What a device sends to a service, and how much it takes from one that lies."""

import os
import stat

import httpx
import pytest

from geomstats_ldp import PrivatePCA
from geomstats_ldp.collection import device, tables
from geomstats_ldp.collection.client import Client
from geomstats_ldp.exceptions import CollectionError
from geomstats_ldp.serialization import LONG_TEXT

TOKEN = "t" * 32


@pytest.fixture(scope="module")
def survey():
    pca = PrivatePCA(
        norm_bound=2.0, epsilon=4.0, initial_point=[0.0, 1.0, 0.0], n_participants=100, n_rounds=2
    )
    return pca.start()


def client_of(respond, patience=0.0):
    return Client("http://service.test", TOKEN, patience, httpx.MockTransport(respond))


def test_the_token_goes_with_questions_and_reports_only(survey, tmp_path):
    asked = []

    def respond(request):
        asked.append((request.url.path, request.headers.get("authorization")))
        if request.url.path == "/v1/protocol":
            return httpx.Response(200, text=survey.protocol_.to_json())
        if request.url.path == "/v1/questions":
            query = survey.queries(1)[0].to_json()
            return httpx.Response(200, text=f'{{"query":{query},"lease_until":0}}')
        return httpx.Response(201, json={"status": "stored"})

    path = tmp_path / "report.json"
    fingerprint = survey.protocol_.fingerprint
    assert device.answer(client_of(respond), fingerprint, [0.1, 0.9, 0.2], path)
    bearer = f"Bearer {TOKEN}"
    assert asked == [("/v1/protocol", None), ("/v1/questions", bearer), ("/v1/reports", bearer)]
    # The report ties a person to a message: nobody else on the machine reads it.
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


@pytest.mark.parametrize("status", [200, 409])
def test_endless_answers_are_cut(status, survey):
    sent = []

    def endless():
        while True:
            sent.append(None)
            yield b" " * 2**20

    client = client_of(lambda request: httpx.Response(status, content=endless()))
    with pytest.raises(CollectionError, match=f"at most {LONG_TEXT} bytes"):
        client.published(survey.protocol_.fingerprint)
    assert len(sent) <= LONG_TEXT // 2**20 + 1


@pytest.mark.parametrize("text", ["", "no", "[]", '{"error": 3}', '{"error": {"code": "a"}}'])
def test_refusals_without_words_are_said_by_their_status(text):
    client = client_of(lambda request: httpx.Response(409, text=text))
    with pytest.raises(CollectionError, match="refuses with status 409"):
        client.question()


def test_plain_addresses_of_postgresql_mean_the_driver_of_the_extra():
    pytest.importorskip("psycopg")
    assert tables.connect("postgresql://somebody@localhost/name").dialect.driver == "psycopg"
