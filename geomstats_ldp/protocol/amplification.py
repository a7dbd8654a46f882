"""What a shuffler adds: the central guarantee of reports that nobody can tell apart.

Closed form of Feldman, McMillan and Talwar (2021), *Hiding among the clones*, Theorem III.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import NotReadyError, ProtocolError
from geomstats_ldp.validation import check_integer, check_positive, check_real

if TYPE_CHECKING:
    from geomstats_ldp.protocol.protocol import Protocol


@dataclass(frozen=True, eq=False)
class AmplifiedGuarantee:
    """Differential privacy of shuffled reports towards those who see nothing else.

    Attributes
    ----------
    epsilon, delta : float
        The reports of the whole collection, with the datum of any one person replaced by another,
        are (epsilon, delta)-indistinguishable. It is the guarantee of the smallest batch.
    local_epsilon : float
        Of each message, which holds with no shuffler at all; with groups of participants the
        largest.
    by_round : array, shape [n_rounds] or [n_rounds, n_groups]
        Epsilon of the people of each round, and group; NaN where nobody answered.
    batch_sizes : array of int, shape [n_rounds] or [n_rounds, n_groups]
        Reports of the smallest batch of each round, and group: those to one question.
    by_group : dict of str to float or None
        Epsilon of the people of each group, the largest of its rounds; None without groups.
    """

    epsilon: float
    delta: float
    local_epsilon: float
    by_round: np.ndarray
    batch_sizes: np.ndarray
    by_group: dict[str | None, float] | None = None

    def __str__(self):
        lines = [
            f"Shuffled, the reports are ({self.epsilon:.3g}, {self.delta:.3g})-differentially "
            f"private; each message alone is {self.local_epsilon:g}-locally private"
            f"{' at least' if self.by_group else ''}.",
            "This holds towards whoever sees nothing of a report but the question and the answer, "
            "and these in an order that tells nothing: neither who sent them, nor when, nor "
            "from where, nor an identifier. For the shuffler itself, and for whoever works with "
            "it, the local guarantee is all there is.",
            "All reports to one question are shuffled as one batch before any of them is used. "
            "Late ones that come after that are a batch of their own, and hide among themselves "
            "only. The numbers are of people who do not work together against the others.",
        ]
        lines += [
            f"Of the group {group!r}: epsilon {epsilon:.3g}."
            for group, epsilon in (self.by_group or {}).items()
        ]
        return "\n".join(lines)


def amplified_epsilon(epsilon: float, n_reports: int, delta: float) -> float:
    r"""Epsilon of a batch of shuffled reports.

    .. math:: \log\Bigl\{1 + \frac{e^{\varepsilon_0} - 1}{e^{\varepsilon_0} + 1}\Bigl(
        8\sqrt{\frac{e^{\varepsilon_0} \log(4/\delta)}{n}} + \frac{8 e^{\varepsilon_0}}{n}
        \Bigr)\Bigr\}

    where n is at least :math:`16\, e^{\varepsilon_0} \log(4/\delta)`, and :math:`\varepsilon_0`
    itself where that is less or n is too small.

    Parameters
    ----------
    epsilon : float
        Epsilon_0 of each report, which is a pure local guarantee.
    n_reports : int
        Reports n that are shuffled together, all made by the same randomiser.
    delta : float in (0, 1)
        Of the batch.

    Returns
    -------
    epsilon : float

    Raises
    ------
    ArgumentTypeError, ProtocolError
        If epsilon is not positive and finite, n no positive integer, or delta not in (0, 1).
    """
    check_positive("epsilon", epsilon)
    check_integer("n_reports", n_reports)
    check_real("delta", delta, "in (0, 1)", lambda number: 0 < number < 1)
    # The theorem asks for log(2/delta) only; the program of its authors asks for this.
    log_factor = math.log(4 / delta)
    if epsilon > math.log(n_reports) - math.log(16 * log_factor):
        return float(epsilon)
    ratio = math.exp(epsilon) / n_reports
    gain = math.tanh(epsilon / 2) * (8 * math.sqrt(ratio * log_factor) + 8 * ratio)
    return min(float(epsilon), math.log1p(gain))


def amplified_guarantee(
    protocol: Protocol, delta: float, counts: ArrayLike | None = None
) -> AmplifiedGuarantee:
    """Guarantee of the shuffled reports of a collection in rounds.

    Parameters
    ----------
    protocol : Protocol
    delta : float in (0, 1)
    counts : array-like of int, shape [n_rounds, n_query_points], optional
        Reports to each question that are shuffled together, as one batch. Default the plan of the
        protocol, dealt evenly; how many of each group will answer is not planned.

    Returns
    -------
    guarantee : AmplifiedGuarantee

    Raises
    ------
    ProtocolError
        If the protocol asks pairs, a mechanism has no pure guarantee, or it plans no numbers.
    NotReadyError
        If nobody, or nobody of a group, has answered.
    """
    if protocol.rounds is None:
        raise ProtocolError(
            "n_rounds must be given for an amplified guarantee: in pairs everybody is asked a "
            "question of their own, and one report cannot hide among others"
        )
    for mechanism in protocol.mechanisms.values():
        if mechanism.delta > 0 or not math.isfinite(mechanism.epsilon):
            raise ProtocolError(
                "mechanism must have delta = 0 and a finite epsilon for an amplified guarantee; "
                f"got {mechanism!r}"
            )
    check_real("delta", delta, "in (0, 1)", lambda number: 0 < number < 1)
    counts = _planned(protocol) if counts is None else np.asarray(counts)
    epsilons = [mechanism.epsilon for mechanism in protocol.mechanisms.values()]
    batches = counts.reshape(len(counts), len(epsilons), -1)
    smallest = np.array([[min(batch[batch > 0], default=0) for batch in row] for row in batches])
    if not smallest.any(axis=0).all():
        raise NotReadyError("nobody has answered yet, so that there is nothing to shuffle")
    by_round = np.array(
        [
            [amplified_epsilon(e, int(n), delta) if n else np.nan for e, n in zip(epsilons, row)]
            for row in smallest
        ]
    )
    worst = np.nanmax(by_round, axis=0)
    common = float(worst.max()), delta, max(epsilons)
    if protocol.groups is None:
        return AmplifiedGuarantee(*common, by_round[:, 0], smallest[:, 0])
    by_group = dict(zip(protocol.mechanisms, worst.tolist()))
    return AmplifiedGuarantee(*common, by_round, smallest, by_group)


def _planned(protocol):
    """Reports to each question by the plan, shape [n_rounds, n_query_points]."""
    if protocol.groups is not None:
        raise NotReadyError("nobody has answered yet, and no numbers are planned by group")
    if protocol.rounds.sizes is None:
        raise ProtocolError(
            "n_participants must be given for an amplified guarantee before anybody has answered: "
            "the number of reports that are shuffled together counts"
        )
    n_points = protocol.n_query_points
    return np.array(
        [[(size + i) // n_points for i in range(n_points)] for size in protocol.rounds.sizes]
    )
