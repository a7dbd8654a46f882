r"""Bias of a regression whose query points follow its own noise.

The centre of a round is the estimate from the rounds before. So the noise of their messages, which
is in the regression of all messages, is in its query points too, and least squares is biased. With
:math:`G = \sum_r G_r` its information, W that of it with squared weights and sums up to a round in
brackets, the noise of a centre is :math:`-M_r J^\top G_{(r-1)}^{-1} S_{(r-1)}` with S the score of
the regression, J the columns of the gradient and M the matrix of the step, so that to second order

.. math:: E\hat\beta - \beta = v \sum_{r > 1} \sum_j G^{-1}\,
    \frac{\partial G_r}{\partial c_{rj}}\,G^{-1} W_{(r-1)} G_{(r-1)}^{-1} J M_r e_j .

Hessians come out too large by it, as noise makes a vector longer. See docs/theory/rounds.md.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from geomstats_ldp.schedules import round_radius
from geomstats_ldp.score_regression.answers import Answers
from geomstats_ldp.score_regression.chart import Chart
from geomstats_ldp.score_regression.known_moment import Knowledge
from geomstats_ldp.score_regression.moments import design_matrices, mean_scores, unit_moments

#: Step of central differences by a centre, relative to the query radius.
_STEP = 1e-3


def bias_of_following(
    protocol: Any,
    answers: Answers,
    chart: Chart,
    known: Knowledge,
    weights: np.ndarray,
    penalty: np.ndarray,
    variance: float,
    step_of: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Bias that the noise of the centres leaves in the Hessian by least squares, shape [dim, dim].

    `weights`, shape [n], are those of one message at each query point, `penalty`, shape
    [dim + n_basis + n_bends], what is added to the diagonal of the normal equations, and `variance`
    that of a coordinate of one score. `step_of` takes the covariance of the coefficients of the
    Hessian to the matrix by which a step multiplies the gradient.
    """
    dim, share = protocol.dim, answers.counts * answers.precision * weights
    shift = _STEP * round_radius(protocol.radius, 0) * np.eye(dim)
    rows_at = _rows_when_moved(protocol, answers.points, chart)
    rows = rows_at(np.zeros(dim))
    n_columns = rows.shape[2]
    slopes = slice(dim, dim + len(chart.basis))
    normals, meats = (
        _by_round(answers.rounds, weight, rows) for weight in (share, share * weights)
    )
    added, told = np.diag(penalty), np.zeros((n_columns, n_columns))
    added[: slopes.stop, : slopes.stop] += known.information
    told[: slopes.stop, : slopes.stop] = known.noise
    # Columns in units of their own information: no unit of the data decides what is zero.
    total = normals.sum(axis=0) + added
    units = np.sqrt(np.where(np.diag(total) > 0, np.diag(total), 1.0))
    inverse = _inverse(total, units)
    # Column j of each round: what coordinate j of its centre has in common with the coefficients.
    common = np.zeros((len(normals), n_columns, dim))
    for number in np.unique(answers.rounds[answers.rounds > 0]):
        before = _inverse(normals[:number].sum(axis=0) + added, units)
        step = step_of(variance * before[slopes, slopes])
        noise = (meats[:number].sum(axis=0) + told) @ before[:, :dim] @ step
        common[number] = variance * inverse @ noise
    moved = np.zeros(n_columns)
    for j in range(dim):
        for sign in (1, -1):
            rows = rows_at(sign * shift[j])
            fitted = (rows @ common[answers.rounds, :, j, None])[..., 0]
            moved += np.tensordot(sign * share[:, None] * fitted, rows, axes=2)
    bias = inverse @ moved / (2 * shift[0, 0])
    return np.tensordot(bias[slopes], chart.basis, axes=1)


def _rows_when_moved(protocol, points, chart):
    """Function from a shift in the chart to the design with all query points moved by it.

    Up to a rotation of the rows of each query point, which no information depends on. Its values
    have shape [n, n_rows, n_columns].
    """
    moment, geometry = protocol.rounds.moment, protocol.geometry
    center, basis = chart.center, chart.basis

    def linear(shift):
        place = chart.coords + shift, chart.maps, chart.frames
        design = design_matrices(moment, geometry, points, center, *place, basis)
        return np.concatenate([design, chart.bend], axis=2)

    def exact(shift):
        along = np.einsum("nij,i,nj...->n...", chart.maps, shift, chart.frames, optimize=True)
        scores = mean_scores(moment, geometry, moments, geometry.exp(along, points))
        return np.swapaxes(scores, 1, 2)

    if moment in (None, "quadratic"):
        return linear
    moments = unit_moments(moment, geometry, center, basis)
    return exact


def _by_round(rounds, share, rows):
    """Sums of A^T A by round, shape [n_rounds, n_columns, n_columns]."""
    sums = np.zeros((rounds.max() + 1, rows.shape[2], rows.shape[2]))
    for number in np.unique(rounds):
        own = rows[rounds == number]
        weighted = share[rounds == number, None, None] * own
        sums[number] = np.tensordot(weighted, own, axes=([0, 1], [0, 1]))
    return sums


def _inverse(matrix, units):
    """Pseudo-inverse of a positive semidefinite matrix."""
    scale = np.outer(units, units)
    return np.linalg.pinv(matrix / scale, hermitian=True) / scale
