"""What a participant agrees to, held against what was sent to their device."""

from __future__ import annotations

import math

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms.checks import check_epsilon


def require_agreement(what, fingerprint, max_epsilon):
    """Raise ProtocolError unless a participant says what it agrees to; `what` was published."""
    if fingerprint is None and max_epsilon is None:
        raise ProtocolError(
            f"fingerprint or max_epsilon must be given: the fingerprint of the {what} that was "
            "published, or the largest epsilon that the participant allows"
        )


def check_fingerprint(what, published, fingerprint):
    """Raise ProtocolError if a fingerprint is given, and is not that of what was published."""
    if fingerprint is not None and published.fingerprint != fingerprint:
        raise ProtocolError(
            f"{what} must be the one with fingerprint {fingerprint}; got {published.fingerprint}"
        )


def check_agreement(what, published, epsilon, fingerprint, max_epsilon):
    """Largest epsilon that may be spent, infinite where `max_epsilon` leaves it open.

    ProtocolError if what was published, of the name `what`, is not what a participant agrees to;
    `epsilon` is the least that it spends.
    """
    check_fingerprint(what, published, fingerprint)
    if max_epsilon is None:
        return math.inf
    largest = check_epsilon(max_epsilon, "max_epsilon")
    if epsilon > largest:
        raise ProtocolError(f"epsilon must be at most max_epsilon={largest}; got {epsilon}")
    return largest
