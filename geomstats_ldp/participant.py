"""The participant's side: the only place that touches a raw datum."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from geomstats_ldp.exceptions import ForeignMessageError, ProtocolError
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.losses import loss_of, score_coords
from geomstats_ldp.losses.rows import clip_data
from geomstats_ldp.mechanisms import make_streams, release_into
from geomstats_ldp.protocol import Message, Query
from geomstats_ldp.protocol.protocol import check_is_protocol


class Participant:
    """What runs on a participant's own device: protocol and datum in, one message out.

    Parameters
    ----------
    protocol : Protocol
    random_state : None, int, numpy Generator or RandomState, default=None
        None draws the noise from the operating system, which the privacy guarantee needs. A seed
        makes the noise predictable to whoever knows it: use it for simulation only.

    Raises
    ------
    ProtocolError
        If `protocol` is no Protocol.

    Notes
    -----
    Each person answers **one** query, once. A second answer about the same datum would spend
    epsilon again.

    Examples
    --------
    >>> from geomstats_ldp import Participant, PrivateFrechetMean
    >>> mean = PrivateFrechetMean(epsilon=2.0, engine="geomstats").start(n_features=2)
    >>> participant = Participant(mean.protocol_)
    >>> message = participant.respond(mean.queries()[0], [0.3, -0.2])
    >>> len(mean.partial_fit(message).queries())
    1
    """

    def __init__(self, protocol, random_state=None):
        self.protocol = check_is_protocol(protocol)
        self.random_state = random_state
        self._streams = None

    def respond(self, query, datum):
        """Release the randomised score of one datum at a public query.

        Parameters
        ----------
        query : Query
        datum : array-like
            Raw datum; it is clipped to the public bounds of the loss here.

        Returns
        -------
        message : Message

        Raises
        ------
        ForeignMessageError
            If the query belongs to another protocol.
        ProtocolError
            If `query` is no Query, or its point is off the manifold.
        ValueError
            If the datum is not finite or has the wrong shape. Nothing is released then.
        """
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
        point = self.protocol.geometry.check_point(query.point, "query point")
        loss = loss_of(self.protocol)
        datum = loss.check_data(self.protocol.geometry, datum)
        shape = loss.data_shape(self.protocol.geometry)
        if datum.shape != shape:
            raise ValueError(f"datum must have shape {shape}; got {datum.shape}")
        datum = clip_data(loss, self.protocol.geometry, datum[None])[0]
        mechanism = self.protocol.mechanism
        variates = mechanism.draw(1, self._randomness())[0]
        out = np.empty(self.protocol.geometry.shape)
        scratch = participant_scratch(self.protocol.geometry)
        respond_into(self.protocol.geometry, loss, mechanism, point, datum, variates, scratch, out)
        return Message(query.fingerprint, query.round, query.index, out)

    def _randomness(self):
        if self.random_state is None:
            # Fresh for every answer: a forked or pickled copy must never share this noise.
            return make_streams()
        if self._streams is None:
            self._streams = make_streams(self.random_state)
        return self._streams

    def __repr__(self):
        return f"Participant({self.protocol!r}, random_state={self.random_state!r})"


def participant_scratch(geometry):
    """Buffers of `respond_into`: ambient vector, and coordinates with one spare for the lift."""
    return np.zeros(geometry.shape), np.zeros((3, geometry.dim + 1))


@register_jitable(forceinline=True)
def respond_into(geometry, loss, mechanism, query, datum, variates, scratch, out):
    """Randomise the score of a clipped datum at a query, and lift it to the tangent space.

    This is Proposition (lift) of the paper: B_q R(B_q^{-1} g(q)). Runs in both engines.
    """
    vector, coords = scratch
    dim = dispatch.dim(geometry)
    score_coords(loss, geometry, query, datum, vector, coords[0, :dim])
    release_into(mechanism, coords[0, :dim], variates, coords[1], coords[2, :dim])
    dispatch.lift(geometry, coords[2, :dim], query, out)
