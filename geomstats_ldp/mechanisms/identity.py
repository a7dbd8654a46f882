"""No randomisation: the non-private limit epsilon = inf, for comparison and for tests."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms.base import Mechanism
from geomstats_ldp.mechanisms.kernels import IDENTITY, ReleaseTwin
from geomstats_ldp.mechanisms.streams import Streams
from geomstats_ldp.validation import check_integer


class Identity(Mechanism):
    """The mechanism that adds nothing. It is NOT private.

    Parameters
    ----------
    epsilon : float
        Must be inf.
    delta : float
        In [0, 1); recorded, without a meaning here.
    dim : int
        Dimension d.
    bound : float
        Radius G of the ball to which vectors are projected.
    """

    name: ClassVar[str] = "identity"

    def __init__(self, *, epsilon: float = math.inf, delta: float = 0.0, dim: int, bound: float):
        super().__init__(epsilon=epsilon, delta=delta, dim=dim, bound=bound)
        if not math.isinf(self.epsilon):
            raise ProtocolError(
                f"epsilon must be inf for 'identity', which is not private; got {self.epsilon!r}"
            )
        self._set(
            noise_variance=0.0,
            noise_variance_floor=0.0,
            support_radius=self.bound,
            n_variates=0,
        )

    def noise_covariance(self, vector: ArrayLike) -> np.ndarray:
        """Return the zero matrix, shape [dim, dim]."""
        self._ball_point(vector)
        return np.zeros((self.dim, self.dim))

    def draw(self, n: int, streams: Streams) -> np.ndarray:
        """Draw nothing, shape [n, 0]."""
        return np.empty((check_integer("n", n, 0), 0))

    def log_density(self, released: ArrayLike, vector: ArrayLike) -> np.ndarray:
        """Raise: the message is the vector itself and has no density."""
        raise NotImplementedError("the identity has no density: its message is the vector itself")

    def twin(self) -> tuple | None:
        """Return the `ReleaseTwin`."""
        return ReleaseTwin(IDENTITY, self.dim, self.bound)

    def _guarantee(self):
        return "NOT PRIVATE, messages are the scores themselves"
