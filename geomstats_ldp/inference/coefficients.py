"""Table of the coefficients of a regression, as statistics packages print it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from geomstats_ldp.inference.functional import SmoothFunctional

if TYPE_CHECKING:
    from geomstats_ldp.protocol import Protocol

_HEADS = ("coef", "std err", "z", "P>|z|")


@dataclass(frozen=True, eq=False)
class CoefficientTable:
    """Coefficients with standard errors, tests and intervals; prints as a table.

    Tests and intervals are normal, each on its own; `confidence_region` is about all together.

    Attributes
    ----------
    title : str
        Name of the estimator.
    names : tuple of str, shape [n_coefficients]
        The intercept first, if there is one.
    values : SmoothFunctional
        Coefficients and their covariance.
    level : float
        Of the intervals.
    protocol : Protocol
    n_participants : int
    """

    title: str
    names: tuple
    values: SmoothFunctional
    level: float
    protocol: Protocol
    n_participants: int

    @property
    def estimate(self) -> np.ndarray:
        """Coefficients, shape [n_coefficients]."""
        return self.values.estimate

    @property
    def standard_error(self) -> np.ndarray:
        """Standard errors, shape [n_coefficients]."""
        return self.values.standard_error

    @property
    def z(self) -> np.ndarray:
        """Coefficients over their standard errors, shape [n_coefficients]."""
        return self.estimate / self.standard_error

    @property
    def pvalues(self) -> np.ndarray:
        """Two-sided p-values of the hypotheses that a coefficient is zero."""
        return 2 * special.ndtr(-np.abs(self.z))

    @property
    def interval(self) -> np.ndarray:
        """Confidence intervals of the level, shape [n_coefficients, 2]."""
        return self.values.interval(self.level)

    def __str__(self):
        tail = f"{(1 - self.level) / 2:.4g}"
        heads = (*_HEADS, f"[{tail}", f"{1 - (1 - self.level) / 2:.4g}]")
        columns = [self.estimate, self.standard_error, self.z, self.pvalues, *self.interval.T]
        width = max(len("intercept"), *(len(name) for name in self.names))
        lines = [" " * width + "".join(f"{head:>11}" for head in heads)]
        for name, *numbers in zip(self.names, *columns):
            cells = [f"{number:11.4f}" for number in numbers]
            cells[2], cells[3] = f"{numbers[2]:11.2f}", f"{numbers[3]:11.3f}"
            lines.append(f"{name:<{width}}" + "".join(cells))
        rule = "=" * len(lines[0])
        return "\n".join([self.title, rule, self._facts(), rule, *lines, rule])

    __repr__ = __str__

    def _facts(self):
        mechanism, rounds = self.protocol.mechanism, self.protocol.rounds
        plan = "pairs"
        if rounds is not None:
            plan = "1 round" if rounds.n_rounds == 1 else f"{rounds.n_rounds} rounds"
        delta = f", delta {mechanism.delta:g}" if mechanism.delta > 0 else ""
        privacy = (
            "not private" if math.isinf(mechanism.epsilon) else f"epsilon {mechanism.epsilon:g}"
        )
        return f"n {self.n_participants}, {privacy}{delta}, {mechanism.name}, {plan}"
