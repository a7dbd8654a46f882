"""The scouting half of an estimator: parameters that a first share of the participants finds."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from geomstats_ldp.emulation_in_rounds import emulate_in_rounds
from geomstats_ldp.estimators import notices
from geomstats_ldp.estimators.base import BasePrivateEstimator
from geomstats_ldp.estimators.collecting import SCOUT
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms import make_mechanism, seed_sequence
from geomstats_ldp.mechanisms.checks import check_epsilon
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.scouting import NormHistogram, ScoutPlan
from geomstats_ldp.scouting.device import simulate_norms
from geomstats_ldp.server import make_server
from geomstats_ldp.validation import check_integer

if TYPE_CHECKING:
    from typing_extensions import Self

#: Share of the participants who scout at first, and how many there are of each question at least,
#: of norms perhaps more (`NormHistogram.n_enough`). While they do not tell the initial point, as
#: many again are asked, up to another share in all, which is larger where what they say enters the
#: estimate as well.
_SHARE, _FEWEST, _LARGEST_SHARE, _LARGEST_SHARE_OF_TOLD = 0.05, 400, 0.25, 0.5


class Scouted(NamedTuple):
    """What scouts found.

    Attributes
    ----------
    plan : ScoutPlan
        What they were asked.
    n_participants : int
        How many answered.
    parameters : dict
        Parameters of the study that followed, by name.
    """

    plan: ScoutPlan
    n_participants: int
    parameters: dict


class Scouting(BasePrivateEstimator):
    """Base of estimators with parameters that may be "scout"."""

    @abstractmethod
    def _start_protocol(self, width) -> Protocol:
        """Protocol of the round that gives the initial point."""

    def _n_directions(self):
        """Directions of the initial point."""
        return 1

    def _start_tells_moment(self):
        """Whether the answers to that protocol tell the second moment that the study is about."""
        return False

    def _sought(self):
        """Names of the parameters that are to be found."""
        self._refuse_scouts()
        values = {name: getattr(self, name) for name in self._scoutable}
        return [name for name, value in values.items() if isinstance(value, str) and value == SCOUT]

    def _shape_of_initial_point(self, shape):
        if "initial_point" in self._sought():
            return None
        return super()._shape_of_initial_point(shape)

    def _make_protocol(self, width, n_participants):
        sought = self._sought()
        if sought:
            raise ProtocolError(
                f"{sought[0]}='scout' is for fit(), which emulates the scouts: a collection asks "
                "them what scout_plan() says, and then has numbers to set"
            )
        return super()._make_protocol(width, n_participants)

    def scout_plan(self, n_features: int) -> ScoutPlan:
        """What scouts are to be asked for the parameters that are "scout".

        Parameters
        ----------
        n_features : int
            Length of a row.

        Returns
        -------
        plan : ScoutPlan
            Its `parameters` are for `set_params`, before `start`.

        Raises
        ------
        ProtocolError
            If no parameter is "scout", or `epsilon` is not one number for all.
        """
        sought = self._sought()
        if not sought:
            raise ProtocolError(f"one of {self._scoutable} must be 'scout' to plan for scouts")
        width = check_integer("n_features", n_features)
        if isinstance(self.epsilon, dict):
            raise ProtocolError(
                f"epsilon must be one number where {sought[0]}={SCOUT!r}: the questions to scouts "
                f"have one epsilon; got groups {list(self.epsilon)}. Let an earlier study of one "
                f"epsilon find {sought[0]}, on other people"
            )
        epsilon = check_epsilon(self.epsilon)
        noise = make_mechanism(
            self.mechanism,
            epsilon=epsilon,
            delta=self.delta,
            dim=self._make_space(width).dim,
            bound=1.0,
        ).noise_variance
        return ScoutPlan(
            NormHistogram(epsilon) if "norm_bound" in sought else None,
            self._start_protocol(width) if "initial_point" in sought else None,
            noise,
            width,
            self._n_directions(),
            self._start_tells_moment(),
        )

    def fit(self, X: ArrayLike, y: Any = None, groups: ArrayLike | None = None) -> Self:
        """Emulate one participant per row, in row order, from the start.

        Where a parameter is "scout" the first rows are those of the scouts, and there are no
        `groups`. See `PrivateFrechetMean.fit`.
        """
        sought = self._sought()
        if not sought:
            self.__dict__.pop("scouted_", None)
            return super().fit(X, y, groups)
        if groups is not None and not isinstance(self.epsilon, dict):  # see scout_plan
            raise ProtocolError(
                f"groups must be None where {sought[0]}={SCOUT!r}: scouts have one epsilon"
            )
        rows = self._check_rows(X, dtype=[np.float64, np.float32])
        seed, width = seed_sequence(self.random_state), rows.shape[1]
        study = clone(self)
        plan, n_scouts, found = _asked(study, rows, width, seed)
        if self.random_state is not None:
            found = {**found, "random_state": np.random.default_rng(seed.spawn(1)[0])}
        study.set_params(**found)
        study.fit(_safe_indexing(X, slice(n_scouts, None)))
        if hasattr(self, "server_") and not self._planned_by_fit:
            notices.warn_if_discarded(self.server_)
        found.pop("random_state", None)
        parameters = self.get_params(deep=False)
        fitted = {name: part for name, part in vars(study).items() if name not in parameters}
        self.__dict__.update(fitted, scouted_=Scouted(plan, n_scouts, found))
        return self


def _asked(study, rows, width, seed):
    """Ask the first rows for what an estimator seeks, the norm first.

    Returns the `ScoutPlan`, how many were asked, and the parameters found.

    Raises
    ------
    ProtocolError
        If there are too few rows.
    """
    plan, found, n_asked = study.scout_plan(width), {}, 0
    n_questions = len(study._sought())
    fewest = 3 * n_questions - 1  # each question has a scout, and the study somebody
    if len(rows) < fewest:
        raise ProtocolError(
            f"X must have {fewest} rows or more, for scouts and for the study; got {len(rows)}"
        )
    share = math.ceil(_SHARE * len(rows) / n_questions)
    most = math.ceil(_LARGEST_SHARE * len(rows)) // n_questions
    if plan.norms is not None:
        n_asked = min(max(share, plan.norms.n_enough), most)
        sets = simulate_norms(plan.norms, rows[:n_asked], np.random.default_rng(seed.spawn(1)[0]))
        notices.warn_if_norms_are_vague(n_asked, plan.norms.n_enough)
        found = replace(plan, start=None).parameters(sets)
        study.set_params(**found)
    if plan.start is not None:
        # Under the bound that was found: then what scouts say is about the study's own target.
        start = study.scout_plan(width)
        plan = replace(start, norms=plan.norms)
        part = min(max(share, _FEWEST), most)
        largest = _LARGEST_SHARE_OF_TOLD if plan.tells_moment else _LARGEST_SHARE
        server, most = make_server(start.start), math.ceil(largest * len(rows))
        while n_asked < most and not (server.n_participants > 0 and start.is_sharp(server)):
            end = min(n_asked + part, most)
            emulate_in_rounds(server, rows[n_asked:end], seed.spawn(1)[0])
            n_asked = end
        notices.warn_if_start_is_vague(start.is_sharp(server), server.n_participants)
        found |= start.parameters(server=server)
    return plan, n_asked, found
