"""Queries to participants and their messages."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, fields

import numpy as np

from geomstats_ldp.exceptions import MessageError
from geomstats_ldp.mechanisms.candidates import check_candidate
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
        rounds the direction, which many participants are asked about; with groups of participants
        those of the first group, then those of the second, and so on.
    side : {"plus", "minus", "base", "round"}
    point : array, shape [*point_shape]
    directions : array, shape [dim, dim], optional
        One tangent vector a row, in frame coordinates at the point, along which a round that asks
        for curvature does so. None asks for the score; the text names directions only where there
        are some.
    """

    fingerprint: str
    round: int
    index: int
    side: str
    point: np.ndarray
    directions: np.ndarray | None = None

    def to_json(self) -> str:
        """JSON text, to send to a participant."""
        record = {**self.__dict__, "point": np.asarray(self.point).tolist()}
        if self.directions is None:
            del record["directions"]
        else:
            record["directions"] = np.asarray(self.directions).tolist()
        return canonical_json(record)

    @classmethod
    def from_json(cls, text: str) -> Query:
        """Read the text that `to_json` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        query : Query

        Raises
        ------
        MessageError
            If the text is not a query.
        """
        with _reading(cls):
            record = parse_json(text, SHORT_TEXT)
            _check_fields(cls, record, optional={"directions"})
            for name in record.keys() & {"point", "directions"}:
                record[name] = number_array(record[name])
            _check_values(record)
            return cls(**record)


@dataclass(frozen=True)
class Message:
    """Private answer of one participant.

    A message of a device holds a candidate and travels as such. A simulated one holds the vector
    alone, and does not travel: the last bits of its doubles tell data apart.

    Attributes
    ----------
    fingerprint, round, index
        Copied from the query that is answered.
    tangent_vec : array, shape [*point_shape], or None
        Randomised score, an ambient tangent vector at the query point. It is computed from the
        candidate, by `Protocol.tangent_vec`; None if the message was read from a text.
    candidate : int, tuple of int or None
        What was released: an integer in [0, 2^64), or d integers of the grid of the Gaussian
        mechanism; None if the message is simulated.
    """

    fingerprint: str
    round: int
    index: int
    tangent_vec: np.ndarray | None = field(default=None, compare=False)
    candidate: int | tuple | None = None

    def to_json(self) -> str:
        """JSON text, to send to the server: no float of the answer is in it.

        Raises
        ------
        MessageError
            If the message is simulated.
        """
        if self.candidate is None:
            raise MessageError(
                "message must hold a candidate to be sent; this one was simulated, by a seeded "
                "participant, and the last bits of its doubles tell data apart"
            )
        record = {**self.__dict__}
        del record["tangent_vec"]
        return canonical_json(record)

    @classmethod
    def from_json(cls, text: str) -> Message:
        """Read the text that `to_json` wrote.

        Parameters
        ----------
        text : str

        Returns
        -------
        message : Message
            Without its vector, which `Protocol.tangent_vec` computes.

        Raises
        ------
        MessageError
            If the text is not a message.
        """
        with _reading(cls):
            record = parse_json(text, SHORT_TEXT)
            _check_fields(cls, record, left_out={"tangent_vec"})
            record["candidate"] = _candidate(record["candidate"])
            _check_values(record)
            return cls(**record)


def _candidate(value):
    """Candidate of a JSON text: an integer of 64 bits, or a tuple of signed ones."""
    if isinstance(value, list):
        if not all(type(number) is int and abs(number) <= 2**53 for number in value):
            raise TypeError("candidate must be an integer or a list of integers of 53 bits")
        return tuple(value)
    return check_candidate(value)


@contextmanager
def _reading(cls):
    try:
        yield
    except BAD_CONTENT as error:
        raise MessageError(f"text is not a {cls.__name__}: {error}") from error


def _check_fields(cls, record, left_out=frozenset(), optional=frozenset()):
    if not isinstance(record, dict):
        raise TypeError(f"expected a JSON object; got {type(record).__name__}")
    expected = {field.name for field in fields(cls)} - left_out
    faults = {
        "the fields {} are missing": expected - optional - record.keys(),
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
