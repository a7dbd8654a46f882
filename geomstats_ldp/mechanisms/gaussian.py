r"""The Gaussian mechanism with the exact (analytic) calibration of Balle and Wang.

Scores of one query differ by at most 2G, the sensitivity. With s = sigma/(2G),
a = eps s - 1/(2s) and b = eps s + 1/(2s), the smallest delta of the mechanism is

.. math:: \delta(s) = \Phi(-a) - e^{\varepsilon}\Phi(-b) = \varphi(a)\,\{R(a) - R(b)\},

where R = (1 - Phi)/phi is the Mills ratio; the second form holds because b^2 - a^2 = 2 eps, and
has no large exponents left. See docs/theory/gaussian_calibration.md.

References
----------
Balle and Wang (2018), Improving the Gaussian mechanism for differential privacy: analytical
calibration and optimal denoising, ICML.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, log_ndtr

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms import grid_noise
from geomstats_ldp.mechanisms.base import (
    Mechanism,
)
from geomstats_ldp.mechanisms.checks import EPSILON_RANGE
from geomstats_ldp.mechanisms.kernels import GAUSSIAN, ReleaseTwin
from geomstats_ldp.mechanisms.streams import Streams
from geomstats_ldp.mechanisms.unit_ball import settled_ball_point
from geomstats_ldp.validation import (
    check_choice,
    check_integer,
    check_positive,
    check_real,
    finite_array,
)

LOG_DELTA_MARGIN = 1e-11  # far above the rounding error of gaussian_log_delta, far below use
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def _mills_ratio(z):
    return math.sqrt(math.pi / 2) * erfcx(z / math.sqrt(2))


def _mills_slope(z):
    """Return -R'(z) = 1 - z R(z), positive; an asymptotic series where that cancels."""
    with np.errstate(divide="ignore", over="ignore"):
        inverse = 1.0 / np.square(z)
        series = inverse * (1 - inverse * (3 - inverse * (15 - inverse * (105 - 945 * inverse))))
    return np.where(z > 50.0, series, 1.0 - z * _mills_ratio(np.minimum(z, 50.0)))


def _log_mills_difference(low, width):
    """Return log(R(low) - R(low + width)) as the integral of -R', which cannot cancel."""
    nodes = low + 0.5 * width * (1.0 + _NODES)
    return math.log(0.5 * width * np.dot(_WEIGHTS, _mills_slope(nodes)))


def gaussian_log_delta(scale: float, epsilon: float) -> float:
    """Evaluate the log of the smallest delta of a Gaussian mechanism.

    Parameters
    ----------
    scale : float
        Standard deviation divided by the sensitivity, positive.
    epsilon : float
        Positive.

    Returns
    -------
    log_delta : float
        The mechanism is (epsilon, delta)-private exactly for the delta of at least exp(log_delta).

    Notes
    -----
    For scale <= 1 the textbook form log delta = x + log1p(-exp(y - x)) is used with y - x taken
    from the two Mills ratios; for scale > 1 their difference, 1/scale apart, is integrated.
    """
    scale = check_positive("scale", scale)
    epsilon = check_positive("epsilon", epsilon)
    low = epsilon * scale - 0.5 / scale
    if scale > 1.0:
        constant = -0.5 * math.log(2 * math.pi)
        return constant - 0.5 * low**2 + _log_mills_difference(low, 1.0 / scale)
    # erfcx overflows to inf where delta is 1 to machine precision, and the ratio is then 0
    ratio = _mills_ratio(low + 1.0 / scale) / _mills_ratio(low)
    return float(log_ndtr(-low) + np.log1p(-ratio))


def analytic_gaussian_scale(epsilon: float, delta: float) -> float:
    """Find the smallest safe standard deviation, relative to the sensitivity.

    Parameters
    ----------
    epsilon : float
        In [1e-3, 700].
    delta : float
        In (0, 1).

    Returns
    -------
    scale : float
        Rounded up: delta at this scale stays below ``delta`` by a relative 1e-11, which covers
        the rounding errors of the evaluation.
    """
    low, high = EPSILON_RANGE
    epsilon = check_real("epsilon", epsilon, "in [1e-3, 700]", lambda e: low <= e <= high)
    delta = check_real("delta", delta, "in (0, 1)", lambda value: 0.0 < value < 1.0)
    target = math.log(delta) - LOG_DELTA_MARGIN
    safe = 1.0
    while gaussian_log_delta(safe, epsilon) > target:
        safe *= 2.0
    unsafe = safe / 2.0
    while gaussian_log_delta(unsafe, epsilon) <= target:
        unsafe /= 2.0
    return _bisect_safe_end(safe, unsafe, lambda s: gaussian_log_delta(s, epsilon) <= target)


def _bisect_safe_end(safe, unsafe, is_safe):
    """Halve the bracket until no double lies inside, and return its safe end."""
    while True:
        middle = 0.5 * (safe + unsafe)
        if middle in (safe, unsafe):
            return safe
        if is_safe(middle):
            safe = middle
        else:
            unsafe = middle


def _classical_scale(epsilon, delta):
    if epsilon >= 1.0:
        raise ValueError(
            "epsilon must be below 1 for calibration='classical', whose proof does not hold"
            f" beyond; got {epsilon!r}"
        )
    return math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


_CALIBRATIONS = {"analytic": analytic_gaussian_scale, "classical": _classical_scale}


