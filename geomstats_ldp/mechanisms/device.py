"""What a mechanism does on a device: release by candidate, or say why it cannot."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms import candidates


class OnDevice:
    """The half of `Mechanism` that runs on devices, with randomness of the operating system."""

    name: ClassVar[str]
    epsilon: float
    delta: float
    dim: int

    #: Width of the sphere that candidates are turned to; None if nothing is released by candidate.
    candidate_width: int | None = None

    @property
    def least_weight(self) -> float:
        """Smallest weight of a candidate: e^-eps, a little more for the rounding of doubles."""
        return math.exp(-candidates.released_epsilon(self.epsilon, self.dim))

    def weight(self, points: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Weight with which candidates are accepted for a score.

        A mechanism that is released by candidate defines it, and `point_vector`, and sets
        `candidate_width`. The mean over the uniform law of the sphere must not depend on the score;
        values outside of [`least_weight`, 1], NaN included, are clamped. One that raises, or whose
        result has another shape, is answered as if the score were zero.

        Parameters
        ----------
        points : array, shape [n, candidate_width]
            Unit vectors.
        vector : array, shape [dim]
            Finite score, projected radially to the ball.

        Returns
        -------
        weights : array, shape [n]
            In [`least_weight`, 1], and so in [e^-eps, 1].

        Raises
        ------
        NotImplementedError
            Unless a subclass defines it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no weight of candidates")

    def point_vector(self, points: np.ndarray) -> np.ndarray:
        """Messages that points stand for, the public half of `weight`.

        Parameters
        ----------
        points : array, shape [n, candidate_width]
            Unit vectors.

        Returns
        -------
        vectors : array, shape [n, dim]

        Raises
        ------
        NotImplementedError
            Unless a subclass defines it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no messages of candidates")

    def candidate_points(self, numbers: np.ndarray) -> np.ndarray:
        """Points that the public generator gives to candidates.

        Parameters
        ----------
        numbers : array of uint64, shape [n]

        Returns
        -------
        points : array, shape [n, candidate_width]
            Unit vectors.

        Raises
        ------
        ValueError
            If nothing is released by candidate.
        """
        if self.candidate_width is None:
            raise ValueError(f"{self.name!r} releases no candidates")
        return candidates.sphere_points(numbers, self.candidate_width)

    def candidate_vector(self, candidate: Any) -> np.ndarray:
        """Message in frame coordinates that a candidate stands for; anybody can compute it.

        Parameters
        ----------
        candidate : int
            In [0, 2^64).

        Returns
        -------
        coords : array, shape [dim]

        Raises
        ------
        TypeError, ValueError
            If it is no candidate of this mechanism.
        """
        number = candidates.check_candidate(candidate)
        return self.point_vector(self.candidate_points(np.array([number], dtype=np.uint64)))[0]

    def check_releasable(self) -> None:
        """Refuse a mechanism with which a device cannot release.

        Raises
        ------
        ProtocolError
            With the reason.
        """
        if math.isinf(self.epsilon):
            raise ProtocolError("epsilon=inf is not private: a device sends no raw scores")
        if self.epsilon > candidates.LARGEST_EPSILON:
            raise ProtocolError(
                f"epsilon must be at most {candidates.LARGEST_EPSILON:g} on a device, as more "
                f"protects nobody; got {self.epsilon!r}"
            )
        if self.delta == 0.0 and self.candidate_width is None:
            raise ProtocolError(
                f"mechanism {self.name!r} has no weight of candidates, so that a device could "
                "only send doubles, whose last bits tell data apart"
            )

    def release_candidate(self, vector: ArrayLike) -> int | tuple[int, ...]:
        """Release a score on a device, with randomness of the operating system.

        Parameters
        ----------
        vector : array, shape [dim]
            Finite score in frame coordinates.

        Returns
        -------
        candidate : int
            In [0, 2^64); see `candidate_vector`.

        Raises
        ------
        ProtocolError
            As `check_releasable`, before the score is looked at.
        """
        self.check_releasable()
        return candidates.draw_candidate(self, np.asarray(vector, dtype=float))
