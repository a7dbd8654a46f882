r"""Offsets that are longer where curvature is small.

A query at offset y tells K y, so that the relative error of an eigenvalue k of the Hessian, asked
at distance l along its eigenvector, is in proportion to 1 / (k l). What limits l is how far the
score is linear. In a regression that is a length of the linear predictor: the predictor moves by
:math:`l \sqrt{k}` in the mean, in units in which weights are one. So l is taken in proportion to
:math:`k^{-1/2}`, which leaves no direction to be worse known for the units or the correlation of
the features. Where a loss states at what rate c its scores saturate, they are straight up to the
same :math:`l^2 k` in all directions, and :math:`h^2 2 c` of it is what the correction at radius h
is for. See docs/theory/rounds.md.
"""

from __future__ import annotations

import numpy as np

from geomstats_ldp.score_regression.hessian_error import eigenvalues_with_errors

#: Longest offset over the shortest.
LONGEST = 4.0


def no_stretch(dim):
    """The map that leaves offsets as they are."""
    return np.eye(dim)


def stretch_of(fit, saturation=0.0):
    """Map of the offsets of the next round, from the Hessian that has been found so far.

    An eigenvalue counts one standard error above its estimate: an offset is longer only as far as
    the messages tell that curvature is small.

    Parameters
    ----------
    fit : ScoreFit
    saturation : float
        Rate of the plan. Zero leaves the offset along the largest eigenvalue as it is; otherwise
        that is left where the eigenvalue is twice the rate, or more.

    Returns
    -------
    stretch : array, shape [dim, dim]
        Symmetric, with eigenvalues from one to `LONGEST`.
    """
    dim = len(fit.raw_hessian)
    variance = np.trace(fit.score_covariance) / dim * np.linalg.pinv(fit.gram, hermitian=True)
    values, vectors, errors = eigenvalues_with_errors(fit.raw_hessian, variance)
    sizes = np.maximum(values, 0.0) + errors
    reference = sizes.max() if saturation == 0 else 2 * saturation
    if reference == 0:
        return no_stretch(dim)
    longer = np.sqrt(reference / np.clip(sizes, reference / LONGEST**2, reference))
    stretch = (vectors * longer) @ vectors.T
    return (stretch + stretch.T) / 2
