"""Queries to participants and their messages."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from geomstats_ldp.exceptions import MessageError
from geomstats_ldp.serialization import (
    BAD_CONTENT,
    SHORT_TEXT,
    canonical_json,
    number_array,
    parse_json,
)

#: Sides of a query pair; "base" is the query of an odd last participant, "round" one that many
#: participants of a round share.
SIDES = ("plus", "minus", "base", "round")

#: Fingerprints have 64 hexadecimal digits; other texts are read too, and refused by the server.
_LONGEST_FINGERPRINT = 128


#: Entries of messages up to here can be squared and summed without overflow.
LARGEST_ENTRY = 1e120


@dataclass(frozen=True)
class Query:
    """Public question to one participant: the score at `point`.

    Attributes
    ----------
    fingerprint : str
        Fingerprint of the protocol.
    round : int
        Round, counted from zero.
    index : int
        Position within the round: pair 0 plus, pair 0 minus, pair 1 plus, ... In a collection in
        rounds the direction, which many participants are asked about.
    side : {"plus", "minus", "base", "round"}
    point : array, shape [*point_shape]
    """

    fingerprint: str
    round: int
    index: int
    side: str
    point: np.ndarray

    def to_json(self):
        """JSON text, to send to a participant."""
        return canonical_json({**self.__dict__, "point": np.asarray(self.point).tolist()})

    @classmethod
    def from_json(cls, text):
        """Inverse of `to_json`."""
        return _parse(cls, text, "point")


@dataclass(frozen=True)
class Message:
    """Private answer of one participant.

    Attributes
    ----------
    fingerprint, round, index
        Copied from the query that is answered.
    tangent_vec : array, shape [*point_shape]
        Randomised score, an ambient tangent vector at the query point.
    """

    fingerprint: str
    round: int
    index: int
    tangent_vec: np.ndarray

    def to_json(self):
        """JSON text, to send to the server."""
        record = {**self.__dict__, "tangent_vec": np.asarray(self.tangent_vec).tolist()}
        return canonical_json(record)

    @classmethod
    def from_json(cls, text):
        """Inverse of `to_json`."""
        return _parse(cls, text, "tangent_vec")


def _parse(cls, text, array_name):
    try:
        record = parse_json(text, SHORT_TEXT)
        _check_fields(cls, record)
        record[array_name] = number_array(record[array_name])
        _check_values(record)
        return cls(**record)
    except BAD_CONTENT as error:
        raise MessageError(f"text is not a {cls.__name__}: {error}") from error


def _check_fields(cls, record):
    if not isinstance(record, dict):
        raise TypeError(f"expected a JSON object; got {type(record).__name__}")
    expected = {field.name for field in fields(cls)}
    faults = {
        "the fields {} are missing": expected - record.keys(),
        "the fields {} are unknown": record.keys() - expected,
    }
    found = [fault.format(sorted(names)) for fault, names in faults.items() if names]
    if found:
        raise ValueError(", ".join(found))


def _check_values(record):
    fingerprint = record["fingerprint"]
    if not isinstance(fingerprint, str) or len(fingerprint) > _LONGEST_FINGERPRINT:
        raise TypeError(
            f"fingerprint must be a text of at most {_LONGEST_FINGERPRINT} characters; "
            f"got {str(fingerprint)[:20]!r}"
        )
    for name in ("round", "index"):
        if type(record[name]) is not int or record[name] < 0:
            raise TypeError(f"{name} must be an integer from 0 on; got {str(record[name])[:20]!r}")
    if record.get("side", "plus") not in SIDES:
        raise ValueError(f"side must be one of {SIDES}; got {str(record['side'])[:20]!r}")
