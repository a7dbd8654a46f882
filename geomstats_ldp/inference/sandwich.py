"""From regression sums to Hessian, score covariance and sandwich: pure functions.

Equation names follow section 2.3 of the paper: pair regression, pair covariance, Wald guard.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigvalsh, solve_continuous_lyapunov

from geomstats_ldp.exceptions import NotReadyError
from geomstats_ldp.inference.pair_hessian import guarded_hessian
from geomstats_ldp.schedules import gain
from geomstats_ldp.score_regression import ScoreFit
from geomstats_ldp.score_regression.shrinkage import known_covariance
from geomstats_ldp.server.recursion import (
    N_PARTICIPANTS,
    OF_PEOPLE,
    SQUARES_OF_PEOPLE,
    State,
    weight_of,
)
from geomstats_ldp.server.regression import RegressionSums, fewest_pairs, windows_of_groups

if TYPE_CHECKING:
    from geomstats_ldp.protocol import Protocol


@dataclass(frozen=True, eq=False)
class PairRegression:
    """Regression of the half-differences D on the offsets X over the window.

    Attributes
    ----------
    gram : array, shape [dim, dim]
        Q = sum X X^T, without the ridge.
    ridge : float
        The weight of a prior included.
    slope : array, shape [dim, dim]
        B = A (Q + ridge I)^-1, or its pull towards a prior.
    hessian : array, shape [dim, dim]
        Symmetric part of the slope.
    score_covariance : array, shape [dim, dim]
        Covariance of one released score, from the residuals.
    """

    gram: np.ndarray
    ridge: float
    slope: np.ndarray
    hessian: np.ndarray
    score_covariance: np.ndarray


@dataclass(frozen=True, eq=False)
class SandwichEstimate:
    """Everything the Wald region needs, in coordinates of the public frame.

    Attributes
    ----------
    regression : PairRegression or ScoreFit
        Before any eigenvalue is changed.
    hessian, score_covariance : array, shape [dim, dim]
        With eigenvalues projected onto the public bounds.
    covariance : array, shape [dim, dim]
        Guarded covariance of the estimate, already divided by the number of participants.
    hessian_floor, hessian_bound : float
        Bounds between which the eigenvalues of the Hessian were put.
    hessian_floor_active, hessian_bound_active : bool
        Whether the vanishing floor or L_H changed an eigenvalue. A change by
        ``InferenceRule.hessian_range``, which is known to hold at the target, is not counted.
    guard : float
        Factor by which the finite-sample guard enlarged the covariance. In rounds the Hessian over
        its root is no smaller than it is publicly known to be. Where the Hessian has several
        blocks each has its own, and this is the largest.
    """

    regression: PairRegression | ScoreFit
    hessian: np.ndarray
    score_covariance: np.ndarray
    covariance: np.ndarray
    hessian_floor: float
    hessian_bound: float
    hessian_floor_active: bool
    hessian_bound_active: bool
    guard: float


def fit_regression(sums, directions, rule, n_participants):
    """Closed form of the pair regression from the sums over the window.

    The `directions` are the cycle, a tight frame with zero sum, shape [n_directions, dim]: the
    offsets of complete cycles sum to zero and their Gram matrix is (s_n / d) I.

    Raises
    ------
    NotReadyError
        If the window holds too few pairs to leave a residual.
    """
    dim = directions.shape[1]
    n_pairs = int(sums.n_pairs)
    degrees = n_pairs - dim - 1 if rule.divisor == "regression" else n_pairs
    if n_pairs <= dim + 1:
        raise NotReadyError(
            f"a region takes {2 * fewest_pairs(len(directions), dim)} participants at least; "
            f"{n_participants} participants have answered, and the regression window holds "
            f"{n_pairs} pairs"
        )
    gram = sums.squared_radius * (directions.T @ directions) / len(directions)
    ridge = rule.ridge * np.trace(gram) / dim / np.sqrt(n_participants)
    slope = sums.dx @ np.linalg.inv(gram + ridge * np.eye(dim))
    score_covariance = 2 * _unexplained(sums, slope, gram) / degrees
    if rule.prior_hessian is not None:
        weight = prior_weight(score_covariance, rule.prior_sd)
        ridge = ridge + weight
        pulled = sums.dx + weight * np.array(rule.prior_hessian)
        slope = pulled @ np.linalg.inv(gram + ridge * np.eye(dim))
    return PairRegression(gram, float(ridge), slope, (slope + slope.T) / 2, score_covariance)


def _unexplained(sums, slope, gram):
    """Sum of D D^T that mean and slope leave, over pairs with these offsets."""
    n_pairs = int(sums.n_pairs)
    mean, cross = sums.d / n_pairs, slope @ sums.dx.T
    return sums.dd - n_pairs * np.outer(mean, mean) - cross - cross.T + slope @ gram @ slope.T


def prior_weight(score_covariance, prior_sd):
    """Ridge weight v / sd^2 of a public prior.

    With noise of variance v = tr(Sigma) / (2d) in each coordinate of D, minimising
    |D - BX|^2 / v + |B - H0|^2 / sd^2 gives B = (A + (v/sd^2) H0) (Q + (v/sd^2) I)^-1, the
    posterior mean under independent normal entries. Its weight does not grow with n, so the prior
    is forgotten.
    """
    return float(np.trace(score_covariance)) / (2 * len(score_covariance)) / prior_sd**2


def horizon_variance(sandwich, hessian, schedule, n_participants):
    r"""Variance that the gains add to the average at a finite horizon.

    In the linear recursion with drift A = PH the score of participant t enters the average with
    weight :math:`H^{-1} + (\dot{1/\gamma})_t A^{-1} H^{-1}`, less a last stretch of about
    :math:`1 / (\gamma_n \lambda)` participants that have not acted fully yet. Summed up, the two
    add to the sandwich :math:`\Xi`

    .. math:: \frac{Y}{n \gamma_n} - \frac{A^{-1} \Xi + \Xi A^{-T}}{n \gamma_0},\qquad
        A Y + Y A^T = \Xi,

    of order n^(a - 1). The second part comes from the offset of the gain and vanishes without one.
    It is an expansion in :math:`1 / (n \gamma_0 \lambda)`, and halves the variance at most.
    """
    drift = schedule.preconditioner @ hessian
    last = n_participants * gain(schedule, 1, n_participants)
    added = solve_continuous_lyapunov(drift, sandwich) / last
    if schedule.gain_offset == 0:
        return added
    inner = np.linalg.solve(drift, sandwich)
    start = (inner + inner.T) / (n_participants * gain(schedule, 1, 0))
    share = float(np.max(eigvalsh(start, (sandwich + added + (sandwich + added).T) / 2)))
    return added - start * min(1.0, 0.5 / share)


@dataclass(frozen=True, eq=False)
class PooledGroups:
    """Regression on the pairs of all groups, in units of the group whose messages tell most.

    Attributes
    ----------
    sums : RegressionSums
        Of all groups, each pair with its weight.
    regression : PairRegression
    of_regression : array, shape [dim, dim]
        Covariance of one released score in these units, above what is known of its noise.
    by_group : array, shape [n_groups, dim, dim]
        The same for the scores of each group as they are.
    """

    sums: RegressionSums
    regression: PairRegression
    of_regression: np.ndarray
    by_group: np.ndarray

    def mean_covariance(self, n_scores, totals, squares):
        """Covariance of one score with which a plain mean errs as much as the weighted one does.

        `totals` and `squares`, shape [n_groups], are sums of the weights of the scores and of their
        squares.
        """
        total = totals.sum()
        shares = n_scores * squares / (total * total)
        return np.tensordot(shares, self.by_group, axes=1)

    def noise_ratio(self, covariance):
        """Largest variance of a score of the regression over that of a score of `covariance`."""
        if len(self.by_group) == 1:
            return 1.0
        return eigvalsh(self.of_regression, covariance)[-1]


def pool_groups(state: State, protocol: Protocol) -> PooledGroups:
    """Regression on the windows of all groups of participants, weighted by what they tell.

    Weighted least squares: a pair of weight w has half-difference and offset times the root of w.

    Raises
    ------
    NotReadyError
        If too few participants have answered.
    """
    rule, n_participants = protocol.inference, int(state.clock[N_PARTICIPANTS])
    directions, mechanisms = protocol.schedule.directions, list(protocol.mechanisms.values())
    windows = windows_of_groups(state.sums, len(mechanisms), len(directions))
    weights = np.array([weight_of(state, group) for group in range(len(mechanisms))])
    sums = _weighted(windows, weights) if len(windows) > 1 else windows[0]
    regression = fit_regression(sums, directions, rule, n_participants)

    def above_noise(score_covariance, mechanism):
        return known_covariance(score_covariance, rule, mechanism, n_participants)

    pooled = above_noise(regression.score_covariance, protocol.mechanism)
    own = [pooled]
    if len(windows) > 1:
        own = [
            above_noise(_covariance_of_group(part, weight, regression, rule), mechanism)
            for part, weight, mechanism in zip(windows, weights, mechanisms)
        ]
    return PooledGroups(sums, regression, pooled, np.stack(own))


def _weighted(windows, weights):
    """Sums over windows with weights, which the regression takes like those of one."""
    counts = np.array([part.n_pairs for part in windows])
    rest = (np.tensordot(weights, np.stack(parts), axes=1) for parts in list(zip(*windows))[1:])
    sums = RegressionSums(int(counts.sum()), *rest)
    # The mean is weighted too: n m m^T is what the regression takes off.
    return sums._replace(d=sums.d * np.sqrt(sums.n_pairs / max(weights @ counts, 1e-300)))


def _covariance_of_group(sums, weight, regression, rule):
    """Covariance of one score of a group, about the slope of all groups."""
    dim, n_pairs = len(regression.slope), int(sums.n_pairs)
    if n_pairs <= dim + 1:
        return regression.score_covariance / weight  # too few to tell
    gram = sums.squared_radius / dim * np.eye(dim)
    degrees = n_pairs
    if rule.divisor == "regression":
        degrees = n_pairs - 1 - weight * np.trace(gram) / np.trace(regression.gram) * dim
    return 2 * _unexplained(sums, regression.slope, gram) / degrees


def estimate_sandwich(state: State, protocol: Protocol) -> SandwichEstimate:
    """Sandwich covariance of the running average, from a state alone.

    Parameters
    ----------
    state : State
    protocol : Protocol

    Returns
    -------
    estimate : SandwichEstimate

    Raises
    ------
    NotReadyError
        If too few participants have answered.
    """
    rule, n_participants = protocol.inference, int(state.clock[N_PARTICIPANTS])
    pooled = pool_groups(state, protocol)
    hessian, guards, bounds = guarded_hessian(
        pooled.regression, pooled.of_regression, protocol, n_participants
    )
    totals, squares = state.weights[:, OF_PEOPLE], state.weights[:, SQUARES_OF_PEOPLE]
    score_covariance = pooled.mean_covariance(n_participants, totals, squares)
    inverse = np.linalg.inv(hessian)
    covariance = inverse @ score_covariance @ inverse
    if rule.horizon:
        clock = float(totals.sum())
        covariance = covariance + horizon_variance(covariance, hessian, protocol.schedule, clock)
    covariance = np.sqrt(np.outer(guards, guards)) * covariance / n_participants
    return SandwichEstimate(
        regression=pooled.regression,
        hessian=hessian,
        score_covariance=score_covariance,
        covariance=(covariance + covariance.T) / 2,
        guard=float(guards.max()),
        **bounds,
    )
