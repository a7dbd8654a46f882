"""What a plan says: widths by numbers of people, and the days of a collection."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.validation import check_integer, check_real, check_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Rounds of a calendar where the estimator has none.
_N_ROUNDS = 8

#: Farthest that a curve is continued for a wanted width, times its largest number of people.
_FARTHEST = 100

#: A width two standard errors above this share of the oracle's is not less; a pilot of 2000 rows
#: knows a variance to a few hundredths.
_CLEARLY_LESS = 0.9


@dataclass(frozen=True)
class Row:
    """One line of a plan.

    Attributes
    ----------
    n : int
        Participants.
    setting : dict
        Privacy level and public bounds.
    oracle : float
        Width for somebody who knows the population matrices.
    width : float
        Median width that collections are expected to have; infinite where most have none.
    error : float
        Monte Carlo standard error of the width; infinite if an emulated collection had no width.
    is_informative : bool
        Whether most regions of emulated collections stay inside the working region.
    is_weak : bool
        Whether most of them warn that curvature is weak, so that they may miss their level.
    is_emulated : bool
        Whether collections of this size were emulated; others lie on the curve between.
    clipped_share : float
        Share of the pilot outside the public bounds.
    shift : float
        Distance by which clipping moves the target.
    """

    n: int
    setting: dict
    oracle: float
    width: float
    error: float
    is_informative: bool
    is_weak: bool
    is_emulated: bool
    clipped_share: float
    shift: float

    @property
    def remark(self) -> str:
        """What speaks against it, in words; empty if nothing does."""
        if not self.is_informative:
            return "beyond reach: region not informative"
        return "weak curvature" if self.is_weak else ""


@dataclass(frozen=True)
class Calendar:
    """Rounds and days of a collection.

    Attributes
    ----------
    sizes : tuple of int
        Answers that each round waits for.
    days : tuple of int
        Days that each takes, at least one.
    """

    sizes: tuple
    days: tuple

    def __str__(self):
        lines = [
            f"round {number:2}: {size:9,} answers, {days:4} days"
            for number, (size, days) in enumerate(zip(self.sizes, self.days), 1)
        ]
        return "\n".join(
            [*lines, f"in all:   {sum(self.sizes):9,} answers, {sum(self.days):4} days"]
        )


@dataclass(frozen=True)
class Plan:
    """Widths for numbers of people, privacy levels and bounds; `plan` makes it.

    Attributes
    ----------
    rows : tuple of Row
        Curve by curve, each with growing n.
    level : float
    is_of_functional : bool
        Whether widths are half-widths of intervals, not semi-axes of regions.
    n_rounds : int or None
        Rounds of the estimator.
    sizes_of : callable
        Sizes of the rounds of a collection, from its number of people, its number of rounds, and
        a setting.
    """

    rows: tuple
    level: float
    is_of_functional: bool
    n_rounds: int | None
    sizes_of: Callable = field(compare=False)

    @property
    def curves(self) -> list[list[Row]]:
        """Rows of each setting, in order."""
        found: dict[tuple, list[Row]] = {}
        for row in self.rows:
            found.setdefault(tuple(row.setting.items()), []).append(row)
        return list(found.values())

    @property
    def quantity(self) -> str:
        """What the widths are, in words."""
        if self.is_of_functional:
            return f"half-width of the {self.level:.0%} interval"
        return f"largest semi-axis of the {self.level:.0%} region"

    def participants_for(self, width: float, **setting: Any) -> float:
        """Fewest participants with which a width is reached.

        Parameters
        ----------
        width : float
            In the units of the widths of the plan.
        **setting
            Values of ``epsilon`` or bounds, where there are several curves.

        Returns
        -------
        n : int or float
            At least the smallest number of the plan; infinite if the width is beyond reach: it
            would take over a hundred times the largest number, or no region is informative there.

        Raises
        ------
        ProtocolError
            If `width` is not positive, or `setting` does not name one curve of the plan.
        """
        width, curves = check_scale("width", width), self._curves(setting)
        if len(curves) != 1:
            raise ProtocolError(self._no_one_curve(setting))
        [curve] = curves
        good = [row for row in curve if row.is_informative and math.isfinite(row.width)]
        if not good:
            return math.inf
        sizes, widths = [row.n for row in good], [row.width for row in good]
        if widths[0] <= width:
            return sizes[0]
        if widths[-1] > width:
            n = sizes[-1] * (widths[-1] / width) ** 2
            return math.ceil(n) if n <= _FARTHEST * sizes[-1] else math.inf
        last = next(place for place, value in enumerate(widths) if value <= width)
        ends = slice(last - 1, last + 1)
        logarithm = np.interp(
            math.log(width), np.log(widths[ends])[::-1], np.log(sizes[ends])[::-1]
        )
        return math.ceil(math.exp(logarithm) - 1e-6)

    def _curves(self, setting):
        """Curves whose settings have given values."""
        return [
            curve
            for curve in self.curves
            if all(curve[0].setting.get(name) == value for name, value in setting.items())
        ]

    def _no_one_curve(self, setting):
        names = [curve[0].setting for curve in self.curves]
        return f"setting must name one curve of {names}; got {setting}"

    def calendar(
        self, n: int, answers_a_day: float, n_rounds: int | None = None, **setting: Any
    ) -> Calendar:
        """Rounds and days in which a number of people answer.

        The rounds are those of the collection that the estimator would make, also where some ask
        for curvature. A round waits for the one before it. People who never answer have to be left
        out of `answers_a_day`; scouts come on top.

        Parameters
        ----------
        n : int
        answers_a_day : float
        n_rounds : int, optional
            Default that of the estimator, or eight if it asks pairs.
        **setting
            Values of ``epsilon`` or bounds, where curves differ in their rounds.

        Returns
        -------
        calendar : Calendar

        Raises
        ------
        ProtocolError
            If a number is not positive, `setting` names no curve of the plan, or several of which
            the rounds differ.
        """
        check_integer("n", n)
        rate = check_real("answers_a_day", answers_a_day, "positive", lambda rate: rate > 0)
        rounds = self.n_rounds or _N_ROUNDS if n_rounds is None else n_rounds
        check_integer("n_rounds", rounds)
        found = {self.sizes_of(n, rounds, curve[0].setting) for curve in self._curves(setting)}
        if len(found) != 1:
            raise ProtocolError(self._no_one_curve(setting))
        [sizes] = found
        return Calendar(sizes, tuple(math.ceil(size / rate) for size in sizes))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curves; see `geomstats_ldp.plotting.plot_plan`."""
        from geomstats_ldp.plotting import plot_plan

        return plot_plan(self, ax)

    def __str__(self):
        names = list(self.rows[0].setting)
        title = f"{self.quantity[0].upper()}{self.quantity[1:]}, expected of a collection"
        head = [f"{'n':>9}", *(f"{name:>12}" for name in names)]
        head += [
            f"{'width':>9}",
            f"{'(error)':>9}",
            f"{'oracle':>9}",
            f"{'clipped':>8}",
            f"{'shift':>9}",
            " remark",
        ]
        lines = [title, " ".join(head)]
        for row in self.rows:
            cells = [f"{row.n:9,}", *(f"{value:12g}" for value in row.setting.values())]
            cells += [f"{row.width:9.3g}", f"{f'({row.error:.1g})':>9}", f"{row.oracle:9.3g}"]
            cells += [f"{row.clipped_share:8.1%}", f"{row.shift:9.2g}", f" {row.remark}"]
            lines.append(" ".join(cells).rstrip())
        return "\n".join(lines)


def between(n: int, sizes: list, factors: list) -> float:
    """Factor at n: its logarithm is linear in that of n, and constant beyond the ends.

    An infinite factor at the smaller end of an interval holds up to the larger end.
    """
    place = int(np.searchsorted(sizes, n))
    if place < len(sizes) and sizes[place] == n:
        return float(factors[place])
    around = factors[max(place - 1, 0) : place + 1]
    if not np.all(np.isfinite(around)):
        return math.inf
    return float(np.exp(np.interp(math.log(n), np.log(sizes), np.log(factors))))


def over_oracle(widths: list, errors: list, oracles: list) -> tuple[list[float], list[bool]]:
    """Factors of widths over the oracle's, one at least, and whether each was clearly less.

    Nobody knows more than the oracle: a width that is less has taken noise for curvature.
    """
    factors = [width / oracle for width, oracle in zip(widths, oracles)]
    is_less = [factor + 2 * error < _CLEARLY_LESS for factor, error in zip(factors, errors)]
    return [max(factor, 1.0) for factor in factors], is_less
