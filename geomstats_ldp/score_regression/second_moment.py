"""The second moment of the data, as the scores of a collection in rounds know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from geomstats_ldp.score_regression.moments import second_moments
from geomstats_ldp.score_regression.prediction import regress_about

if TYPE_CHECKING:
    from geomstats_ldp.protocol import Protocol
    from geomstats_ldp.score_regression.fit import ScoreFit
    from geomstats_ldp.score_regression.state import RoundState


@dataclass(frozen=True, eq=False)
class LearntMoment:
    """Second moment of the clipped data modulo the identity, a sum of matrices.

    No score sees a multiple of the identity: differences of eigenvalues are known, the trace is
    not.

    Attributes
    ----------
    coefficients : array, shape [m]
    covariance : array, shape [m, m]
        Of the coefficients.
    matrices : array, shape [m, p, p]
    projection : array, shape [p, p]
        Of the estimated subspace.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    matrices: np.ndarray
    projection: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        """The moment, up to a multiple of the identity, shape [p, p]."""
        return np.tensordot(self.coefficients, self.matrices, axes=1)


def learn_second_moment(
    protocol: Protocol,
    state: RoundState,
    points: np.ndarray,
    fit: ScoreFit,
    twin: tuple | None = None,
) -> LearntMoment:
    """Second moment from all messages of a collection in rounds.

    Parameters
    ----------
    protocol : Protocol
        With the moment "second".
    state : RoundState
    points : array, shape [n_opened, n_directions, *point_shape]
    fit : ScoreFit
        Of the same state.
    twin : NamedTuple, optional

    Returns
    -------
    learnt : LearntMoment
    """
    (estimate, covariance, _), chart, _ = regress_about(protocol, state, points, fit, twin)
    matrices = second_moments(protocol.geometry, fit.point, chart.basis)
    point = fit.point if fit.point.ndim == 2 else np.outer(fit.point, fit.point)
    return LearntMoment(estimate, covariance, matrices, point)
