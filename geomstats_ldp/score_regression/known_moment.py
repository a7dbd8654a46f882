r"""What a second moment that other people have told says of gradient and Hessian.

Scores of a second moment on the sphere are linear in it, so that a moment M that is known with
independent errors of variance :math:`s^2` in each coordinate enters the regression as more rows: in
the chart at c the coefficients :math:`\beta = (g, K)` give the moment :math:`\sum_k \beta_k M_k`
modulo the identity, and the rows are

.. math:: M - \tfrac1p (\mathrm{tr}\, M) I = \sum_k \beta_k
    \{M_k - \tfrac1p (\mathrm{tr}\, M_k) I\} + s\,\eta .
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from geomstats_ldp.score_regression.moments import second_moments


class Knowledge(NamedTuple):
    """Information about the coefficients that does not come from answers.

    Attributes
    ----------
    information : array, shape [dim + n_basis, dim + n_basis]
        Inverse covariance, in units of the variance of a coordinate of one score.
    values : array, shape [dim + n_basis]
        The information times the coefficients.
    """

    information: np.ndarray
    values: np.ndarray


def knowledge(protocol: Any, center: np.ndarray, basis: np.ndarray, variance: float) -> Knowledge:
    """Information about gradient and Hessian at a centre, zero where no moment is known.

    Parameters
    ----------
    protocol : Protocol
        With rounds.
    center : array, shape [*point_shape]
    basis : array, shape [n_basis, dim, dim]
    variance : float
        Of a coordinate of one score.

    Returns
    -------
    knowledge : Knowledge
    """
    n, plan = protocol.dim + len(basis), protocol.rounds
    if plan.known_moment is None:
        return Knowledge(np.zeros((n, n)), np.zeros(n))
    moments = second_moments(protocol.geometry, center, basis)
    known = np.array(plan.known_moment)[None]
    rows, values = (_without_trace(part).reshape(len(part), -1) for part in (moments, known))
    weight = variance / plan.known_sd**2
    return Knowledge(weight * rows @ rows.T, weight * rows @ values[0])


def _without_trace(matrices):
    """Matrices, shape [..., p, p], less their multiples of the identity."""
    p = matrices.shape[-1]
    traces = np.trace(matrices, axis1=-2, axis2=-1)
    return matrices - traces[..., None, None] / p * np.eye(p)
