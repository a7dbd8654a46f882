"""Texts from outside: what a generous JSON parser lets pass is refused, by the package's errors."""

import json

import numpy as np
import pytest

from geomstats_ldp.exceptions import MessageError, ProtocolError
from geomstats_ldp.protocol import Message, Protocol, Query

FINGERPRINT = "a" * 64


@pytest.fixture
def texts(pca_protocol):
    """One good text of every kind, with its reader and its error."""
    point = np.array([1.0, 0.0, 0.0])
    return {
        Message: Message(FINGERPRINT, 3, 1, candidate=(10, -2)).to_json(),
        Query: Query(FINGERPRINT, 3, 1, "minus", point).to_json(),
        Protocol: pca_protocol().to_json(),
    }


ERRORS = {Message: MessageError, Query: MessageError, Protocol: ProtocolError}
KINDS = pytest.mark.parametrize("kind", [Message, Query, Protocol])


def refused(kind, text, match):
    with pytest.raises(ERRORS[kind], match=match):
        kind.from_json(text)


@KINDS
def test_a_name_given_twice_is_refused(texts, kind):
    text = texts[kind]
    for name in json.loads(text):
        again = json.dumps({name: json.loads(text)[name]})[1:-1]
        refused(kind, text[:-1] + "," + again + "}", f"'{name}' is given more than once")


def test_epsilon_given_twice_deep_in_a_protocol_is_refused(texts):
    good = '"epsilon":2.0'
    text = texts[Protocol]
    assert text.count(good) == 1
    refused(Protocol, text.replace(good, f'{good},"epsilon":"inf"'), "'epsilon' is given more")


@KINDS
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e400"])
def test_numbers_that_are_not_finite_are_refused(texts, kind, number):
    text = texts[kind].replace("10" if kind is Message else "1.0", number, 1)
    assert text != texts[kind]
    refused(kind, text, "finite")


@KINDS
def test_long_integers_are_refused_before_they_are_computed(texts, kind):
    record = json.loads(texts[kind])
    name = {Message: "round", Query: "index", Protocol: "pairs_per_round"}[kind]
    text = texts[kind].replace(f'"{name}":{record[name]}', f'"{name}":' + "9" * 900_000)
    # int() has an error of its own for so many digits, so that it was not asked.
    refused(kind, text, "at most 20 digits")


@KINDS
@pytest.mark.parametrize("bracket", ["[", '{"a":'])
def test_deep_nesting_is_refused(texts, kind, bracket):
    refused(kind, bracket * 20_000, "nested at most")
    opening = texts[kind].index("[")
    close = "]" if bracket == "[" else "}"
    deep = bracket * 20_000 + "1" + close * 20_000
    refused(kind, texts[kind][:opening] + deep + ',"x":' + texts[kind][opening:], "nested at most")


def test_brackets_in_names_and_escapes_are_no_nesting():
    fingerprint = '[{"\\' * 20
    text = Message(fingerprint, 0, 0, candidate=7).to_json()
    assert Message.from_json(text).fingerprint == fingerprint


@KINDS
def test_long_texts_are_refused(texts, kind):
    refused(kind, texts[kind] + " " * 2**24, "at most .* characters")


@KINDS
def test_bytes_are_read_as_utf8_or_refused(texts, kind):
    kind.from_json(texts[kind].encode())
    refused(kind, texts[kind].encode("utf-16"), "not a")
    refused(kind, 17, "expected a text; got int")


@pytest.mark.parametrize("kind", [Message, Query])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("round", -1),
        ("round", True),
        ("round", 1.0),
        ("round", "1"),
        ("round", None),
        ("index", -3),
        ("index", [1]),
        ("fingerprint", 3),
        ("fingerprint", None),
        ("fingerprint", "a" * 1000),
    ],
)
def test_fields_of_a_message_have_their_types(texts, kind, name, value):
    record = json.loads(texts[kind]) | {name: value}
    refused(kind, json.dumps(record), f"{name} must be")


def test_sides_are_known(texts):
    for side in ("left", None, 1, ["plus"]):
        refused(Query, json.dumps(json.loads(texts[Query]) | {"side": side}), "side must be one of")


@pytest.mark.parametrize(
    "value",
    [
        -1,
        2**64,
        1.0,
        True,
        None,
        "1",
        {},
        ["1", 2],
        [True, 2],
        [1.0, 2.0],
        [[1], [2]],
        [2**53 + 1, 0],
        10**19 * 9,
    ],
)
def test_candidates_are_integers_of_their_range(texts, value):
    record = json.loads(texts[Message]) | {"candidate": value}
    refused(Message, json.dumps(record), "not a Message")


def test_a_message_in_floats_is_no_message(texts):
    record = json.loads(texts[Message])
    refused(Message, json.dumps(record | {"tangent_vec": [1.0, 0.0]}), "'tangent_vec'. are unknown")


@pytest.mark.parametrize("value", [["1.0", 2.0], [[True, 2.0]], [None], "1", {}, [[1.0], [1.0]]])
@pytest.mark.parametrize("name", ["basis", "directions", "preconditioner", "initial_point"])
def test_arrays_of_a_protocol_hold_numbers_only(texts, name, value):
    refused(Protocol, json.dumps(json.loads(texts[Protocol]) | {name: value}), "not a protocol")
