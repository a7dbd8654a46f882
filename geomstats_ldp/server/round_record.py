"""What a collection in rounds has heard: sums, closed rounds, estimate and transcript."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from geomstats_ldp.exceptions import InvalidMessageError, NotReadyError, ProtocolError
from geomstats_ldp.protocol import Protocol, Transcript
from geomstats_ldp.score_regression import (
    LearntMoment,
    PredictedScore,
    RoundState,
    ScoreFit,
    closed_round,
    fit_scores,
    fit_single_query,
    initial_round_state,
    learn_second_moment,
    merge_states,
    predict_round_scores,
    predict_single_query_scores,
    query_points,
    with_messages,
)
from geomstats_ldp.score_regression.curvature import (
    directions_of_queries,
    first_whitening,
    whitening_of,
)
from geomstats_ldp.score_regression.fit import into_region
from geomstats_ldp.score_regression.state import ask_the_same
from geomstats_ldp.score_regression.two_hessians import curvature_lost
from geomstats_ldp.server.base import BaseServer, alone, group_report
from geomstats_ldp.server.round_files import read_rounds, round_arrays, round_specs


class RoundRecord(BaseServer):
    """Messages of a collection in rounds, whoever they came from; `RoundServer` talks to people."""

    def __init__(self, protocol: Protocol, engine: str = "auto", keep_messages: bool = False):
        super().__init__(protocol, engine, keep_messages)
        if protocol.rounds is None:
            raise ProtocolError("protocol must have rounds; this one asks pairs, for Server")
        self.state, self.n_closed = initial_round_state(protocol), 0
        self._points = query_points(protocol, self.state)
        self._dealt = np.zeros(self.n_directions, dtype=np.int64)
        self._closings: list[int] = []
        self._fit_of: tuple = (None, None, False)
        self._derived_of: tuple = (None, {})

    def _position(self):
        position = {"state": self.state, "n_closed": self.n_closed, "_dealt": self._dealt.copy()}
        return position | {"_kept": self._kept_so_far(), "_closings": list(self._closings)}

    def _return_to(self, position):
        self._continue(position["state"], position["n_closed"])
        super()._return_to(position)

    def _continue(self, state, n_closed):
        """Go on from a state; questions dealt and not answered are dealt again."""
        is_longer = state.n_opened >= self.state.n_opened and ask_the_same(state, self.state)
        self._points = query_points(self.protocol, state, self._points if is_longer else None)
        self.state, self.n_closed = state, n_closed
        self._dealt = state.counts[-1].copy()

    @property
    def n_directions(self) -> int:
        """Query points of one round."""
        return self.protocol.n_query_points

    @property
    def n_participants(self) -> int:
        """Participants whose message has come."""
        return self.state.n_participants

    @property
    def n_received(self) -> int:
        """Participants whose message has come; unlike in pairs, none waits for a second one."""
        return self.state.n_participants

    @property
    def is_complete(self) -> bool:
        """Whether all rounds were closed."""
        return self.n_closed == self.protocol.rounds.n_rounds

    @property
    def round(self) -> int:
        """Number of the open round, counted from zero; n_rounds when all are closed."""
        return self.n_closed

    @alone
    def round_size(self) -> int | None:
        """Answers that the open round still waits for; None if nobody planned how many."""
        if self.is_complete:
            return 0
        sizes = self.protocol.rounds.sizes
        return None if sizes is None else max(sizes[self.round] - self.n_in_round, 0)

    @property
    def n_in_round(self) -> int:
        """Answers to the round opened last."""
        return int(self.state.counts[-1].sum())

    def n_in_group(self) -> np.ndarray:
        """Answers to the round opened last by group, shape [n_groups]."""
        return self.state.counts[-1].reshape(len(self.protocol.mechanisms), -1).sum(axis=1)

    def answers_by_group(self) -> list[int]:
        """Answers to all rounds by group, in the order of the groups."""
        counts = self.state.counts.reshape(self.state.n_opened, len(self.protocol.mechanisms), -1)
        return counts.sum(axis=(0, 2)).tolist()

    def points(self, number: int) -> np.ndarray:
        """Query points of a round that was opened.

        Parameters
        ----------
        number : int
            Of the round, counted from zero.

        Returns
        -------
        points : array, shape [n_directions, *point_shape]
            Those of each group one after the other.
        """
        return self._points[number]

    def directions(self, number: int, index: int) -> np.ndarray | None:
        """Directions along which a query asks for curvature.

        Parameters
        ----------
        number : int
            Of a round that was opened.
        index : int
            Of the query in it.

        Returns
        -------
        directions : array, shape [dim, dim], or None
            One a row; None where the query asks for a score.
        """
        asked = directions_of_queries(self.protocol, self.state, number)
        return None if asked is None else asked[index]

    @alone
    def add_coords(self, rounds: np.ndarray, indices: np.ndarray, coords: np.ndarray) -> None:
        """Add messages in frame coordinates to the sums of their query points.

        Parameters
        ----------
        rounds, indices : array of int, shape [n]
            Queries that they answer.
        coords : array, shape [n, dim]

        Raises
        ------
        InvalidMessageError
            If their squares are too large for doubles; the state is what it was before the call.
        """
        state = with_messages(self.state, rounds, indices, coords)
        self._adopt_sums(state, rounds, indices, coords)

    @alone
    def add_sums(
        self, sums: RoundState, rounds: np.ndarray, indices: np.ndarray, coords: np.ndarray
    ) -> None:
        """Add messages that a worker has summed up already.

        Parameters
        ----------
        sums : RoundState
            `with_messages` of these, about the same rounds.
        rounds, indices : array of int, shape [n]
        coords : array, shape [n, dim]
            As for `add_coords`; only a server that keeps messages looks at them.

        Raises
        ------
        InvalidMessageError
            As `add_coords`.
        """
        self._adopt_sums(merge_states([self.state, sums]), rounds, indices, coords)

    def _adopt_sums(self, state, rounds, indices, coords):
        if not (np.isfinite(state.sums).all() and np.isfinite(state.outer).all()):
            raise InvalidMessageError(
                "messages must be small enough for their squares to be finite"
            )
        self.state = state
        if self._kept is not None:
            self._kept.append((rounds, indices, coords))

    @alone
    def close_round(
        self, center: np.ndarray | None = None, stretch: np.ndarray | None = None
    ) -> None:
        """Close the open round: the next one asks around the estimate.

        Messages that are still under way are taken when they come.

        Parameters
        ----------
        center, stretch : array, shape [*point_shape], and array, shape [dim, dim], optional
            Where the next round asks, if another worker has computed it: see `next_place`.

        Raises
        ------
        NotReadyError
            If all rounds are closed, or fewer have answered than ``protocol.rounds.minimum``.
        ProtocolError
            If the next round asks for curvature, and one of them is given without the other.
        """
        asks_curvature = self.protocol.rounds.asks_for_curvature(self.state.n_opened)
        if asks_curvature and (center is None) != (stretch is None):
            raise ProtocolError("center and stretch must be given both, or neither")
        if self.is_complete:
            raise NotReadyError(f"all {self.n_closed} rounds are closed")
        answered, minimum = self.n_in_round, self.protocol.rounds.minimum
        if answered < minimum:
            raise NotReadyError(
                f"a round may close with {minimum} answers at least; round {self.round} has "
                f"{answered}"
            )
        self._close(center, stretch)

    @alone
    def next_place(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Where a round asks that would be opened now.

        Returns
        -------
        center : array, shape [*point_shape]
            The estimate, or the nearest point to it whose queries are in a region that holds them.
        stretch : array, shape [dim, dim], or None
            Map of the directions of a round that asks for curvature; None for scores.
        """
        center = into_region(self.protocol, self.estimate())
        if not self.protocol.rounds.asks_for_curvature(self.state.n_opened):
            return center, None
        fit = self._fit(for_region=False)
        unknown = first_whitening(self.protocol)
        return center, unknown if fit is None else whitening_of(self.protocol, fit)

    def _close(self, center=None, stretch=None):
        n_closed, state = self.n_closed + 1, self.state
        if n_closed < self.protocol.rounds.n_rounds:
            place = self.next_place() if center is None else (center, stretch)
            state = closed_round(state, *place)
        self._closings.append(self.n_participants)
        self._continue(state, n_closed)

    @alone
    def close_if_full(self) -> None:
        """Close the open round if all planned answers have come."""
        if not self.is_complete and self.round_size() == 0:
            self._close()

    @alone
    def merge(self, states: Iterable[RoundState]) -> None:
        """Add states that workers gathered about the same rounds.

        The result depends on their order by rounding only. A worker starts each round from
        `without_messages` of the common state, so that no message is counted twice.

        Parameters
        ----------
        states : iterable of RoundState

        Raises
        ------
        ProtocolError
            If one of them is of another collection.
        """
        with self._all_or_nothing():
            state = merge_states([self.state, *states])
            self._continue(state, max(self.n_closed, state.n_opened - 1))
            self._kept = None  # what the workers heard is not here
            self.close_if_full()

    @alone
    def adopt(self, other: RoundRecord) -> None:
        """Continue where a copy of this server has come to.

        Parameters
        ----------
        other : RoundServer
        """
        self._return_to(other._position())

    def fit(self) -> ScoreFit | None:
        """Regression of all messages received, a `ScoreFit`, or None while they are too few."""
        return self._fit(for_region=True)

    @alone
    def _fit(self, for_region):
        state, fit, has_region = self._fit_of
        if state is not self.state or (for_region and not has_region):
            fit = self._new_fit(for_region)
            self._fit_of = (self.state, fit, for_region)
        return fit

    def _new_fit(self, for_region):
        if self.protocol.rounds.query is not None:
            return fit_single_query(self.protocol, self.state)
        twin = self.engine.twin
        return fit_scores(self.protocol, self.state, self._points, twin, for_region)

    @property
    def is_cut(self) -> bool:
        """Whether the estimate was held back at the end of its step."""
        fit = self._fit(for_region=False)
        return fit is not None and fit.is_cut

    @alone
    def predict_scores(self) -> PredictedScore | None:
        """Mean score predicted about the estimate, a `PredictedScore`; None as `fit`."""
        fit = self.fit()
        if fit is None:
            return None
        if self.protocol.rounds.query is not None:
            return self._once(fit, predict_single_query_scores, self.protocol, self.state, fit)
        return self._once(fit, predict_round_scores, *self._regressed(fit))

    def _regressed(self, fit):
        return self.protocol, self.state, self._points, fit, self.engine.twin

    def _once(self, fit, function, *arguments):
        """What a function finds about a fit, computed when it is asked for first."""
        if self._derived_of[0] is not fit:
            self._derived_of = (fit, {})
        found = self._derived_of[1]
        if function not in found:
            found[function] = function(*arguments)
        return found[function]

    @alone
    def curvature_lost(self) -> tuple[float, float] | None:
        """Share of the curvature that answers about it miss by the scores, and its standard error.

        None as `fit`, or where answers about curvature do not tell all of it.
        """
        fit = self.fit()
        if fit is None or self.protocol.rounds.curvature_rounds is None:
            return None
        return self._once(fit, curvature_lost, *self._regressed(fit))

    @alone
    def groups(self) -> dict[str, dict]:
        """What each group of participants contributes, by name.

        Returns
        -------
        groups : dict of str to dict
            ``epsilon``, ``n_participants`` and the ``weight`` of one message, one on average over
            messages; zero while too few have answered for it to be known.
        """
        protocol = self.protocol
        fit = self._fit(for_region=False)
        weights = np.zeros(len(protocol.mechanisms)) if fit is None else fit.precision
        return group_report(protocol, self.answers_by_group(), weights)

    @alone
    def learn_second_moment(self) -> LearntMoment | None:
        """Second moment modulo the identity, a `LearntMoment`; None as `fit`.

        Scores must be linear in it.
        """
        fit = self.fit()
        if fit is None:
            return None
        return learn_second_moment(self.protocol, self.state, self._points, fit, self.engine.twin)

    def estimate(self) -> np.ndarray:
        """Estimate from all messages received, shape [*point_shape]."""
        fit = self._fit(for_region=False)
        return self.state.centers[-1].copy() if fit is None else fit.point.copy()

    @alone
    def transcript(self) -> Transcript | None:
        """`Transcript` of all messages in the order in which they came, or None if not kept."""
        if self._kept is None:
            return None
        dim = self.protocol.dim
        nothing = np.empty((2, 0), dtype=np.int64), np.empty((0, dim))
        rounds, indices, coords = map(np.concatenate, zip((*nothing[0], nothing[1]), *self._kept))
        closings = np.array(self._closings, dtype=np.int64)
        return Transcript(self.protocol, coords, np.stack([rounds, indices], axis=1), closings)

    def _arrays(self):
        return round_arrays(self.protocol, self.state, self.n_closed)

    def _specs(self):
        return round_specs(self.protocol, self.state)

    def _take(self, arrays):
        self._continue(*read_rounds(self.protocol, arrays))
