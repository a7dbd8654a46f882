"""The plan of a collection in rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.protocol.rules import Rule
from geomstats_ldp.score_regression.moments import MOMENTS
from geomstats_ldp.serialization import nested_tuple
from geomstats_ldp.validation import (
    check_choice,
    check_integer,
    check_non_negative,
    check_positive,
    check_real,
    definite_matrix,
    finite_array,
    symmetric_matrix,
)

#: Share of an even part that the first round gets.
_FIRST_SHARE = 1 / 3

#: Most rounds of a plan.
_MOST_ROUNDS = 1000


@dataclass(frozen=True)
class RoundPlan(Rule):
    """Rounds of a collection, in which many participants are asked at the same few points.

    Parameters
    ----------
    n_rounds : int
        Number of rounds.
    sizes : tuple of int, shape [n_rounds], optional
        Participants planned for each, at which it closes on its own. None leaves all closing to
        whoever runs the collection.
    minimum : int
        Fewest answers with which a round may be closed.
    moment : None, "first", "second", "quadratic" or "covariance"
        Moment of the data in which the scores are linear, if there is one; see
        ``geomstats_ldp.score_regression.moments``.
    bending_length : float
        Distance over which scores bend, in tangent length: rounds asked farther from the target
        count less.
    query : nested tuple, shape [*point_shape], optional
        The one point at which all rounds ask, where the mean score at a point determines the
        target; see ``geomstats_ldp.score_regression.single_query``. None asks around estimates.
    third_derivative : float
        Public standard deviation of a coordinate of the mean third derivative of the population
        loss, see `Loss.third_derivative`; zero takes it for zero.
    saturation : float
        Public rate c at which scores saturate, in inverse squares of tangent length: a query at
        distance h from its centre tells of the Hessian what one at h / (1 + c h^2) would; see
        `Loss.saturation`.
    known_moment : nested tuple, shape [p, p], optional
        Second moment, on a sphere, that other people have told: it enters the estimate beside the
        answers.
    known_covariance : nested tuple, shape [p (p + 1) / 2, p (p + 1) / 2], optional
        Covariance of its error in the coordinates of symmetric matrices: the entries on and below
        the diagonal, row by row, those off the diagonal times root two.
    curvature_rounds : tuple of int, optional
        Numbers, from zero and without the first, of rounds that ask for the curvature of the loss
        at their centre; see ``geomstats_ldp.score_regression.curvature``. None asks for scores.
    curvature_bound : float
        Norm to which answers about curvature are clipped, in units in which their mean is about
        one in each coordinate.
    """

    n_rounds: int
    sizes: tuple | None = None
    minimum: int = 1
    moment: str | None = None
    bending_length: float = math.inf
    query: tuple | None = None
    third_derivative: float = 0.0
    saturation: float = 0.0
    known_moment: tuple | None = None
    known_covariance: tuple | None = None
    curvature_rounds: tuple | None = None
    curvature_bound: float = 0.0
    _left_out: ClassVar[tuple] = (
        *("query", "third_derivative", "saturation", "known_moment", "known_covariance"),
        *("curvature_rounds", "curvature_bound"),
    )

    def __post_init__(self):
        check_n_rounds(self.n_rounds)
        check_integer("minimum", self.minimum)
        check_choice("moment", self.moment, MOMENTS)
        check_real("bending_length", self.bending_length, "positive", lambda length: length > 0)
        check_non_negative("third_derivative", self.third_derivative)
        check_non_negative("saturation", self.saturation)
        if self.sizes is not None:
            self._check_sizes()
        if self.query is not None:
            query = nested_tuple(finite_array("query", self.query, (...,)))
            object.__setattr__(self, "query", query)
        self._check_known()
        self._check_curvature()
        self._settle()

    def _check_known(self):
        if (self.known_moment is None) != (self.known_covariance is None):
            raise ProtocolError("known_moment and known_covariance must be given together")
        if self.known_moment is not None:
            if self.moment != "second":
                raise ProtocolError(
                    "known_moment must be None unless the moment is 'second'; got "
                    f"moment={self.moment!r}"
                )
            matrix = symmetric_matrix("known_moment", self.known_moment)
            object.__setattr__(self, "known_moment", nested_tuple(matrix))
            size = len(matrix) * (len(matrix) + 1) // 2
            covariance = definite_matrix("known_covariance", self.known_covariance, size)
            object.__setattr__(self, "known_covariance", nested_tuple(covariance))

    def _check_curvature(self):
        if self.curvature_rounds is None:
            if self.curvature_bound != 0:
                raise ProtocolError(
                    "curvature_bound must be 0 without curvature_rounds; got "
                    f"{self.curvature_bound}"
                )
            return
        last = self.n_rounds - 1
        numbers = tuple(
            check_integer("curvature_rounds", r, 1, last) for r in self.curvature_rounds
        )
        if sorted(set(numbers)) != list(numbers) or len(numbers) == 0:
            raise ProtocolError(
                f"curvature_rounds must be None or growing numbers; got {self.curvature_rounds}"
            )
        object.__setattr__(self, "curvature_rounds", numbers)
        check_positive("curvature_bound", self.curvature_bound)
        if self.query is not None or self.moment not in (None, "quadratic"):
            raise ProtocolError(
                "curvature_rounds must be None unless rounds ask around estimates and the moment "
                f"is None or 'quadratic'; got query={self.query} and moment={self.moment!r}"
            )

    def asks_for_curvature(self, number: int) -> bool:
        """Whether a round asks for curvature instead of scores.

        Parameters
        ----------
        number : int
            Counted from zero.

        Returns
        -------
        asks : bool
        """
        return self.curvature_rounds is not None and number in self.curvature_rounds

    def _check_sizes(self):
        sizes = tuple(check_integer("sizes", size) for size in self.sizes)
        if len(sizes) != self.n_rounds:
            raise ProtocolError(
                f"sizes must be {self.n_rounds} integers, one a round; got {len(sizes)}"
            )
        if self.minimum > min(sizes):
            raise ProtocolError(
                f"minimum must be at most the smallest of sizes={sizes}; got {self.minimum}"
            )
        object.__setattr__(self, "sizes", sizes)

    @property
    def n_participants(self) -> int | None:
        """Participants planned in all, or None."""
        return None if self.sizes is None else sum(self.sizes)


def check_n_rounds(n_rounds):
    """Return a number of rounds, or raise as `check_integer`."""
    return check_integer("n_rounds", n_rounds, high=_MOST_ROUNDS)


def round_sizes(n_participants, n_rounds, smallest):
    """Sizes that grow geometrically from a third of an even share.

    The first rounds only find the neighbourhood of the target, and the estimate gains most from the
    last, which are asked closest to it.

    Parameters
    ----------
    n_participants : int
    n_rounds : int
        Fewer are planned if they would have less than `smallest` participants on average.
    smallest : int
        Fewest participants of a round, as far as there are so many.

    Returns
    -------
    sizes : tuple of int
    """
    n_rounds = max(1, min(n_rounds, n_participants // max(smallest, 1)))
    spare = n_participants - n_rounds * min(smallest, n_participants // n_rounds)
    base = (n_participants - spare) // n_rounds
    first = max(n_participants * _FIRST_SHARE / n_rounds, 1.0)
    ratio = _growth(n_participants / first, n_rounds)
    shares = [ratio**i for i in range(n_rounds)]
    wanted = [max(n_participants * share / sum(shares) - base, 0.0) for share in shares]
    total = sum(wanted)
    sizes = [base + int(spare * part / total) if total else base for part in wanted]
    sizes[-1] += n_participants - sum(sizes)
    return tuple(sizes)


def sizes_with_curvature(sizes, numbers, share, smallest):
    """Sizes of rounds of which some ask a share of all participants for curvature.

    Parameters
    ----------
    sizes : tuple of int, shape [n_rounds]
        From `round_sizes`: the others have the rest in rounds that grow as these do.
    numbers : tuple of int
        Rounds that ask for curvature; each gets twice the people of the one before.
    share : float
        Of all participants, for these rounds together.
    smallest : int
        Fewest participants of a round.

    Returns
    -------
    sizes : tuple of int, shape [n_rounds]
    """
    total = sum(sizes)
    parts = [share * total * 2**i / (2 ** len(numbers) - 1) for i in range(len(numbers))]
    asked = [max(int(part), smallest) for part in parts]
    others = iter(round_sizes(total - sum(asked), len(sizes) - len(numbers), smallest))
    curvature = dict(zip(numbers, asked))
    return tuple(curvature.get(i) or next(others) for i in range(len(sizes)))


def _growth(total, n_terms):
    """Ratio of the geometric series of `n_terms` terms from 1 that sums to `total`."""
    if n_terms == 1:
        return 1.0
    low, high = 1.0, max(total, 2.0)
    for _ in range(100):
        middle = (low + high) / 2
        if sum(middle**i for i in range(n_terms)) < total:
            low = middle
        else:
            high = middle
    return low
