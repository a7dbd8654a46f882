r"""What a second moment that other people have told says of gradient and Hessian.

Scores of a second moment on the sphere are linear in it, so that a moment M that is known with an
error of covariance C enters the regression as more rows: in the chart at c the coefficients
:math:`\beta = (g, K)` give the moment :math:`\sum_k \beta_k M_k` modulo the identity, and the rows
are, in coordinates of symmetric matrices and with P the projection off the identity,

.. math:: P M = \sum_k \beta_k P M_k + P \eta, \qquad \mathrm{Cov}\,\eta = C .

Scores of all directions weigh the same in the regression, and so do coordinates of the moment:
those of the gradient by their mean variance, and the others by theirs. The rows of both vary most
in the same directions, so that little is lost by it; and the covariance of the coefficients counts
C as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from geomstats_ldp.score_regression.moments import second_moments, symmetric_basis


class Knowledge(NamedTuple):
    """Information about the coefficients that does not come from answers.

    Attributes
    ----------
    information : array, shape [dim + n_basis, dim + n_basis]
        Weight of it, as in normal equations of scores of unit variance: where all coordinates of
        the moment are equally uncertain, the inverse covariance in units of the variance of a
        coordinate of one score.
    values : array, shape [dim + n_basis]
        The information times the coefficients.
    noise : array, shape [dim + n_basis, dim + n_basis]
        Covariance of the values in the same units: the information again if all coordinates of the
        moment are equally uncertain.
    """

    information: np.ndarray
    values: np.ndarray
    noise: np.ndarray


def knowledge(protocol: Any, center: np.ndarray, basis: np.ndarray, variance: float) -> Knowledge:
    """Information about gradient and Hessian at a centre, zero where no moment is known.

    `variance` is that of a coordinate of one score.
    """
    n, plan = protocol.dim + len(basis), protocol.rounds
    if plan.known_moment is None:
        return Knowledge(np.zeros((n, n)), np.zeros(n), np.zeros((n, n)))
    rows, value = (
        _off_identity(moments)
        for moments in (
            second_moments(protocol.geometry, center, basis),
            np.array(plan.known_moment),
        )
    )
    covariance = np.array(plan.known_covariance)
    gradients = rows[: protocol.dim].T @ rows[: protocol.dim] / 2  # moments of length root two
    weights = np.zeros_like(covariance)
    for part in (gradients, _off_identity(symmetric_basis(len(center), False)) - gradients):
        weights += variance * np.trace(part) / np.trace(part @ covariance) * part
    weighted = rows @ weights
    noise = weighted @ covariance @ weighted.T / variance
    return Knowledge(weighted @ rows.T, weighted @ value, noise)


def _off_identity(matrices):
    """Coordinates of matrices, shape [..., p, p], in `symmetric_basis`, less the identity's."""
    p = matrices.shape[-1]
    traces = np.trace(matrices, axis1=-2, axis2=-1)
    off = matrices - traces[..., None, None] / p * np.eye(p)
    return np.tensordot(off, symmetric_basis(p, is_isotropic=False), axes=([-2, -1], [1, 2]))
