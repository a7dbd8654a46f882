"""OpenAPI document of the service."""

from __future__ import annotations

from geomstats_ldp import __version__


def _object(**properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_INTEGER = {"type": "integer", "minimum": 0}
_ANSWERS = {"type": "array", "items": _INTEGER}
_TEXT = {"type": "string"}
_REPORT_ID = {"type": "string", "pattern": "^[A-Za-z0-9_-]{16,64}$"}
_ADDRESS = {"fingerprint": _TEXT, "round": _INTEGER, "index": _INTEGER}

#: Of a question; needed where the protocol has groups.
_GROUP = {"name": "group", "in": "query", "required": False, "schema": _TEXT}

_SCHEMAS = {
    "Error": _object(error=_object(code=_TEXT, message=_TEXT)),
    "Query": _object(**_ADDRESS, side={"const": "round"}, point={"type": "array"}),
    "Message": _object(
        **_ADDRESS,
        candidate={
            "description": "An integer of 64 bits, or those of the grid of the Gaussian mechanism",
            "oneOf": [_INTEGER, {"type": "array", "items": {"type": "integer"}}],
        },
    ),
    "Form": {
        "type": "object",
        "properties": {
            "title": _TEXT,
            "introduction": _TEXT,
            "labels": {"type": "array", "items": _TEXT},
            "coordinates": _TEXT,
        },
        "additionalProperties": False,
    },
    "Question": _object(query={"$ref": "#/components/schemas/Query"}, lease_until=_INTEGER),
    "Report": _object(report_id=_REPORT_ID, message={"$ref": "#/components/schemas/Message"}),
    "Stored": _object(report_id=_REPORT_ID, status={"const": "stored"}),
    "Status": _object(
        n_rounds=_INTEGER,
        sizes={"oneOf": [_ANSWERS, {"type": "null"}]},
        answers=_ANSWERS,
        n_participants=_INTEGER,
        minimum=_INTEGER,
        open_round={"oneOf": [_INTEGER, {"type": "null"}]},
        ended={"type": "boolean"},
        fingerprint=_TEXT,
    ),
    "Result": _object(
        n_participants=_INTEGER,
        estimate={"type": "array"},
        level={"type": "number"},
        covariance={"type": "array"},
        largest_radius={"type": "number"},
        is_informative={"type": "boolean"},
        warnings={"type": "array", "items": _TEXT},
    ),
    "Scouted": {
        "description": "What scouts have found, and the text of the protocol that follows",
        "type": "object",
        "properties": {
            "norm_bound": {"type": "number"},
            "initial_point": {"type": "array"},
            "known_moment": {"type": "array"},
            "protocol": _TEXT,
        },
        "required": ["protocol"],
        "additionalProperties": False,
    },
    "Count": _object(count={"type": "integer", "minimum": 1, "maximum": 100000}),
    "Tokens": _object(tokens={"type": "array", "items": _TEXT}, fingerprint=_TEXT),
}

_SCHEMAS["Status"]["properties"]["stage"] = {
    "description": "What is open, of a collection that asks scouts first; rounds are those of it",
    "enum": ["norms", "start", "study"],
}
_SCHEMAS["Status"]["properties"]["groups"] = {
    "description": "Answers by group, of a collection that has groups",
    "type": "object",
    "additionalProperties": _INTEGER,
}


def _json(name):
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


_ERROR = {"description": "Refused; code and message say why", "content": _json("Error")}
_RETRY = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds"}}
_LATER = {**_ERROR, "headers": _RETRY}


def _operation(summary, answers, refusals=(), body=None, is_secret=False):
    """One route: schemas of the answers by status, statuses of refusals, schema of the body."""
    responses = {
        str(status): {"description": summary, "content": _json(name)}
        for status, name in answers.items()
    }
    responses |= {str(status): _ERROR for status in refusals}
    responses |= {"429": _LATER, "503": _LATER}
    operation = {"summary": summary, "responses": responses}
    if body is not None:
        operation["requestBody"] = {"required": True, "content": _json(body)}
    if is_secret:
        operation["security"] = [{"bearer": []}]
    return operation


def describe():
    """The document, as a plain record."""
    protocol = _operation("The protocol; its SHA-256 is the fingerprint", {})
    protocol["responses"]["200"] = {
        "description": "JSON text of the protocol",
        "headers": {"X-Protocol-Fingerprint": {"schema": _TEXT}},
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
    body = (400, 401, 408, 409, 413, 415, 422)
    paths = {
        "/v1/protocol": {"get": protocol},
        "/v1/scouted": {
            "get": _operation("What followed from scouts", {200: "Scouted"}, (409,)),
        },
        "/v1/form": {"get": _operation("Words of the page for browsers", {200: "Form"})},
        "/v1/questions": {
            "post": _operation(
                "The question of an invitation, the same one until its lease ends",
                {200: "Question"},
                (401, 408, 409, 410, 413, 422),
                is_secret=True,
            )
            | {"parameters": [_GROUP]}
        },
        "/v1/reports": {
            "post": _operation(
                "Store a report; 200 for one that was stored before",
                {201: "Stored", 200: "Stored"},
                body,
                "Report",
                is_secret=True,
            )
        },
        "/v1/status": {"get": _operation("How far the collection is", {200: "Status"})},
        "/v1/result": {"get": _operation("Estimate and region so far", {200: "Result"}, (409,))},
        "/v1/admin/close-round": {
            "post": _operation(
                "Close the open round", {200: "Status"}, (401, 408, 409, 413), is_secret=True
            )
        },
        "/v1/admin/invitations": {
            "post": _operation("Make tokens", {201: "Tokens"}, body, "Count", is_secret=True)
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "geomstats_ldp collection", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
