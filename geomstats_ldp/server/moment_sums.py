r"""Streaming sums of the exact regression on a second moment.

On the unit sphere the mean message at a query q is :math:`-P_q S q` for a second moment S, with
:math:`P_q = I - q q^\top`, at any distance. Least squares over all messages z needs sums over
products of queries and messages only:

.. math:: \sum w\,q q^\top,\quad \sum w\,q^{\otimes 4},\quad \sum w\,z q^\top .

See docs/theory/score_regions.md.
"""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numba.extending import overload

from geomstats_ldp.twins import KERNEL_OPTIONS, jitable


class MomentSums(NamedTuple):
    """Weighted sums over all messages; empty where scores are not linear in a second moment.

    Attributes
    ----------
    second : array, shape [p, p]
        Of q q^T.
    fourth : array, shape [n_products]
        Of q_i q_j q_k q_l with i <= j <= k <= l, the last index running first.
    cross : array, shape [p, p]
        Of z q^T.
    """

    second: np.ndarray
    fourth: np.ndarray
    cross: np.ndarray


def empty_moments(n_features):
    """Sums of no messages, for points of length p; 0 where there is no moment."""
    n_products = math.comb(n_features + 3, 4)
    second, cross = np.zeros((n_features, n_features)), np.zeros((n_features, n_features))
    return MomentSums(second, np.zeros(n_products), cross)


def fourth_moments(moments):
    """Sums of q_i q_j q_k q_l as a symmetric array, shape [p, p, p, p]."""
    p = len(moments.second)
    places = np.zeros((p, p, p, p), dtype=np.int64)
    increasing = np.array(list(combinations_with_replacement(range(p), 4)))
    places[tuple(increasing.T)] = np.arange(len(increasing))
    every = np.sort(np.indices(places.shape).reshape(4, -1), axis=0)
    return moments.fourth[places[tuple(every)]].reshape(places.shape)


def add_message(moments, query, message, weight):
    """Add one message, a tangent vector at its query; runs in both engines.

    Query and message, shape [*point_shape], are vectors if there is a moment.
    """
    if len(moments.second) > 0:
        _add_to_sums(moments, query, message, weight)


@jitable
def _add_to_sums(moments, query, message, weight):
    p, place = moments.second.shape[0], 0
    for i in range(p):
        first = weight * query[i]
        for j in range(p):
            moments.second[i, j] += first * query[j]
            moments.cross[i, j] += weight * message[i] * query[j]
        for j in range(i, p):
            for k in range(j, p):
                product = first * query[j] * query[k]
                for m in range(k, p):
                    moments.fourth[place] += product * query[m]
                    place += 1


@jitable
def _add_if_kept(moments, query, message, weight):
    if moments.second.shape[0] > 0:
        _add_to_sums(moments, query, message, weight)


@jitable
def _add_nothing(moments, query, message, weight):
    pass


@overload(add_message, strict=False, jit_options=KERNEL_OPTIONS)
def _choose_add_message(moments, query, message, weight):
    return _add_if_kept if query.ndim == 1 else _add_nothing
