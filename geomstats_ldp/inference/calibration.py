"""What a Wald statistic is compared with: at one look, or whenever somebody looks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from geomstats_ldp.validation import check_integer

#: Probability of ever missing at which a mixture is as narrow as can be at its number.
_TUNED_AT = 0.05


@dataclass(frozen=True)
class OneLook:
    """The law of a Wald statistic at one look that was fixed beforehand: chi-squared."""

    def quantile(self, level: float, dim: int) -> float:
        """Largest statistic that is not rejected.

        Parameters
        ----------
        level : float in (0, 1)
        dim : int
            Degrees of freedom.

        Returns
        -------
        quantile : float
        """
        # Without the half millisecond of scipy.stats.
        return float(special.chdtri(dim, 1 - level))

    def pvalue(self, statistic: ArrayLike, dim: int) -> np.ndarray:
        """Probability of a statistic at least as large.

        Parameters
        ----------
        statistic : array-like, shape [...]
        dim : int
            Degrees of freedom.

        Returns
        -------
        pvalue : array, shape [...]
        """
        return special.chdtrc(dim, statistic)


@dataclass(frozen=True)
class AnyLook:
    r"""Bounds for a Wald statistic that hold at all looks together, by the normal mixture.

    With x = n r / m, where r solves :math:`r - \log(1 + r) = 2 \log(20) / d`, the statistic T of
    the true parameter stays, with probability `level` at least, at all n at once under

    .. math:: (1 + 1/x) \{2 \log(1/\alpha) + d \log(1 + x)\},\qquad \alpha = 1 - level.

    Parameters
    ----------
    n_participants : int
        Number n whose answers the statistic is of.
    narrowest_at : int
        Number m of participants at which 95% regions are as narrow as they can be. The bounds hold
        for whichever number was chosen, if it was chosen before looking and is the same at all
        looks.

    Raises
    ------
    ArgumentTypeError, ProtocolError
        If one of them is not a positive integer.
    """

    n_participants: int
    narrowest_at: int

    def __post_init__(self):
        check_integer("n_participants", self.n_participants)
        check_integer("narrowest_at", self.narrowest_at)

    def quantile(self, level: float, dim: int) -> float:
        """Largest statistic that is not rejected; see `OneLook.quantile`."""
        x = self._ratio(dim)
        return (1 + 1 / x) * (-2 * math.log1p(-level) + dim * math.log1p(x))

    def pvalue(self, statistic: ArrayLike, dim: int) -> np.ndarray:
        """Anytime p-value, one over the mixture martingale.

        Under the hypothesis the chance that it is ever at most alpha is at most alpha.

        Parameters
        ----------
        statistic : array-like, shape [...]
        dim : int

        Returns
        -------
        pvalue : array, shape [...]
        """
        x = self._ratio(dim)
        log_martingale = np.asarray(statistic) * (x / (1 + x) / 2) - dim / 2 * math.log1p(x)
        return np.exp(-np.maximum(log_martingale, 0.0))[()]

    def _ratio(self, dim):
        """The product n rho^2 of the number of participants and the variance of the mixture.

        The derivative of the quantile in x vanishes where d {x - log(1 + x)} = 2 log(1 / alpha),
        which the lower branch of Lambert's function solves.
        """
        best = -1 - special.lambertw(-math.exp(-1 + 2 * math.log(_TUNED_AT) / dim), k=-1).real
        return self.n_participants / self.narrowest_at * float(best)


ONE_LOOK = OneLook()
