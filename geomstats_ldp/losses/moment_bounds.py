r"""What a public bound on a moment says of the data that clipping cuts.

Everything here rests on one inequality. Let :math:`r \ge 0` be the length that a loss cuts to R,
with :math:`E\,r^q \le M`, and p < q. Then, with the constant
:math:`k = \frac{p}{q - p} (1 - p/q)^{q/p}` and :math:`s^q = R^q (1 - p/q)^{-q/p}`,

.. math:: E (r^p - R^p)_+ \le
          \begin{cases} k M R^{p - q}, & M \le s^q,\\ M^{p/q} - R^p, & M > s^q, \end{cases}

and no smaller bound holds for all laws. For :math:`f(t) = (t^{p/q} - R^p)_+` with t = r^q is
convex up to R^q and concave from there on, so that the least concave function above it is the line
from the origin that touches it, at t = s^q, and f from there on: Jensen's inequality gives the
bound, and data at one length, or at that length and zero, attain it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.validation import (
    check_integer,
    check_positive,
    check_real,
    check_scale,
    finite_array,
)


def check_moment_bound(moment_bound: Any, power: float = 1.0) -> tuple[float, float]:
    """Return a pair (q, M) of floats, or raise ProtocolError.

    Parameters
    ----------
    moment_bound : pair of float
    power : float
        Order that q must exceed.

    Returns
    -------
    order, moment : float
    """
    if not isinstance(moment_bound, (tuple, list)) or len(moment_bound) != 2:
        raise ProtocolError(
            "moment_bound must be a pair (q, M) with the mean q-th power of the length that is "
            f"clipped at most M; got {moment_bound!r}"
        )
    power = check_positive("power", power)
    order = check_real(
        "order of moment_bound",
        moment_bound[0],
        f"finite and above {power:g}",
        lambda number: power < number < math.inf,
    )
    return order, check_positive("moment of moment_bound", moment_bound[1])


def excess_bound(bound: float, moment_bound: Any, power: float = 1.0) -> float:
    r"""Largest mean of what clipping takes away from a power of a length.

    Parameters
    ----------
    bound : float
        Length R to which longer data are cut, in the units of the data.
    moment_bound : pair of float
        (q, M): the mean of the q-th power of the length before clipping is at most M.
    power : float, default=1
        Power p of the length, below q.

    Returns
    -------
    excess : float
        The largest :math:`E (r^p - R^p)_+`, in units of the data to the power p.

    Raises
    ------
    ProtocolError
        If an argument is out of range.

    Examples
    --------
    >>> from geomstats_ldp.losses import excess_bound
    >>> excess_bound(2.0, (4, 1.0))  # (27 / 256) / 2^3
    0.01318359375
    """
    bound = check_scale("bound", bound)
    order, moment = check_moment_bound(moment_bound, power)
    length = moment ** (1 / order) / bound  # in units of the bound, as powers may be large
    if length**power >= order / (order - power):
        return bound**power * (length**power - 1)
    return _constant(order, power) * length**order * bound**power


def _constant(order, power):
    return power / (order - power) * (1 - power / order) ** (order / power)


def clipping_bias_bound(hessian: ArrayLike, bound: float, moment_bound: Any) -> float:
    r"""Bound on the distance between the targets with and without clipping of the score.

    With scores of length r, clipped to R,

    .. math:: |\theta_R - \theta| \le \|H^{-1}\|\,E(r - R)_+ \le
              \|H^{-1}\|\,\frac{(q - 1)^{q - 1}}{q^q} M R^{1 - q},

    if H is the mean Hessian of the clipped problem between the two targets, and so to first order
    for the Hessian at either. The paper's proposition on clipping has the constant 4 in place of
    :math:`(q - 1)^{q - 1} / q^q`, which is 0.105 for q = 4.

    Parameters
    ----------
    hessian : array-like, shape [dim, dim]
        Hessian H of the population loss.
    bound : float
        Length R to which scores are clipped.
    moment_bound : pair of float
        (q, M): the mean of the q-th power of the length of a score, at the target and before
        clipping, is at most M.

    Returns
    -------
    distance : float

    Raises
    ------
    ProtocolError
        If an argument is out of range, or the Hessian singular.

    Examples
    --------
    >>> from geomstats_ldp.losses import clipping_bias_bound
    >>> clipping_bias_bound([[2.0, 0.0], [0.0, 1.0]], 2.0, (4, 1.0))
    0.01318359375
    """
    width = np.shape(hessian)[0] if np.ndim(hessian) > 0 else "n"
    hessian = finite_array("hessian", hessian, ("n", width))
    smallest = float(np.linalg.svd(hessian, compute_uv=False)[-1])
    if smallest == 0:
        raise ProtocolError("hessian must not be singular")
    return excess_bound(bound, moment_bound) / smallest


def negligible_bound(
    n_participants: int,
    moment_bound: Any,
    noise_variance: float,
    power: float = 1.0,
    share: float = 0.1,
) -> float:
    r"""Bound at which clipping is negligible next to the noise of privacy.

    The bound that grows with the number of participants as

    .. math:: R_n = \Bigl\{\frac{k M}{share} \sqrt{n / v}\Bigr\}^{1/q},

    where k is the constant of `excess_bound` and v the noise variance of a score of bound one. The
    score bound grows with R^p, and so does the noise, of which :math:`R^p \sqrt{v / n}` is left
    after averaging; clipping changes the mean score by at most :math:`k M R^{p - q}`, the given
    share of that.

    Parameters
    ----------
    n_participants : int
    moment_bound : pair of float
        See `excess_bound`.
    noise_variance : float
        `noise_variance` of the mechanism for the bound 1 and the dimension of the parameter.
    power : float, default=1
        Power of the length of a datum with which the score grows: 1 for means, 2 for principal
        directions and covariances.
    share : float, default=0.1
        Largest bias in standard errors. With a share that vanishes, however slowly, a limit law
        about the clipped target is one about the other.

    Returns
    -------
    bound : float
        In the units of the data.

    Raises
    ------
    ArgumentTypeError, ProtocolError
        If an argument is out of range.

    Examples
    --------
    >>> from geomstats_ldp.losses import negligible_bound
    >>> from geomstats_ldp.mechanisms import make_mechanism
    >>> noise = make_mechanism("privunit", epsilon=2.0, dim=2, bound=1.0).noise_variance
    >>> round(negligible_bound(32_000, (4, 1.0), noise), 1)
    3.6
    """
    check_integer("n_participants", n_participants)
    order, moment = check_moment_bound(moment_bound, power)
    variance = check_positive("noise_variance", noise_variance)
    share = check_positive("share", share)
    ratio = _constant(order, power) / share * math.sqrt(n_participants / variance)
    return (ratio * moment) ** (1 / order)
