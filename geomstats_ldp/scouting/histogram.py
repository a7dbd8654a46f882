"""Private histogram of the logarithm of a norm."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms.candidates import N_CANDIDATES
from geomstats_ldp.mechanisms.checks import check_epsilon
from geomstats_ldp.mechanisms.subset_selection import SubsetSelection
from geomstats_ldp.scouting.lognormal import lognormal_frequencies
from geomstats_ldp.serialization import BAD_CONTENT, SHORT_TEXT, canonical_json, parse_json
from geomstats_ldp.validation import check_all, check_integer, check_scale, finite_array

#: Norms that are told apart: a factor of 10^12, in bins of a factor of 1.41.
LOWEST, HIGHEST, N_BINS = 1e-6, 1e6, 80

#: Error of a frequency with which the law of the norms is found reliably, and fewest answers.
_ENOUGH_ERROR, _FEWEST = 0.042, 400


@dataclass(frozen=True)
class NormHistogram:
    """Public protocol of the question in which of these bins the norm of a datum is.

    Every participant answers with one set of bins, by `SubsetSelection`.

    Parameters
    ----------
    epsilon : float
        Privacy of an answer.
    lowest, highest : float
        Ends of the range, in the units of the data. Shorter and longer data belong to the first and
        the last bin.
    n_bins : int
        Number of bins, even on the scale of the logarithm.

    Raises
    ------
    ArgumentTypeError, ProtocolError
        If an argument is out of range.

    Examples
    --------
    >>> from geomstats_ldp.scouting import NormHistogram, NormParticipant
    >>> norms = NormHistogram(epsilon=2.0, lowest=0.1, highest=10.0, n_bins=8)
    >>> candidate = NormParticipant(norms, max_epsilon=2.0).respond([0.3, 0.4])
    >>> int(norms.sets([candidate]).sum())  # so many bins are named
    1
    """

    epsilon: float
    lowest: float = LOWEST
    highest: float = HIGHEST
    n_bins: int = N_BINS

    def __post_init__(self):
        check_integer("n_bins", self.n_bins, 2, 1000)
        if not check_scale("lowest", self.lowest) < check_scale("highest", self.highest):
            raise ProtocolError(
                f"highest must be above lowest={self.lowest!r}; got {self.highest!r}"
            )
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        for name in ("lowest", "highest"):
            object.__setattr__(self, name, float(getattr(self, name)))

    @cached_property
    def mechanism(self) -> SubsetSelection:
        """Randomiser of the bins."""
        return SubsetSelection(self.epsilon, self.n_bins)

    @cached_property
    def edges(self) -> np.ndarray:
        """Edges of the bins, shape [n_bins + 1]."""
        return np.geomspace(self.lowest, self.highest, self.n_bins + 1)

    @property
    def lengths(self) -> np.ndarray:
        """Geometric middle of each bin, shape [n_bins]."""
        return np.sqrt(self.edges[1:] * self.edges[:-1])

    @property
    def n_enough(self) -> int:
        """Answers that tell where the norms are: 400, and more under an epsilon below two.

        With fewer, what noise puts into some bins may look like the rows. So many know the
        frequency of a bin to four hundredths.
        """
        return max(_FEWEST, math.ceil(self.mechanism.frequency_variance / _ENOUGH_ERROR**2))

    # ---------------------------------------------------------------- records

    def to_spec(self) -> dict[str, Any]:
        """Plain record, for JSON."""
        return asdict(self)

    def to_json(self) -> str:
        """Text that `from_json` reads."""
        return canonical_json(self.to_spec())

    @classmethod
    def from_json(cls, text: str | bytes) -> NormHistogram:
        """Read what `to_json` wrote.

        Parameters
        ----------
        text : str or bytes

        Returns
        -------
        histogram : NormHistogram

        Raises
        ------
        ProtocolError
            If it is no such text.
        """
        try:
            return cls(**parse_json(text, SHORT_TEXT))
        except BAD_CONTENT as error:
            raise ProtocolError(f"text must be a record of a NormHistogram: {error}") from error

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the record, by which devices know what was published."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    # ---------------------------------------------------------------- answers

    def sets(self, candidates: Iterable[int]) -> np.ndarray:
        """Sets of bins that messages stand for.

        Parameters
        ----------
        candidates : iterable of int
            Messages, integers in [0, 2^64).

        Returns
        -------
        sets : array, shape [n, n_bins]
            One where a set holds a bin, zero elsewhere.

        Raises
        ------
        ArgumentTypeError, ProtocolError
            If one of them is no candidate.
        """
        numbers = [check_integer("candidate", one, 0, N_CANDIDATES - 1) for one in candidates]
        return self.mechanism.candidate_points(np.array(numbers, dtype=np.uint64))

    def frequencies(self, sets: ArrayLike) -> np.ndarray:
        """Frequencies of the bins by the lognormal law that fits best.

        The law is the one of the greatest composite likelihood of the counts of the bins; the first
        bin, in which zeros are as well, has a frequency of its own. See docs/guide/scouting.md.

        Parameters
        ----------
        sets : array-like, shape [n, n_bins]
            From `sets`, n at least 1.

        Returns
        -------
        frequencies : array, shape [n_bins]
            They sum to one.

        Raises
        ------
        ProtocolError
            If the shape is wrong, there is no set, or they are not those of this question.
        """
        sets = finite_array("sets", sets, ("n", self.n_bins))
        if len(sets) == 0:
            raise ProtocolError("sets must hold one answer at least; got none")
        size = self.mechanism.subset_size
        check_all("sets must hold zeros and ones", (sets == 0) | (sets == 1))
        check_all(f"sets must name {size} bins each", sets.sum(axis=1) == size)
        own, other = self.mechanism.own_probability, self.mechanism.other_probability
        return lognormal_frequencies(sets.sum(axis=0), len(sets), own, other)
