"""Estimated Hessians and covariances that noise does not spoil: matrices in, matrices out."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

#: Smallest eigenvalues, relative to the public bounds, that keep the matrices invertible.
_TINY = 1e-12


def spherical_part(matrix):
    """Return tr(H)/d times the identity."""
    return np.trace(matrix) / len(matrix) * np.eye(len(matrix))


def shrink(hessian, noise, multiple=None, hessian_range=None):
    """Shrink an estimated Hessian to a multiple of the identity by the noise it carries.

    `noise` is the expected squared Frobenius norm of the noise of what is shrunk: of all of it
    where the multiple is given, of the deviatoric part where it is None, for the mean eigenvalue.
    Under a public range of the eigenvalues no more is kept than the share of what can be expected
    in it, `deviatoric_size` for a deviatoric part, in it plus noise.

    Returns
    -------
    hessian : array, shape [dim, dim]
    kept : float
        The share kept; one where there is nothing to shrink.
    """
    dim = len(hessian)
    middle = spherical_part(hessian) if multiple is None else multiple * np.eye(dim)
    away = hessian - middle
    size = float(np.sum(away**2))
    kept = max(0.0, 1.0 - noise / size) if size > 0 else 1.0
    if hessian_range is not None and noise > 0:
        signal = deviatoric_size(dim, hessian_range)
        if multiple is not None:
            signal += spherical_size(dim, hessian_range)
        kept = min(kept, signal / (signal + noise))
    return middle + kept * away, kept


def charged_share(kept, n_entries):
    """Share of the noise of a deviatoric part that its shrunk estimate is charged with.

    Kept whole it errs by its noise. It is shrunk away where its square is not told from that of
    its noise, whose relative standard deviation is c = (2 / n_entries)^(1/2); of the square c the
    best multiple still errs by c / (1 + c), in units of the noise. In between in proportion.
    """
    if n_entries == 0:
        return 1.0
    unseen = math.sqrt(2 / n_entries)
    least = unseen / (1 + unseen)
    return least + (1 - least) * kept


def spherical_size(dim, hessian_range):
    """Squared norm of the mean error of an eigenvalue put to the edge of a public range."""
    low, high = hessian_range
    return dim * (high - low) ** 2 / 3


def deviatoric_size(dim, hessian_range):
    """Squared norm of a deviatoric part to reckon with when the eigenvalues have a public range.

    With one eigenvalue at one end of a range of width w and the others at the other end, as for
    data along a geodesic, it is (1 - 1/d) w^2; with eigenvalues spread evenly (d - 1) w^2 / 12 on
    average. The larger of the two.
    """
    low, high = hessian_range
    return (dim - 1) * (high - low) ** 2 / min(dim, 12)


def errors_in_range(spherical, deviatoric, dim, hessian_range):
    """Expected squared errors of both parts, no larger than a public range allows."""
    if hessian_range is None:
        return spherical, deviatoric
    return (
        min(spherical, spherical_size(dim, hessian_range)),
        min(deviatoric, deviatoric_size(dim, hessian_range)),
    )


def clip_eigenvalues(matrix, low, high=np.inf):
    """Put the eigenvalues of a symmetric matrix into [low, high]."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.clip(values, low, high)) @ vectors.T


def hessian_floor(eigenvalues, rule, hessian_bound, n_participants):
    """Vanishing eigenvalue floor of section S.3."""
    scale = max(rule.hessian_unit, float(np.mean(np.abs(eigenvalues))))
    floor = rule.hessian_floor * scale * n_participants**-0.25
    return min(hessian_bound / 2, max(floor, _TINY * hessian_bound))


