"""Published baseline: private stochastic gradient descent with self-normalised intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses import loss_of
from geomstats_ldp.losses.rows import check_data, clip_data
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.participant import participant_scratch, respond_into
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.schedules import check_gain_exponent
from geomstats_ldp.server.engine import make_engine
from geomstats_ldp.validation import check_real, check_scale

if TYPE_CHECKING:
    from typing_extensions import Self

#: Two-sided critical values of the pivot W(1) / {int (W(r) - r W(1))^2 dr}^(1/2), W a Brownian
#: motion, by level (Abadir and Paruolo, 1997).
CRITICAL_VALUES = {0.8: 3.875, 0.9: 5.323, 0.95: 6.747, 0.98: 8.613}

#: Participants whose variates are drawn at once; results do not depend on it.
_BLOCK = 2**14


class _Path(NamedTuple):
    """Path of the descent: what is kept of it, whatever its length.

    Attributes
    ----------
    n_steps : array of int, shape [1]
    iterate, average : array, shape [dim]
    squares : array, shape [dim, dim]
        Sum over s of s^2 a_s a_s^T, with a_s the average of the first s iterates.
    moments : array, shape [dim]
        Sum of s^2 a_s.
    """

    n_steps: np.ndarray
    iterate: np.ndarray
    average: np.ndarray
    squares: np.ndarray
    moments: np.ndarray


def descend(geometry, loss, mechanism, step, exponent, path, participant, data, variates, message):
    """Let each row of `data` answer one query at the iterate of its turn, and follow it.

    Runs in both engines; `participant` and `message` are scratch.
    """
    for k in range(data.shape[0]):
        respond_into(
            geometry, loss, mechanism, path.iterate, data[k], variates[k], participant, message
        )
        path.n_steps[0] += 1
        s = float(path.n_steps[0])
        for i in range(message.shape[0]):
            path.iterate[i] -= step * s**-exponent * message[i]
            path.average[i] += (path.iterate[i] - path.average[i]) / s
        for i in range(message.shape[0]):
            path.moments[i] += s * s * path.average[i]
            for j in range(message.shape[0]):
                path.squares[i, j] += s * s * path.average[i] * path.average[j]


_compiled_descend = cached_njit(descend, allocates=False)


class SelfNormalisedSGD(BaseEstimator):
    r"""Averaged private gradient descent whose own path gives intervals of the coordinates.

    Participant t answers at the iterate, which moves by :math:`-c\, t^{-a}` times the message; the
    estimate is the average of all iterates. Its covariance is not estimated: with
    :math:`\bar\theta_s` the average of the first s iterates,

    .. math:: V = n^{-2} \sum_{s=1}^n s^2
        (\bar\theta_s - \bar\theta_n)(\bar\theta_s - \bar\theta_n)^\top

    is of the size of the covariance, but random even in the limit, and
    :math:`\sqrt n (\bar\theta_{n,j} - \theta_j) / V_{jj}^{1/2}` has a known law (random scaling,
    Lee, Liao, Seo and Shin, 2022). With messages that are private by themselves this is the method
    of Xie, Shi, Jiang, Kong and He (2025).

    Parameters
    ----------
    protocol : Protocol
        Of Euclidean space. Loss, mechanism and initial point are taken from it; its working region
        has no part here, so that the bound of the scores should hold everywhere.
    step : float, default=0.5
        Constant c, in units of inverse curvature.
    exponent : float, default=0.505
        Exponent a, strictly between 1/2 and 1.
    engine : {"auto", "compiled", "geomstats"}, default="auto"
    random_state : None, int, SeedSequence, Generator, RandomState or Streams, default=None
        None draws the noise from the operating system; a seed is for simulation only.

    Attributes
    ----------
    estimate_ : array, shape [dim]
    scaling_ : array, shape [dim, dim]
        Matrix V.
    n_participants_ : int

    References
    ----------
    .. [1] S. Lee, Y. Liao, M. H. Seo and Y. Shin (2022). Fast and robust online inference with
       stochastic gradient descent via random scaling. AAAI 36, 7381-7389.
    .. [2] J. Xie, E. Shi, B. Jiang, L. Kong and X. He (2025). Online differentially private
       inference in stochastic gradient descent. arXiv:2505.08227.

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import PrivateHuberRegression
    >>> from geomstats_ldp.replication.baselines import SelfNormalisedSGD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20000, 2))
    >>> y = X @ [0.5, -0.3] + 0.3 * rng.normal(size=20000)
    >>> model = PrivateHuberRegression(scale=0.5, feature_bound=1.5, epsilon=4.0)
    >>> protocol = model.start(n_features=2).protocol_
    >>> sgd = SelfNormalisedSGD(protocol, random_state=0).fit(np.column_stack([X, y]))
    >>> sgd.interval(0.95).shape
    (3, 2)
    """

    def __init__(
        self,
        protocol: Protocol,
        step: float = 0.5,
        exponent: float = 0.505,
        *,
        engine: str = "auto",
        random_state: Seed = None,
    ):
        self.protocol = protocol
        self.step = step
        self.exponent = exponent
        self.engine = engine
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Emulate one participant per row, in row order, from the start.

        Parameters
        ----------
        X : array-like, shape [n_participants, *data_shape]
            Raw data. A participant clips its row to the public bounds.
        y : None
            Ignored.

        Returns
        -------
        self : object

        Raises
        ------
        ProtocolError
            If the protocol is not of Euclidean space, or a parameter is out of its range.
        ValueError
            If there is no row, or rows are not what the loss takes.
        """
        step, exponent = check_scale("step", self.step), check_gain_exponent(self.exponent)
        if not isinstance(self.protocol, Protocol) or self.protocol.geometry.name != "Euclidean":
            raise ProtocolError(
                f"protocol must be a Protocol of Euclidean space; got {self.protocol!r}"
            )
        path = self._descend(X, step, exponent)
        n = int(path.n_steps[0])
        if n == 0:
            raise ValueError("X must hold one row at least; got none")
        mixed = np.outer(path.moments, path.average)
        squares = n * (n + 1) * (2 * n + 1) / 6 * np.outer(path.average, path.average)
        self.scaling_ = (path.squares - mixed - mixed.T + squares) / n**2
        self.estimate_, self.n_participants_ = path.average, n
        return self

    def _descend(self, X, step, exponent):
        geometry, loss = self.protocol.geometry, loss_of(self.protocol)
        mechanism, streams = self.protocol.mechanism, make_streams(self.random_state)
        engine = make_engine(self.engine, geometry)
        data = clip_data(loss, geometry, check_data(loss, geometry, X, engine.twin), engine.twin)
        parts = [part.twin() for part in (geometry, loss, mechanism)]
        run, start = _compiled_descend, np.array(self.protocol.initial_point, dtype=float)
        if engine.twin is None or None in parts:
            run, parts = descend, [geometry, loss, mechanism]
        dim = geometry.dim
        path = _Path(
            np.zeros(1, dtype=np.int64), start, np.zeros(dim), np.zeros((dim, dim)), np.zeros(dim)
        )
        scratch = participant_scratch(geometry), np.zeros(dim)
        for first in range(0, len(data), _BLOCK):
            rows = data[first : first + _BLOCK]
            variates = mechanism.draw(len(rows), streams)
            run(*parts, step, exponent, path, scratch[0], rows, variates, scratch[1])
        return path

    def interval(self, level: float = 0.95) -> np.ndarray:
        """Confidence intervals of the coordinates, each on its own.

        Parameters
        ----------
        level : {0.8, 0.9, 0.95, 0.98}, default=0.95
            Levels whose critical values are published.

        Returns
        -------
        interval : array, shape [dim, 2]
        """
        check_is_fitted(self, "estimate_")
        allowed = f"one of {tuple(CRITICAL_VALUES)}"
        level = check_real("level", level, allowed, CRITICAL_VALUES.__contains__)
        quantile = CRITICAL_VALUES[level]
        width = quantile * np.sqrt(np.diag(self.scaling_) / self.n_participants_)
        return np.stack([self.estimate_ - width, self.estimate_ + width], axis=1)
