r"""Whether vectors can be messages: how likely a mechanism is to release any as small as these.

Messages are noisy: the covariance of each is at least s I, s the `noise_variance_floor`, whatever
the data and however later queries depend on earlier messages. So n vectors c_1, ..., c_n whose
squares about any point a add up to much less than n d s were not released by the mechanism. Each
:math:`X_i = |c_i - a|^2` has conditional mean at least :math:`\mu = ds`, and

* for Gaussian noise :math:`E e^{-tX_i} \le (1 + 2t\sigma^2)^{-d/2}`, the transform of
  :math:`\sigma^2\chi^2_d`;
* for messages of length at most R and :math:`|a| \le R`, :math:`0 \le X_i \le b = 4R^2`, thus
  :math:`E e^{-tX_i} \le 1 - tEX_i + t^2 b EX_i/2 \le e^{-t\mu(1 - tb/2)}` for t <= 2/b (Maurer).

Multiplied along the sequence and optimised in t they bound :math:`P(\sum X_i \le S)` by
:math:`\inf_t e^{tS}\prod E e^{-tX_i}`. The mean of the vectors is not known beforehand, so a is
taken from a net of the ball of radius R with spacing :math:`\eta`, of at most
:math:`(1 + 2R/\eta)^d` points: the sum about the nearest of them is at most
:math:`(\sqrt{S} + \sqrt{n}\eta)^2`.

References
----------
Maurer (2003), A bound on the deviation probability for sums of non-negative random variables,
Journal of Inequalities in Pure and Applied Mathematics 4(1), 15.
"""

import math

import numpy as np

from geomstats_ldp.mechanisms.gaussian import Gaussian

#: Spacing of the net, relative to the standard deviation of the noise in all directions.
_SPACING = 0.1

#: Norms of normal noise are above sqrt(dim) plus this with probability under 1e-15.
_TAIL = 8.5


def _reach(mechanism):
    """Length that messages do not exceed, for normal noise with probability 1 - 1e-15 each."""
    if isinstance(mechanism, Gaussian):
        return mechanism.bound + mechanism.sigma * (math.sqrt(mechanism.dim) + _TAIL)
    return mechanism.support_radius


def can_be_released(mechanism, released, rtol):
    """Tell which vectors, shape [n, dim], a mechanism releases with probability above 1e-15.

    `rtol` is the relative excess over the support that is overlooked.
    """
    small = np.linalg.norm(released, axis=-1) <= _reach(mechanism) * (1.0 + rtol)
    return small & mechanism.in_support(released, rtol)


def log_chance_of_spread(mechanism, released):
    """Bound the log probability that messages are as close to each other as these, or closer.

    The vectors, shape [n, dim], are of the support. The bound is very negative if no data and no
    queries make the mechanism release such vectors.
    """
    n, dim = np.shape(released)
    floor, reach = mechanism.noise_variance_floor, _reach(mechanism)
    if n == 0 or not (floor > 0.0 and math.isfinite(reach)):
        return 0.0
    wanted = n * dim * floor
    spacing = _SPACING * math.sqrt(dim * floor)
    scatter = float(np.sum((released - np.mean(released, axis=0)) ** 2))
    total = (math.sqrt(scatter) + math.sqrt(n) * spacing) ** 2
    if not total < wanted:
        return 0.0
    if isinstance(mechanism, Gaussian):  # the infimum is at 1 + 2 t sigma^2 = wanted / total
        log_chance = 0.5 * n * dim * (1.0 - total / wanted + math.log(total / wanted))
    else:
        log_chance = -((wanted - total) ** 2) / (2.0 * wanted * 4.0 * reach**2)
    return min(0.0, log_chance + dim * math.log1p(2.0 * reach / spacing))
