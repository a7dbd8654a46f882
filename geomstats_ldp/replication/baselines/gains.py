"""Public gains and probe radii of the baselines, from numbers that name what they bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

from geomstats_ldp.protocol.rules import GainRule
from geomstats_ldp.schedules import gain_offset
from geomstats_ldp.validation import check_integer, check_non_negative, check_positive, check_real

#: Exponent a of both gains.
_EXPONENT = 0.6


def offset_gain(constant: float, noise_scale: float, noise_step: float) -> GainRule:
    r"""Gain that starts late enough for the noise: :math:`\gamma_i = C (i + b)^{-a}`.

    The offset :math:`b = \max\{0, (C \sigma / c)^{1/a} - 1\}` makes the first gain at most
    :math:`c / \sigma` and leaves the constant as it is (section 5.1 of the paper, same-trajectory
    regression). The exponent a is 0.6, and no update is cut short, as in the paper.

    Parameters
    ----------
    constant : float
        Constant C, in units of inverse Hessian.
    noise_scale : float
        Standard deviation sigma of one coordinate of the noise, ``sqrt(mechanism.noise_variance)``;
        0 without noise.
    noise_step : float
        Public bound c on the step that this noise causes in one coordinate, a tangent length.

    Returns
    -------
    gain : GainRule

    Raises
    ------
    ProtocolError
        If a number is out of its range.

    Examples
    --------
    >>> gain = offset_gain(0.6, noise_scale=10.0, noise_step=0.75)
    >>> gain.constant, round(gain.offset, 3)
    (0.6, 31.0)
    """
    check_non_negative("noise_scale", noise_scale)
    check_positive("noise_step", noise_step)
    check_positive("gain constant", constant)
    # One coordinate of one answer: dimension and number of answers are both 1.
    offset = gain_offset(constant, _EXPONENT, noise_scale, 1, noise_step, n_answers=1)
    return GainRule(constant, offset, _EXPONENT, math.inf)


def reduced_gain(constant: float, noise_scale: float, noise_step: float) -> GainRule:
    r"""Gain that noise makes smaller throughout: :math:`\gamma_i = \min(C, c/\sigma)\, i^{-a}`.

    The form of section 5.1 of the paper for half-sample probes.

    Parameters
    ----------
    constant, noise_scale, noise_step : float
        As for `offset_gain`.

    Returns
    -------
    gain : GainRule

    Raises
    ------
    ProtocolError
        If a number is out of its range.

    Examples
    --------
    >>> reduced_gain(0.6, noise_scale=10.0, noise_step=0.75).constant
    0.075
    """
    check_non_negative("noise_scale", noise_scale)
    check_positive("noise_step", noise_step)
    largest = noise_step / noise_scale if noise_scale > 0 else math.inf
    return GainRule(min(constant, largest), 0.0, _EXPONENT, math.inf)


@dataclass(frozen=True)
class ProbeRadius:
    """Radius h = scale * n^-exponent of the probes of a collection of n participants.

    Parameters
    ----------
    scale : float
        Tangent length (radians on the sphere).
    exponent : float, default=0
        In [0, 1/2): the radius must not shrink faster than n^-1/2, or the probes say nothing
        about the Hessian; 0 keeps it fixed, which leaves a bias unless the score is affine.
    """

    scale: float
    exponent: float = 0.0

    def __post_init__(self):
        check_positive("probe radius scale", self.scale)
        check_real("probe radius exponent", self.exponent, "in [0, 1/2)", lambda a: 0 <= a < 0.5)

    def at(self, n_participants: int) -> float:
        """Radius of the probes.

        Parameters
        ----------
        n_participants : int

        Returns
        -------
        radius : float
        """
        return self.scale * check_integer("n_participants", n_participants) ** -self.exponent