def _scale_with_slack(scale, epsilon, delta):
    """Widen the noise until epsilon and delta keep the distance that the grid needs."""
    low = epsilon * (1.0 - grid_noise.SLACK)
    widening = grid_noise.SLACK
    while gaussian_log_delta(scale, low) > math.log(delta) - grid_noise.SLACK:
        scale, widening = scale * (1.0 + widening), 2.0 * widening
    return scale


class Gaussian(Mechanism):
    """Add isotropic normal noise, (epsilon, delta)-LDP.

    Parameters
    ----------
    epsilon : float
        In [1e-3, 700].
    delta : float
        In (0, 1).
    dim : int
        Dimension d.
    bound : float
        Radius G of the ball; the sensitivity is 2G.
    calibration : str, {"analytic", "classical"}
        "analytic" takes the smallest sigma there is; "classical" takes
        2G sqrt(2 log(1.25/delta))/epsilon, proved for epsilon below 1 only and refused elsewhere.

    Attributes
    ----------
    sigma : float
        Standard deviation of each coordinate of the noise.
    grid_sigma : float
        The same on the grid of devices, a little more: rounding costs some of epsilon and delta.
    """

    name: ClassVar[str] = "gaussian"
    sigma: float
    calibration: str
    grid_sigma: float

    def __init__(
        self, *, epsilon: float, delta: float, dim: int, bound: float, calibration: str = "analytic"
    ):
        super().__init__(epsilon=epsilon, delta=delta, dim=dim, bound=bound)
        self._check_finite_epsilon()
        if self.delta == 0.0:
            raise ProtocolError("delta must be in (0, 1) for 'gaussian'; got 0.0")
        check_choice("calibration", calibration, _CALIBRATIONS)
        scale = _CALIBRATIONS[calibration](self.epsilon, self.delta)
        sigma = 2.0 * self.bound * scale
        self._set(
            calibration=calibration,
            sigma=sigma,
            noise_variance=sigma**2,
            noise_variance_floor=sigma**2,
            support_radius=math.inf,
            n_variates=self.dim,
            grid_sigma=2.0 * self.bound * _scale_with_slack(scale, self.epsilon, self.delta),
        )

    def noise_covariance(self, vector: ArrayLike) -> np.ndarray:
        """Return sigma^2 I, shape [dim, dim]."""
        self._ball_point(vector)
        return self.noise_variance * np.eye(self.dim)

    def draw(self, n: int, streams: Streams) -> np.ndarray:
        """Draw standard normals, shape [n, dim]."""
        return streams.normal.standard_normal((check_integer("n", n, 0), self.dim))

    def log_density(self, released: ArrayLike, vector: ArrayLike) -> np.ndarray:
        """Evaluate the log density under Lebesgue measure; see `Mechanism.log_density`."""
        released = finite_array("released", released, (..., self.dim))
        residual = (released - self.bound * self._ball_point(vector)) / self.sigma
        constant = self.dim * (math.log(self.sigma) + 0.5 * math.log(2 * math.pi))
        return -0.5 * np.sum(residual**2, axis=-1) - constant

    def check_releasable(self) -> None:
        """Raise ProtocolError unless epsilon is one of a device and OpenDP is installed."""
        super().check_releasable()
        grid_noise.check_installed()

    def release_candidate(self, vector: ArrayLike) -> int | tuple[int, ...]:
        """Release a score as d integers of a public grid; see `Mechanism.release_candidate`."""
        self.check_releasable()
        point = np.empty(self.dim)
        settled_ball_point(np.asarray(vector, dtype=float), self.bound, point)
        return grid_noise.release_on_grid(self.bound * point, self.grid_sigma)

    def candidate_vector(self, candidate: Any) -> np.ndarray:
        """Message that integers of the grid stand for; see `Mechanism.candidate_vector`."""
        if not isinstance(candidate, (tuple, list)) or len(candidate) != self.dim:
            raise TypeError(
                f"candidate must be {self.dim} integers; got {type(candidate).__name__}"
            )
        step = grid_noise.grid_step(self.grid_sigma)
        most = 2**53
        numbers = [check_integer("number of the grid", each, -most, most) for each in candidate]
        coords = step * np.array(numbers, dtype=float)
        if not self.in_support(coords):
            raise ValueError("candidate must lie within the reach of the noise")
        return coords

    def in_support(self, released: ArrayLike, rtol: float = 0.0) -> np.ndarray:
        """Whether messages, shape [..., dim], are such as could ever be seen.

        Normal noise is unbounded, but exceeds sqrt(dim) + 40 standard deviations with probability
        under exp(-800): what lies beyond is no message of this mechanism.
        """
        reach = self.bound + self.sigma * (math.sqrt(self.dim) + 40.0)
        return np.linalg.norm(released, axis=-1) <= reach * (1.0 + rtol)

    def twin(self) -> tuple | None:
        """Return the `ReleaseTwin`."""
        return ReleaseTwin(GAUSSIAN, self.dim, self.bound, self.sigma)

    def to_spec(self) -> dict[str, Any]:
        """Return the specification, which includes the calibration."""
        return {**super().to_spec(), "calibration": self.calibration}

    def _guarantee(self):
        return f"({self.epsilon}, {self.delta:g})-LDP per message, {self.calibration} calibration"
