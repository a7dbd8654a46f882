r"""The mean score that a regression predicts at a point, and how far it may be trusted there.

The regression knows the gradient and the Hessian with a joint covariance. Their prediction at
frame coordinates u about a centre,

.. math:: g(u) = g + K u,\qquad \mathrm{Cov}\,g(u) \preceq C \{1 + (u - p)^\top V (u - p)\},

has its smallest covariance C at the pivot p and loses precision away from it. At the target the
population score is zero, and so is the mean of the prediction, whatever the Hessian is. See
docs/theory/score_regions.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from geomstats_ldp.score_regression.answers import Answers
from geomstats_ldp.score_regression.blocks import blocks_of, possible_hessians
from geomstats_ldp.score_regression.chart import Chart
from geomstats_ldp.score_regression.curvature import known_apart, told_curvature
from geomstats_ldp.score_regression.fit import bending_weights, third_derivative_weight
from geomstats_ldp.score_regression.instruments import (
    compares_within_rounds,
    error_weights,
    instruments,
    quantile_of_squares,
)
from geomstats_ldp.score_regression.shrinkage import clip_eigenvalues

if TYPE_CHECKING:
    from geomstats_ldp.protocol import Protocol
    from geomstats_ldp.score_regression.fit import ScoreFit
    from geomstats_ldp.score_regression.state import RoundState

#: Chance of an error below which no more is made of its law.
_RAREST = 1e-12

#: Halvings that find a threshold to the last digits of a p-value.
_N_HALVINGS = 50


@dataclass(frozen=True, eq=False)
class PredictedScore:
    """Mean score predicted at frame coordinates u about a point.

    Attributes
    ----------
    value : array, shape [dim]
        Prediction at u = 0.
    slope : array, shape [dim, dim]
        Hessian, neither shrunk nor bounded.
    covariance : array, shape [dim, dim]
        Of the prediction at the pivot.
    pivot : array, shape [dim]
        Coordinates at which the prediction is most precise.
    growth : array, shape [dim, dim]
        V: the covariance at u is at most 1 + (u - pivot)^T V (u - pivot) times that at the pivot.
    weights : array, shape [n_directions, dim], optional
        Eigenvalues of the covariance of the error of K e, one row a direction e, relative to C and
        to e^T V e. Default one each; errors of a symmetric matrix have 1 along e and 1/2 across.
    """

    value: np.ndarray
    slope: np.ndarray
    covariance: np.ndarray
    pivot: np.ndarray
    growth: np.ndarray
    weights: np.ndarray | None = None

    def statistic(self, coords: np.ndarray, share: np.ndarray | float = 1.0) -> np.ndarray:
        """Statistic of the hypothesis that the target is at given coordinates.

        Parameters
        ----------
        coords : array, shape [..., dim]
        share : array, shape [...], default=1
            What of V is counted; see `share_of_growth`.

        Returns
        -------
        statistic : array, shape [...]
        """
        size, growth = self._size_and_growth(coords)
        return size / (1 + share * growth)

    def _size_and_growth(self, coords):
        """Squared length of the score relative to C, and what V adds to C, shape [...] each."""
        score = self.value + coords @ self.slope.T
        away = coords - self.pivot
        size = np.sum(score * np.linalg.solve(self.covariance, score[..., None])[..., 0], axis=-1)
        return size, np.sum(away * (away @ self.growth), axis=-1)

    def share_of_growth(self, threshold: np.ndarray) -> np.ndarray:
        r"""What of V a region has to count that compares the statistic with a threshold x.

        At the target the squared length of g, relative to C, is that of a standard normal vector z
        plus far away from the pivot :math:`t W`, with :math:`t = (u - p)^\top V (u - p)` and W
        the sum of squares of normal variables whose variances are the `weights`. It exceeds
        :math:`x + t w` no more often than z has a square over x, if W exceeds w as often.

        Parameters
        ----------
        threshold : array, shape [...]

        Returns
        -------
        share : array, shape [...]
            The quotient w / x; 1 without weights, or where x is exceeded once in 10^12 times.
        """
        if self.weights is None:
            return np.ones(np.shape(threshold))
        chance = special.chdtrc(len(self.value), threshold)
        counted = quantile_of_squares(self.weights, np.maximum(chance, _RAREST)[..., None])
        return np.where(chance < _RAREST, 1.0, np.max(counted, axis=-1) / threshold)

    def least_threshold(self, coords: np.ndarray) -> np.ndarray:
        """Smallest threshold whose region holds given coordinates.

        The share of V depends on the threshold, so that no one statistic tells the p-value; regions
        are nested, so that this does.

        Parameters
        ----------
        coords : array, shape [..., dim]

        Returns
        -------
        threshold : array, shape [...]
        """
        if self.weights is None:
            return self.statistic(coords)
        size, growth = self._size_and_growth(coords)
        low, high = np.zeros_like(size), size
        for _ in range(_N_HALVINGS):
            middle = (low + high) / 2
            with np.errstate(divide="ignore", invalid="ignore"):
                is_over = size / (1 + self.share_of_growth(middle) * growth) > middle
            low, high = np.where(is_over, middle, low), np.where(is_over, high, middle)
        return high


def predict_round_scores(
    protocol: Protocol,
    state: RoundState,
    points: np.ndarray,
    fit: ScoreFit,
    twin: tuple | None = None,
) -> PredictedScore:
    """Prediction about the estimate of a collection in rounds, by least squares alone.

    No ridge, prior, shrinkage or bound enters, as these would bias it; a moment that other people
    have told does not. Principal directions in many dimensions have no bias of query points that
    follow the noise either; see `instruments`.

    Parameters
    ----------
    protocol : Protocol
    state : RoundState
    points : array, shape [n_opened, n_directions, *point_shape]
    fit : ScoreFit
        Of the same state.
    twin : NamedTuple, optional

    Returns
    -------
    prediction : PredictedScore
    """
    (estimate, covariance, spread), chart, compares = regress_about(
        protocol, state, points, fit, twin, is_predicting=True
    )
    least = np.linalg.eigvalsh(fit.score_covariance)[0] * spread
    place = chart.basis, chart.fixed, least, ratio_along(protocol, chart.basis)
    found = bounded_by_growth(estimate, covariance, *place)
    noise = covariance[protocol.dim :, protocol.dim :]
    if not (compares and np.any(noise)):
        return found
    weights, directions = error_weights(found.slope, noise, chart.basis, found.covariance)
    sizes = np.sum(directions * (directions @ found.growth), axis=1)
    return replace(found, weights=weights / sizes[:, None])


def regress_about(protocol, state, points, fit, twin=None, is_predicting=False, told=None):
    """Gradient and Hessian at the estimate of a collection in rounds, by least squares alone.

    To predict scores the regression is by `instruments` where `compares_within_rounds` says so.
    `told` is what of the answers about curvature counts, by default all of `told_curvature`.

    Returns
    -------
    result : tuple of array
        From `_robust_least_squares`.
    chart : Chart
        At the estimate.
    compares : bool
        Whether it is by instruments.
    """
    answers = Answers(protocol, state, points)
    told = told_curvature(protocol, state) if told is None else told
    moment, rule, dim = protocol.rounds.moment, protocol.inference, protocol.dim
    round_weights = np.ones(state.n_opened)
    if moment is None:
        round_weights = bending_weights(protocol, answers, state.centers, fit)
    weights = round_weights[answers.rounds]
    basis, fixed = possible_hessians(protocol.geometry, moment, rule)
    if rule.hessian_range is not None and rule.hessian_range[0] == rule.hessian_range[1]:
        basis, fixed = basis[:0], rule.hessian_range[0] * np.eye(dim)
    chart = Chart(protocol, answers, fit.point, basis, fixed, twin)
    compares, compared = is_predicting and compares_within_rounds(protocol, basis), chart.design
    if compares:
        share = answers.counts * answers.precision * weights
        compared = instruments(chart.design, answers, share)
    variance = float(np.trace(fit.score_covariance)) / dim
    pull = third_derivative_weight(protocol, variance)
    known = known_apart(protocol, told, fit.point, basis, variance, round_weights)
    result = _robust_least_squares(
        chart, compared, pull, answers, weights, fit.score_covariance, known
    )
    return result, chart, compares


def ratio_along(protocol, basis):
    """Variance of u^T K u relative to the mean over coordinates of that of K u, at most.

    For errors of the Hessian that are alike in all members of the basis. Two for many dimensions
    and all symmetric matrices, dim for multiples of the identity. On the Grassmannian of k planes
    it is attained where u joins one direction to another: an error has there k - 1 independent
    parts from one block, p - k - 1 from the other and one from both, of dim in all. Shape [dim], of
    each coordinate that u may be along, where the Hessian is block diagonal.
    """
    dim, n_basis = protocol.dim, len(basis)
    if protocol.inference.hessian_blocks is not None:
        sizes = [block.size for block in blocks_of(protocol.inference, dim)]
        return 2 * dim / (np.repeat(sizes, sizes) + 1)
    if n_basis == 1:
        return dim
    if n_basis in (0, dim * (dim + 1) // 2):
        return 2 * dim / (dim + 1)
    return (protocol.geometry.shape[0] - 1) * dim / n_basis


def _robust_least_squares(chart, compared, pull, answers, weights, pooled, told):
    """Coefficients and their covariance, with the covariance of scores found query by query.

    `compared` are the instruments, the design of the chart itself for least squares.
    The third derivative, with the columns `bend` of the chart, is a random effect of precision
    `pull` in units of the variance of a coordinate of `pooled`; `told` is as `knowledge` gives it,
    in these units.

    Returns
    -------
    estimate : array, shape [dim + n_basis]
    covariance, spread : array, shape [dim + n_basis, dim + n_basis]
        The covariance, and what it would be if scores had unit covariance; those of a group, one
        over its precision.
    """
    design, bend = chart.design, chart.bend
    n_kept, is_plain = design.shape[2], compared is design
    precisions = np.repeat([0.0, pull], [n_kept, bend.shape[2]])
    design, compared = (np.concatenate([one, bend], axis=2) for one in (design, compared))
    # Offsets in units of their own size: no unit of the data decides what is taken for zero.
    sizes = np.sqrt(np.mean(design**2, axis=(0, 1)))
    units = np.where(sizes > 0, sizes, 1.0)
    design, compared = design / units, compared / units
    counts, precision = answers.counts, answers.precision[:, None, None]
    share = (counts * weights)[:, None, None] * precision
    kept = slice(n_kept)
    effects = np.diag(precisions / units**2)
    normal, noise = _total(share * compared, design) + effects, effects
    normal[kept, kept] += told.information / np.outer(units[kept], units[kept])
    noise[kept, kept] += told.noise / np.outer(units[kept], units[kept])
    inverse = np.linalg.pinv(normal, hermitian=is_plain, rcond=1e-12)
    moments = _total(share * compared, chart.means[..., None])[:, 0]
    moments[kept] += told.values / units[kept]
    estimate = inverse @ moments
    own = chart.scatter / np.maximum(counts - 1, 1)[:, None, None]
    own = np.where(counts[:, None, None] > 1, own, pooled / precision)
    share = share * weights[:, None, None]
    variance = np.trace(pooled) / len(pooled)
    meats = (
        _total(share * precision * compared, own @ compared) + variance * noise,
        _total(share * compared, compared) + noise,
    )
    covariances = [inverse @ meat @ inverse.T / np.outer(units, units) for meat in meats]
    return (estimate / units)[kept], *(covariance[kept, kept] for covariance in covariances)


def _total(left, right):
    """Sum of left^T right over query points."""
    return np.tensordot(left, right, axes=([0, 1], [0, 1]))


def bounded_by_growth(estimate, covariance, basis, known, least, along):
    """Prediction from coefficients (g, K) and their covariance; see `PredictedScore`.

    The growth is a mean over coordinates of the covariance of K u, raised to what it is along u:
    a symmetric error of the Hessian is twice as large along u as across; `along` is from
    `ratio_along`. `known` is the part of the Hessian that is publicly known, and `least`, shape
    [dim + n_basis, dim + n_basis], what the covariance of the coefficients is at least.
    """
    dim = basis.shape[1]
    slope = known + np.einsum("k,kij->ij", estimate[dim:], basis)
    pivot = np.zeros(dim)
    for _ in range(3):
        at_pivot = np.concatenate([np.eye(dim), np.einsum("kij,j->ik", basis, pivot)], axis=1)
        both = (at_pivot @ one @ at_pivot.T for one in (covariance, least))
        at_pivot = _no_less_than(*both)
        weight = np.linalg.inv(at_pivot) / dim
        weighted = np.einsum("il,klj->kij", weight, basis)
        spread = np.tensordot(covariance[dim:, dim:], weighted, axes=1)
        growth = _total(basis, spread)
        mixed = np.einsum("ik,kij->j", covariance[:dim, dim:], weighted)
        pivot = -np.linalg.pinv(growth, hermitian=True) @ mixed
    root = np.sqrt(np.broadcast_to(along, dim))
    return PredictedScore(estimate[:dim], slope, at_pivot, pivot, root[:, None] * growth * root)


def _no_less_than(matrix, least):
    """Raise a covariance to a positive definite one where it is smaller."""
    root = np.linalg.cholesky(least)
    whitened = np.linalg.solve(root, np.linalg.solve(root, matrix).T)
    return root @ clip_eigenvalues(whitened, 1.0) @ root.T
