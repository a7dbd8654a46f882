"""From centred sums to Hessian, score covariance and sandwich: pure functions.

Formulas are those of section 5.1 of the paper, which both baselines share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geomstats_ldp.exceptions import NotReadyError
from geomstats_ldp.score_regression.shrinkage import clip_eigenvalues

#: Largest eigenvalue floor of the score covariance.
_LARGEST_COVARIANCE_FLOOR = 1e-8


@dataclass(frozen=True, eq=False)
class RidgeRegression:
    """Regression of messages z on displacements w with an intercept that is not penalised.

    Attributes
    ----------
    n_rows : int
    gram : array, shape [dim, dim]
        Q = sum (w - mean)(w - mean)^T, without the ridge.
    ridge : float
    slope : array, shape [dim, dim]
        B = A (Q + ridge I)^-1.
    residual_covariance : array, shape [dim, dim]
        With divisor n_rows - dim - 1.
    """

    n_rows: int
    gram: np.ndarray
    ridge: float
    slope: np.ndarray
    residual_covariance: np.ndarray


@dataclass(frozen=True, eq=False)
class BaselineSandwich:
    """Everything the Wald region needs, in coordinates of the public frame.

    Attributes
    ----------
    regression : RidgeRegression
        Before any eigenvalue is changed.
    hessian, score_covariance : array, shape [dim, dim]
        With eigenvalues projected onto the public bounds.
    covariance : array, shape [dim, dim]
        Covariance of the estimate, already divided by the participants behind it.
    hessian_floor, hessian_bound : float
        Bounds between which the eigenvalues of the Hessian were put.
    hessian_floor_active, hessian_bound_active : bool
        Whether a bound moved an eigenvalue.
    """

    regression: RidgeRegression
    hessian: np.ndarray
    score_covariance: np.ndarray
    covariance: np.ndarray
    hessian_floor: float
    hessian_bound: float
    hessian_floor_active: bool
    hessian_bound_active: bool


def ridge_weight(gram, n_estimate):
    """Ridge n^-1/2 (1 + tr(Q) / d), with n the participants behind the estimate."""
    return float((1.0 + np.trace(gram) / len(gram)) / np.sqrt(n_estimate))


def fit_regression(n_rows, gram, cross, scatter, ridge):
    """Least squares of z on w from sums about the means.

    Parameters
    ----------
    n_rows : int
    gram, cross, scatter : array, shape [dim, dim]
        Sums of w w^T, z w^T and z z^T, centred.
    ridge : float

    Returns
    -------
    regression : RidgeRegression

    Raises
    ------
    NotReadyError
        If there are too few rows to leave a residual.
    """
    dim = len(gram)
    if n_rows <= dim + 1:
        raise NotReadyError(
            f"the regression holds {n_rows} participants and needs at least {dim + 2}"
        )
    slope = np.linalg.solve(gram + ridge * np.eye(dim), cross.T).T
    product = slope @ cross.T
    residual = scatter - product - product.T + slope @ gram @ slope.T
    return RidgeRegression(
        int(n_rows), gram.copy(), float(ridge), slope, residual / (n_rows - dim - 1)
    )


def fit_sandwich(regression, hessian_bound, n_participants, n_estimate):
    """Sandwich covariance of an average over `n_estimate` participants.

    Parameters
    ----------
    regression : RidgeRegression
    hessian_bound : float
        Public upper bound L_H on the eigenvalues of the population Hessian.
    n_participants : int
        All participants n: the eigenvalues of the Hessian are put into [n^-1/4, L_H].
    n_estimate : int
        Participants behind the estimate, n or n/2, by which the covariance is divided. The
        eigenvalues of the score covariance are floored at min(1e-8, 1 / n_estimate).

    Returns
    -------
    sandwich : BaselineSandwich
    """
    raw = np.linalg.eigvalsh((regression.slope + regression.slope.T) / 2)
    floor = min(n_participants**-0.25, hessian_bound)
    hessian = clip_eigenvalues(regression.slope, floor, hessian_bound)
    score_covariance = clip_eigenvalues(
        regression.residual_covariance, min(_LARGEST_COVARIANCE_FLOOR, 1.0 / n_estimate)
    )
    inverse = np.linalg.inv(hessian)
    covariance = inverse @ score_covariance @ inverse / n_estimate
    return BaselineSandwich(
        regression=regression,
        hessian=hessian,
        score_covariance=score_covariance,
        covariance=(covariance + covariance.T) / 2,
        hessian_floor=float(floor),
        hessian_bound=float(hessian_bound),
        hessian_floor_active=bool(raw[0] < floor),
        hessian_bound_active=bool(raw[-1] > hessian_bound),
    )
