"""What a device randomises in a round that asks for curvature."""

from __future__ import annotations

from typing import Any

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses.clipping import clip_to_norm
from geomstats_ldp.losses.returned import checked_scores
from geomstats_ldp.score_regression.curvature import CENTER, difference_reach
from geomstats_ldp.validation import check_bool


def may_ask_for_curvature(loss, geometry):
    """Whether rounds may ask for the curvature of a loss: frames at its two scores are parallel."""
    return check_bool("asks_curvature", loss.asks_curvature) and geometry.is_flat


def check_curvature_rounds(rounds, loss, geometry):
    """Raise ProtocolError if rounds ask for the curvature of a loss that has none to ask for."""
    asks = rounds is not None and rounds.curvature_rounds is not None
    if asks and not may_ask_for_curvature(loss, geometry):
        raise ProtocolError(
            f"curvature_rounds must be None for loss {loss.name!r} on {geometry.name}: curvature "
            "is asked for on flat spaces, of losses that allow it; got "
            f"{rounds.curvature_rounds}"
        )


def curvature(loss, geometry, point, directions, reach, data):
    r"""Second derivative of the loss of each datum along directions, by differences of its score.

    .. math:: \frac{\lvert a\rvert}{2 t}\,\langle s(q + t u) - s(q - t u),\, a\rangle,
        \qquad u = a / \lvert a\rvert,

    with s the score at the end of a geodesic from q, on a flat space, where frames are parallel.

    Directions, shape [n_directions, dim], are frame coordinates of any positive length, `reach` is
    t, and data are clipped; the result has shape [n, n_directions].
    """
    lengths = np.linalg.norm(directions, axis=1)
    found = np.empty((len(data), len(directions)))
    for j, unit in enumerate(directions / lengths[:, None]):
        ends = (_score_along(loss, geometry, point, sign * reach * unit, data) for sign in (1, -1))
        found[:, j] = np.subtract(*ends) @ unit
    return found * (lengths**2 / (2 * reach))


def _score_along(loss, geometry, point, offset, data):
    """Scores at an offset from a point, shape [n, dim], in the frame there."""
    end = geometry.exp(geometry.lift(offset, point), point)
    return geometry.coordinates(checked_scores(loss, geometry, end, data), end)


def curvature_answers(
    loss: Any, protocol: Any, mechanism: Any, point: np.ndarray, directions: np.ndarray, data: Any
) -> np.ndarray:
    """Curvature along each direction less what is expected of it, put into the ball of scores.

    Privacy rests on the ball alone, whatever the directions, shape [dim, dim], are. The mechanism
    is that of the group which is asked, and data are clipped; answers have shape [n, dim].
    """
    longest, reach = protocol.rounds.curvature_bound, difference_reach(protocol)
    excess = curvature(loss, protocol.geometry, point, directions, reach, data) - CENTER
    return clip_to_norm(excess, longest) * (mechanism.bound / longest)
