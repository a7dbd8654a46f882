r"""Whether answers about curvature and scores of different people tell of the same Hessian.

Least squares of the scores alone gives the coefficients :math:`\hat K_s` of the Hessian in its
basis, and least squares of the answers about curvature :math:`\hat K_c`, of other people, with
covariances :math:`V_s` and :math:`V_c`. Where both have the same mean K, the difference
:math:`D = \hat K_s - \hat K_c` has mean zero and covariance :math:`V_s + V_c`, and is uncorrelated
with the mean of the two that is weighted by their inverse covariances, :math:`\bar K`. If clipping
takes a share of the curvature, :math:`E \hat K_c = (1 - \delta) K`, so that

.. math:: \hat\delta = \frac{\bar K^\top W D}{\bar K^\top W \bar K},\qquad
    \frac{\hat\delta}{\hat\sigma} \sim N(0, 1)\ \text{under agreement},\qquad
    \hat\sigma^{-2} = \bar K^\top W \bar K,\qquad W = (V_s + V_c)^{-1}.
"""

from __future__ import annotations

import math

import numpy as np

from geomstats_ldp.score_regression.curvature import known_apart, told_curvature
from geomstats_ldp.score_regression.prediction import regress_about


def curvature_lost(protocol, state, points, fit, twin=None):
    """Share of the curvature that answers about it miss, by the scores, and its standard error.

    Parameters
    ----------
    protocol, state, points, fit, twin
        See `predict_round_scores`.

    Returns
    -------
    lost : pair of float, or None
        None where nobody was asked about curvature, or one estimate leaves some of it open.
    """
    told = told_curvature(protocol, state)
    if not told or not fit.is_hessian_told:
        return None
    dim = protocol.dim
    (scores, noise, _), chart, _ = regress_about(protocol, state, points, fit, twin, told=[])
    variance = float(np.trace(fit.score_covariance)) / dim
    even = np.ones(state.n_opened)
    known = known_apart(protocol, told, fit.point, chart.basis, variance, even)
    information, values, spread = known.information[dim:, dim:], known.values[dim:], known.noise
    if len(information) == 0 or np.linalg.matrix_rank(information) < len(information):
        return None
    inverse = np.linalg.inv(information)
    return lost_share(
        (scores[dim:], noise[dim:, dim:]),
        (inverse @ values, variance * inverse @ spread[dim:, dim:] @ inverse),
    )


def lost_share(whole, less):
    """Share that one estimate of coefficients has less than another, and its standard error.

    Parameters
    ----------
    whole, less : pair of array, shape [k] and [k, k]
        Two independent estimates and their covariances.

    Returns
    -------
    share, error : float
    """
    weights = [np.linalg.inv(covariance) for _, covariance in (whole, less)]
    mean = np.linalg.solve(sum(weights), weights[0] @ whole[0] + weights[1] @ less[0])
    weighted = np.linalg.solve(whole[1] + less[1], mean)
    precision = float(mean @ weighted)
    return float(weighted @ (whole[0] - less[0])) / precision, 1 / math.sqrt(precision)
