r"""The pure-epsilon mechanism of Duchi, Jordan and Wainwright for the Euclidean ball.

A vector of length r G is rounded at random to plus or minus its end point on the sphere of radius
G, with probabilities (1 + r)/2 and (1 - r)/2; the message is then uniform on the half sphere of
radius B on the side of that end point with probability e^eps/(1 + e^eps), and on the other half
otherwise, where

.. math:: B = G \coth(\varepsilon/2)\,\sqrt{\pi}\,\Gamma((d+1)/2) / \Gamma(d/2).

References
----------
Duchi, Jordan, Wainwright (2018), Minimax optimal procedures for locally private estimation,
Journal of the American Statistical Association 113, 182-201.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from geomstats_ldp.mechanisms.base import (
    Mechanism,
)
from geomstats_ldp.mechanisms.kernels import L2_BALL, ReleaseTwin
from geomstats_ldp.mechanisms.streams import Streams
from geomstats_ldp.mechanisms.unit_ball import settled_ball_point
from geomstats_ldp.validation import check_integer, finite_array

SPHERE_TOLERANCE = 1e-9  # relative distance from the sphere at which a message is off support


def _radius_factor(dim):
    """Return sqrt(pi) Gamma((d+1)/2)/Gamma(d/2), the reciprocal mean height of a half sphere."""
    if dim == 1:
        return 1.0  # exactly, because the floor below vanishes with it
    return math.sqrt(math.pi) * math.exp(gammaln((dim + 1) / 2) - gammaln(dim / 2))


class L2Ball(Mechanism):
    """Duchi-Jordan-Wainwright randomiser, pure epsilon-LDP.

    Parameters
    ----------
    epsilon : float
        In [1e-3, 18.95]; see `largest_epsilon`.
    delta : float
        Must be 0.
    dim : int
        Dimension d.
    bound : float
        Radius G of the ball.

    Attributes
    ----------
    radius : float
        Radius B of the sphere that carries the messages.

    Notes
    -----
    Cov(R(v)) = (B^2/d) I - v v^T, which depends on the datum; `noise_variance` and
    `noise_variance_floor` are B^2/d and B^2/d - G^2.
    """

    name: ClassVar[str] = "l2_ball"
    radius: float

    def __init__(self, *, epsilon: float, delta: float = 0.0, dim: int, bound: float):
        super().__init__(epsilon=epsilon, delta=delta, dim=dim, bound=bound)
        self._check_finite_epsilon()
        self._check_pure()
        self._check_realisable()
        factor = _radius_factor(self.dim)
        radius = self.bound * factor / math.tanh(self.epsilon / 2)
        excess = factor**2 / self.dim - 1.0
        # coth^2 = 1 + 1/sinh^2: the floor without the cancellation of B^2/d - G^2
        floor = excess + (1.0 + excess) / math.sinh(self.epsilon / 2) ** 2
        self._set(
            radius=radius,
            noise_variance=radius**2 / self.dim,
            noise_variance_floor=self.bound**2 * floor,
            support_radius=radius,
            n_variates=self.dim + 2,
            candidate_width=self.dim,
        )

    @classmethod
    def _log_rare(cls, epsilon, dim):
        """Log of 1/(1 + e^eps), the probability of the far half of the sphere."""
        return -float(np.logaddexp(0.0, epsilon))

    def noise_covariance(self, vector: ArrayLike) -> np.ndarray:
        """Return (B^2/d) I - v v^T, shape [dim, dim]."""
        point = self._ball_point(vector)
        identity = np.eye(self.dim)
        gap = identity - point[..., :, None] * point[..., None, :]
        return self.noise_variance_floor * identity + self.bound**2 * gap

    def weight(self, points: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """``(1 + c |v|/G sign<U, v>)/(1 + c)``, c = tanh(eps/2); see `Mechanism.weight`.

        The slack of epsilon is in c, so that the least value is `least_weight`.
        """
        point = np.empty(self.dim)
        length = math.sqrt(settled_ball_point(vector, self.bound, point))
        least = self.least_weight
        contrast = (1.0 - least) / (1.0 + least)
        side = np.where(points @ point >= 0.0, length, -length)
        return (1.0 + contrast * side) / (1.0 + contrast)

    def point_vector(self, points: np.ndarray) -> np.ndarray:
        """B times the point, shape [n, dim]."""
        return self.radius * points

    def draw(self, n: int, streams: Streams) -> np.ndarray:
        """Draw [u_sign, u_half, g_1..g_d]: two uniforms, then normals, shape [n, dim + 2]."""
        n = check_integer("n", n, 0)
        variates = np.empty((n, self.n_variates))
        variates[:, :2] = streams.uniform.random((n, 2))
        variates[:, 2:] = streams.normal.standard_normal((n, self.dim))
        return variates

    def log_density(self, released: ArrayLike, vector: ArrayLike) -> np.ndarray:
        """Evaluate the log density with respect to the uniform law on the sphere of radius B.

        Points whose norm is not B to a relative 1e-9 are off support; see `Mechanism.log_density`.
        """
        released = finite_array("released", released, (..., self.dim))
        point = self._ball_point(vector)
        length = np.linalg.norm(point, axis=-1)
        side = np.where(np.sum(released * point, axis=-1) >= 0.0, 1.0, -1.0)
        log_near = -math.log1p(math.exp(-self.epsilon))
        with np.errstate(divide="ignore"):  # log 0 at the end points of the ball
            log_density = np.logaddexp(
                np.log1p(side * np.minimum(length, 1.0)) + log_near,
                np.log1p(-side * np.minimum(length, 1.0)) + log_near - self.epsilon,
            )
        gap = np.abs(np.linalg.norm(released, axis=-1) / self.radius - 1.0)
        return np.where(gap <= SPHERE_TOLERANCE, log_density, -np.inf)

    def in_support(self, released: ArrayLike, rtol: float = 0.0) -> np.ndarray:
        """Whether messages, shape [..., dim], lie on the sphere, up to relative rounding."""
        excess = np.abs(np.linalg.norm(released, axis=-1) - self.support_radius)
        return excess <= rtol * self.support_radius

    def twin(self) -> tuple | None:
        """Return the `ReleaseTwin`."""
        near_probability = 1.0 / (1.0 + math.exp(-self.epsilon))
        return ReleaseTwin(L2_BALL, self.dim, self.bound, self.radius, near_probability)
