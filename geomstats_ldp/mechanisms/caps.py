"""Caps {t >= 1 - s} of the sphere of R^(d + 1), t one coordinate of a uniform point.

Near t = 1 doubles do not resolve the cosine t, so everything is in the depth s = 1 - t and in
logarithms of probabilities.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.special import betaln

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.twins import jitable

#: Table of quantiles: from the log probability of half the sphere downwards.
_LOG_HALF, _STEP, _N_NODES = math.log(0.5), 1.0 / 64.0, 4096


@jitable
def _hypergeometric(a, b, c, x):
    """Sum 2F1(a, b; c; x) for positive a, b, c and 0 <= x <= 1/2; no term can cancel another."""
    total, term, k = 1.0, 1.0, 0.0
    while term > 1e-17 * total or (a + k) * (b + k) * x > (c + k) * (1.0 + k):
        term *= (a + k) * (b + k) * x / ((c + k) * (1.0 + k))
        total += term
        k += 1.0
    return total


def _log_cap_constant(dim):
    """Return log(2^(d/2-1)/B(1/2, d/2)); the density of s is its exp times (s(1-s/2))^(d/2-1)."""
    return (0.5 * dim - 1.0) * math.log(2.0) - betaln(0.5, 0.5 * dim)


@jitable
def _log_tail_and_slope(log_depth, half_dim, log_constant):
    """Return log P(1 - t <= s) under the uniform law and its derivative in log s, 0 < s <= 1.

    With x = s/2, Euler's transformation of the incomplete beta integral gives the probability as
    c 2^(d/2-1) (s(1-x))^(d/2) (2/d) 2F1(d, 1; d/2 + 1; x), a series of positive terms.
    """
    x = 0.5 * math.exp(log_depth)
    series = _hypergeometric(2.0 * half_dim, 1.0, half_dim + 1.0, x)
    log_power = half_dim * (log_depth + math.log1p(-x))
    return log_constant + log_power + math.log(series / half_dim), half_dim / ((1.0 - x) * series)


def log_cap_probability(log_depth, dim):
    """Return log q, the log probability of the cap of depth exp(log_depth) <= 1."""
    return _log_tail_and_slope(log_depth, 0.5 * dim, _log_cap_constant(dim))[0]


def log_cap_excess(log_depth, dim):
    """Return log E(t - gamma)_+ under the uniform law of the sphere, 1 - gamma = exp(log_depth).

    c 2^(d/2-1) (s(1-x))^(d/2+1) B(d/2, 2) 2F1(d + 1, 2; d/2 + 2; x), again without cancellation.
    """
    half_dim, x = 0.5 * dim, 0.5 * math.exp(log_depth)
    series = _hypergeometric(dim + 1.0, 2.0, half_dim + 2.0, x)
    log_power = (half_dim + 1.0) * (log_depth + math.log1p(-x))
    return _log_cap_constant(dim) + log_power + math.log(series / (half_dim * (half_dim + 1.0)))


@jitable
def _log_depth_at(log_tail, half_dim, log_constant):
    """Return log s with log P(1 - t <= s) = log_tail, at most log(1/2), for d >= 2.

    Newton's method in log s. The function is concave and the start, from
    P(1 - t <= s) <= c 2^(d/2-1) s^(d/2) (2/d), lies to the left: the iterates only ascend.
    """
    log_depth = min((log_tail - log_constant + math.log(half_dim)) / half_dim, 0.0)
    step = 1.0 if log_depth > -np.inf else 0.0
    while step > 1e-9:  # the last step squares that error
        value, slope = _log_tail_and_slope(log_depth, half_dim, log_constant)
        step = (log_tail - value) / slope
        log_depth = min(log_depth + step, 0.0)
    return log_depth


@cached_njit
def _fill_nodes(half_dim, log_constant, nodes):
    """Write log s and its first two derivatives in the log probability, at the nodes.

    With m the derivative of log P in log s and x = s/2, m' = m (d/2 - (d/2 - 1) x/(1 - x) - m),
    because the density times s is m P.
    """
    for i in range(nodes.shape[0]):
        log_depth = _log_depth_at(_LOG_HALF - i * _STEP, half_dim, log_constant)
        slope = _log_tail_and_slope(log_depth, half_dim, log_constant)[1]
        x = 0.5 * math.exp(log_depth)
        bend = slope * (half_dim - (half_dim - 1.0) * x / (1.0 - x) - slope)
        nodes[i, 0], nodes[i, 1], nodes[i, 2] = log_depth, 1.0 / slope, -bend / slope**3


@lru_cache(maxsize=64)
def _quantile_nodes(dim):
    """Table for `_fill_depths`, shape [n_nodes, 3]."""
    nodes = np.empty((_N_NODES, 3))
    _fill_nodes(0.5 * dim, _log_cap_constant(dim), nodes)
    nodes.setflags(write=False)
    return nodes


@cached_njit
def _fill_depths(log_tails, half_dim, log_constant, nodes, depths):
    """Invert log P(1 - t <= s) at log probabilities of at most log(1/2), for d >= 2.

    Between nodes by Hermite's polynomial of degree 5, and below the last by Newton's method.
    """
    for i in range(log_tails.size):
        place = (_LOG_HALF - log_tails[i]) / _STEP
        if not 0.0 <= place < nodes.shape[0] - 1.0:
            depths[i] = math.exp(_log_depth_at(log_tails[i], half_dim, log_constant))
            continue
        k = int(place)
        u = place - k
        start, end = nodes[k], nodes[k + 1]
        value, slope, bend = start[0], -_STEP * start[1], _STEP * _STEP * start[2]
        rise = end[0] - value - slope - 0.5 * bend
        turn = -_STEP * end[1] - slope - bend
        change = _STEP * _STEP * end[2] - bend
        third = 10.0 * rise - 4.0 * turn + 0.5 * change
        fourth = -15.0 * rise + 7.0 * turn - change
        fifth = 6.0 * rise - 3.0 * turn + 0.5 * change
        higher = 0.5 * bend + u * (third + u * (fourth + u * fifth))
        depths[i] = math.exp(value + u * (slope + u * higher))


def depth_of_log_tail(log_tail, dim):
    """Return s with log P(1 - t <= s) = log_tail, shape [n], at most log(1/2)."""
    if dim == 1:  # t is the cosine of a uniform angle
        return 2.0 * np.sin(0.5 * np.pi * np.exp(log_tail)) ** 2
    if dim == 2:  # Archimedes: t is uniform
        return 2.0 * np.exp(log_tail)
    depth = np.empty_like(log_tail)
    _fill_depths(log_tail, 0.5 * dim, _log_cap_constant(dim), _quantile_nodes(dim), depth)
    return depth
