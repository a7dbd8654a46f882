"""Public schedules: direction cycles, query radii, gains and the step cap.

Everything here is fixed before the first message comes. `Schedule` is the record of plain arrays
and numbers that the recursion reads; its functions run in both engines.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.twins import jitable_inline
from geomstats_ldp.validation import check_real, finite_array

if TYPE_CHECKING:
    from geomstats_ldp.protocol import RadiusRule


class Schedule(NamedTuple):
    """Public schedule of one run: query directions, radii, gains and the step cap.

    Attributes
    ----------
    directions : array, shape [n_directions, dim]
        Cycle of unit directions v_1, ..., v_R; see `check_direction_cycle`.
    radius_maximum, radius_scale, radius_exponent : float
        Query radius h = min(radius_maximum, radius_scale * c^-radius_exponent) in cycle c = 1, 2,
        ... An exponent of zero gives a fixed radius.
    gain_constant, gain_offset, gain_exponent : float
        Gain C (i + b)^-a per participant, see `gain`.
    step_cap : float
        Largest tangent length of one update.
    preconditioner : array, shape [dim, dim]
        Symmetric positive definite map of the pair average, in frame coordinates.
    pairs_per_round : int
        Pairs that share one frozen iterate.
    """

    directions: np.ndarray
    radius_maximum: float
    radius_scale: float
    radius_exponent: float
    gain_constant: float
    gain_offset: float
    gain_exponent: float
    step_cap: float
    preconditioner: np.ndarray
    pairs_per_round: int


@jitable_inline
def query_radius(schedule: Schedule, pair: int) -> float:
    """Radius h of a pair, constant within a cycle of directions.

    Parameters
    ----------
    schedule : Schedule
    pair : int
        Counted from zero.

    Returns
    -------
    radius : float
        In tangent length.
    """
    cycle = pair // schedule.directions.shape[0] + 1
    return min(
        schedule.radius_maximum, schedule.radius_scale * cycle ** (-schedule.radius_exponent)
    )


def round_radius(rule: RadiusRule, number: int) -> float:
    """Query radius of a round, by a `RadiusRule` whose cycles are the rounds.

    Parameters
    ----------
    rule : RadiusRule
    number : int
        Of the round, counted from zero.

    Returns
    -------
    radius : float
        In tangent length.
    """
    if rule.n_wide is not None:
        is_wide = number % 2 == 0 and number < 2 * rule.n_wide
        return rule.maximum if is_wide else 0.0
    return min(rule.maximum, rule.scale * (number + 1.0) ** -rule.exponent)


@jitable_inline
def gain(schedule: Schedule, n_answers: int, n_participants: int) -> float:
    """Gain of an update.

    A pair has n_answers = 2, which is the paper's 2C(2k + b)^-a; one ordinary participant has
    n_answers = 1, and a round of m pairs 2m. Each participant is worth the same share.

    Parameters
    ----------
    schedule : Schedule
    n_answers : int
        Messages that the update is made from.
    n_participants : int
        Participants who have answered by then.

    Returns
    -------
    gain : float
    """
    clock = n_participants + schedule.gain_offset
    return n_answers * schedule.gain_constant * clock ** (-schedule.gain_exponent)


def gain_offset(
    constant: float,
    exponent: float,
    noise_scale: float,
    dim: int,
    step_cap: float,
    n_answers: int = 2,
) -> float:
    """Offset b that keeps the noise of the first update within the step cap.

    With m answers the average of the noise has length about ``noise_scale * sqrt(dim / m)``; b
    solves m C (m + b)^-a noise_scale sqrt(dim / m) = step_cap, or is zero (section S.3 of the
    paper for m = 2).

    Parameters
    ----------
    constant, exponent : float
        C and a of the gain.
    noise_scale : float
        Standard deviation of the noise in one coordinate of a message.
    dim : int
    step_cap : float
        Largest tangent length of one update.
    n_answers : int, default=2

    Returns
    -------
    offset : float
    """
    length = n_answers * constant * noise_scale * math.sqrt(dim / n_answers)
    return max(0.0, (length / step_cap) ** (1 / exponent) - n_answers)


def coordinate_cycle(dim: int) -> np.ndarray:
    """Direction cycle e_1, -e_1, ..., e_d, -e_d.

    Parameters
    ----------
    dim : int

    Returns
    -------
    directions : array, shape [2 * dim, dim]
    """
    eye = np.eye(dim)
    return np.stack([eye, -eye], axis=1).reshape(2 * dim, dim)


def direction_cycle(directions: ArrayLike | None, dim: int) -> np.ndarray:
    """Checked cycle of query directions, `coordinate_cycle` where none is given.

    Parameters
    ----------
    directions : array-like, shape [n_directions, dim], or None
    dim : int

    Returns
    -------
    directions : array, shape [n_directions, dim]

    Raises
    ------
    ProtocolError
        As `check_direction_cycle`.
    """
    return check_direction_cycle(coordinate_cycle(dim) if directions is None else directions, dim)


def check_direction_cycle(directions: ArrayLike, dim: int) -> np.ndarray:
    """Check a cycle of query directions against equation (tight-frame design) of the paper.

    Parameters
    ----------
    directions : array-like, shape [n_directions, dim]
    dim : int

    Returns
    -------
    directions : array, shape [n_directions, dim]

    Raises
    ------
    ProtocolError
        Unless the rows are unit vectors with zero sum and R^-1 sum v v^T = I / dim.
    """
    directions = finite_array("directions", directions, ("n", dim))
    if len(directions) == 0:
        raise ProtocolError("directions must have one row at least; got none")
    moment = directions.T @ directions / len(directions)
    unit = np.allclose(np.linalg.norm(directions, axis=1), 1.0, atol=1e-9)
    centred = np.allclose(directions.sum(axis=0), 0.0, atol=1e-9)
    tight = np.allclose(moment, np.eye(dim) / dim, atol=1e-9)
    if not (unit and centred and tight):
        raise ProtocolError(
            "directions must be a tight frame with zero sum: unit rows "
            f"({'yes' if unit else 'no'}), zero sum ({'yes' if centred else 'no'}), "
            f"second moment I/{dim} ({'yes' if tight else 'no'})"
        )
    return directions


def check_radius_exponent(exponent: float) -> float:
    """Refuse a radius exponent unless it is 0, for a fixed radius, or strictly in (1/4, 1/2).

    Parameters
    ----------
    exponent : float

    Returns
    -------
    exponent : float

    Raises
    ------
    ProtocolError
        If it is any other.
    """
    allowed = "0 (fixed radius) or strictly between 1/4 and 1/2"
    return check_real("radius_exponent", exponent, allowed, lambda a: a == 0 or 0.25 < a < 0.5)


def check_gain_exponent(exponent: float) -> float:
    """Refuse a gain exponent unless it is strictly in (1/2, 1), as averaging needs.

    Parameters
    ----------
    exponent : float

    Returns
    -------
    exponent : float

    Raises
    ------
    ProtocolError
        If it is any other.
    """
    allowed = "strictly between 1/2 and 1"
    return check_real("gain_exponent", exponent, allowed, lambda a: 0.5 < a < 1)
