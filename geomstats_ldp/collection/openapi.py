"""OpenAPI document of the service, from its routes."""

from __future__ import annotations

from typing import Callable, NamedTuple

from geomstats_ldp import __version__
from geomstats_ldp.collection.service import MOST_TOKENS, REPORT_ID


def _object(required, optional=None):
    """Schema of an object, from those of its fields."""
    return {
        "type": "object",
        "properties": required | (optional or {}),
        "required": list(required),
        "additionalProperties": False,
    }


_ARRAY, _NUMBER, _TEXT = ({"type": kind} for kind in ("array", "number", "string"))
_COUNT = {"type": "integer", "minimum": 0}
_COUNTS, _TEXTS = ({"type": "array", "items": kind} for kind in (_COUNT, _TEXT))
_REPORT_ID = {"type": "string", "pattern": f"^{REPORT_ID.pattern}$"}
_ADDRESS = {"fingerprint": _TEXT, "round": _COUNT, "index": _COUNT}
_CANDIDATE = {
    "description": "An integer of 64 bits, or those of the grid of the Gaussian mechanism",
    "oneOf": [_COUNT, {"type": "array", "items": {"type": "integer"}}],
}
_STAGE = {
    "description": "What is open, of a collection that asks scouts first; rounds are those of it",
    "enum": ["norms", "start", "study"],
}
_GROUPS = {
    "description": "Answers by group, of a collection that has groups",
    "type": "object",
    "additionalProperties": _COUNT,
}


def _ref(name):
    return {"$ref": f"#/components/schemas/{name}"}


_SCHEMAS = {
    "Error": _object({"error": _object({"code": _TEXT, "message": _TEXT})}),
    "Published": {"type": "object"},
    "Query": _object(_ADDRESS | {"side": {"const": "round"}, "point": _ARRAY}),
    "Message": _object(_ADDRESS | {"candidate": _CANDIDATE}),
    "Form": _object(
        {}, {"title": _TEXT, "introduction": _TEXT, "labels": _TEXTS, "coordinates": _TEXT}
    ),
    "Question": _object({"query": _ref("Query"), "lease_until": _COUNT}),
    "Report": _object({"report_id": _REPORT_ID, "message": _ref("Message")}),
    "Stored": _object({"report_id": _REPORT_ID, "status": {"const": "stored"}}),
    "Status": _object(
        {
            "n_rounds": _COUNT,
            "sizes": {"oneOf": [_COUNTS, {"type": "null"}]},
            "answers": _COUNTS,
            "n_participants": _COUNT,
            "minimum": _COUNT,
            "open_round": {"oneOf": [_COUNT, {"type": "null"}]},
            "ended": {"type": "boolean"},
            "fingerprint": _TEXT,
        },
        {"stage": _STAGE, "groups": _GROUPS},
    ),
    "Result": _object(
        {
            "n_participants": _COUNT,
            "estimate": _ARRAY,
            "level": _NUMBER,
            "covariance": _ARRAY,
            "largest_radius": _NUMBER,
            "is_informative": {"type": "boolean"},
            "warnings": _TEXTS,
        }
    ),
    "Scouted": _object(
        {"protocol": _TEXT},
        {"norm_bound": _NUMBER, "initial_point": _ARRAY, "known_moment": _ARRAY},
    ),
    "Count": _object({"count": {"type": "integer", "minimum": 1, "maximum": MOST_TOKENS}}),
    "Tokens": _object({"tokens": _TEXTS, "fingerprint": _TEXT}),
}


class Operation(NamedTuple):
    """One route; the docstring of its endpoint says what it does.

    Schemas of answers are by status; of refusals those are named that do not follow from the rest.
    What is posted needs a token or the admin key. Parameters of the query may be left out.
    """

    verb: str
    path: str
    endpoint: Callable
    answers: dict[int, str]
    refusals: tuple = ()
    body: str | None = None
    query: tuple = ()


def _response(description, name, **more):
    return {"description": description, "content": _content(name), **more}


def _content(name):
    return {"application/json": {"schema": _ref(name)}}


def _describe(operation):
    summary = operation.endpoint.__doc__.rstrip(".")
    responses = {status: _response(summary, name) for status, name in operation.answers.items()}
    refusals = [*operation.refusals, 429, 503]
    parameters = [{"name": name, "in": "query", "schema": _TEXT} for name in operation.query]
    record = {"summary": summary, "parameters": parameters, "responses": responses}
    if operation.body is not None:
        record["requestBody"] = {"required": True, "content": _content(operation.body)}
        refusals += [400, 415, 422]
    if operation.verb == "POST":
        record["security"] = [{"bearer": []}]
        refusals += [401, 408, 413]
    for status in sorted(refusals):
        responses[status] = _response("Refused; code and message say why", "Error")
    for status in (429, 503):
        seconds = {"description": "Seconds", "schema": {"type": "integer"}}
        responses[status]["headers"] = {"Retry-After": seconds}
    if "Published" in operation.answers.values():
        responses[200]["headers"] = {"X-Protocol-Fingerprint": {"schema": _TEXT}}
    return record


def describe(operations):
    """The document, a plain record, of a list of `Operation`."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "geomstats_ldp collection", "version": __version__},
        "paths": {each.path: {each.verb.lower(): _describe(each)} for each in operations},
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
