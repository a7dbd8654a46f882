"""What a statistic is compared with: at one look, whenever somebody looks, or under a bias."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Union

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from geomstats_ldp.validation import check_integer, check_non_negative

#: Probability of ever missing at which a mixture is as narrow as can be at its number.
_TUNED_AT = 0.05

#: Largest noncentrality whose law is computed; beyond it the triangle inequality is as good.
_LARGEST_NONCENTRALITY = 1e6


@dataclass(frozen=True)
class OneLook:
    """The law of a Wald statistic at one look that was fixed beforehand: chi-squared."""

    #: What the text of a region says of it.
    note: ClassVar[str] = ""

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
        # The same of scipy.stats takes half a millisecond.
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

    note: ClassVar[str] = ", anytime"

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


@dataclass(frozen=True)
class BiasedLook:
    r"""The largest law of a statistic whose vector has a bias of bounded size.

    The statistic is :math:`|Z + \beta|^2` with Z standard normal and :math:`|\beta|^2` at most
    the noncentrality :math:`\lambda`. At one look it is at most noncentral chi-squared with
    :math:`\lambda`, which Anderson's inequality orders; for all looks together
    :math:`|Z + \beta| \le |Z| + \sqrt\lambda` leaves a bound for Z. In one dimension the first
    gives the intervals of Armstrong and Kolesár, no wider than the bias and the error need.

    Parameters
    ----------
    base : OneLook or AnyLook
        What the statistic is compared with if there is no bias.
    noncentrality : float
        Bound on the squared bias, in standard errors in its worst direction.

    Raises
    ------
    ProtocolError
        If the noncentrality is not a number from zero on.

    References
    ----------
    Armstrong and Kolesár (2018), Optimal inference in a class of regression models, Econometrica
    86, 655-683.
    """

    base: OneLook | AnyLook
    noncentrality: float

    def __post_init__(self):
        check_non_negative("noncentrality", self.noncentrality)

    @property
    def note(self) -> str:
        """What the text of a region says of it."""
        return f"{self.base.note}, with a bias"

    @property
    def _has_law(self):
        return isinstance(self.base, OneLook) and self.noncentrality <= _LARGEST_NONCENTRALITY

    def quantile(self, level: float, dim: int) -> float:
        """Largest statistic that is not rejected; see `OneLook.quantile`."""
        if self._has_law:
            return float(stats.ncx2.ppf(level, dim, self.noncentrality))
        root = math.sqrt(self.base.quantile(level, dim)) + math.sqrt(self.noncentrality)
        return root**2

    def pvalue(self, statistic: ArrayLike, dim: int) -> np.ndarray:
        """Largest probability of a statistic at least as large; see `OneLook.pvalue`."""
        if self._has_law:
            return stats.ncx2.sf(statistic, dim, self.noncentrality)
        root = np.sqrt(np.asarray(statistic)) - math.sqrt(self.noncentrality)
        return self.base.pvalue(np.maximum(root, 0.0) ** 2, dim)


#: What a statistic may be compared with.
Calibration = Union[OneLook, AnyLook, BiasedLook]
