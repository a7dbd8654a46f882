"""The compiled kernels of the mechanisms of this package, behind one record.

A record of its own for each mechanism would have loops over participants compiled for each of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from geomstats_ldp.mechanisms.base import release_into
from geomstats_ldp.mechanisms.unit_ball import unit_ball_point
from geomstats_ldp.twins import compile_for_twin, jitable

PRIVUNIT, L2_BALL, GAUSSIAN, IDENTITY = range(4)


class ReleaseTwin(NamedTuple):
    """What the compiled kernels need.

    Attributes
    ----------
    kind : int
        Number of the mechanism.
    dim : int
    bound : float
        Radius G of the ball.
    scale : float
        Of the messages: their largest norm, the radius of their sphere for `L2Ball`, or the
        standard deviation of a coordinate for `Gaussian`.
    probability : float
        That `L2Ball` takes the nearer half of the sphere.
    """

    kind: int
    dim: int
    bound: float
    scale: float = 0.0
    probability: float = 0.0


@jitable
def _privunit(twin, vector, variates, scratch, out):
    """Release ``vector`` with the variates [w, g_1..g_(d+1)], t = sign(w) (1 - |w|)."""
    dim = twin.dim
    square, _ = unit_ball_point(vector, twin.bound, dim, scratch)
    scratch[dim] = math.sqrt(1.0 - square)  # scratch is now u
    dot = 0.0
    for i in range(dim + 1):
        dot += variates[1 + i] * scratch[i]
    norm = 0.0
    for i in range(dim + 1):
        norm += (variates[1 + i] - dot * scratch[i]) ** 2
    depth = abs(variates[0])
    along = twin.scale * math.copysign(1.0 - depth, variates[0])
    across = twin.scale * math.sqrt(depth * (2.0 - depth) / norm)
    for i in range(dim):
        out[i] = along * scratch[i] + across * (variates[1 + i] - dot * scratch[i])


@jitable
def _l2_ball(twin, vector, variates, scratch, out):
    """Release ``vector`` with the variates [u_sign, u_half, g_1..g_d]."""
    dim = twin.dim
    square, _ = unit_ball_point(vector, twin.bound, dim, scratch)
    if square == 0.0:
        scratch[0] = 1.0  # no direction to keep: a fixed one, taken with either sign
    dot, norm = 0.0, 0.0
    for i in range(dim):
        dot += variates[2 + i] * scratch[i]
        norm += variates[2 + i] * variates[2 + i]
    keeps_sign = variates[0] < 0.5 * (1.0 + math.sqrt(square))
    takes_near_half = variates[1] < twin.probability
    wants_positive = keeps_sign == takes_near_half
    scale = twin.scale / math.sqrt(norm)
    if (dot >= 0.0) != wants_positive:
        scale = -scale
    for i in range(dim):
        out[i] = scale * variates[2 + i]


@jitable
def _gaussian(twin, vector, variates, scratch, out):
    """Add ``scale`` times the normals ``variates`` to ``vector``, projected to the ball."""
    _, projected = unit_ball_point(vector, twin.bound, twin.dim, scratch)
    for i in range(twin.dim):
        centre = twin.bound * scratch[i] if projected else vector[i]
        out[i] = centre + twin.scale * variates[i]


@jitable
def _identity(twin, vector, variates, scratch, out):
    """Copy ``vector``, projected to the ball, into ``out``."""
    _, projected = unit_ball_point(vector, twin.bound, twin.dim, scratch)
    for i in range(twin.dim):
        out[i] = twin.bound * scratch[i] if projected else vector[i]


@jitable
def _release(twin, vector, variates, scratch, out):
    if twin.kind == PRIVUNIT:
        _privunit(twin, vector, variates, scratch, out)
    elif twin.kind == L2_BALL:
        _l2_ball(twin, vector, variates, scratch, out)
    elif twin.kind == GAUSSIAN:
        _gaussian(twin, vector, variates, scratch, out)
    else:
        _identity(twin, vector, variates, scratch, out)


compile_for_twin(release_into, ReleaseTwin, _release, is_small=False)
