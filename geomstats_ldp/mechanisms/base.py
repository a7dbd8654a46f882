"""What every local randomiser is: a public, immutable description that can release a score.

A mechanism acts on the coordinates ``v`` of a score in the public frame, ``|v| <= G``. It never
keeps a datum and never keeps randomness: the variates are drawn first, from generators that are
passed in, and ``release`` is then a deterministic function of the score and of the variates.

That is the direct sampler, for simulation. Its guarantee is a statement about real numbers and
ideal uniform variates, which doubles approximate and whose last bits tell data apart. What leaves
a device is released by candidate instead: see `candidates`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms.checks import (
    BOUND_RANGE,
    EPSILON_RANGE,
    check_delta,
    check_epsilon,
)
from geomstats_ldp.mechanisms.device import OnDevice
from geomstats_ldp.mechanisms.streams import Seed, Streams, make_streams
from geomstats_ldp.mechanisms.unit_ball import unit_ball_rows
from geomstats_ldp.twins import operation
from geomstats_ldp.validation import check_integer, check_real, finite_array


@operation
def release_into(
    mechanism: Any, vector: np.ndarray, variates: np.ndarray, scratch: np.ndarray, out: np.ndarray
) -> None:
    """Release ``vector`` with ``variates`` into ``out``.

    Parameters
    ----------
    mechanism : Mechanism, or its ``twin()`` in compiled code
        The randomiser.
    vector : array, shape [dim]
        Score in frame coordinates; NaN or inf raise ValueError. It may be ``out`` itself.
    variates : array, shape [n_variates]
        One row of ``mechanism.draw``. Compiled code does not check the shapes.
    scratch : array, shape [k], k >= dim + 1
        Working memory of the compiled kernels.
    out : array, shape [dim]
        Receives the message.
    """
    out[...] = mechanism.release(vector, variates)


@cached_njit
def compiled_release(twin, vectors, variates, out):
    """Run `release_into` on each row; `out` may be the vectors themselves."""
    scratch = np.empty(vectors.shape[1] + 1)
    for row in range(vectors.shape[0]):
        release_into(twin, vectors[row], variates[row], scratch, out[row])


class Mechanism(OnDevice, ABC):
    """A local randomiser of vectors of the ball of radius ``bound`` in R^dim, unbiased on it.

    Parameters
    ----------
    epsilon, delta : float
        The guarantee of one message: for all vectors v, w and all events A,
        ``P(R(v) in A) <= exp(epsilon) P(R(w) in A) + delta``.
    dim : int
        Dimension d of the vectors.
    bound : float
        Radius G of the ball, in the units of the score.

    Attributes
    ----------
    noise_variance : float
        Smallest public s such that Cov(R(v)) <= s I for all v of the ball.
    noise_variance_floor : float
        Largest public s such that Cov(R(v)) >= s I for all v of the ball.
    support_radius : float
        Supremum of the norm of R(v).
    n_variates : int
        Number of data-free random variates one participant consumes.

    Notes
    -----
    Instances are immutable, compare and hash by their specification, and can be pickled.
    """

    bound: float
    noise_variance: float
    noise_variance_floor: float
    support_radius: float
    n_variates: int

    def __init__(self, *, epsilon: float, delta: float = 0.0, dim: int, bound: float):
        low, high = BOUND_RANGE
        self._set(
            epsilon=check_epsilon(epsilon),
            delta=check_delta(delta),
            dim=check_integer("dim", dim, 1),
            bound=check_real("bound", bound, "in [1e-100, 1e100]", lambda g: low <= g <= high),
        )

    def _set(self, **values):
        """Store public constants; only constructors call this."""
        self.__dict__.update(values)

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__name__} is immutable; cannot set {name!r}")

    def __delattr__(self, name):
        raise AttributeError(f"{type(self).__name__} is immutable; cannot delete {name!r}")

    @abstractmethod
    def noise_covariance(self, vector: ArrayLike) -> np.ndarray:
        """Covariance of the message of a vector.

        Parameters
        ----------
        vector : array-like, shape [dim]

        Returns
        -------
        covariance : array, shape [dim, dim]
        """

    @abstractmethod
    def draw(self, n: int, streams: Streams) -> np.ndarray:
        """Draw the data-free variates of ``n`` participants.

        Rows do not depend on how many are drawn at a time: 1000 rows at once, or in pieces from
        the same streams, are the same numbers.

        Parameters
        ----------
        n : int
            Number of participants.
        streams : Streams
            Generators, advanced by the call.

        Returns
        -------
        variates : array-like, shape [n, n_variates]
        """

    @abstractmethod
    def log_density(self, released: ArrayLike, vector: ArrayLike) -> np.ndarray:
        """Evaluate the exact log density of R(vector) at ``released``.

        Parameters
        ----------
        released : array-like, shape [..., dim]
            Possible messages.
        vector : array-like, shape [..., dim]
            Inputs, projected radially to the ball.

        Returns
        -------
        log_density : array-like, shape [...]
            With respect to the reference measure of the mechanism; -inf off its support.
        """

    # ---------------------------------------------------------------- direct sampler

    def twin(self) -> tuple | None:
        """Return the NamedTuple that selects the compiled kernel, or None if there is none."""
        return None

    def release_rows(self, vectors: np.ndarray, variates: np.ndarray) -> np.ndarray:
        """Randomise vectors of the ball; called for mechanisms that have no compiled kernel.

        Parameters
        ----------
        vectors : array, shape [n, dim]
            Finite, and projected to the ball.
        variates : array, shape [n, n_variates]

        Returns
        -------
        released : array, shape [n, dim]

        Raises
        ------
        NotImplementedError
            Unless a subclass defines it.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define release_rows, or a twin with a compiled kernel"
        )

    def in_support(self, released: ArrayLike, rtol: float = 0.0) -> np.ndarray:
        """Whether messages could have been released.

        Parameters
        ----------
        released : array-like, shape [..., dim]
        rtol : float, default=0.0
            Relative tolerance for rounding.

        Returns
        -------
        in_support : array of bool, shape [...]
        """
        return np.linalg.norm(released, axis=-1) <= self.support_radius * (1.0 + rtol)

    def release(self, vectors: ArrayLike, variates: ArrayLike) -> np.ndarray:
        """Randomise vectors with given variates; deterministic.

        Parameters
        ----------
        vectors : array-like, shape [..., dim]
            Scores in frame coordinates. Outside the ball of radius ``bound`` they are first
            projected to it radially, so the guarantee holds for any finite input.
        variates : array-like, shape [..., n_variates]
            Rows of `draw`; each may be used for one message only.

        Returns
        -------
        released : array-like, shape [..., dim]
            Messages, with mean the (projected) vector.

        Raises
        ------
        ValueError
            If anything is not finite or has the wrong shape; nothing is released then.
        """
        vectors = finite_array("vectors", vectors, (..., self.dim))
        variates = finite_array("variates", variates, (..., self.n_variates))
        shape = np.broadcast_shapes(vectors.shape[:-1], variates.shape[:-1])
        rows, draws = _as_rows(vectors, shape), _as_rows(variates, shape)
        twin, out = self.twin(), np.empty(rows.shape)
        if twin is None:
            out[...] = self.release_rows(self.bound * self._ball_point(rows), draws)
        else:
            compiled_release(twin, rows, draws, out)
        return out.reshape(*shape, self.dim)

    def randomise(
        self, vectors: ArrayLike, random_state: Seed | np.random.SeedSequence | Streams = None
    ) -> np.ndarray:
        """Draw fresh variates and release.

        Parameters
        ----------
        vectors : array-like, shape [..., dim]
            Scores in frame coordinates.
        random_state : None, int, SeedSequence, Generator, RandomState or Streams
            See `make_streams`. Anything but None is for simulation.

        Returns
        -------
        released : array-like, shape [..., dim]
        """
        vectors = finite_array("vectors", vectors, (..., self.dim))
        shape = vectors.shape[:-1]
        variates = self.draw(math.prod(shape), make_streams(random_state))
        return self.release(vectors, variates.reshape(*shape, self.n_variates))

    def to_spec(self) -> dict[str, Any]:
        """Return the dictionary of plain values from which `mechanism_from_spec` rebuilds this."""
        return {
            "name": self.name,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "dim": self.dim,
            "bound": self.bound,
        }

    def _ball_point(self, vector):
        """Project to the ball of radius bound and divide by it, shape [..., dim]."""
        vector = finite_array("vector", vector, (..., self.dim))
        point = np.empty_like(vector)
        unit_ball_rows(vector.reshape(-1, self.dim), self.bound, point.reshape(-1, self.dim))
        return point

    def _check_finite_epsilon(self):
        if math.isinf(self.epsilon):
            raise ProtocolError(
                "epsilon must be in [1e-3, 700]; got inf, for which the non-private Identity is"
                " the mechanism (make_mechanism chooses it)"
            )

    @classmethod
    def _log_rare(cls, epsilon, dim):
        """Log probability of the rarer of the two outcomes that decide on epsilon."""
        return 0.0

    @classmethod
    @lru_cache(maxsize=256)
    def largest_epsilon(cls, dim: int) -> float:
        """Largest epsilon that the direct sampler realises to a relative 1e-9.

        It compares a multiple of 2^-53 with the probability of the likelier outcome. The
        complement is then off by up to 2^-53, and epsilon by that over the complement.

        Parameters
        ----------
        dim : int

        Returns
        -------
        epsilon : float
        """

        def excess(epsilon):
            return -53.0 * math.log(2.0) - cls._log_rare(epsilon, dim) - math.log(1e-9 * epsilon)

        high = EPSILON_RANGE[1]
        return high if excess(high) <= 0.0 else brentq(excess, 1.0, high)

    def _check_realisable(self):
        largest = self.largest_epsilon(self.dim)
        if self.epsilon > largest:
            raise ProtocolError(
                f"epsilon must be at most {math.floor(100.0 * largest) / 100.0} for {self.name!r} "
                f"in dimension {self.dim}: past it doubles realise another; got {self.epsilon!r}. "
                "epsilon=inf adds no noise"
            )

    def _check_pure(self):
        if self.delta != 0.0:
            raise ProtocolError(
                f"delta must be 0 for {self.name!r}, which is purely epsilon-private;"
                f" got {self.delta!r}"
            )

    def __eq__(self, other):
        if not isinstance(other, Mechanism):
            return NotImplemented
        return self.to_spec() == other.to_spec()

    def __hash__(self):
        return hash(tuple(self.to_spec().items()))

    def __reduce__(self):
        keywords = {key: value for key, value in self.to_spec().items() if key != "name"}
        return _rebuild, (type(self), keywords)

    def _guarantee(self):
        return f"pure {self.epsilon}-LDP per message"

    def __repr__(self):
        return (
            f"{type(self).__name__}(epsilon={self.epsilon}, delta={self.delta:g}, dim={self.dim},"
            f" bound={self.bound}): {self._guarantee()}"
        )


def _rebuild(cls, keywords):
    return cls(**keywords)


def _as_rows(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Broadcast leading axes to ``shape`` and flatten them to contiguous rows.

    They are a copy: arrays that may not be written to would be compiled for once more.
    """
    width = array.shape[-1]
    rows = np.broadcast_to(array, (*shape, width)).reshape(math.prod(shape), width)
    return np.array(rows, order="C")
