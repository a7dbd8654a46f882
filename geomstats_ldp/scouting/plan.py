"""What scouts are asked, and the parameters of the study that follow from their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import NotReadyError, ProtocolError
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.scouting.bound import best_norm_bound
from geomstats_ldp.scouting.histogram import NormHistogram


@dataclass(frozen=True)
class ScoutPlan:
    """Public questions to scouts, each of whom answers one of them, once.

    The parameters of the study are a function of the answers and of these numbers alone, so that
    anybody can compute the protocol that the other participants are given.

    Parameters
    ----------
    norms : NormHistogram or None
        Question for the norm; None if the bound is known.
    start : Protocol or None
        Collection in one round whose answers give the initial point; None if that is known. Its
        rows are all scaled to one length, so that it needs no bound.
    noise_variance : float
        Of a score of bound one, by the mechanism of the study.
    n_features : int
        Length of a row.
    n_components : int
        Directions of the initial point.
    """

    norms: NormHistogram | None
    start: Protocol | None
    noise_variance: float
    n_features: int
    n_components: int = 1

    def parameters(self, sets: ArrayLike | None = None, server: Any = None) -> dict[str, Any]:
        """Parameters of the estimator that scouts have found.

        Parameters
        ----------
        sets : array-like, shape [n, n_bins], optional
            Answers to `norms`; see `NormHistogram.sets`.
        server : RoundServer, optional
            Of the collection `start`.

        Returns
        -------
        parameters : dict
            `norm_bound` and `initial_point`, those that were asked for.

        Raises
        ------
        ProtocolError
            If answers to a question are not given, or belong to another one.
        NotReadyError
            If nobody has answered.
        """
        found: dict[str, Any] = {}
        if self.norms is not None:
            if sets is None:
                raise ProtocolError("sets must be the answers to the question for the norm")
            shares = self.norms.frequencies(sets)
            numbers = self.noise_variance, self.n_features
            found["norm_bound"] = best_norm_bound(self.norms.lengths, shares, *numbers)
        if self.start is not None:
            if server is None or server.protocol != self.start:
                raise ProtocolError("server must be that of the collection for the initial point")
            found["initial_point"] = self._initial_point(server)
        return found

    def _initial_point(self, server):
        if server.n_participants == 0:
            raise NotReadyError("nobody has answered the question for the initial point")
        query = np.array(self.start.rounds.query)
        mean = server.state.sums.sum(axis=(0, 1)) / server.n_participants
        score = self.start.geometry.lift(mean, query)
        if self.start.rounds.moment == "quadratic":  # the score of a mean is q - E y
            mean = query - score
            return mean / np.linalg.norm(mean)
        # The score of a second moment S is (q - S) / 2; noise may have made it indefinite.
        vectors = np.linalg.eigh(query - 2 * score)[1].T[::-1][: self.n_components]
        largest = np.argmax(np.abs(vectors), axis=1)
        vectors = vectors * np.sign(vectors[np.arange(len(vectors)), largest])[:, None]
        return vectors[0] if self.n_components == 1 else vectors
