r"""What an error of the Hessian with a known covariance does to a step and to a region.

The error is :math:`E = \sum_k e_k B_k` with :math:`B_k` the basis of the Hessians and C the
covariance of the e. It matters where answers about curvature tell all directions with the same
relative error: the error is then far from spread evenly over the entries.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from geomstats_ldp.score_regression.moments import symmetric_basis


def eigenvalues_with_errors(hessian, covariance):
    """Eigenvalues of a Hessian, ascending, with their standard errors to first order.

    `covariance` is that of the coefficients of its error; `vectors` have one eigenvector a column.

    Returns
    -------
    values, vectors, errors : arrays, shapes [dim], [dim, dim] and [dim]
    """
    values, vectors = np.linalg.eigh(hessian)
    basis = symmetric_basis(len(values), is_isotropic=len(covariance) == 1)
    along = np.einsum("ij,kil,lj->jk", vectors, basis, vectors)
    variances = np.sum(along * (along @ covariance), axis=1)
    return values, vectors, np.sqrt(np.maximum(variances, 0.0))


def mean_product(covariance, moment):
    r"""Expectation of :math:`E W E`, shape [dim, dim].

    The moment W is the identity for the mean square of E, and :math:`u u^\top` for the covariance
    of E u.
    """
    basis = symmetric_basis(len(moment), is_isotropic=len(covariance) == 1)
    return np.einsum("kl,kij,jm,lmo->io", covariance, basis, moment, basis, optimize=True)


def guard_of_covariance(covariance, hessian, rule):
    r"""Guard against an error of the Hessian, as `shrinkage.guard_of_parts` for any covariance.

    With :math:`F = E H^{-1}` the statistic is :math:`|(I + F) Z|^2`, and coverage is kept to second
    order by

    .. math:: \log \gamma = E\{|F z|^2 - 2 (z^\top F z)^2\} + (q - d)\, E (z^\top F z)^2

    for z uniform on the sphere and q the 95% quantile of chi-squared, where
    :math:`E |F z|^2 = E |F|^2 / d` and
    :math:`E (z^\top F z)^2 = E \{(\mathrm{tr}\, F)^2 + |F|^2 + \mathrm{tr}\, F^2\} / (d (d + 2))`.
    """
    dim = len(hessian)
    basis = symmetric_basis(dim, is_isotropic=len(covariance) == 1)
    relative = basis @ np.linalg.inv(hessian)
    traces = np.trace(relative, axis1=1, axis2=2)
    squares = np.einsum("kl,kij,lij->", covariance, relative, relative)
    mixed = np.einsum("kl,kij,lji->", covariance, relative, relative)
    along = (traces @ covariance @ traces + squares + mixed) / (dim * (dim + 2))
    excess = 2 * special.gammaincinv(dim / 2, 0.95) - dim  # of the quantile over the mean
    size = squares / dim
    counted = min(1.0, rule.guard_cap**2 / size) if size > 0 else 1.0
    return 1.0 + counted * max(float(size + (excess - 2) * along), 0.0)
