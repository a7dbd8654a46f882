"""Whatever is sent to any route: no failure, and nothing stored that was not acknowledged."""

import json
import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def values():
    leaves = (
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
        | st.sampled_from([2**63, 2**64, -(2**63) - 1, "\ud800", "\x00", "a" * 64])
    )  # fmt: skip
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["report_id", "message", "count", "round", "index", "candidate"])
                | st.text(max_size=5),
                inner,
                max_size=6,
            )
        ),
        max_leaves=12,
    )


def near_reports(fingerprint):
    """Records with the fields of a report, and values that may be wrong."""
    number = st.integers(-1, 5) | st.integers()
    message = st.fixed_dictionaries(
        {"fingerprint": st.just(fingerprint) | values(), "round": number | values()},
        optional={"index": number | values(), "candidate": number | values()},
    )
    identifier = st.text(string.ascii_letters + "-_", min_size=16, max_size=64) | values()
    return st.fixed_dictionaries({"report_id": identifier, "message": message | values()})


@pytest.fixture
def fuzzed(run_service):
    service = run_service()
    service.known = service.tokens(30)
    for token in service.known[:10]:
        service.post("/v1/questions", token)
    return service


@pytest.mark.slow
def test_no_request_makes_the_service_fail(fuzzed):
    paths = [path for path in fuzzed.http.get("/v1/openapi.json").json()["paths"]]
    fingerprint = fuzzed.collection.protocol.fingerprint
    body = st.binary(max_size=200) | (values() | near_reports(fingerprint)).map(
        lambda value: json.dumps(value).encode()
    )
    visible = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=40)
    secret = st.sampled_from(fuzzed.known) | st.just(fuzzed.key) | visible
    kind = st.just("application/json") | st.text(string.ascii_letters + '/;="', max_size=20)
    verb = st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])

    @settings(
        max_examples=400,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(verb=verb, path=st.sampled_from(paths), secret=secret, kind=kind, body=body)
    def fuzz(verb, path, secret, kind, body):
        headers = {
            "Authorization": f"Bearer {secret}".encode().strip(),
            "Content-Type": kind.encode(),
        }
        n_spent = fuzzed.count("reports")
        answer = fuzzed.http.request(verb, path, content=body, headers=headers)
        # 503 is said where no question is open, and nowhere else.
        allowed = path == "/v1/questions" and answer.status_code == 503
        assert answer.status_code < 500 or allowed, (answer.status_code, answer.text)
        if answer.status_code >= 400 and answer.content:
            assert answer.json()["error"].keys() == {"code", "message"}
        if path == "/v1/reports":
            assert fuzzed.count("reports") - n_spent == (answer.status_code == 201)

    fuzz()
