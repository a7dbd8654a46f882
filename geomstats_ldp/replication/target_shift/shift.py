"""The target of an ordinary loss of data that carry noise, and its expansion for small noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from geomstats_ldp.geometry import geodesic_ball
from geomstats_ldp.inference.wald import WaldRegion
from geomstats_ldp.mechanisms import Gaussian
from geomstats_ldp.planning.oracle import population_hessian
from geomstats_ldp.planning.population import minimiser
from geomstats_ldp.replication.study.designs import FiniteLaw

#: Nodes of a quadrature with a smaller weight are left out.
_LEAST_WEIGHT = 1e-10

#: Step of the second differences, in standard deviations of the noise.
_STEP = 1e-3

#: How far from the target its shifted place is sought: half of this at each step.
_REACH = 1.0


@dataclass(frozen=True, eq=False)
class Surrogate:
    """A loss, a law of the data, and a channel that puts noise on a datum before it is released.

    The channel is Z = T(Y, W) with centred normal noise W whose coordinates are independent; T(y,
    0) is what the loss takes. The analyst uses Z in its place, scaled as the loss scales data.

    Attributes
    ----------
    design : str
        Letter of the paper's design whose space and loss these are.
    channel : str
        What is released, in words.
    geometry : Geometry
    loss : Loss
        With bounds so wide that it clips no surrogate.
    law : FiniteLaw
        Law of Y, not symmetric about the target.
    target : array, shape [*point_shape]
        Minimiser of the mean loss of T(Y, 0).
    center : array, shape [*point_shape]
        Public point about which the data lie.
    transform : callable
        T, from Y, shape [n, ...], and noise, shape [n, n_noise], to data, shape [n, *data_shape].
    spreads : array, shape [n_noise]
        Standard deviations of the coordinates of W, in units of the noise scale.
    bound : float
        Radius of a ball that holds what is released without noise, each coordinate divided by its
        spread: twice that is the sensitivity of the channel.
    n_nodes : int
        Nodes of the Gauss-Hermite rule of each coordinate of the noise.
    """

    design: str
    channel: str
    geometry: Any
    loss: Any
    law: FiniteLaw
    target: np.ndarray
    center: np.ndarray
    transform: Callable
    spreads: np.ndarray
    bound: float
    n_nodes: int = 8

    def noise_scale(self, epsilon: float, delta: float = 1e-6) -> float:
        """Scale at which the channel is (epsilon, delta)-LDP, by the Gaussian mechanism.

        Parameters
        ----------
        epsilon : float
        delta : float

        Returns
        -------
        scale : float
        """
        n_noise = len(self.spreads)
        return Gaussian(epsilon=epsilon, delta=delta, dim=n_noise, bound=self.bound).sigma

    def draw(self, rng: np.random.Generator, n: int, scale: float) -> np.ndarray:
        """Draw surrogates.

        Parameters
        ----------
        rng : numpy Generator
        n : int
            Number of people.
        scale : float
            Noise scale.

        Returns
        -------
        data : array, shape [n, *data_shape]
        """
        noise = scale * self.spreads * rng.normal(size=(n, len(self.spreads)))
        return self.transform(self.law.draw(rng, n), noise)

    def moved_law(self, noise: np.ndarray) -> FiniteLaw:
        """Law of the data where everybody has the same noise.

        Parameters
        ----------
        noise : array, shape [n_noise]

        Returns
        -------
        law : FiniteLaw
        """
        return self._noisy_law(noise[None], np.ones(1))

    def surrogate_law(self, scale: float) -> FiniteLaw:
        """Law of the surrogates, by a product of Gauss-Hermite rules.

        Parameters
        ----------
        scale : float
            Noise scale.

        Returns
        -------
        law : FiniteLaw
        """
        n_noise = len(self.spreads)
        nodes, weights = np.polynomial.hermite_e.hermegauss(self.n_nodes)
        noise = np.stack(np.meshgrid(*[nodes] * n_noise, indexing="ij"), axis=-1)
        weight = np.prod(np.meshgrid(*[weights] * n_noise, indexing="ij"), axis=0).ravel()
        weight /= weight.sum()
        kept = weight > _LEAST_WEIGHT
        return self._noisy_law(
            scale * self.spreads * noise.reshape(-1, n_noise)[kept],
            weight[kept] / weight[kept].sum(),
        )

    def _noisy_law(self, noise, weights):
        """Law of the data with independent noise of given values and weights."""
        support = self.law.support
        data = self.transform(
            np.repeat(support, len(noise), axis=0), np.tile(noise, (len(support), 1))
        )
        probabilities = np.outer(self.law.probabilities, weights).ravel()
        return FiniteLaw(self.loss.clip(self.geometry, data), probabilities)


def shift(surrogate: Surrogate, scale: float) -> np.ndarray:
    """Distance and direction by which noise of a scale moves the target.

    Parameters
    ----------
    surrogate : Surrogate
    scale : float

    Returns
    -------
    shift : array, shape [dim]
        Coordinates of Log(x_Q) at the target x_star, in the public frame (Theorem S.3).
    """
    moved = minimiser(replace(surrogate, law=surrogate.surrogate_law(scale)), _REACH)
    geometry, target = surrogate.geometry, surrogate.target
    return geometry.coordinates(geometry.log(moved, target), target)


def expansion(surrogate: Surrogate) -> np.ndarray:
    r"""Leading term of the shift for small noise, for a scale of one (Theorem S.4).

    With :math:`h_y(w)` the score of T(y, w) at the target it is :math:`-\frac12 H^{-1} \sum_j
    s_j^2\, \mathbb E\, \partial_j^2 h_Y(0)`, where :math:`s_j` are the spreads; the shift at a
    scale :math:`\sigma` is :math:`\sigma^2` times this, up to a smaller term.

    Parameters
    ----------
    surrogate : Surrogate

    Returns
    -------
    coefficient : array, shape [dim]
    """
    total, n_noise = 0.0, len(surrogate.spreads)
    for step in _STEP * np.diag(surrogate.spreads):
        plus, middle, minus = (_mean_score(surrogate, sign * step) for sign in (1, 0, -1))
        total = total + plus - 2 * middle + minus
    analysis = replace(surrogate, law=surrogate.moved_law(np.zeros(n_noise)))
    return -0.5 * np.linalg.solve(population_hessian(analysis), total) / _STEP**2


def _mean_score(surrogate, noise):
    """Mean score at the target of data that all carry the same noise, shape [dim]."""
    geometry, law, target = surrogate.geometry, surrogate.moved_law(noise), surrogate.target
    scores = surrogate.loss.score(geometry, target, law.support)
    return law.probabilities @ geometry.coordinates(scores, target)


def fit_surrogates(surrogate: Surrogate, data: np.ndarray) -> WaldRegion:
    """Minimise the mean loss of surrogates, as if they were the data themselves.

    Parameters
    ----------
    surrogate : Surrogate
    data : array, shape [n, *data_shape]

    Returns
    -------
    region : WaldRegion
        The ordinary one of level .95 about the estimate, which is its centre.
    """
    n, geometry = len(data), surrogate.geometry
    law = FiniteLaw(surrogate.loss.clip(geometry, data), np.full(n, 1 / n))
    analysis = replace(surrogate, law=law)
    estimate = minimiser(analysis, _REACH)
    analysis = replace(analysis, target=estimate)
    scores = geometry.coordinates(surrogate.loss.score(geometry, estimate, law.support), estimate)
    inverse = np.linalg.inv(population_hessian(analysis))
    covariance = inverse @ (scores.T @ scores) @ inverse.T / n**2
    return WaldRegion(geometry, estimate, covariance, 0.95, geodesic_ball(estimate, _REACH))
