r"""Estimate where everybody is asked at one public point q, whose mean score tells the target.

There is no regression: with Z the mean message, in frame coordinates at q or as a matrix,

* "covariance": the mean score is :math:`(q - S) / 2`, and the estimate of S is q - 2 Z;
* "quadratic" with the Hessian k I on a flat space: :math:`\mathrm{Exp}_q(-Z / k)`.

Either is a linear function of the messages and has no bias, whatever their number and the law of
the data. See docs/theory/rounds.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh

from geomstats_ldp.score_regression.answers import (
    group_covariances,
    mean_covariance,
    precisions,
    trusted_groups,
)
from geomstats_ldp.score_regression.fit import ScoreFit, into_region
from geomstats_ldp.score_regression.prediction import PredictedScore

if TYPE_CHECKING:
    from geomstats_ldp.protocol import Protocol
    from geomstats_ldp.score_regression.state import RoundState


def fit_single_query(protocol: Protocol, state: RoundState) -> ScoreFit | None:
    """Estimate from the sums of a collection that asks at one point.

    Parameters
    ----------
    protocol : Protocol
        Whose rounds have a query.
    state : RoundState

    Returns
    -------
    fit : ScoreFit or None
        The score covariance is that at the estimate, where the Hessian is known. None while too few
        have answered, as for `fit_scores`.
    """
    found = _mean_score(protocol, state)
    if found is None:
        return None
    mean, covariance, group_precision, n = found
    dim = protocol.dim
    exact, curvature = _SOLUTIONS[protocol.rounds.moment](protocol, mean)
    point = into_region(protocol, _within_reach(protocol, exact))
    carried = _carried(protocol, point)
    score_covariance = carried @ covariance @ carried.T
    hessian = curvature * np.eye(dim)
    return ScoreFit(
        point=point,
        n_participants=n,
        precision=group_precision,
        score_covariance=score_covariance,
        raw_hessian=hessian,
        hessian_bias=np.zeros((dim, dim)),
        hessian=hessian,
        errors=np.array([[0.0, _hessian_error(protocol, point, score_covariance / n)]]),
        information=n * np.eye(dim),
        told_covariance=np.zeros((dim, dim)),
        gram=np.eye(dim),
        offset=np.zeros(dim),
        leftover=np.zeros(dim),
        hessian_floor=curvature,
        hessian_bound=curvature,
        hessian_floor_active=False,
        hessian_bound_active=False,
        is_cut=not np.array_equal(point, exact),
    )


def _mean_score(protocol, state):
    """Mean message, covariance of a message, precision of each group, and number of people.

    None while too few have answered.
    """
    counts = state.counts.sum(axis=0)
    trusted = trusted_groups(protocol, counts - 1)  # rounds share the one mean that is taken off
    if not trusted.any():
        return None
    counts, sums = counts[trusted], state.sums.sum(axis=0)[trusted]
    means = sums / counts[:, None]
    squares = counts[:, None, None] * (means[:, :, None] * means[:, None, :])
    scatter = state.outer.sum(axis=0)[trusted] - squares
    covariances = group_covariances(protocol, np.flatnonzero(trusted), scatter, counts - 1, counts)
    precision, n = precisions(covariances, counts), int(counts.sum())
    group_precision = np.zeros(len(trusted))
    group_precision[trusted] = precision
    mean = precision @ sums / (precision @ counts)
    covariance = mean_covariance(covariances, precision, precision * counts)
    return mean, covariance, group_precision, n


def predict_single_query_scores(
    protocol: Protocol, state: RoundState, fit: ScoreFit
) -> PredictedScore:
    """Prediction of a collection that asks at one point: there the Hessian at the target is known.

    An estimate that was put back into the working region has a score of its own.

    Parameters
    ----------
    protocol : Protocol
    state : RoundState
    fit : ScoreFit
        Of the same state.

    Returns
    -------
    prediction : PredictedScore
    """
    dim = protocol.dim
    value = np.zeros(dim)
    if fit.is_cut:
        mean, *_ = _mean_score(protocol, state)
        exact, curvature = _SOLUTIONS[protocol.rounds.moment](protocol, mean)
        geometry, point = protocol.geometry, fit.point
        is_flat = protocol.rounds.moment == "quadratic"
        away = geometry.log(exact, point) if is_flat else exact - point
        value = -curvature * geometry.coordinates(away, point)
    covariance = fit.score_covariance / fit.n_participants
    return PredictedScore(value, fit.hessian, covariance, np.zeros(dim), np.zeros((dim, dim)))


def _covariance_of_score(protocol, mean):
    """Matrix q - 2 Z, and the Hessian 1/2 at it."""
    query = np.array(protocol.rounds.query)
    return query - 2 * protocol.geometry.lift(mean, query), 0.5


def _minimum_of_quadratic(protocol, mean):
    """Minimum of a quadratic function by one Newton step, and its known Hessian."""
    curvature = protocol.inference.hessian_range[0]
    geometry, query = protocol.geometry, np.array(protocol.rounds.query)
    return geometry.exp(geometry.lift(-mean / curvature, query), query), curvature


_SOLUTIONS = {"covariance": _covariance_of_score, "quadratic": _minimum_of_quadratic}


def _hessian_error(protocol, point, covariance):
    r"""Expected squared error of the Hessian at the estimate X, from the covariance of its score.

    With :math:`M = X^{-1/2} S X^{-1/2} = I + E` it is :math:`W \mapsto (MW + WM) / 4`, off by
    :math:`(EW + WE) / 4` with the eigenvalues :math:`(e_i + e_j) / 4, i \le j`, whose squares add
    up to :math:`\{(m + 2) |E|^2 + (\mathrm{tr}\, E)^2\} / 16`; and E is minus twice the score.
    """
    if protocol.rounds.moment == "quadratic":
        return 0.0
    geometry, size = protocol.geometry, len(point)
    trace = geometry.coordinates(point, point)  # <X, V>_X = tr(X^-1 V)
    of_trace = float(trace @ covariance @ trace)
    return ((size + 2) * float(np.trace(covariance)) + of_trace) / 4


def _within_reach(protocol, point):
    """A point of the space no farther out, in any direction, than the working region.

    Noise can make a covariance matrix indefinite, and then no logarithm tells how far out it is:
    its eigenvalues relative to the centre are put where the region has room for them.
    """
    region = protocol.working_region
    if protocol.rounds.moment != "covariance":
        return point
    values, vectors = eigh(point, region.center)
    low, high = math.exp(-region.radius), math.exp(region.radius)
    if low <= values[0] and values[-1] <= high:
        return point
    basis = region.center @ vectors
    return (basis * np.clip(values, low, high)) @ basis.T


def _carried(protocol, point):
    """Coordinates at a point of the score that a unit of score at the query is there."""
    if protocol.rounds.moment == "quadratic":
        return np.eye(protocol.dim)  # the frame of a flat space is parallel
    geometry, query = protocol.geometry, np.array(protocol.rounds.query)
    return geometry.coordinates(geometry.lift(np.eye(protocol.dim), query), point).T
