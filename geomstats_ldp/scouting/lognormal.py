r"""The lognormal law that fits a private histogram best.

A set of bins holds bin j with the probability :math:`\mu_j = q + (p - q) f_j`, with f_j the
frequency of the bin and p, q those of `SubsetSelection`. The counts C_j of n sets have the
composite likelihood

.. math:: \sum_j C_j \log \mu_j + (n - C_j) \log (1 - \mu_j),

in which the logarithm of the norm is taken for normal. A few hundred private answers do not tell
more than these two numbers: in free frequencies, smoothed or not, what noise puts into far bins
looks like rows. Laws that are not lognormal get one with about their middle and spread; as every
:math:`\mu_j` is at least q, far rows weigh little.

The first bin, in which zeros are as well, has a frequency of its own.

The two numbers are found on a grid that is refined six times. Its last points are 1/64 of a bin
apart: far less than the error of any answers, and far more than what rounding moves, so that all
machines find the same law.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import ndtr

#: Base-2 logarithms of the smallest and the largest standard deviation, in bins.
_NARROWEST, _WIDEST = -2, 5

_REFINEMENTS = 6

#: Probabilities whose logarithms are numbers.
_CERTAIN = np.finfo(float).tiny, 1 - np.finfo(float).epsneg

#: Steps to a point itself, which wins ties, and to its eight neighbours.
_STEPS = np.array(sorted(product((-1.0, 0.0, 1.0), repeat=2), key=np.count_nonzero))


def lognormal_frequencies(counts, n, own, other):
    """Frequencies of all bins by the law that fits best, shape [n_bins]; they sum to one.

    Of n sets `counts` hold each bin; `own` and `other` are the probabilities that a set holds the
    bin of its datum, and another one.
    """
    n_bins = len(counts)
    first = np.clip((counts[0] / n - other) / (own - other), 0.0, 1.0)

    def frequencies(points):
        below = ndtr((np.arange(1, n_bins) - points[:, :1]) / 2.0 ** points[:, 1:])
        inside = np.diff(below, axis=1, append=1.0)
        total = np.maximum(inside.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        return (1 - first) * inside / total

    def best_of(points):
        # Without privacy a set holds its own bin for certain, and no other one.
        held = np.clip(other + (own - other) * frequencies(points), *_CERTAIN)
        likelihoods = np.log(held) @ counts[1:] + np.log1p(-held) @ (n - counts[1:])
        return points[np.argmax(likelihoods)]

    middles, spreads = np.arange(n_bins + 1.0), np.arange(_NARROWEST, _WIDEST + 1.0)
    best = best_of(np.stack(np.meshgrid(middles, spreads), axis=-1).reshape(-1, 2))
    limits = [0.0, _NARROWEST], [n_bins, _WIDEST]
    for step in 0.5 ** np.arange(1, _REFINEMENTS + 1):
        before = None
        while not np.array_equal(before, best):
            before, best = best, best_of(np.clip(best + step * _STEPS, *limits))
    return np.concatenate([[first], frequencies(best[None])[0]])
