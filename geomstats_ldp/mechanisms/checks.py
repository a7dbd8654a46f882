"""Checks of the public parameters of mechanisms."""

from __future__ import annotations

import math

from geomstats_ldp.validation import check_real

EPSILON_RANGE = (1e-3, 700.0)  # exp(epsilon) and its reciprocal are doubles up to here
BOUND_RANGE = (1e-100, 1e100)  # squares of bounds stay far from overflow and underflow

#: Typical variance of a coordinate of a score, relative to its bound squared.
_TYPICAL_SCORE_VARIANCE = 0.25


def check_epsilon(epsilon, name="epsilon"):
    """Return ``epsilon`` as a float in the supported range or ``inf``."""
    low, high = EPSILON_RANGE
    return check_real(
        name, epsilon, "in [1e-3, 700] or inf", lambda e: low <= e <= high or e == math.inf
    )


def check_delta(delta):
    """Return ``delta`` as a float in [0, 1)."""
    return check_real("delta", delta, "in [0, 1)", lambda value: 0.0 <= value < 1.0)


def typical_variance(mechanism):
    """Variance of a coordinate of a message to reckon with: that of the noise and of the score."""
    return mechanism.noise_variance + _TYPICAL_SCORE_VARIANCE * mechanism.bound**2