def bounded_hessian(hessian, rule, hessian_bound, n_participants):
    """Put the eigenvalues of an estimated Hessian between its floor and its public bounds.

    `hessian_bound` is L_H.

    Returns
    -------
    hessian : array, shape [dim, dim]
    bounds : dict
        ``hessian_floor``, ``hessian_bound``, and whether the vanishing floor or L_H moved an
        eigenvalue: ``hessian_floor_active``, ``hessian_bound_active``.
    """
    eigenvalues = np.linalg.eigvalsh(hessian)
    low, high = (0.0, math.inf) if rule.hessian_range is None else rule.hessian_range
    bound = min(hessian_bound, high)
    floor = max(low, hessian_floor(eigenvalues, rule, bound, n_participants))
    return clip_eigenvalues(hessian, floor, bound), {
        "hessian_floor": float(floor),
        "hessian_bound": float(bound),
        "hessian_floor_active": bool(eigenvalues[0] < floor > low),
        "hessian_bound_active": bool(eigenvalues[-1] > hessian_bound),
    }


def covariance_floor(eigenvalues, rule, mechanism, n_participants):
    """Known noise variance or, without noise, the vanishing floor of section S.3."""
    if mechanism.noise_variance_floor > 0:
        return mechanism.noise_variance_floor
    scale = max(rule.covariance_unit, float(np.mean(np.abs(eigenvalues))))
    floor = rule.covariance_floor * scale * n_participants ** (-1 / 3)
    return max(floor, _TINY * mechanism.bound**2)


def known_covariance(score_covariance, rule, mechanism, n_participants):
    """Covariance of one released score, with eigenvalues above what is known of its noise."""
    spread = np.linalg.eigvalsh(score_covariance)
    floor = covariance_floor(spread, rule, mechanism, n_participants)
    return clip_eigenvalues(score_covariance, floor)


def guard_strength(dim):
    """Strength a of the guard by dimension.

    Matching the mean of the statistic asks for (d + 1) / (2 d), which tends to 1/2; its quantiles
    ask for more, the less the more coordinates there are to average over: 6/d in few dimensions,
    and of the order of the standard deviation of chi-squared over its mean from ten on.
    """
    return min(2.5, 0.5 + max(6.0 / dim, 6.0 / math.sqrt(10.0 * dim)))


def steady_guard_strength(dim):
    """Strength of the guard where the Hessian has neither bias nor heavy tails.

    It is what the 95% quantile of the statistic asks for when all entries have normal errors.
    """
    return 0.9 + 1.5 / dim


def guard_of_error(error, hessian, floor, rule):
    """Finite-sample guard: 1 + a min(u, c)^p with u the relative error of the Hessian."""
    relative = error / max(float(np.linalg.norm(hessian)), floor)
    strength = guard_strength(len(hessian)) if rule.guard is None else rule.guard
    return 1.0 + strength * min(relative, rule.guard_cap) ** rule.guard_power


def slope_error(hessian_error, dim):
    """Root mean square error of a slope before it is made symmetric, by that of its Hessian.

    Of the squares of dim^2 independent errors the symmetric part keeps (dim + 1) / (2 dim).
    """
    return math.sqrt(2 * dim / (dim + 1) * hessian_error)


def guard_of_parts(spherical, deviatoric, hessian, floor, rule, dim):
    """Guard against an error whose spherical and deviatoric part have these squared norms.

    It is 1 + a_s u_s^2 + a_d u_d^2, what the 95% quantile of the statistic asks for to second order
    in normal errors of either kind; see docs/theory/rounds.md. The parts and the Hessian are those
    of one block on the diagonal, `dim` is that of the parameter, and `floor` bounds the norm that
    errors are relative to from below.
    """
    n = len(hessian)
    size = max(float(np.linalg.norm(hessian)), floor)
    relative = slope_error(spherical + deviatoric, n) / size
    excess = 2 * special.gammaincinv(dim / 2, 0.95) - dim  # of the quantile over the mean
    counted = min(1.0, rule.guard_cap / relative) ** 2 if relative > 0 else 1.0
    weight = (excess - 2) / (dim + 2)
    parts = (1 + (n + 2) * weight) * spherical + (1 + 2 * weight) * deviatoric
    return 1.0 + counted * parts / size**2
