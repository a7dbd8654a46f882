"""What a device randomises in a round that asks for curvature."""

from __future__ import annotations

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses.clipping import clip_to_norm
from geomstats_ldp.score_regression.curvature import CENTER


def check_states_curvature(rounds, loss):
    """Raise ProtocolError if rounds ask for the curvature of a loss that states none.

    Parameters
    ----------
    rounds : RoundPlan or None
    loss : Loss
    """
    asks = rounds is not None and rounds.curvature_rounds is not None
    if asks and not loss.states_curvature:
        raise ProtocolError(
            f"curvature_rounds must be None for loss {loss.name!r}, which states no curvature; got "
            f"{rounds.curvature_rounds}"
        )


def curvature_answers(loss, geometry, point, directions, bounds, data):
    """Curvature along each direction less what is expected of it, put into the ball of scores.

    Privacy rests on the ball alone, whatever the directions are.

    Parameters
    ----------
    loss : Loss
    geometry : Geometry
    point : array, shape [*point_shape]
    directions : array, shape [dim, dim]
    bounds : pair of float
        Norm to which it is clipped, and radius of the ball, to which that is scaled.
    data : array, shape [n, *data_shape]
        Clipped data.

    Returns
    -------
    answers : array, shape [n, dim]
    """
    longest, radius = bounds
    excess = loss.curvature(geometry, point, data, directions) - CENTER
    return clip_to_norm(excess, longest) * (radius / longest)
