"""The vector of a message: tangent at its query, and in the support of the mechanism."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.exceptions import InvalidMessageError
from geomstats_ldp.protocol.messages import LARGEST_ENTRY

#: Relative size of a normal component, or of an excess over the support, that is only rounding.
_ROUNDING = 1e-8


def message_vector(protocol, message, point):
    """Vector that a message stands for, shape [*point_shape].

    A candidate gives it, in the support by construction; that of a simulated message is checked.

    Parameters
    ----------
    protocol : Protocol
    message : Message
    point : array, shape [*point_shape]
        The query that it answers.

    Raises
    ------
    InvalidMessageError
        If the candidate is none of the mechanism, or the vector none of its messages.
    """
    if message.candidate is None:
        return check_vector(protocol, message.tangent_vec, point)
    try:
        return protocol.tangent_vec(message, point)
    except (TypeError, ValueError) as error:
        raise InvalidMessageError(f"{error}") from error


def check_vector(protocol, vector, point):
    """Return the vector of a message as a float array.

    Parameters
    ----------
    protocol : Protocol
    vector : array-like, shape [*point_shape]
    point : array, shape [*point_shape]
        The query that it answers.

    Raises
    ------
    InvalidMessageError
        If it is misshapen, not finite, not tangent at the query or out of the support.
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
    mechanism = protocol.mechanism
    coords = geometry.coordinates(vector, point)
    if not mechanism.in_support(coords, _ROUNDING):
        raise InvalidMessageError(
            f"tangent_vec must lie in the support of the mechanism {mechanism!r}, of radius "
            f"{mechanism.support_radius:.6g}; got norm {np.linalg.norm(coords):.6g}"
        )
    return vector
