r"""The moment that scouts have told, how far it may be off, and the start that follows.

All scouts are asked at one public point, so that the scatter of their messages about the mean shows
noise and spread of the rows alike, in every direction: no model enters. With n messages in m
dimensions and the scatter S their covariance is put at

.. math:: \hat\Sigma = \frac S{n - m - 2},

whose inverse, the weight in a regression, has no bias for normal messages. Its eigenvalues are put
between the known noise variance and that plus the squared score bound, which no spread exceeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from geomstats_ldp.exceptions import NotReadyError
from geomstats_ldp.score_regression.answers import group_covariances
from geomstats_ldp.score_regression.moments import symmetric_basis
from geomstats_ldp.score_regression.shrinkage import clip_eigenvalues
from geomstats_ldp.score_regression.state import RoundState


def scouted_moment(start: Any, state: RoundState) -> tuple[np.ndarray, np.ndarray]:
    """First or second moment that scouts have told, and the covariance of its error.

    `start` asks at one point for a flat mean or a covariance matrix. The covariance of a second
    moment, which noise may have made indefinite, is in the coordinates of `symmetric_basis`.

    Raises
    ------
    NotReadyError
        If nobody has answered.
    """
    n = state.n_participants
    if n == 0:
        raise NotReadyError("nobody has answered the question for the initial point")
    geometry, query = start.geometry, np.array(start.rounds.query)
    is_mean = query.ndim == 1
    mean = state.sums.sum(axis=(0, 1)) / n
    scatter = state.outer.sum(axis=(0, 1)) - n * np.outer(mean, mean)
    axes = geometry.lift(np.eye(geometry.dim), query)
    # The score of a mean m is q - m, that of a second moment S is (q - S) / 2.
    factor, basis = 1.0, np.eye(len(query))
    if not is_mean:
        factor, basis = 2.0, symmetric_basis(len(query), is_isotropic=False)
    turn = factor * basis.reshape(len(basis), -1) @ axes.reshape(len(axes), -1).T
    covariance = turn @ _message_covariance(start, scatter, n) @ turn.T / n
    moment = query - factor * geometry.lift(mean, query)
    covariance = (covariance + covariance.T) / 2
    return (moment if is_mean else (moment + moment.T) / 2), covariance


def _message_covariance(start, scatter, n):
    """Covariance of one message, in frame coordinates at the query."""
    mechanism, degrees = start.mechanism, n - start.dim - 2
    highest = mechanism.noise_variance + mechanism.bound**2
    if degrees < 1:
        return highest * np.eye(start.dim)
    return clip_eigenvalues(group_covariances(start, [0], [scatter], [degrees], [n])[0], 0, highest)


def squared_angle_of_mean(moment: np.ndarray, covariance: np.ndarray) -> float:
    """Expected square of the angle by which the direction of a mean is off, to first order.

    In squared radians; infinite for a mean of zero.
    """
    square = float(moment @ moment)
    if square == 0:
        return np.inf
    return float(np.trace(covariance) - moment @ covariance @ moment / square) / square


def squared_angle_of_leading(
    moment: np.ndarray, covariance: np.ndarray, n_components: int, least_gap: float
) -> float:
    r"""Expected square of the angle by which leading eigenvectors are off, to first order.

    The eigenvector i is off towards j by :math:`u_i^\top E u_j / (\lambda_i - \lambda_j)` with E
    the error of the moment. In squared radians, the sum over the eigenvectors; infinite where gaps
    of eigenvalues are under `least_gap` standard errors, so that they are not told from the rest.
    """
    values, vectors = np.linalg.eigh(moment)
    above, below = slice(-n_components, None), slice(None, -n_components)
    gaps = values[above, None] - values[None, below]
    seen = vectors.T @ symmetric_basis(len(moment), is_isotropic=False) @ vectors
    own = np.einsum("kii->ik", seen)
    differences = own[above, None] - own[None, below]
    if np.any(gaps <= least_gap * np.sqrt(_variances(differences, covariance))):
        return np.inf
    mixed = np.moveaxis(seen[:, above, below], 0, -1)
    return float(np.sum(_variances(mixed, covariance) / gaps**2))


def _variances(functionals, covariance):
    """Variances of linear functions, shape [..., m], of a vector with a given covariance."""
    return np.einsum("...k,kl,...l->...", functionals, covariance, functionals)
