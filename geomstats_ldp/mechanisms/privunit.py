r"""Lifted PrivUnit: pure epsilon-privacy for a ball, with isotropic noise for every input.

A vector v of the ball of radius G is lifted to u = (v/G, sqrt(1 - |v/G|^2)) on the unit sphere of
R^D, D = d + 1. A point U of that sphere is drawn, uniform given t = <U, u>, where t falls in the
cap t >= gamma with probability p = e^eps q/(1 + (e^eps - 1) q) and follows the uniform law inside
the cap and inside its complement; q is the uniform probability of the cap. The message is G/m
times the first d coordinates of U, m = E t. The threshold solves m(gamma) = gamma: it maximises m
and makes the covariance of the message tau^2 I for every v, with

.. math:: \tau^2 = G^2 (1 - \gamma^2) / ((d + 1)\gamma^2).

Proofs are in docs/theory/lifted_privunit.md. Near t = 1 the cosine t is not resolved by doubles,
so all computations are in the depth s = 1 - t and in logarithms of probabilities.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, gammaln

from geomstats_ldp.mechanisms.base import Mechanism
from geomstats_ldp.mechanisms.caps import depth_of_log_tail, log_cap_excess, log_cap_probability
from geomstats_ldp.mechanisms.kernels import PRIVUNIT, ReleaseTwin
from geomstats_ldp.mechanisms.streams import Streams
from geomstats_ldp.mechanisms.unit_ball import settled_ball_point
from geomstats_ldp.validation import check_integer, finite_array


def _log_expm1(epsilon):
    return epsilon + math.log(-math.expm1(-epsilon))


def _log_threshold_and_depth(logit):
    """Return log gamma and log(1 - gamma), both to full relative precision."""
    return -np.logaddexp(0.0, -logit), -np.logaddexp(0.0, logit)


def _threshold_residual(logit, epsilon, dim):
    """Return log of (e^eps - 1) E(t - gamma)_+ / gamma, which is 0 where m(gamma) = gamma."""
    log_threshold, log_depth = _log_threshold_and_depth(logit)
    return _log_expm1(epsilon) + log_cap_excess(log_depth, dim) - log_threshold


@lru_cache(maxsize=1024)
def optimal_logit(epsilon, dim):
    """Find logit(gamma) for the unique threshold with m(gamma) = gamma.

    The logit keeps both gamma (tiny for small epsilon) and 1 - gamma (tiny for large epsilon).
    """
    return brentq(_threshold_residual, -60.0, 750.0, args=(epsilon, dim), xtol=1e-14, rtol=1e-15)


def _optimal_cap(epsilon, dim):
    """Return log(1 - gamma), log(1 - p) and the log of 1 + (e^eps - 1) q of the optimal cap.

    p is the probability of the cap and q the uniform one; the last is the sum of both weights, and
    1 - p is 1 - q over it.
    """
    _, log_depth = _log_threshold_and_depth(optimal_logit(epsilon, dim))
    log_probability = log_cap_probability(log_depth, dim)
    log_normaliser = float(np.logaddexp(0.0, _log_expm1(epsilon) + log_probability))
    return log_depth, math.log(-math.expm1(log_probability)) - log_normaliser, log_normaliser


class PrivUnit(Mechanism):
    """Lifted PrivUnit, pure epsilon-LDP; the default mechanism.

    Parameters
    ----------
    epsilon : float
        At least 1e-3; at most `largest_epsilon` of the dimension, 29 and more.
    delta : float
        Must be 0.
    dim : int
        Dimension d.
    bound : float
        Radius G of the ball.

    Attributes
    ----------
    threshold, depth : float
        gamma and 1 - gamma.
    mean_cosine : float
        m = E t, equal to the threshold up to rounding; the scale G/m of the messages uses it, so
        that they are unbiased whatever the rounding of the threshold.
    cap_probability : float
        p, the probability that t >= gamma.

    Notes
    -----
    The covariance of the message is `noise_variance` times the identity for every input, and
    every message has norm at most G/gamma.
    """

    name: ClassVar[str] = "privunit"
    threshold: float
    depth: float
    mean_cosine: float
    cap_probability: float
    _log_normaliser: float

    def __init__(self, *, epsilon: float, delta: float = 0.0, dim: int, bound: float):
        super().__init__(epsilon=epsilon, delta=delta, dim=dim, bound=bound)
        self._check_finite_epsilon()
        self._check_pure()
        self._check_realisable()
        logit = optimal_logit(self.epsilon, self.dim)
        log_depth, log_outside, log_normaliser = _optimal_cap(self.epsilon, self.dim)
        threshold, depth = float(expit(logit)), math.exp(log_depth)
        # m - gamma = ((e^eps - 1) E(t - gamma)_+ - gamma) / (1 + (e^eps - 1) q)
        residual = math.expm1(_threshold_residual(logit, self.epsilon, self.dim))
        mean_cosine = threshold * (1.0 + residual * math.exp(-log_normaliser))
        unit_variance = depth * (1.0 + threshold) / threshold**2 / (self.dim + 1)
        self._set(
            threshold=threshold,
            depth=depth,
            mean_cosine=mean_cosine,
            # by the complement, whose digits decide on the realised epsilon
            cap_probability=-math.expm1(log_outside),
            _log_normaliser=log_normaliser,
            noise_variance=self.bound**2 * unit_variance,
            noise_variance_floor=self.bound**2 * unit_variance,
            support_radius=self.bound / mean_cosine,
            n_variates=self.dim + 2,
            candidate_width=self.dim + 1,
        )

    @classmethod
    def _log_rare(cls, epsilon, dim):
        """Log of 1 - p, the probability of what lies outside the optimal cap."""
        return _optimal_cap(epsilon, dim)[1]

    def noise_covariance(self, vector: ArrayLike) -> np.ndarray:
        """Return tau^2 I, shape [dim, dim]."""
        self._ball_point(vector)
        return self.noise_variance * np.eye(self.dim)

    def weight(self, points: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """One in the cap about the lifted score, `least_weight` outside; see `Mechanism.weight`."""
        lifted = np.empty(self.dim + 1)
        lifted[-1] = math.sqrt(1.0 - settled_ball_point(vector, self.bound, lifted[:-1]))
        return np.where(points @ lifted >= self.threshold, 1.0, self.least_weight)

    def point_vector(self, points: np.ndarray) -> np.ndarray:
        """G/m times the first d coordinates, shape [n, dim]."""
        return self.support_radius * points[:, :-1]

    def draw(self, n: int, streams: Streams) -> np.ndarray:
        """Draw [w, g_1..g_(d+1)], shape [n, dim + 2], from one uniform and d + 1 normals a row.

        The law of the cosine t does not depend on the datum. Column 0 holds its signed distance
        w to the nearer pole, ``t = sign(w) (1 - |w|)``, because doubles next to 1 and -1 do not
        resolve t itself when epsilon is large.
        """
        n = check_integer("n", n, 0)
        variates = np.empty((n, self.n_variates))
        variates[:, 0] = self._signed_depth_quantile(streams.uniform.random(n))
        variates[:, 1:] = streams.normal.standard_normal((n, self.dim + 1))
        return variates

    def _signed_depth_quantile(self, level):
        """Invert the distribution function of 1 - t, and express t as in `draw`.

        Parameters
        ----------
        level : array, shape [n]
            In [0, 1); levels below `cap_probability` fall in the cap.
        """
        in_cap = level < self.cap_probability
        below = (1.0 - level) * math.exp(self._log_normaliser)  # uniform P(cosine <= t) outside
        from_south = ~in_cap & (below < 0.5)
        with np.errstate(divide="ignore"):  # level 0 is the pole itself
            log_cap_tail = np.log(level) + (self._log_normaliser - self.epsilon)
            log_tail = np.where(from_south, np.log(below), np.log(np.clip(1.0 - below, 0.0, 0.5)))
        depth = depth_of_log_tail(np.where(in_cap, log_cap_tail, log_tail), self.dim)
        depth = np.where(in_cap, np.minimum(depth, self.depth), depth)
        depth = np.where(in_cap | from_south, depth, np.maximum(depth, self.depth))
        return np.where(from_south, -depth, depth)

    def log_density(self, released: ArrayLike, vector: ArrayLike) -> np.ndarray:
        """Evaluate the log density with respect to Lebesgue measure; see `Mechanism.log_density`.

        A message comes from two points of the sphere, one a hemisphere: the density is the sum of
        theirs, over the cosine of the projection.
        """
        first = finite_array("released", released, (..., self.dim)) / self.support_radius
        point = self._ball_point(vector)
        complement = 1.0 - np.sum(first**2, axis=-1)
        inside = complement > 0.0
        height = np.sqrt(np.where(inside, complement, 1.0))
        lift = np.sqrt(np.maximum(1.0 - np.sum(point**2, axis=-1), 0.0))
        distance = np.sum((first - point) ** 2, axis=-1)  # (chord)^2 = 2 (1 - t), exact near t = 1
        upper = self._log_weight(0.5 * (distance + (height - lift) ** 2))
        lower = self._log_weight(0.5 * (distance + (height + lift) ** 2))
        half = 0.5 * (self.dim + 1)
        log_area = math.log(2.0) + half * math.log(math.pi) - gammaln(half)
        log_jacobian = np.log(height) + self.dim * math.log(self.support_radius)
        return np.where(inside, np.logaddexp(upper, lower) - log_area - log_jacobian, -np.inf)

    def _log_weight(self, depth):
        """Return the log density of U with respect to the uniform law of the sphere."""
        return np.where(depth <= self.depth, self.epsilon, 0.0) - self._log_normaliser

    def twin(self) -> tuple | None:
        """Return the `ReleaseTwin`."""
        return ReleaseTwin(PRIVUNIT, self.dim, self.bound, self.support_radius)
