"""What a collection asks one after the other: scouts first where there are some, then the study.

A stage is a collection in rounds of its own. In the database the rounds of all stages are numbered
through, so that questions, leases and closings are the same for all of them. What follows from
scouts is decided elsewhere: here nobody knows estimators, or sees a datum.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.server import RoundServer


def _goes_on(server):
    """What a closing records where the rounds themselves are all there is."""
    return None


class Stage(NamedTuple):
    """A collection in rounds as a part of a longer one.

    Attributes
    ----------
    name : str
        "norms", "start" or "study".
    protocol : Protocol or NormQuestion
    first : int
        Number, in the database, of its first round.
    make_server : callable
        Makes a `RoundServer`, or what stands for one, of the protocol.
    outcome : callable
        Of the server of scouts when a round closes: what they have found, a dict, if that was their
        last round, else None. It has "protocol", the text of the protocol of the study, if all is
        known now, or "failure", which ends the collection.
    """

    name: str
    protocol: Any
    first: int = 0
    make_server: Callable = RoundServer
    outcome: Callable = _goes_on

    @property
    def stop(self):
        """Number after that of its last round."""
        return self.first + self.protocol.rounds.n_rounds

    @property
    def is_study(self):
        """Whether this is what the collection is for."""
        return self.name == "study"


def study_alone(study, outcomes):
    """The one `Stage` of a collection without scouts, of which there are no outcomes."""
    if study.protocol is None:
        raise ProtocolError("this collection asks scouts first, which has to be planned for")
    return Stage("study", study.protocol)
