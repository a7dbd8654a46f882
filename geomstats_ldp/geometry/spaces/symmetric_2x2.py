r"""Functions of symmetric 2 x 2 matrices in closed form, without arrays.

A symmetric matrix is three numbers: its *mean* m, half the trace, and its *deviator*, the two
numbers d and b of m I + [[d, b], [b, -d]]. The eigenvalues are m + r and m - r with
r = sqrt(d^2 + b^2). Where g is a function with finite derivatives every function of the matrix has
the deviator (g(m + r) - g(m - r)) / (2r) times (d, b), which is where the quotients come from. The
Frobenius product of two matrices is twice the sum of the products of their numbers.
"""

from __future__ import annotations

import math

from numba.extending import register_jitable


@register_jitable(forceinline=True)
def parts(matrix):
    """Mean and deviator of the symmetric part of a matrix."""
    a, c = matrix[0, 0], matrix[1, 1]
    return 0.5 * (a + c), 0.5 * (a - c), 0.5 * (matrix[0, 1] + matrix[1, 0])


@register_jitable(forceinline=True)
def assemble(mean, d, b, out):
    """Write the matrix of the given parts to out."""
    out[0, 0] = mean + d
    out[1, 1] = mean - d
    out[0, 1] = b
    out[1, 0] = b


@register_jitable(forceinline=True)
def combine_parts(coords, frame):
    """Parts of the matrix with the given coordinates; rows of `frame` are parts."""
    x, y, z = coords[0], coords[1], coords[2]
    return (
        x * frame[0, 0] + y * frame[1, 0] + z * frame[2, 0],
        x * frame[0, 1] + y * frame[1, 1] + z * frame[2, 1],
        x * frame[0, 2] + y * frame[1, 2] + z * frame[2, 2],
    )


@register_jitable(forceinline=True)
def coordinates_of_parts(mean, d, b, frame, out):
    """Write the Frobenius products with the matrices whose parts are the rows of `frame`."""
    for j in range(3):
        out[j] = 2.0 * (mean * frame[j, 0] + d * frame[j, 1] + b * frame[j, 2])


@register_jitable(forceinline=True)
def determinant(matrix):
    """Product of the eigenvalues."""
    return matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0]


@register_jitable
def half_log_ratio(mean, radius, det):
    """Half the logarithm of the ratio of the eigenvalues m + r and m - r, of product `det`."""
    if 2.0 * radius < mean:
        # atanh(r / m), which keeps its digits where the eigenvalues are nearly equal
        return 0.5 * math.log1p(2.0 * radius / (mean - radius))
    return 0.5 * math.log((mean + radius) * (mean + radius) / det)


@register_jitable
def log_slope(mean, radius, det):
    """Divided difference of log at the eigenvalues m + r and m - r, of product `det`."""
    if radius * radius > 0.0:
        return half_log_ratio(mean, radius, det) / radius
    return 1.0 / mean


@register_jitable
def exp_parts(mean, d, b, out):
    """Write the exponential of the matrix of the given parts.

    The diagonal is a sum of positive terms: a small entry does not cancel.
    """
    radius = math.sqrt(d * d + b * b)
    growth = math.expm1(radius)
    shrunk = 1.0 / (1.0 + growth)
    scale = math.exp(mean)
    sinc = 0.5 * (growth + growth * shrunk) / radius if radius > 0.0 else 1.0
    # cosh r - |d| sinh r / r = exp(-r) + (r - |d|) sinh r / r, and r - |d| = b^2 / (r + |d|)
    size = abs(d)
    less = shrunk + (sinc * b * b / (radius + size) if radius > 0.0 else 0.0)
    more = less + 2.0 * sinc * size
    out[0, 0] = scale * (more if d > 0.0 else less)
    out[1, 1] = scale * (less if d > 0.0 else more)
    out[0, 1] = scale * sinc * b
    out[1, 0] = out[0, 1]


@register_jitable
def log_near_identity(mean, d, b):
    """Parts of log(I + E), for the parts of E, whose entries are less than a half."""
    squared = d * d + b * b
    radius = math.sqrt(squared)
    gap = 2.0 * mean + (mean * mean - squared)
    slope = log_slope(1.0 + mean, radius, 1.0 + gap)
    return 0.5 * math.log1p(gap), slope * d, slope * b


@register_jitable
def log_parts(mean, d, b, det):
    """Parts of the logarithm of a positive definite matrix with determinant `det`."""
    slope = log_slope(mean, math.sqrt(d * d + b * b), det)
    return 0.5 * math.log(det), slope * d, slope * b
