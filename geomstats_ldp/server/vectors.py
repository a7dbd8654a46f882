"""What a message must be: of the protocol, tangent, in the support of the mechanism."""

from __future__ import annotations

import math
from numbers import Integral

import numpy as np

from geomstats_ldp.exceptions import (
    ForeignMessageError,
    InvalidMessageError,
    MessageError,
    RawDataWarning,
    warn,
)
from geomstats_ldp.mechanisms.plausibility import can_be_released, log_chance_of_spread
from geomstats_ldp.protocol.messages import LARGEST_ENTRY, Message
from geomstats_ldp.validation import check_shape, finite_array

#: Relative size of a normal component, or of an excess over the support, that is only rounding.
_ROUNDING = 1e-8

#: The same for rows of an array, which may have been written with a few digits only.
_COARSE_ROUNDING = 1e-4

#: Chance under which the spread of rows is too small for messages.
_LOG_CHANCE = math.log(1e-9)


def is_integer_in(value, allowed):
    """Whether a value is an integer of a range, of any type but bool."""
    return isinstance(value, Integral) and not isinstance(value, bool) and value in allowed


def check_address(protocol, message):
    """Raise MessageError or ForeignMessageError unless it is a message about this protocol."""
    if not isinstance(message, Message):
        raise MessageError(f"messages must be Message objects; got {type(message).__name__}")
    known = isinstance(message.fingerprint, str)
    if not known or message.fingerprint != protocol.fingerprint:
        raise ForeignMessageError(
            f"message belongs to protocol {str(message.fingerprint)[:12]}, "
            f"this server to {protocol.fingerprint[:12]}"
        )


def message_vector(protocol, message, point):
    """Vector that a message stands for, shape [*point_shape], at the point of its query.

    A candidate gives it, in the support by construction; that of a simulated message is checked.
    InvalidMessageError if the candidate is none of the mechanism, or the vector no message of it.
    """
    if message.candidate is None:
        mechanism = protocol.mechanisms[protocol.group_of(message.index)]
        return check_vector(protocol, message.tangent_vec, point, mechanism)
    try:
        return protocol.tangent_vec(message, point)
    except (TypeError, ValueError) as error:
        raise InvalidMessageError(f"{error}") from error


def check_vector(protocol, vector, point, mechanism):
    """Return the vector of a message at the point of its query as a float array.

    InvalidMessageError if it is misshapen, not finite, not tangent there or out of the support of
    the mechanism of the group that answers.
    """
    geometry = protocol.geometry
    try:
        vector = np.array(vector)
    except ValueError as error:
        raise InvalidMessageError(f"tangent_vec must be an array; {error}") from error
    if vector.dtype.kind not in "fiu" or vector.shape != geometry.shape:
        raise InvalidMessageError(
            f"tangent_vec must be real numbers of shape {geometry.shape}; "
            f"got {vector.dtype} of shape {vector.shape}"
        )
    vector = vector.astype(float)
    if not np.isfinite(vector).all():
        raise InvalidMessageError("tangent_vec must be finite; it contains NaN or inf")
    if np.max(np.abs(vector)) > LARGEST_ENTRY:
        raise InvalidMessageError(
            f"tangent_vec must have entries of at most {LARGEST_ENTRY:g}, so that they can "
            f"be squared; got {np.max(np.abs(vector)):.3g}"
        )
    size = float(np.linalg.norm(vector))
    normal = float(np.linalg.norm(vector - geometry.to_tangent(vector, point)))
    if normal > _ROUNDING * size:
        raise InvalidMessageError(
            f"tangent_vec must be tangent at its query; {normal:.3g} of its length "
            f"{size:.3g} is normal"
        )
    coords = geometry.coordinates(vector, point)
    if not mechanism.in_support(coords, _ROUNDING):
        raise InvalidMessageError(
            f"tangent_vec must lie in the support of the mechanism {mechanism!r}, of radius "
            f"{mechanism.support_radius:.6g}; got norm {np.linalg.norm(coords):.6g}"
        )
    return vector


def check_batch(protocol, vectors):
    """Return many messages as a float array; whether they are tangent is not asked."""
    return finite_array("messages", vectors, ("n", *protocol.geometry.shape), InvalidMessageError)


