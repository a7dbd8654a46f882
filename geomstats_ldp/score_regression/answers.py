r"""Moments of the messages of the queries that were answered, and how precise each group's are.

Groups of participants may have mechanisms of their own. The precision of a group is the inverse of
the variance :math:`v_g` of a coordinate of one released score in it, in units in which messages
have precision one on average: weighted by it, n messages tell as much as n messages of variance

.. math:: n \Big/ \sum_g (n_g / v_g).

A group counts as soon as enough of it have answered for v to be known; one group alone has
precision one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from geomstats_ldp.score_regression.shrinkage import known_covariance

if TYPE_CHECKING:
    from geomstats_ldp.protocol import Protocol

#: Degrees of freedom from which on the variance of a group is known well enough for a weight: with
#: ten on each side, a mean weighted by estimated variances is better than either (Graybill, Deal).
_FEWEST_DEGREES = 10


class Answers:
    """Query points that were answered with scores, and the moments of their messages.

    Parameters
    ----------
    protocol : Protocol
    state : RoundState
    points : array, shape [n_opened, n_query_points, *point_shape]

    Attributes
    ----------
    rounds : array of int, shape [n_answered]
        Round of each query point that was answered.
    groups : array of int, shape [n_answered]
        Number of the group that was asked there.
    points, centers : array, shape [n_answered, *point_shape]
        Query points, and the centres of their rounds.
    counts : array, shape [n_answered]
    means : array, shape [n_answered, dim]
    scatter : array, shape [n_answered, dim, dim]
        Sum of squares about the mean.
    precision : array, shape [n_answered]
        Of one message there, one on average.
    group_precision : array, shape [n_groups]
        The same by group; zero for those that do not count.
    n : int
        Messages of groups whose variance is known.
    """

    def __init__(self, protocol, state, points):
        asks_scores = [not protocol.rounds.asks_for_curvature(r) for r in range(state.n_opened)]
        all_counts = np.where(np.array(asks_scores)[:, None], state.counts, 0)
        is_answered = all_counts > 0
        n_groups = len(protocol.mechanisms)
        size = is_answered.shape[1] // n_groups
        trusted = trusted_groups(
            protocol, (all_counts - is_answered).reshape(-1, n_groups, size).sum(axis=(0, 2))
        )
        rounds, indices = np.nonzero(is_answered & np.repeat(trusted, size))
        self.rounds, self.groups = rounds, indices // size
        self.points, self.centers = points[rounds, indices], state.centers[rounds]
        self.counts = state.counts[rounds, indices].astype(float)
        self.means = state.sums[rounds, indices] / self.counts[:, None]
        squares = self.means[:, :, None] * self.means[:, None, :]
        self.scatter = state.outer[rounds, indices] - self.counts[:, None, None] * squares
        self.n = int(self.counts.sum())
        self.group_precision = trusted.astype(float)
        if trusted.sum() > 1:
            present, covariances, counts = self.within_groups(protocol, self.scatter)
            self.group_precision[present] = precisions(covariances, counts)
        self.precision = self.group_precision[self.groups]

    def within_groups(self, protocol, scatter):
        """Covariance of one released score of each group that counts, within query points.

        With the numbers of the groups and how many messages they have. `scatter`, shape
        [n_answered, dim, dim], is that of the answers, in one frame or in those of their queries.
        """
        present = np.unique(self.groups)
        members = [self.groups == group for group in present]
        totals = [scatter[member].sum(axis=0) for member in members]
        counts = np.array([self.counts[member].sum() for member in members])
        degrees = counts - [np.count_nonzero(member) for member in members]
        return present, group_covariances(protocol, present, totals, degrees, counts), counts


def fewest_degrees(protocol):
    """Degrees of freedom from which on the scores of a group count."""
    enough = protocol.dim + 1
    return enough if protocol.groups is None else max(enough, _FEWEST_DEGREES)


def fewest_participants(protocol: Protocol) -> int:
    """Participants that a region takes if all are in one round and group, at each query of it.

    Parameters
    ----------
    protocol : Protocol

    Returns
    -------
    n : int
    """
    return protocol.n_query_points // len(protocol.mechanisms) + fewest_degrees(protocol)


def trusted_groups(protocol, degrees):
    """Which groups have enough answers: messages less the means that are taken off them."""
    return degrees >= fewest_degrees(protocol)


def group_covariances(protocol, groups, scatters, degrees, counts):
    """Covariances of one released score of each group, above the known noise.

    `groups` are their numbers. Shape [n_groups, dim, dim], as the `scatters`.
    """
    mechanisms, rule = list(protocol.mechanisms.values()), protocol.inference
    return np.array(
        [
            known_covariance(scatter / free, rule, mechanisms[group], int(count))
            for group, scatter, free, count in zip(groups, scatters, degrees, counts)
        ]
    )


def precisions(covariances, counts):
    """Precision of one message of each group, one on average over messages, shape [n_groups]."""
    if len(covariances) == 1:
        return np.ones(1)
    inverse = 1 / np.trace(covariances, axis1=1, axis2=2)
    return inverse * np.sum(counts) / (counts @ inverse)


def mean_covariance(covariances, precision, weights):
    """Covariance of one score of average precision, from those of the groups, shape [dim, dim].

    The weighted mean of the scores of all groups, with n_g of each and precision p_g, has
    covariance sum_g n_g p_g^2 Sigma_g / n^2: with this matrix instead it is that of n equal scores.
    The `weights` are those of whole groups, n_g p_g.
    """
    return np.tensordot(weights / np.sum(weights) * precision, covariances, axes=1)


def pooled_covariance(protocol, answers, weights, scatter):
    """Covariance of one released score within query points; no model of the means enters.

    `weights` are those of the query points, apart from the precision of their messages, and
    `scatter`, shape [n_answered, dim, dim], is in the frame in which it is wanted.
    """
    present, covariances, _ = answers.within_groups(protocol, scatter)
    shares = answers.counts * answers.precision * weights**2
    of_groups = (answers.groups == present[:, None]) @ shares
    return mean_covariance(covariances, answers.group_precision[present], of_groups)
