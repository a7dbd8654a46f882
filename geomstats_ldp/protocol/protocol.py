"""Everything public about one collection, fixed before the first message."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, UserCoordinates
from geomstats_ldp.geometry.regions import WorkingRegion, region_from_spec
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.mechanisms import Mechanism, mechanism_from_spec
from geomstats_ldp.protocol.agreement import check_fingerprint
from geomstats_ldp.protocol.checks import check_protocol
from geomstats_ldp.protocol.groups import mechanisms_of
from geomstats_ldp.protocol.limits import check_limits
from geomstats_ldp.protocol.messages import Message
from geomstats_ldp.protocol.queries import all_queries
from geomstats_ldp.protocol.rounds import RoundPlan
from geomstats_ldp.protocol.rules import GainRule, InferenceRule, RadiusRule
from geomstats_ldp.schedules import Schedule
from geomstats_ldp.serialization import (
    BAD_CONTENT,
    LONG_TEXT,
    canonical_json,
    decode,
    nested_tuple,
    number_array,
    parse_json,
)

#: Version of the record that `Protocol.to_json` writes.
_FORMAT = 2

#: Rules that may be None.
_OPTIONAL_RULES = {"radius": RadiusRule, "gain": GainRule, "rounds": RoundPlan}

#: Parts that the fields hold as plain records, and that texts name without the suffix "_spec".
_PARTS = ("space", "loss", "mechanism", "working_region")


class _Record(dict):
    """Plain record that cannot be changed."""

    def _refuse(self, *args, **kwargs):
        raise TypeError("a protocol is frozen; make a new one with dataclasses.replace")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __reduce__(self):
        return _Record, (dict(self),)


@dataclass(frozen=True, eq=False)
class Protocol:
    """Public specification of one collection; frozen, serialisable, with a fingerprint.

    Most users get one from an estimator. `make_protocol` builds one from objects; the fields hold
    plain records only, so that ``Protocol.from_json(protocol.to_json()) == protocol``.

    Attributes
    ----------
    space_spec, loss_spec, mechanism_spec, working_region_spec : dict
        Plain records of the space, the loss, the mechanism and the working region K_s.
    retraction : {"exponential", "projection"}
    reference : nested tuple, shape [*point_shape]
        Point at which the public frame is given.
    basis : nested tuple, shape [dim, *point_shape]
        The frame there.
    initial_point : nested tuple, shape [*point_shape]
        First iterate.
    directions : nested tuple, shape [n_directions, dim]
        Cycle of query directions.
    preconditioner : nested tuple, shape [dim, dim]
        Symmetric positive definite map of the pair average in frame coordinates.
    radius : RadiusRule or None
        None where the plan of the rounds names a query.
    gain : GainRule or None
        None for a collection in rounds.
    inference : InferenceRule
    hessian_bound : float
        Public upper bound L_H on the eigenvalues of the population Hessian.
    pairs_per_round : int
    n_participants : int or None
        Planned number of participants; with an odd number of a collection in pairs the last gives
        an ordinary update. None leaves the end open.
    rounds : RoundPlan or None
        Plan of a collection in rounds; None asks symmetric pairs, one after the other.
    coordinates : {"poincare_ball", "half_space"} or None
        Model of hyperbolic space in which participants give their data, with `dim` numbers; all
        else is on the hyperboloid. None for data as they are. The record names it only then.
    groups : tuple of dict or None
        Groups of participants whose messages have a guarantee of their own: plain records with a
        "name" and a "mechanism". `mechanism_spec` is then the one of
        the largest epsilon among them. None if all participants use that one; the record names
        groups only where there are some.
    """

    space_spec: dict
    loss_spec: dict
    mechanism_spec: dict
    working_region_spec: dict
    retraction: str
    reference: tuple
    basis: tuple
    initial_point: tuple
    directions: tuple
    preconditioner: tuple
    radius: RadiusRule | None
    gain: GainRule | None
    inference: InferenceRule
    hessian_bound: float
    pairs_per_round: int = 1
    n_participants: int | None = None
    rounds: RoundPlan | None = None
    coordinates: str | None = None
    groups: tuple | None = None

    def __post_init__(self):
        """Freeze the records."""
        for part in _PARTS:
            name = f"{part}_spec"
            object.__setattr__(self, name, _Record(getattr(self, name)))
        if isinstance(self.groups, (list, tuple)):
            object.__setattr__(self, "groups", tuple(map(_frozen_group, self.groups)))

    # ---------------------------------------------------------------- objects

    @cached_property
    def geometry(self) -> Geometry:
        """The `Geometry` this protocol describes."""
        return Geometry(
            space_from_spec(self.space_spec), self.reference, self.basis, retraction=self.retraction
        )

    @cached_property
    def user_coordinates(self) -> UserCoordinates:
        """The coordinates in which participants give their data."""
        return UserCoordinates.from_name(self.coordinates, self.geometry.space)

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism each participant applies; with groups that of the largest epsilon."""
        return mechanism_from_spec(self.mechanism_spec)

    @cached_property
    def mechanisms(self) -> dict[str | None, Mechanism]:
        """Mechanisms by group, in the order of the groups; without groups that of None."""
        return {None: self.mechanism} if self.groups is None else mechanisms_of(self.groups)

    def group_of(self, index: int) -> str | None:
        """Name of the group that a query of a round asks; None without groups.

        Parameters
        ----------
        index : int
            Of the query. Those of one group follow each other.

        Returns
        -------
        group : str or None
        """
        if self.groups is None:
            return None
        return list(self.mechanisms)[index // (self.n_query_points // len(self.groups))]

    def queries_of(self, group: str | None) -> range:
        """Indices of the queries of a round that a group is asked.

        Parameters
        ----------
        group : str or None
            None without groups.

        Returns
        -------
        indices : range

        Raises
        ------
        ProtocolError
            If there is no such group.
        """
        groups = list(self.mechanisms)
        if group not in groups:
            names = "None without groups" if groups == [None] else f"one of {groups}"
            raise ProtocolError(f"group must be {names}; got {group!r}")
        size = self.n_query_points // len(groups)
        start = groups.index(group) * size
        return range(start, start + size)

    @cached_property
    def working_region(self) -> WorkingRegion:
        """Region K_s that holds the iterates."""
        return region_from_spec(self.working_region_spec)

    @cached_property
    def schedule(self) -> Schedule:
        """Schedule of the recursion; a collection in rounds has none."""
        if self.gain is None or self.radius is None:
            raise ProtocolError("a protocol in rounds has no gain, and so no schedule")
        return Schedule(
            directions=np.array(self.directions),
            radius_maximum=self.radius.maximum,
            radius_scale=self.radius.scale,
            radius_exponent=self.radius.exponent,
            gain_constant=self.gain.constant,
            gain_offset=self.gain.offset,
            gain_exponent=self.gain.exponent,
            step_cap=self.gain.step_cap,
            preconditioner=np.array(self.preconditioner),
            pairs_per_round=self.pairs_per_round,
        )

    @cached_property
    def query_region(self) -> WorkingRegion:
        """Region K_q that holds every query."""
        return all_queries(self.geometry, self.working_region, self.radius, self.rounds)

    @property
    def reach(self) -> float:
        """Largest distance of a query from the estimate that it is asked around."""
        return 0.0 if self.radius is None else self.radius.maximum

    @property
    def n_query_points(self) -> int:
        """Points that one round asks at, counted for each group."""
        n_groups = 1 if self.groups is None else len(self.groups)
        if self.rounds is None:
            return n_groups * 2 * self.pairs_per_round
        return n_groups * (1 if self.rounds.query is not None else len(self.directions))

    def tangent_vec(self, message: Message, point: np.ndarray) -> np.ndarray | None:
        """Ambient tangent vector that a message stands for; anybody can compute it.

        Parameters
        ----------
        message : Message
        point : array, shape [*point_shape]
            Point of the query that it answers.

        Returns
        -------
        tangent_vec : array, shape [*point_shape]
            None if the message holds neither a candidate nor a vector.

        Raises
        ------
        TypeError, ValueError
            If its candidate is none of this mechanism.
        """
        if message.candidate is None:
            return message.tangent_vec
        mechanism = self.mechanisms[self.group_of(message.index)]
        return self.geometry.lift(mechanism.candidate_vector(message.candidate), point)

    @property
    def dim(self) -> int:
        """Dimension d of the manifold."""
        return len(self.basis)

    # ---------------------------------------------------------------- records

    def to_spec(self) -> dict[str, Any]:
        """Plain record, for JSON."""
        record = {"format": _FORMAT}
        for field in fields(self):
            value = getattr(self, field.name)
            name = field.name.removesuffix("_spec")
            record[name] = value.to_spec() if hasattr(value, "to_spec") else value
        for name in ("coordinates", "groups"):
            if record[name] is None:
                del record[name]
        return record

    def to_json(self) -> str:
        """JSON text that `from_json` reads back to an equal protocol."""
        return canonical_json(self.to_spec())

    @classmethod
    def from_json(cls, text: str, fingerprint: str | None = None) -> Protocol:
        """Rebuild a protocol.

        Parameters
        ----------
        text : str
        fingerprint : str, optional
            Of the protocol that was published, for a device that should not take any other.

        Returns
        -------
        protocol : Protocol

        Raises
        ------
        ProtocolError
            If the text is not a protocol of a known format, or has another fingerprint.
        """
        try:
            record = decode(parse_json(text, LONG_TEXT))
            if record.pop("format") != _FORMAT:
                raise ValueError("unknown format")
            check_limits(record)
            for name in ("reference", "basis", "initial_point", "directions", "preconditioner"):
                record[name] = nested_tuple(number_array(record[name]))
            for name, rule in _OPTIONAL_RULES.items():
                record[name] = record[name] and rule(**record[name])
            record["inference"] = InferenceRule(**record["inference"])
            for part in _PARTS:
                record[f"{part}_spec"] = record.pop(part)
            protocol = cls(**record)
            with np.errstate(all="ignore"):
                check_protocol(protocol)
        except BAD_CONTENT as error:
            raise ProtocolError(f"text is not a protocol of format {_FORMAT}: {error}") from error
        check_fingerprint("protocol", protocol, fingerprint)
        return protocol

    @cached_property
    def fingerprint(self) -> str:
        """Hexadecimal digest that messages carry, equal for equal protocols only."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def __eq__(self, other):
        return isinstance(other, Protocol) and self.to_json() == other.to_json()

    def __hash__(self):
        return hash(self.fingerprint)

    def __getstate__(self):
        # Spaces hold what may not pickle; everything cached is rebuilt from the plain records.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self):
        return (
            f"Protocol(space={self.space_spec['name']}(dim={self.dim}), "
            f"loss={self.loss_spec['name']!r}, "
            f"{_guarantee(self)}, n_participants={self.n_participants}, "
            f"plan={'pairs' if self.rounds is None else self.rounds!r}, "
            f"fingerprint={self.fingerprint[:12]!r})"
        )


def _frozen_group(record):
    """Record of a group that cannot be changed; what is none is refused later."""
    if not isinstance(record, dict):
        return record
    return _Record({key: _Record(v) if isinstance(v, dict) else v for key, v in record.items()})


def _guarantee(protocol):
    """What each participant is promised, for a repr."""
    if protocol.groups is None:
        return f"mechanism={protocol.mechanism!r}"
    return f"groups={protocol.mechanisms!r}"


def check_is_protocol(protocol):
    """Return a `Protocol`, or raise ProtocolError."""
    if not isinstance(protocol, Protocol):
        raise ProtocolError(
            "protocol must be a Protocol, as Protocol.from_json reads from a text; "
            f"got {type(protocol).__name__}"
        )
    return protocol
