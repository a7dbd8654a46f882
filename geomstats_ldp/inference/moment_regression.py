r"""Exact regression of all messages of a collection in pairs on a second moment, from its sums.

In the chart at a point the gradient g and the Hessian K give the moment
:math:`\sum_k \beta_k M_k`, :math:`\beta = (g, K)` (`score_regression.moments`), and a message at
the query q has the mean :math:`A_q \beta` with the columns :math:`-P_q M_k q`. So the normal
equations are

.. math:: (A_q^\top A_q)_{kl} = q^\top M_k M_l q - (q^\top M_k q)(q^\top M_l q),\qquad
    (A_q^\top z)_k = -\langle M_k, z q^\top \rangle,

whose sums over all messages the state has. See docs/theory/score_regions.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import sqrtm

from geomstats_ldp.inference.sandwich import pool_groups
from geomstats_ldp.score_regression import PredictedScore
from geomstats_ldp.score_regression.moments import hessian_basis, second_moments
from geomstats_ldp.score_regression.prediction import bounded_by_growth, ratio_along
from geomstats_ldp.server.moment_sums import fourth_moments
from geomstats_ldp.server.recursion import N_PARTICIPANTS, OF_PEOPLE, SQUARES_OF_PEOPLE, State

if TYPE_CHECKING:
    from geomstats_ldp.protocol import Protocol


def normal_equations(sums, units):
    """Normal equations of the coefficients of unit moments, from `second_moments`.

    Sums of A^T A, shape [n_units, n_units], and of A^T z, shape [n_units], with weights.
    """
    both = np.tensordot(units @ sums.second, units, axes=([2, 1], [1, 2]))
    along = np.tensordot(units, fourth_moments(sums), axes=2)
    normal = both - np.tensordot(along, units, axes=([1, 2], [1, 2]))
    return (normal + normal.T) / 2, -np.tensordot(units, sums.cross, axes=2)


def predict_by_moment(state: State, protocol: Protocol) -> PredictedScore:
    """Prediction about the running average by the exact regression, with no ridge or prior.

    The noise of a message is that of the half-differences.
    """
    pooled, dim = pool_groups(state, protocol), protocol.dim
    rule, geometry, n = protocol.inference, protocol.geometry, int(state.clock[N_PARTICIPANTS])
    basis = hessian_basis(geometry, rule.moment, rule.hessian == "isotropic")
    units = second_moments(geometry, state.average, basis)
    normal, values = normal_equations(state.moments, units)
    # In units of their own size: no unit of the data decides what is taken for zero.
    sizes = np.sqrt(np.maximum(np.diag(normal), np.finfo(float).tiny))
    scaled = np.linalg.pinv(normal / np.outer(sizes, sizes), hermitian=True, rcond=1e-12)
    spread = scaled / np.outer(sizes, sizes)
    place = basis, np.zeros((dim, dim)), spread, ratio_along(protocol, basis)
    prediction = bounded_by_growth(spread @ values, spread, *place)
    totals, squares = state.weights[:, OF_PEOPLE], state.weights[:, SQUARES_OF_PEOPLE]
    mean = pooled.mean_covariance(n, totals, squares)
    growth = prediction.growth * pooled.noise_ratio(mean)
    root = np.real(sqrtm(mean * totals.sum() / n))
    return replace(prediction, covariance=root @ prediction.covariance @ root, growth=growth)
