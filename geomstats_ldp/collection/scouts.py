"""What a collection publishes whose first participants are scouts.

The record names the two questions and the study file. Its SHA-256 is the fingerprint in every
invitation. The protocol of the study is a function of it and of the answers of the scouts, see
`course.stage_after`.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from functools import cached_property

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.protocol.agreement import check_fingerprint
from geomstats_ldp.protocol.rounds import RoundPlan
from geomstats_ldp.scouting import NormHistogram, ScoutPlan
from geomstats_ldp.serialization import BAD_CONTENT, LONG_TEXT, canonical_json, parse_json
from geomstats_ldp.validation import check_integer

#: Fields of the record.
_FIELDS = {"example", "norms", "plan", "scouts", "start", "study"}

#: Numbers of a plan.
_NUMBERS = ("noise_variance", "n_features", "n_components", "tells_moment")

#: Numbers that were computed anew differ by rounding at most.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ScoutedStudy:
    """Questions to scouts, and the study that follows.

    Parameters
    ----------
    plan : ScoutPlan
        Its `start` is a collection in as many rounds as are asked at most.
    n_participants : int
        Answers to each round of a question.
    study : dict
        Fields of the study file that decide the protocol: estimator, n_features, parameters,
        rounds, service.
    example : Protocol
        Of the study if scouts found some public stand-ins, for what does not depend on them.
    """

    plan: ScoutPlan
    n_participants: int
    study: dict
    example: Protocol

    def __post_init__(self):
        check_integer("n_participants", self.n_participants, 1)
        if not self.names:
            raise ProtocolError("scouts must be asked for something")

    @property
    def names(self):
        """Names of the questions, in their order."""
        asked = {"norms": self.plan.norms, "start": self.plan.start}
        return [name for name, question in asked.items() if question is not None]

    @property
    def minimum(self):
        """Answers with which a round of scouts may close before its time: half of the plan."""
        return math.ceil(self.n_participants / 2)

    @property
    def norm_rounds(self):
        """Plan of the round that asks for norms."""
        return RoundPlan(1, sizes=(self.n_participants,), minimum=self.minimum)

    @property
    def epsilon(self):
        """What everybody spends, scout or not."""
        return self.example.mechanism.epsilon

    # ---------------------------------------------------------------- record

    def to_json(self):
        """Text that `from_json` reads.

        Questions and the example are texts in it: their fingerprints are those of these very texts.
        """
        plan = self.plan
        record = {
            "example": self.example.to_json(),
            "norms": None if plan.norms is None else plan.norms.to_json(),
            "start": None if plan.start is None else plan.start.to_json(),
            "plan": {name: getattr(plan, name) for name in _NUMBERS},
            "scouts": self.n_participants,
            "study": self.study,
        }
        return canonical_json(record)

    @cached_property
    def fingerprint(self):
        """SHA-256 of the record."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @classmethod
    def from_json(cls, text, fingerprint=None):
        """Read what `to_json` wrote; ProtocolError if it is none, or has another fingerprint."""
        try:
            record = parse_json(text, LONG_TEXT)
            if record.keys() != _FIELDS:
                raise ValueError(f"it must have the fields {sorted(_FIELDS)}")
            norms, start = record["norms"], record["start"]
            plan = ScoutPlan(
                None if norms is None else NormHistogram.from_json(norms),
                None if start is None else Protocol.from_json(start),
                **record["plan"],
            )
            example = Protocol.from_json(record["example"])
            read = cls(plan, record["scouts"], record["study"], example)
        except BAD_CONTENT as error:
            raise ProtocolError(f"text must be the record of a scouted study: {error}") from error
        check_fingerprint("scouted study", read, fingerprint)
        return read


def read_published(text, fingerprint=None):
    """Protocol or `ScoutedStudy` of a text that was published; errors as of their `from_json`."""
    is_scouted = isinstance(text, str) and text.startswith('{"example":')
    return (ScoutedStudy if is_scouted else Protocol).from_json(text, fingerprint)


def with_start_rounds(plan, n_participants, n_rounds):
    """Plan whose collection for the initial point has several rounds of one size.

    All of them ask the same; they end once the answers tell the initial point.
    """
    if plan.start is None:
        return plan
    rounds = replace(
        plan.start.rounds,
        n_rounds=n_rounds,
        sizes=(n_participants,) * n_rounds,
        minimum=math.ceil(n_participants / 2),
    )
    start = replace(plan.start, rounds=rounds, n_participants=rounds.n_participants)
    return replace(plan, start=start)


def agree_to_rounding(first, second, size=None):
    """Whether two plain records say the same but for rounding.

    Rounding is relative to `size`, by default the number itself and the largest entry of a list:
    the unit of the data may be small.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        same = first.keys() == second.keys()
        return same and all(agree_to_rounding(first[name], second[name]) for name in first)
    if isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        size = _largest(first) if size is None else size
        pairs = zip(first, second)
        return len(first) == len(second) and all(agree_to_rounding(*pair, size) for pair in pairs)
    if first != second and isinstance(first, float) and isinstance(second, (int, float)):
        return abs(first - second) <= _ROUNDING * (abs(first) if size is None else size)
    return first == second


def _largest(values):
    """Largest absolute number in nested lists."""
    if isinstance(values, (list, tuple)):
        return max(map(_largest, values), default=0.0)
    return abs(values) if isinstance(values, (int, float)) else 0.0
