r"""The bound of a norm that makes the region of principal directions small.

With rows clipped to the norm B the standard error of a principal direction is, in each direction j,

.. math:: \frac1{\gamma_j(B)}\Bigl\{\frac{E (u^\top \bar y)^2 (e_j^\top \bar y)^2 + v B^4 / 4}{n}
          \Bigr\}^{1/2},

with :math:`\bar y` the clipped row, :math:`\gamma_j` the eigengap and v the noise variance of a
score of bound one. A histogram of the norms r tells nothing of directions. Under the model that
these do not depend on the norm, gaps grow with :math:`m_2 = E \min(r, B)^2` and the fourth moments
with :math:`m_4 = E \min(r, B)^4`, with the factor 1 / {p (p + 2)} of directions that spread over
all of R^p: the region has the size

.. math:: s(B) = \frac{\{m_4 / (p (p + 2)) + v B^4 / 4\}^{1/2}}{m_2}.

It grows with B, as :math:`m_2 / B^2` and :math:`m_2^2 / m_4` fall: the smallest regions are those
of rows that are all scaled to one length. So the rule takes the *largest* B whose region is at most
a tenth larger than the smallest: it clips no more rows than the noise asks for. Rows of the first
bin may be zeros, and are taken for that: they tell nothing under any bound.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.validation import check_all, check_integer, check_non_negative, finite_array

#: Size of the region relative to the smallest one.
_TOLERANCE = 1.1

#: Bounds that are compared, and the share of rows outside of the range that is too many.
_N_BOUNDS, _MOST_OUTSIDE = 512, 0.5


def best_norm_bound(
    lengths: ArrayLike, frequencies: ArrayLike, noise_variance: float, n_features: int
) -> float:
    """Largest bound whose region is at most a tenth larger than the smallest can be.

    Parameters
    ----------
    lengths : array-like, shape [n_bins]
        Norms in the middle of the bins, increasing. Rows of the first bin count as zeros.
    frequencies : array-like, shape [n_bins]
        Shares of the rows, none negative.
    noise_variance : float
        Of a score of bound one, by the mechanism that the study will use.
    n_features : int
        Length of a row.

    Returns
    -------
    bound : float
        In the units of the lengths.

    Raises
    ------
    ArgumentTypeError, ProtocolError
        If an argument is out of range, or more than half of the rows are in the first or the last
        bin, which have no end.

    Examples
    --------
    >>> from geomstats_ldp.scouting import best_norm_bound
    >>> round(best_norm_bound([0.5, 1, 2, 4], [0.1, 0.5, 0.3, 0.1], 1.2, 4), 2)
    1.1
    """
    lengths = finite_array("lengths", lengths, ("n",))
    shares = finite_array("frequencies", frequencies, (len(lengths),))
    check_all("frequencies must be non-negative", shares >= 0)
    noise = check_non_negative("noise_variance", noise_variance)
    check_integer("n_features", n_features)
    for place, way in ((0, "below"), (-1, "above")):
        if shares[place] > _MOST_OUTSIDE * shares.sum():
            raise ProtocolError(
                f"norms must lie between {lengths[0]:.3g} and {lengths[-1]:.3g} to be told apart; "
                f"more than half are {way}. Give the data another unit, by a public factor"
            )
    bounds = np.geomspace(lengths[0], lengths[-1], _N_BOUNDS)
    # The first bin has no lower end: its rows count as zeros, which tell nothing under any bound.
    squares = np.minimum(np.append(0.0, lengths[1:]), bounds[:, None]) ** 2
    fourth = squares**2 @ shares / (n_features * (n_features + 2))
    size = np.sqrt(fourth / shares.sum() + noise * bounds**4 / 4) / (squares @ shares)
    return float(bounds[np.flatnonzero(size <= _TOLERANCE * size.min())[-1]])
