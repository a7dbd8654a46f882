"""What a participant agrees to, held against what was sent to their device."""

from __future__ import annotations

import math

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms.checks import check_epsilon


def require_agreement(what, fingerprint, max_epsilon):
    """Raise ProtocolError unless a participant says what it agrees to.

    Parameters
    ----------
    what : str
        Name of what was published.
    fingerprint : str or None
    max_epsilon : float or None
    """
    if fingerprint is None and max_epsilon is None:
        raise ProtocolError(
            f"fingerprint or max_epsilon must be given: the fingerprint of the {what} that was "
            "published, or the largest epsilon that the participant allows"
        )


def check_agreement(what, published, epsilon, fingerprint, max_epsilon):
    """Raise ProtocolError if what came is not what a participant agrees to.

    Parameters
    ----------
    what : str
        Name of what was published.
    published : Protocol or NormHistogram
    epsilon : float
        The least that it spends.
    fingerprint : str or None
    max_epsilon : float or None

    Returns
    -------
    largest : float
        Epsilon that may be spent, infinite where `max_epsilon` leaves it open.
    """
    if fingerprint is not None and published.fingerprint != fingerprint:
        raise ProtocolError(
            f"{what} must be the one with fingerprint {str(fingerprint)[:12]}; "
            f"got {published.fingerprint[:12]}"
        )
    if max_epsilon is None:
        return math.inf
    largest = check_epsilon(max_epsilon, "max_epsilon")
    if epsilon > largest:
        raise ProtocolError(f"epsilon must be at most max_epsilon={largest}; got {epsilon}")
    return largest
