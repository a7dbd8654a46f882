r"""Eigenvalues of a second moment that is known up to a multiple of the identity.

With k eigenvalues :math:`\lambda_i` in the estimated subspace and the mean m of the p - k others,
the excesses :math:`e_i = \lambda_i - m` are known. If the trace t is known besides,

.. math:: m = \Bigl(t - \sum_i e_i\Bigr) / p,\qquad \lambda_i = e_i + m.

Eigenvalues are differentiable where they are simple, with derivative :math:`u_i u_i^\top`; that
the subspace is an estimate does not change them to first order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import null_space

from geomstats_ldp.inference.functional import SmoothFunctional
from geomstats_ldp.score_regression import LearntMoment

#: Gaps of eigenvalues under this many standard errors are ties, as far as anybody can tell.
_TIE = 2.0


class Spectrum(NamedTuple):
    """Components of a subspace in order, and what is known of their variances.

    Attributes
    ----------
    components : array, shape [k, p]
        Eigenvectors, largest eigenvalue first, each with its largest entry positive.
    excess : array, shape [k]
        Eigenvalues less the mean of those outside of the subspace.
    jacobian : array, shape [k, m]
        Derivatives of the excesses by the coefficients of the moment.
    covariance : array, shape [k, k]
        Of the excesses.
    ties : tuple of int
        Numbers i, from one, for which eigenvalues i and i + 1 cannot be told apart.
    """

    components: np.ndarray
    excess: np.ndarray
    jacobian: np.ndarray
    covariance: np.ndarray
    ties: tuple


def ordered_components(moment: np.ndarray, projection: np.ndarray) -> np.ndarray:
    """Orthonormal basis of a subspace that diagonalises a symmetric matrix in it, shape [k, p].

    Largest eigenvalue first; the largest entry of each is positive.
    """
    rank = round(float(np.trace(projection)))
    inside = np.linalg.eigh(projection)[1][:, -rank:]
    components = (inside @ np.linalg.eigh(inside.T @ moment @ inside)[1])[:, ::-1].T
    largest = np.argmax(np.abs(components), axis=1)
    return components * np.sign(components[np.arange(rank), largest])[:, None]


def spectrum_of(learnt: LearntMoment) -> Spectrum:
    """Components and excesses of a second moment, with their covariance."""
    components = ordered_components(learnt.matrix, learnt.projection)
    outside = null_space(components).T
    others = ordered_components(learnt.matrix, outside.T @ outside)
    ends = np.concatenate([components, others[:1]])
    squares = np.einsum("ia,mab,ib->im", ends, learnt.matrices, ends)  # derivatives of u^T S u
    rest = np.einsum("ia,mab,ib->m", outside, learnt.matrices, outside) / len(outside)
    jacobian = squares[:-1] - rest
    covariance = jacobian @ learnt.covariance @ jacobian.T
    gaps = -np.diff(squares, axis=0)
    errors = np.sqrt(np.einsum("im,mn,in->i", gaps, learnt.covariance, gaps))
    tied = gaps @ learnt.coefficients < _TIE * errors
    ties = tuple((np.flatnonzero(tied) + 1).tolist())
    return Spectrum(components, jacobian @ learnt.coefficients, jacobian, covariance, ties)


def explained_variance(
    spectrum: Spectrum, total: float, total_variance: float, as_ratio: bool = False
) -> SmoothFunctional:
    """Eigenvalues, or their shares of the trace, with intervals.

    The trace of the second moment is known from other people with a `total_variance`, the square of
    its standard error, which is zero if it is public. The `jacobian` is by the coefficients of the
    moment and the trace.
    """
    k, width = spectrum.components.shape
    level = np.eye(k) - np.ones((k, k)) / width
    values = level @ spectrum.excess + total / width
    by_excess, by_total = level, np.full((k, 1), 1.0 / width)
    if as_ratio:
        by_excess, by_total = level / total, -(level @ spectrum.excess)[:, None] / total**2
        values = values / total
    covariance = by_excess @ spectrum.covariance @ by_excess.T
    covariance = covariance + total_variance * by_total @ by_total.T
    jacobian = np.concatenate([by_excess @ spectrum.jacobian, by_total], axis=1)
    return SmoothFunctional(values, covariance, jacobian)
