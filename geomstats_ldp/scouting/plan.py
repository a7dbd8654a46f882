"""What scouts are asked, and the parameters of the study that follow from their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.scouting.bound import best_norm_bound
from geomstats_ldp.scouting.histogram import NormHistogram
from geomstats_ldp.scouting.moment import (
    scouted_moment,
    squared_angle_of_leading,
    squared_angle_of_mean,
)

#: Largest angle by which a start may be off, and least gap of eigenvalues in standard errors; a
#: larger one where what more scouts say is not lost.
_LARGEST_ANGLE, _LEAST_GAP, _LEAST_GAP_OF_TOLD = 0.5, 2.5, 3.5


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
        Collection in one round whose answers give the initial point; None if that is known. Where
        no bound is known its rows are all scaled to one length.
    noise_variance : float
        Of a score of bound one, by the mechanism of the study.
    n_features : int
        Length of a row.
    n_components : int
        Directions of the initial point.
    tells_moment : bool
        Whether the second moment of the scouts is that of the study, whose estimate it enters as
        `known_moment`: the bound is the same.
    """

    norms: NormHistogram | None
    start: Protocol | None
    noise_variance: float
    n_features: int
    n_components: int = 1
    tells_moment: bool = False

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
            `norm_bound` and `initial_point`, those that were asked for, and `known_moment` with
            the latter if the plan `tells_moment`.

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
            moment, covariance = scouted_moment(self.start, server.state)
            found["initial_point"] = self._initial_point(moment)
            if self.tells_moment:
                found["known_moment"] = moment, covariance
        return found

    def _initial_point(self, moment):
        if moment.ndim == 1:
            return moment / np.linalg.norm(moment)
        vectors = np.linalg.eigh(moment)[1].T[::-1][: self.n_components]
        largest = np.argmax(np.abs(vectors), axis=1)
        vectors = vectors * np.sign(vectors[np.arange(len(vectors)), largest])[:, None]
        return vectors[0] if self.n_components == 1 else vectors

    def is_sharp(self, server: Any) -> bool:
        r"""Whether the initial point is known well enough to start a study there.

        With the covariance C of the moment, which the answers themselves show, a mean m is off by
        the angle :math:`\{\mathrm{tr}(C) - m^\top C m / |m|^2\}^{1/2} / |m|`, and an eigenvector i
        by the standard error of :math:`u_i^\top M u_j` over the gap to each eigenvector j on the
        other side. The root of the sum of squares must be at most 1/2, and each gap at least 2.5 of
        its own standard errors, those of :math:`u_i^\top M u_i - u_j^\top M u_j`, or 3.5 if the
        plan `tells_moment`: an eigenvector that is mistaken for the next is as far off as can be.

        Parameters
        ----------
        server : RoundServer
            Of the collection `start`.

        Returns
        -------
        is_sharp : bool

        Raises
        ------
        NotReadyError
            If nobody has answered.
        """
        moment, covariance = scouted_moment(server.protocol, server.state)
        if moment.ndim == 1:
            square = squared_angle_of_mean(moment, covariance)
        else:
            least = _LEAST_GAP_OF_TOLD if self.tells_moment else _LEAST_GAP
            square = squared_angle_of_leading(moment, covariance, self.n_components, least)
        return square <= _LARGEST_ANGLE**2
