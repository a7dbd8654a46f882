"""The Hessian that the half-differences of pairs tell, its error, and the guard against it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from geomstats_ldp.score_regression.blocks import blocks_of, joined_bounds, known_multiple
from geomstats_ldp.score_regression.shrinkage import (
    bounded_hessian,
    errors_in_range,
    guard_of_error,
    shrink,
    spherical_part,
)

if TYPE_CHECKING:
    from geomstats_ldp.inference.sandwich import PairRegression
    from geomstats_ldp.protocol import Protocol


def guarded_hessian(
    regression: PairRegression,
    score_covariance: np.ndarray,
    protocol: Protocol,
    n_participants: int,
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Hessian that can be inverted, and its guard, block by block.

    `score_covariance` is that of one released score of the regression.

    Returns
    -------
    hessian : array, shape [dim, dim]
    guards : array, shape [dim]
        Factor of each coordinate by which the guard enlarges the covariance.
    bounds : dict
        As `bounded_hessian` gives it, of the blocks together.
    """
    dim, limits = protocol.dim, []
    hessian, guards = np.zeros((dim, dim)), np.ones(dim)
    blocks = blocks_of(protocol.inference, dim)
    flat = known_multiple(blocks)
    for block in blocks:
        names = ("gram", "slope", "hessian", "score_covariance")
        own = replace(regression, **{name: block.of(getattr(regression, name)) for name in names})
        unclipped, kept = estimate_hessian(own, block.rule, flat)
        usable, bounds = bounded_hessian(
            unclipped, block.rule, protocol.hessian_bound, n_participants
        )
        noise, floor = block.of(score_covariance), bounds["hessian_floor"]
        error = np.sqrt(hessian_error(own, kept, noise, block.rule, flat))
        hessian[block.place, block.place] = usable
        guards[block.place] = guard_of_error(error, usable, floor, block.rule)
        limits.append(bounds)
    return hessian, guards, joined_bounds(limits)


def estimate_hessian(regression, rule, flat=None):
    """Hessian before any eigenvalue is changed, and the share kept of what may be shrunk."""
    if rule.hessian == "isotropic":
        return spherical_part(regression.hessian), 0.0
    if rule.prior_hessian is not None or rule.hessian == "raw":
        return regression.hessian, 1.0
    return shrink_hessian(regression, rule.hessian_range, flat)


def shrink_hessian(regression, hessian_range=None, flat=None):
    r"""Shrink the deviatoric part of the regression Hessian by the noise it carries.

    The entries of the symmetrised slope have noise of variance v/q on the diagonal and v/(2q) off
    it, with v = tr(Sigma) / (2d) the variance of a coordinate of D and q = s_n / d. The deviatoric
    part :math:`H_0 = H - (tr H / d) I` lives in d(d+1)/2 - 1 dimensions, so its noise has squared
    Frobenius norm close to (d(d+1)/2 - 1) v/q, and

    .. math:: \rho = \max\{0, 1 - (d(d+1)/2 - 1) (v/q) / \|H_0\|_F^2\}

    is the positive-part shrinkage factor. It tends to one, so consistency is kept. Under a public
    range of the eigenvalues rho is at most the share of `deviatoric_size` in it plus noise. Where
    another block is known to be a `flat` multiple of the identity the whole is shrunk to it, with
    one dimension more. Returns the Hessian and rho; one where there is nothing to shrink.
    """
    dim = len(regression.hessian)
    variance = np.trace(regression.score_covariance) / (2 * dim)
    n_shrunk = dim * (dim + 1) / 2 - (flat is None)
    noise = n_shrunk * variance / (np.trace(regression.gram) / dim)
    return shrink(regression.hessian, noise, flat, hessian_range)


def hessian_error(regression, kept, score_covariance, rule, flat=None):
    """Expected squared norm of the error of the estimated Hessian.

    Of its d(d+1)/2 free entries all but the trace were shrunk by the factor `kept`, and that too
    if all is shrunk to a `flat` multiple of the identity. Kept whole, they err by their noise;
    shrunk away, by their own size, which is anywhere between nothing and the noise: half of it is
    charged, and in between (1 + kept) / 2. A public range of width w bounds both: an eigenvalue at
    its edge errs by w^2 / 3 on average, and a deviatoric part has the `deviatoric_size`. As the
    paper counts them, the errors are those of the slope before it is made symmetric.
    """
    dim = len(regression.hessian)
    free = dim * (dim + 1) / 2
    spread = np.linalg.inv(regression.gram + regression.ridge * np.eye(dim))
    spherical = 0.5 * np.trace(score_covariance) * np.trace(spread) / dim**2
    deviatoric = (1 + kept) / 2 * (free - 1) * spherical
    if flat is not None:
        spherical *= (1 + kept) / 2
    spherical, deviatoric = errors_in_range(spherical, deviatoric, dim, rule.hessian_range)
    if rule.hessian == "isotropic":
        deviatoric = 0.0
    return (spherical + deviatoric) * dim**2 / free
