r"""Rotations of space in closed form, with the bi-invariant metric :math:`|V|^2 = tr(V^T V) / 2`.

The general matrix logarithm takes milliseconds; Rodrigues' formula needs the angle of a rotation
and its axis only. Tangent vectors at R are R times a skew matrix, whose square root of half the
sum of squares is the angle per unit of time.
"""

from __future__ import annotations

import numpy as np


def transposed(matrix):
    """Transpose of the last two axes."""
    return np.swapaxes(matrix, -1, -2)


def skew_part(matrix):
    """Half the difference from the transpose."""
    return 0.5 * (matrix - transposed(matrix))


def angle(rotation):
    """Angle of rotations in [0, pi], shape [...], accurate at both ends."""
    sine = _length(skew_part(rotation))
    cosine = 0.5 * (np.trace(rotation, axis1=-2, axis2=-1) - 1.0)
    return np.arctan2(sine, cosine)


def _length(skew):
    return np.sqrt(0.5 * np.sum(skew * skew, axis=(-2, -1)))


def _exponential(skew):
    theta = _length(skew)[..., None, None]
    # sin(t)/t and (1 - cos t)/t^2, by numpy's sinc(x) = sin(pi x) / (pi x).
    sine, half_sine = np.sinc(theta / np.pi), np.sinc(theta / (2 * np.pi))
    return np.eye(3) + sine * skew + 0.5 * half_sine**2 * (skew @ skew)


def exp(tangent_vec, base_point):
    """Riemannian exponential."""
    return base_point @ _exponential(skew_part(transposed(base_point) @ tangent_vec))


def log(point, base_point):
    """Riemannian logarithm; its relative error grows as 1e-16 / (pi - angle) next to the cut."""
    rotation = transposed(base_point) @ point
    skew = skew_part(rotation)
    sine = _length(skew)[..., None, None]
    theta = angle(rotation)[..., None, None]
    # Below 1e-8 the angle is its own sine.
    ratio = np.where(sine > 1e-150, theta / np.where(sine > 1e-150, sine, 1.0), 1.0)
    return base_point @ (ratio * skew)


def transport(tangent_vec, base_point, end_point):
    r"""Parallel transport along the minimising geodesic from R to R exp(S).

    It takes :math:`R A` to :math:`R e^{S/2} A e^{S/2}`, a left and a right translation by half of
    the way each.
    """
    inverse = transposed(base_point)
    half = _exponential(0.5 * (inverse @ log(end_point, base_point)))
    return base_point @ half @ (inverse @ tangent_vec) @ half
