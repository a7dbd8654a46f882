"""From regression sums to Hessian, score covariance and sandwich: pure functions.

Equation names follow section 2.3 of the paper: pair regression, pair covariance, Wald guard.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomstats_ldp.exceptions import NotReadyError
from geomstats_ldp.server.recursion import N_PAIRS, N_PARTICIPANTS
from geomstats_ldp.server.regression import window


@dataclass(frozen=True, eq=False)
class PairRegression:
    """Regression of the half-differences D on the offsets X over the window.

    Attributes
    ----------
    n_pairs : int
        Pairs L in the window.
    gram : array, shape [dim, dim]
        Q = sum X X^T, without the ridge.
    ridge : float
    slope : array, shape [dim, dim]
        B = A (Q + ridge I)^-1.
    hessian : array, shape [dim, dim]
        Symmetric part of the slope.
    score_covariance : array, shape [dim, dim]
        Covariance of one released score, from the residuals.
    """

    n_pairs: int
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
    regression : PairRegression
        Before any eigenvalue is changed.
    hessian, score_covariance : array, shape [dim, dim]
        With eigenvalues projected onto the public bounds.
    covariance : array, shape [dim, dim]
        Guarded covariance of the estimate, already divided by the number of participants.
    hessian_floor, hessian_bound : float
        Bounds between which the eigenvalues of the Hessian were put.
    hessian_floor_active, hessian_bound_active : bool
        Whether a bound moved an eigenvalue.
    guard : float
        Factor by which the finite-sample guard enlarged the covariance.
    """

    regression: PairRegression
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

    Parameters
    ----------
    sums : Window
    directions : array, shape [n_directions, dim]
        The cycle, a tight frame with zero sum: the offsets of complete cycles sum to zero and
        their Gram matrix is (s_n / d) I.
    rule : InferenceRule
    n_participants : int

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
            f"the regression window holds {n_pairs} pairs and needs at least {dim + 2}; "
            f"{n_participants} participants have answered"
        )
    gram = sums.squared_radius * (directions.T @ directions) / len(directions)
    ridge = rule.ridge * np.trace(gram) / dim / np.sqrt(n_participants)
    mean = sums.d / n_pairs
    slope = sums.dx @ np.linalg.inv(gram + ridge * np.eye(dim))
    cross = slope @ sums.dx.T
    residual = sums.dd - n_pairs * np.outer(mean, mean) - cross - cross.T
    residual += slope @ gram @ slope.T
    return PairRegression(
        n_pairs, gram, float(ridge), slope, (slope + slope.T) / 2, 2 * residual / degrees
    )


def clip_eigenvalues(matrix, low, high=np.inf):
    """Put the eigenvalues of a symmetric matrix into [low, high]."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.clip(values, low, high)) @ vectors.T


def hessian_floor(eigenvalues, rule, hessian_bound, n_participants):
    """Vanishing eigenvalue floor of section S.3."""
    scale = max(rule.hessian_unit, float(np.mean(np.abs(eigenvalues))))
    return min(hessian_bound / 2, rule.hessian_floor * scale * n_participants**-0.25)


def covariance_floor(eigenvalues, rule, noise_floor, n_participants):
    """Known noise variance or, without noise, the vanishing floor of section S.3."""
    if noise_floor > 0:
        return noise_floor
    scale = max(rule.covariance_unit, float(np.mean(np.abs(eigenvalues))))
    return rule.covariance_floor * scale * n_participants ** (-1 / 3)


def guard_factor(regression, hessian, score_covariance, floor, rule):
    """Finite-sample guard: 1 + a min(u, c)^p with u the relative error of the Hessian."""
    dim = len(hessian)
    spread = np.linalg.inv(regression.gram + regression.ridge * np.eye(dim))
    error = np.sqrt(0.5 * np.trace(score_covariance) * np.trace(spread))
    relative = error / max(float(np.linalg.norm(hessian)), floor)
    return 1.0 + rule.guard * min(relative, rule.guard_cap) ** rule.guard_power


def estimate_sandwich(state, protocol):
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
    rule, n_participants = protocol.inference, int(state.counts[N_PARTICIPANTS])
    directions = protocol.schedule.directions
    sums = window(state.sums, int(state.counts[N_PAIRS]), len(directions))
    regression = fit_regression(sums, directions, rule, n_participants)
    bound = protocol.hessian_bound
    raw = np.linalg.eigvalsh(regression.hessian)
    floor = hessian_floor(raw, rule, bound, n_participants)
    hessian = clip_eigenvalues(regression.hessian, floor, bound)
    noise_floor = protocol.randomiser.noise_variance_floor
    spread = np.linalg.eigvalsh(regression.score_covariance)
    score_covariance = clip_eigenvalues(
        regression.score_covariance, covariance_floor(spread, rule, noise_floor, n_participants)
    )
    inverse = np.linalg.inv(hessian)
    guard = guard_factor(regression, hessian, score_covariance, floor, rule)
    covariance = guard * inverse @ score_covariance @ inverse / n_participants
    return SandwichEstimate(
        regression=regression,
        hessian=hessian,
        score_covariance=score_covariance,
        covariance=(covariance + covariance.T) / 2,
        hessian_floor=float(floor),
        hessian_bound=float(bound),
        hessian_floor_active=bool(raw[0] < floor),
        hessian_bound_active=bool(raw[-1] > bound),
        guard=float(guard),
    )
