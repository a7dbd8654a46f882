r"""Rounds that ask for curvature: what is asked, and what the answers say of the Hessian.

A query of such a round has directions :math:`a_1, \dots, a_d` at the centre of the round. Before
it is randomised the answer is, in coordinates,

.. math:: \frac G\tau \,[y - \mathbf 1]_\tau, \qquad y_j = \mathrm{Hess}\,\ell(a_j, a_j),

with :math:`[\cdot]_\tau` clipped to norm tau, the public bound of the plan, and G the score bound
of the mechanism. Without clipping :math:`E y_j = a_j^\top K a_j`: the Hessian K is regressed on it
beside the scores. The directions are :math:`a_j = S q_j` with S the inverse root of the Hessian
found so far and q an orthonormal basis, so that the mean of y is about one, and every direction is
told with the same *relative* error. See docs/theory/rounds.md.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from geomstats_ldp.score_regression.answers import fewest_degrees, group_covariances
from geomstats_ldp.score_regression.hessian_error import eigenvalues_with_errors
from geomstats_ldp.score_regression.known_moment import Knowledge, knowledge

#: A typical Hessian over its public bound, and the smallest that is asked about in its own units.
_TYPICAL_HESSIAN, _SMALLEST_HESSIAN = 1 / 5, 1e-12

#: Distance of the scores whose difference is an answer from the centre, over that over which they
#: bend.
_REACH = 1 / 10

#: Mean answer for which the directions are made, and which is taken off.
CENTER = 1.0


@lru_cache(maxsize=16)
def orthonormal_bases(dim: int) -> np.ndarray:
    r"""Bases whose squares of coordinates tell all symmetric matrices, shape [dim, dim, dim].

    The coordinate axes, and pairs :math:`(e_i \pm e_j) / \sqrt 2` by a round robin in which each
    axis meets every other one once. In an odd dimension one axis at a time stays alone. Rows of
    ``bases[k]`` are the vectors of one basis.
    """
    n_places = dim + dim % 2
    bases = [np.eye(dim)] if dim % 2 == 0 else []
    for turn in range(n_places - 1):
        circle = [n_places - 1, *((turn + k) % (n_places - 1) for k in range(n_places - 1))]
        rows = []
        for i, j in zip(circle[: n_places // 2], reversed(circle)):
            if max(i, j) == dim:  # the place that is empty in an odd dimension
                rows.append(np.eye(dim)[min(i, j)])
                continue
            both = np.eye(dim)[[i, j]] / math.sqrt(2)
            rows += [both[0] + both[1], both[0] - both[1]]
        bases.append(np.array(rows))
    return np.stack(bases)


def directions_of_queries(protocol: Any, state: Any, number: int) -> np.ndarray | None:
    """Directions along which the queries of a round that was opened ask for curvature.

    One direction a row, in frame coordinates at the centre, shape [n_directions, dim, dim]; None
    where scores are asked for.
    """
    if not protocol.rounds.asks_for_curvature(number):
        return None
    bases = orthonormal_bases(protocol.dim)
    size = protocol.n_query_points // len(protocol.mechanisms)
    asked = bases[np.arange(size) % len(bases)] @ state.stretches[number]
    return np.concatenate([asked] * len(protocol.mechanisms))


def first_whitening(protocol: Any) -> np.ndarray:
    """Multiple of the identity that makes a typical Hessian the identity, by its public bound."""
    return np.eye(protocol.dim) / math.sqrt(_TYPICAL_HESSIAN * protocol.hessian_bound)


def whitening_of(protocol: Any, fit: Any) -> np.ndarray:
    """Inverse root of the Hessian that has been found so far, shape [dim, dim].

    An eigenvalue counts as the root of its square and that of its standard error: directions are
    longer only as far as the messages tell that curvature is small.
    """
    if not fit.is_hessian_told:
        return first_whitening(protocol)
    values, vectors, errors = eigenvalues_with_errors(fit.raw_hessian, fit.hessian_covariance)
    high = protocol.hessian_bound
    sizes = np.hypot(np.maximum(values, 0.0), errors)
    sizes = np.clip(sizes, _SMALLEST_HESSIAN * high, high)
    whitening = (vectors / np.sqrt(sizes)) @ vectors.T
    return (whitening + whitening.T) / 2


def whitening_range(protocol: Any) -> tuple[float, float]:
    """Smallest and largest eigenvalue of a whitening."""
    low = 1 / math.sqrt(protocol.hessian_bound)
    return low, low / math.sqrt(_SMALLEST_HESSIAN)


def difference_reach(protocol: Any) -> float:
    """Distance to both sides of a centre at which a device takes the scores of its difference.

    It is no longer than the offsets of other rounds, so that they are scores of public queries.
    """
    return min(_REACH * protocol.rounds.bending_length, protocol.radius.maximum)


class _Told(NamedTuple):
    """Answers of one round and group: directions by query, counts, mean and covariance of y."""

    number: int
    directions: np.ndarray
    counts: np.ndarray
    means: np.ndarray
    covariance: np.ndarray


def told_curvature(protocol: Any, state: Any) -> list[_Told]:
    """Answers to the rounds that ask for curvature, of groups of whom enough have answered."""
    found = []
    for number in range(state.n_opened):
        directions = directions_of_queries(protocol, state, number)
        if directions is None:
            continue
        for group, mechanism in enumerate(protocol.mechanisms.values()):
            size = len(directions) // len(protocol.mechanisms)
            members = np.arange(group * size, (group + 1) * size)
            members = members[state.counts[number, members] > 0]
            counts = state.counts[number, members].astype(float)
            degrees = counts.sum() - len(counts)
            if degrees < fewest_degrees(protocol):
                continue
            unit = protocol.rounds.curvature_bound / mechanism.bound
            means = state.sums[number, members] / counts[:, None]
            squares = counts[:, None, None] * means[:, :, None] * means[:, None, :]
            scatter = (state.outer[number, members] - squares).sum(axis=0)
            [covariance] = group_covariances(
                protocol, [group], [scatter], [degrees], [counts.sum()]
            )
            told = directions[members], counts, CENTER + unit * means, unit**2 * covariance
            found.append(_Told(number, *told))
    return found


def known_apart(
    protocol: Any,
    told: list[_Told],
    center: np.ndarray,
    basis: np.ndarray,
    variance: float,
    weights: np.ndarray,
) -> Knowledge:
    """Information about gradient and Hessian that is in no score.

    `told` is from `told_curvature`, `variance` that of a coordinate of one score, and `weights`,
    shape [n_opened], are those of one answer of each round, relative to one that counts fully.
    """
    known, dim = knowledge(protocol, center, basis, variance), protocol.dim
    if not told:
        return known
    slopes = slice(dim, None)
    information, values, noise = (part.copy() for part in known)
    for answers in told:
        rows = np.einsum("qji,kil,qjl->qjk", answers.directions, basis, answers.directions)
        relative = variance * dim / np.trace(answers.covariance)
        share = weights[answers.number] * relative * answers.counts
        information[slopes, slopes] += np.einsum("q,qjk,qjl->kl", share, rows, rows)
        values[slopes] += np.einsum("q,qjk,qj->k", share, rows, answers.means)
        spread = np.einsum("q,qjk,ji,qil->kl", share, rows, answers.covariance, rows)
        noise[slopes, slopes] += weights[answers.number] * relative / variance * spread
    return Knowledge(information, values, noise)
