r"""The Gaussian mechanism on a device: exact discrete noise on a public grid, by OpenDP.

No ratio bounds the density of the Gaussian mechanism, so it cannot be released by candidate. A
device truncates the score to a grid of step h = a sigma with a in (2^-27, 2^-26], and adds discrete
Gaussian noise to its integers; the message is the sum, d integers.

*Guarantee.* Rounding a continuous Gaussian message to the grid is post-processing. At a grid point
x beside the truncated score its probability and the discrete one differ by a factor within
exp(+-a^2 (d + |x|^2/sigma^2)/8): a cell integrates exp(-t x a/sigma - t^2 a^2/2) over |t| <= 1/2,
which lies between exp(-a^2/8) and exp(a^2 x^2/(8 sigma^2)) in each coordinate, and the normalising
sums agree to 2 exp(-2 pi^2/a^2). For |x| <= (sqrt(d) + 40) sigma, all but exp(-800) of both laws,
the exponent is below 2e-13. `SLACK` in epsilon and delta, relative, is more than twice that.
Truncation towards zero keeps the norm of a score within its bound.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from geomstats_ldp.exceptions import ProtocolError

#: Relative distance that epsilon and delta of the continuous noise keep from the nominal ones.
SLACK = 1e-9

_LOG_STEPS = 26  # steps of the grid in a standard deviation, as a power of two


def grid_step(sigma):
    """Step h of the grid: the power of two in (2^-27, 2^-26] times sigma."""
    return 2.0 ** (math.floor(math.log2(sigma)) - _LOG_STEPS)


def check_installed():
    """Raise ProtocolError unless OpenDP can be imported."""
    try:
        import opendp.measurements  # noqa: F401
    except ImportError as error:
        raise ProtocolError(
            "mechanism 'gaussian' on a device needs exact discrete noise: install "
            "geomstats-ldp[opendp], or take 'privunit'. Its doubles would tell data apart, and no "
            "weight of candidates bounds its density ratio"
        ) from error


@lru_cache(maxsize=8)
def _measurement(scale):
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_gaussian(vector_domain(atom_domain(T="i64")), l2_distance(T="f64"), scale=scale)


def release_on_grid(point, sigma):
    """Add discrete Gaussian noise to a score, within its bound, that is truncated to the grid.

    Returns a tuple of dim integers, multiples of `grid_step`.
    """
    step = grid_step(sigma)
    truncated = np.trunc(point / step).astype(np.int64)
    return tuple(int(number) for number in _measurement(sigma / step)(truncated.tolist()))
