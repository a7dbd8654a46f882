"""The participant's side: the only place that touches a raw datum."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import (
    AlreadyAnsweredError,
    DatumError,
    ForeignMessageError,
    ProtocolError,
)
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.regions import slack_of
from geomstats_ldp.losses import loss_of, score_coords
from geomstats_ldp.losses.curvature import check_curvature_rounds, curvature_answers
from geomstats_ldp.losses.rows import clip_data
from geomstats_ldp.mechanisms import make_streams, release_into
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.protocol import Message, Protocol, Query
from geomstats_ldp.protocol.agreement import check_agreement, require_agreement
from geomstats_ldp.protocol.limits import check_limits
from geomstats_ldp.protocol.protocol import check_is_protocol
from geomstats_ldp.score_regression.curvature import whitening_range
from geomstats_ldp.twins import jitable_inline
from geomstats_ldp.validation import check_integer, finite_array

#: Largest delta of a device: the chance that the guarantee fails somebody altogether.
LARGEST_DELTA = 1e-3

#: Distance past the edge of the query region, relative to its radius, that is rounding.
_EDGE = 1e-6


class Latch:
    """Lets one through. Threads, and copies in one process, share it; a pickle holds its state."""

    def __init__(self):
        self._left = [None]

    @property
    def is_closed(self):
        """Whether somebody has come through."""
        return not self._left

    def close(self):
        """Close it, and tell whether it was open: taking the one entry is a single step."""
        try:
            self._left.pop()
        except IndexError:
            return False
        return True

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


@contextmanager
def silence():
    """No warning and no floating point error, whatever the program around has asked numpy for."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class Participant:
    """What runs on one participant's own device: protocol and datum in, one message out.

    Everything public is checked before the datum is looked at: the protocol when this is made, the
    query in `respond`. From there on it always answers, at full privacy, whatever the datum is.

    Parameters
    ----------
    protocol : Protocol
    fingerprint : str, optional
        Of the protocol that was published. It, or `max_epsilon`, has to be given: a device that
        takes any protocol takes any epsilon.
    max_epsilon : float, optional
        Largest epsilon that this participant allows. Where a protocol has groups of participants,
        queries of groups with a larger one are refused.
    group : str, optional
        Name of the group that this participant is in: queries of others are refused. It, or
        `max_epsilon`, has to be given where the protocol has groups.
    random_state : None, int, numpy Generator or RandomState, default=None
        None draws from the operating system, which the guarantee needs. Anything else makes this a
        *simulation* of many people, which answers any number of queries with the draws of `fit`
        in pairs, by a direct sampler, and protects nobody; no limit applies to it then.

    Attributes
    ----------
    has_answered : bool
        Copies in one process share it. Keep it, by a pickle for example, wherever the device may
        be started again. Nothing of a datum is kept.

    Raises
    ------
    ProtocolError
        If `protocol` is no Protocol, has another fingerprint, no such group, more than
        `max_epsilon`, or more than a device may spend: epsilon 16, delta 1e-3, no mechanism that
        can be released safely.

    Notes
    -----
    Each person answers **one** query, once. A second answer about the same datum would spend
    epsilon again.

    Examples
    --------
    >>> from geomstats_ldp import Participant, PrivateFrechetMean
    >>> mean = PrivateFrechetMean(epsilon=2.0).start(n_features=2)
    >>> participant = Participant(mean.protocol_, max_epsilon=2.0)
    >>> message = participant.respond(mean.queries()[0], [0.3, -0.2])
    >>> len(mean.partial_fit(message).queries())
    1
    """

    def __init__(
        self,
        protocol: Protocol,
        *,
        fingerprint: str | None = None,
        max_epsilon: float | None = None,
        group: str | None = None,
        random_state: Seed = None,
    ):
        self.protocol = check_is_protocol(protocol)
        self.random_state = random_state
        self._latch = Latch()
        self._streams = None
        check_limits(protocol.to_spec())
        if random_state is None:
            require_agreement("protocol", fingerprint, max_epsilon)
        self._mechanisms = self._check_spending(fingerprint, max_epsilon, group)
        self._loss = loss_of(protocol)
        check_curvature_rounds(protocol.rounds, self._loss, protocol.geometry)

    @property
    def has_answered(self) -> bool:
        """Whether the one answer has been given."""
        return self._latch.is_closed

    def _check_spending(self, fingerprint, max_epsilon, group):
        """Mechanisms, by group, that this participant may use."""
        mechanisms = self._of_own_group(max_epsilon, group)
        smallest = min(mechanism.epsilon for mechanism in mechanisms.values())
        largest = check_agreement("protocol", self.protocol, smallest, fingerprint, max_epsilon)
        mechanisms = {
            name: mechanism
            for name, mechanism in mechanisms.items()
            if mechanism.epsilon <= largest
        }
        if self.random_state is None:
            for mechanism in mechanisms.values():
                mechanism.check_releasable()
                if mechanism.delta > LARGEST_DELTA:
                    raise ProtocolError(
                        f"delta must be at most {LARGEST_DELTA:g} on a device; "
                        f"got {mechanism.delta}"
                    )
        return mechanisms

    def _of_own_group(self, max_epsilon, group):
        mechanisms = self.protocol.mechanisms
        if group is not None:
            if group not in mechanisms:
                names = [] if self.protocol.groups is None else list(mechanisms)
                raise ProtocolError(f"group must be one of the groups {names}; got {group!r}")
            return {group: mechanisms[group]}
        if self.protocol.groups is not None and self.random_state is None and max_epsilon is None:
            raise ProtocolError(
                f"group or max_epsilon must be given where the protocol has groups: one of "
                f"{list(mechanisms)}, or the largest epsilon that the participant allows"
            )
        return mechanisms

    def check(self, datum: ArrayLike) -> None:
        """Tell the person in front of the device whether a datum can be used as it is.

        Nothing of it may leave the device: `respond` answers in any case, and for a datum that is
        refused here it answers as if the score were zero.

        Parameters
        ----------
        datum : array-like
            In the coordinates of the protocol: `dim` numbers where it names a Poincare model.

        Raises
        ------
        DatumError
            Naming what is wrong, without the datum.
        """
        reason = self._complaint(datum)
        if reason is not None:
            raise DatumError(reason)

    def _complaint(self, datum):
        """What is wrong with a datum, or None; raised elsewhere, so that no error is chained."""
        shape, asked = self._loss.data_shape(self.protocol.geometry), self._data_shape()
        try:
            with silence():
                checked = self._check_data(datum)
        except ValueError as error:  # the texts of losses leave the datum out
            return str(error)
        except Exception as error:
            return f"datum must be an array of shape {asked}; it fails with {type(error).__name__}"
        return None if checked.shape == shape else f"datum must have shape {asked}"

    def _data_shape(self):
        """Shape of a datum as the person gives it."""
        if self.protocol.coordinates is None:
            return self._loss.data_shape(self.protocol.geometry)
        return tuple(self.protocol.user_coordinates.space.shape)

    def _check_data(self, datum):
        """Datum in the coordinates that the protocol computes in, or an error of any kind."""
        internal = self.protocol.user_coordinates.to_internal(datum, "datum")
        return self._loss.check_data(self.protocol.geometry, internal)

    def respond(self, query: Query, datum: ArrayLike) -> Message:
        """Release the randomised score of one datum at a public query.

        Parameters
        ----------
        query : Query
        datum : array-like
            Raw datum, as for `check`; it is clipped to the public bounds of the loss here. One that
            is not finite, has the wrong shape, is off the manifold, or has no score at the query is
            answered as if its score were zero, at full privacy. `check` tells before.

        Returns
        -------
        message : Message

        Raises
        ------
        ForeignMessageError
            If the query belongs to another protocol.
        ProtocolError
            If `query` is no Query, asks a group that this participant is not in, its point is off
            the manifold or outside of the public region of queries, or its directions are missing,
            not wanted or outside of their public range.
        AlreadyAnsweredError
            If this participant has answered.
        """
        point = self._check_query(query)
        directions = self._check_directions(query)
        address = query.fingerprint, query.round, query.index
        mechanism = self._mechanisms[self.protocol.group_of(query.index)]
        if self.random_state is not None:
            score = self._score(point, datum, directions, mechanism)
            return Message(*address, self._simulate(mechanism, point, score))
        if not self._latch.close():
            raise AlreadyAnsweredError(
                "this participant has answered, and a second answer would spend epsilon again; "
                "another person needs a Participant of their own"
            )
        with silence():
            score = self._score(point, datum, directions, mechanism)
            candidate = mechanism.release_candidate(score)
        message = Message(*address, None, candidate)
        return replace(message, tangent_vec=self.protocol.tangent_vec(message, point))

    def _check_query(self, query):
        """Return the point of a query that may be answered."""
        if not isinstance(query, Query):
            raise ProtocolError(
                f"query must be one Query, as Query.from_json reads from a text; "
                f"got {type(query).__name__}"
            )
        if query.fingerprint != self.protocol.fingerprint:
            raise ForeignMessageError(
                f"query belongs to protocol {str(query.fingerprint)[:12]}, "
                f"this participant to {self.protocol.fingerprint[:12]}"
            )
        if self.protocol.groups is not None:
            self._check_group(query.index)
        geometry, region = self.protocol.geometry, self.protocol.query_region
        point = geometry.check_point(query.point, "query point")
        if not region.contains(geometry, point, slack=slack_of(geometry, region, _EDGE)):
            raise ProtocolError("query point must lie in the public region of queries")
        return point

    def _check_directions(self, query):
        """Return the directions of a query about curvature, None of one about the score."""
        rounds = self.protocol.rounds
        if rounds is None or not rounds.asks_for_curvature(query.round):
            if query.directions is not None:
                raise ProtocolError("query directions must be None in a round that asks for scores")
            return None
        dim, (low, high) = self.protocol.dim, whitening_range(self.protocol)
        directions = finite_array("query directions", query.directions, (dim, dim))
        # Nothing overflows along these: where it does, and how long it takes, depends on the datum.
        lengths = np.hypot.reduce(directions, axis=1)
        if not np.all((lengths >= low * (1 - _EDGE)) & (lengths <= high * (1 + _EDGE))):
            raise ProtocolError(
                f"query directions must have lengths from {low:g} to {high:g}; "
                f"got {lengths.min():g} to {lengths.max():g}"
            )
        return directions

    def _check_group(self, index):
        check_integer("index", index, 0, self.protocol.n_query_points - 1)
        group = self.protocol.group_of(index)
        if group not in self._mechanisms:
            raise ProtocolError(
                f"query must ask a group of this participant, one of {list(self._mechanisms)}; "
                f"it asks {group!r}"
            )

    def _score(self, point, datum, *asked):
        """What is randomised, in frame coordinates, shape [dim]; zero for a datum that has none."""
        score = self._score_or_none(point, datum, *asked)
        if score is not None:
            return score
        # The score of a public stand-in is thrown away: a refusal would be quicker by far.
        is_point = self._loss.data_shape(self.protocol.geometry) == point.shape
        given = self.protocol.user_coordinates.from_internal(point)
        self._score_or_none(point, given if is_point else np.ones(self._data_shape()), *asked)
        return np.zeros(self.protocol.geometry.dim)

    def _score_or_none(self, point, datum, directions=None, mechanism=None):
        geometry = self.protocol.geometry
        vector, score = np.zeros(geometry.shape), np.zeros(geometry.dim)
        try:
            with silence():
                checked = self._check_data(datum)
                if checked.shape == self._loss.data_shape(geometry):
                    clipped = clip_data(self._loss, geometry, checked[None])[0]
                    if directions is None:
                        score_coords(self._loss, geometry, point, clipped, vector, score)
                    else:
                        asked = self._loss, self.protocol, mechanism, point, directions
                        score = curvature_answers(*asked, clipped[None])[0]
                    if np.isfinite(score).all():
                        return score
        except Exception:
            # Whether there was an error, and which, depends on the datum.
            pass
        return None

    def _simulate(self, mechanism, point, score):
        """Message vector of the direct sampler, with the next draws of the seed."""
        if self._streams is None:
            self._streams = make_streams(self.random_state)
        coords = mechanism.release(score, mechanism.draw(1, self._streams)[0])
        return self.protocol.geometry.lift(coords, point)

    def __repr__(self):
        state = "has answered" if self.has_answered else "has not answered"
        if self.random_state is not None:
            state = f"SIMULATION with random_state={self.random_state!r}"
        groups = "" if self.protocol.groups is None else f", may use {self._mechanisms!r}"
        return f"Participant({self.protocol!r}){groups}: {state}"


def participant_scratch(geometry):
    """Buffers of `respond_into`: ambient vector, and coordinates with one spare for the lift."""
    return np.zeros(geometry.shape), np.zeros((3, geometry.dim + 1))


@jitable_inline
def respond_into(geometry, loss, mechanism, query, datum, variates, scratch, out):
    """Randomise the score of a clipped datum at a query, and lift it to the tangent space.

    This is Proposition (lift) of the paper: B_q R(B_q^{-1} g(q)). Runs in both engines.
    """
    vector, coords = scratch
    dim = dispatch.dim(geometry)
    score_coords(loss, geometry, query, datum, vector, coords[0, :dim])
    release_into(mechanism, coords[0, :dim], variates, coords[1], coords[2, :dim])
    dispatch.lift(geometry, coords[2, :dim], query, out)
