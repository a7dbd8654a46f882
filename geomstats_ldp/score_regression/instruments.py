r"""Errors of a Hessian that is learnt within rounds: without bias, and symmetric.

Centres of later rounds follow the noise of earlier messages. Least squares takes this for distance
over which the score has changed, and finds Hessians too large. The regression with instruments

.. math:: \hat\beta = \Bigl(\sum_q N_q B_q^\top A_q\Bigr)^{-1} \sum_q N_q B_q^\top z_q,\qquad
    B_q = (A^g_q,\ A^K_q - \bar A^K_r + \bar A^K_{s(r)}),

compares the messages of a round r with each other, and those of the first round, whose centre is
public, with all others: s(r) is the first round or all later ones, and bars are means of these. See
docs/theory/score_regions.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from geomstats_ldp.protocol import Protocol
    from geomstats_ldp.score_regression.answers import Answers

#: Dimension from which on a symmetric error saves more than the instruments cost; see the tables
#: of docs/weak_curvature.md.
_FEWEST_DIMENSIONS = 5


def compares_within_rounds(protocol: Protocol, basis: np.ndarray) -> bool:
    """Whether the prediction of scores is learnt by `instruments`.

    That is where scores are linear in a second moment at any distance, so that no bias is left
    without that of the centres, and any symmetric matrix of the `basis` may be the Hessian.
    """
    dim = protocol.dim
    is_free = len(basis) == dim * (dim + 1) // 2
    return protocol.rounds.moment == "second" and is_free and dim >= _FEWEST_DIMENSIONS


def instruments(design: np.ndarray, answers: Answers, share: np.ndarray) -> np.ndarray:
    """Matrices B_q of the module, shape [n, dim, dim + n_basis], as those of the design.

    `share`, shape [n], is what all messages at a query point weigh together.
    """
    dim, is_later = design.shape[1], answers.rounds > 0
    found, of_hessian = design.copy(), design[:, :, dim:]

    def mean(chosen):
        return np.average(of_hessian[chosen], axis=0, weights=share[chosen])

    for r in np.unique(answers.rounds[is_later]):
        here = answers.rounds == r
        found[here, :, dim:] += mean(is_later) - mean(here)
    return found


def error_weights(
    slope: np.ndarray, covariance: np.ndarray, basis: np.ndarray, at_pivot: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Covariance of the error of K e relative to C, by its eigenvalues, for some directions e.

    `slope` is K, `covariance` that of its coefficients, and `at_pivot` is C.

    Returns
    -------
    eigenvalues : array, shape [dim, dim]
        One row a direction.
    directions : array, shape [dim, dim]
        The principal ones of C^(-1/2) K, one a row.
    """
    root = np.linalg.cholesky(at_pivot)
    directions = np.linalg.svd(np.linalg.solve(root, slope))[2]
    maps = np.linalg.solve(root, np.einsum("kij,nj->nik", basis, directions))
    return np.linalg.eigvalsh(maps @ covariance @ np.swapaxes(maps, 1, 2)), directions


def quantile_of_squares(weights: np.ndarray, chance: np.ndarray | float) -> np.ndarray:
    """What weighted sums of squares of standard normal variables exceed with a given chance.

    By Satterthwaite's law, the multiple of chi-squared with the same mean and variance. For a
    symmetric error in five dimensions or more chances of 0.05 and 0.01 are met to 0.002. The
    weights are along the last axis, shape [..., n].
    """
    totals, squares = weights.sum(axis=-1), np.sum(weights**2, axis=-1)
    return squares / totals * special.chdtri(totals**2 / squares, chance)
