"""The participant's side of a histogram of norms: the only place of scouting that sees a datum."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import AlreadyAnsweredError, ProtocolError
from geomstats_ldp.mechanisms.candidates import draw_candidate
from geomstats_ldp.participant import Latch, silence
from geomstats_ldp.protocol.agreement import check_agreement, require_agreement
from geomstats_ldp.scouting.histogram import NormHistogram


class NormParticipant:
    """What runs on the device of a participant who is asked for a norm: one answer, once.

    Parameters
    ----------
    histogram : NormHistogram
    fingerprint : str, optional
        Of the histogram that was published. It, or `max_epsilon`, has to be given.
    max_epsilon : float, optional
        Largest epsilon that this participant allows.

    Attributes
    ----------
    has_answered : bool
        Copies in one process share it. Nothing of a datum is kept.

    Raises
    ------
    ProtocolError
        If the histogram is none, has another fingerprint, more than `max_epsilon`, or more than a
        device may spend.
    """

    def __init__(
        self,
        histogram: NormHistogram,
        *,
        fingerprint: str | None = None,
        max_epsilon: float | None = None,
    ):
        if not isinstance(histogram, NormHistogram):
            raise ProtocolError(
                f"histogram must be a NormHistogram; got {type(histogram).__name__}"
            )
        require_agreement("histogram", fingerprint, max_epsilon)
        check_agreement("histogram", histogram, histogram.epsilon, fingerprint, max_epsilon)
        histogram.mechanism.check_releasable()
        self.histogram = histogram
        self._latch = Latch()

    @property
    def has_answered(self) -> bool:
        """Whether the one answer has been given."""
        return self._latch.is_closed

    def respond(self, datum: ArrayLike) -> int:
        """Release the bin of the norm of one datum.

        Parameters
        ----------
        datum : array-like
            Raw datum, a vector of any length. One that is no array of finite numbers is answered as
            if it were zero, at full privacy.

        Returns
        -------
        candidate : int
            In [0, 2^64).

        Raises
        ------
        AlreadyAnsweredError
            If this participant has answered.
        """
        if not self._latch.close():
            raise AlreadyAnsweredError(
                "this participant has answered, and a second answer would spend epsilon again; "
                "another person needs a NormParticipant of their own"
            )
        with silence():
            one_hot = np.zeros(self.histogram.n_bins)
            one_hot[_bin_or_first(self.histogram, datum)] = 1.0
            return draw_candidate(self.histogram.mechanism, one_hot)


def _bin_or_first(histogram, datum):
    """Bin of a datum, the first one for what has none: telling would tell of the datum."""
    try:
        vector = np.asarray(datum, dtype=float).ravel()
        norm = np.linalg.norm(vector) if np.isfinite(vector).all() else 0.0
        return int(bins_of(histogram, norm))
    except Exception:
        return 0


def bins_of(histogram: NormHistogram, norms: ArrayLike) -> np.ndarray:
    """Bins that hold given norms.

    Parameters
    ----------
    histogram : NormHistogram
    norms : array-like, shape [...]
        Whatever they are, NaN included, there is a bin.

    Returns
    -------
    bins : array of int, shape [...]
    """
    norms = np.where(np.isnan(norms), 0.0, norms)
    return np.searchsorted(histogram.edges[1:-1], norms, side="right")


def simulate_norms(
    histogram: NormHistogram, rows: np.ndarray, random_state: np.random.Generator
) -> np.ndarray:
    """Answers of one participant per row by the direct sampler, for simulation.

    Parameters
    ----------
    histogram : NormHistogram
    rows : array, shape [n, ...]
    random_state : numpy Generator

    Returns
    -------
    sets : array, shape [n, n_bins]
    """
    norms = np.linalg.norm(np.reshape(rows, (len(rows), -1)), axis=1)
    return histogram.mechanism.simulate(bins_of(histogram, norms), random_state)