def refuse_rows_of_groups(protocol):
    """Raise InvalidMessageError if rows of an array could be of any group."""
    if protocol.groups is not None:
        raise InvalidMessageError(
            "messages must be Message objects where there are groups of participants: rows of an "
            "array do not say whose they are"
        )


def pair_addresses(kept):
    """Round and index of messages of a collection in pairs with groups, shape [n, 2].

    What was kept are pairs in their order, or single answers, with the number of their group.
    """
    groups = np.repeat([group for group, _ in kept], [len(vectors) for _, vectors in kept])
    sides = [np.arange(len(vectors)) % 2 for _, vectors in kept]
    sides = np.concatenate([np.zeros(0, dtype=np.int64), *sides])
    return np.stack([np.cumsum(sides == 0) - 1, 2 * groups + sides], axis=1).astype(np.int64)


def check_addressed(protocol, transcript):
    """Return messages, addresses and closings of a transcript of rounds, of the right types.

    Shapes are [n, dim], [n, 2] and [n_closed]; InvalidMessageError names the field that is wrong.
    Whether a message can be one, and a round could close, shows when they are replayed.
    """
    shape = ("n", protocol.dim)
    coords = finite_array("messages", transcript.messages, shape, InvalidMessageError)
    addresses = integers_of("addresses", transcript.addresses, (len(coords), 2))
    closings = integers_of("closings", transcript.closings, ("n",))
    limits = np.array([protocol.rounds.n_rounds, protocol.n_query_points])
    if np.any(addresses < 0) or np.any(addresses >= limits):
        raise InvalidMessageError(
            f"addresses must name rounds and query points under {tuple(limits.tolist())}"
        )
    is_ascending = np.all(np.diff(closings, prepend=0, append=len(coords) + 1) > 0)
    if len(closings) > protocol.rounds.n_rounds or not is_ascending:
        raise InvalidMessageError(
            f"closings must be ascending, {protocol.rounds.n_rounds} at most, from 1 to "
            f"{len(coords)}; got {closings}"
        )
    return coords, addresses, closings


def integers_of(name, values, shape):
    """Array of integers of a shape, as for `check_shape`, or InvalidMessageError."""
    check_shape(name, values, shape, InvalidMessageError)
    if np.asarray(values).dtype.kind not in "iu":
        raise InvalidMessageError(f"{name} must be integers; got {np.asarray(values).dtype}")
    return np.asarray(values).astype(np.int64)


def check_rows(mechanism, vectors, tangent, coords, strict):
    """See whether rows that were taken for messages can be messages.

    Parameters
    ----------
    mechanism : Mechanism
        That of the protocol, or of the group that the rows are of.
    vectors : array, shape [n, *point_shape]
    tangent : array, shape [n, *point_shape]
        Their tangent parts at their queries.
    coords : array, shape [n, dim]
        Their coordinates in the frames there.
    strict : bool
        Refuse what cannot be a message, or else warn of it.

    Raises
    ------
    InvalidMessageError
        Naming the first row that is none, if `strict`.

    Warns
    -----
    RawDataWarning
        If rows cannot be messages, or all together are less noisy than messages are.
    """
    axes = tuple(range(1, vectors.ndim))
    with np.errstate(all="ignore"):
        normal = np.sqrt(np.sum((vectors - tangent) ** 2, axis=axes))
        length = np.sqrt(np.sum(vectors**2, axis=axes))
        is_tangent = normal <= _COARSE_ROUNDING * length  # False for what is not finite
        is_message = is_tangent & can_be_released(mechanism, coords, _COARSE_ROUNDING)
    if not is_message.all():
        row = int(np.argmin(is_message))
        what = "in the support of the mechanism" if is_tangent[row] else "tangent at their query"
        if strict:
            raise InvalidMessageError(f"messages must be {what}; row {row} is not")
        n_others = int(np.sum(~is_message))
        _warn(f"messages must be {what}; {n_others} of {len(vectors)} rows are no messages")
    elif log_chance_of_spread(mechanism, coords) < _LOG_CHANCE:
        _warn(f"the {len(vectors)} rows are closer to each other than the noise of messages allows")


def _warn(fault):
    warn(
        f"these look like data; use fit. Rows of an array are taken for messages that devices "
        f"have randomised, and nothing protects them here: {fault}",
        RawDataWarning,
    )
