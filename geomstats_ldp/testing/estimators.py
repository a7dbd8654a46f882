"""What every estimator promises: equal ways to run it, exact resumption, honest regions."""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from geomstats_ldp.exceptions import LDPWarning, MessageError
from geomstats_ldp.protocol import Message, Protocol
from geomstats_ldp.testing.cases import (
    Case,
    require,
    require_at_most,
    require_close,
    require_equal,
    require_refused,
    require_same_arrays,
)

#: Sums of some hundred terms, in another order of operations.
_ROUNDING = 1e-9


@dataclass(eq=False)
class EstimatorCase(Case):
    """An estimator with data of its manifold.

    Parameters
    ----------
    estimator : BasePrivateEstimator
        Fitted or not. It is cloned, never changed; its `random_state` is set to 0 in the clones.
    X : array-like, shape [n, *data_shape]
        Raw data, a few hundred rows; of an estimator whose `fit` takes targets, with the target in
        the last column.
    off_manifold : array-like, shape [*data_shape], optional
        A finite row that the estimator must refuse.
    """

    estimator: Any
    X: Any
    off_manifold: Any = None

    def __str__(self):
        # Named by the protocol, which needs no run: pytest asks when it collects.
        protocol = self._protocol
        plan = " in rounds" if self.asks_in_rounds else ""
        name, loss = type(self.estimator).__name__, protocol.loss_spec["name"]
        return f"{name} {loss} on {protocol.space_spec['name']} {self.rows.shape[1:]}{plan}"

    def checks(self) -> list[Callable]:
        """Checks of an estimator."""
        # A seeded participant has the draws of pairs; blocks of a round have streams of their own.
        left_out = [check_loop_equals_fit] if self.asks_in_rounds else []
        return [check for check in _CHECKS if check not in left_out]

    @property
    def asks_in_rounds(self) -> bool:
        """Whether the estimator collects in rounds, and not in pairs."""
        return self._protocol.rounds is not None

    @cached_property
    def _protocol(self):
        """What a clone would send to devices."""
        return self._make()._make_protocol(self.n_features, len(self.rows))

    @cached_property
    def rows(self) -> np.ndarray:
        """The data as an array."""
        return np.array(self.X, dtype=float)

    @property
    def n_features(self) -> int:
        """Columns of the data, without the target."""
        return self.rows.shape[1] - self._takes_targets

    @property
    def _takes_targets(self):
        return get_tags(self.estimator).target_tags.required

    def _split(self, rows):
        """Arguments of `fit` and `score` for rows."""
        if not self._takes_targets:
            return (rows,)
        return (rows[:, :-1], rows[:, -1]) if rows.ndim > 1 else (rows, rows)

    def _fit(self, estimator, rows):
        """Fit an estimator to rows."""
        return estimator.fit(*self._split(rows))

    def _make(self, **parameters):
        """A fresh clone with a seed."""
        return clone(self.estimator).set_params(random_state=0, **parameters)

    @cached_property
    def fitted(self) -> Any:
        """A clone that `fit` has run."""
        with quiet():
            return self._fit(self._make(tuning__keep_transcript=True), self.rows)

    def _started(self, **parameters):
        """A clone that collects messages, for as many participants as there are rows."""
        planned = self._make(n_participants=len(self.rows), **parameters)
        return planned.start(self.n_features)

    def _run(self, estimator, client, stop):
        """Let participants answer open queries until `stop` have."""
        while estimator.n_participants_ < stop:
            first = estimator.n_participants_
            messages = [
                client.respond(query, self.rows[first + i])
                for i, query in enumerate(estimator.queries())
            ]
            estimator.partial_fit(messages)
        return estimator


@contextmanager
def quiet():
    """Silence warnings about runs too short to say much."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        yield


def state_of(estimator):
    """Arrays that make up the state of a collection, the open round included."""
    state = estimator.server_.state
    if estimator.protocol_.rounds is not None:
        return [np.array(part) for part in state]
    pending = [message for _, message in sorted(estimator.server_.pending.items())]
    parts = (*state[:3], *state.sums, state.weights, state.safeguards, *pending)
    return [np.array(part) for part in parts]


def require_same_state(one, other, what, tolerance=0.0):
    """Both estimators are in the same state, to the last bit unless a tolerance is given."""
    first, second = state_of(one), state_of(other)
    require_equal(len(first), len(second), f"{what}, number of open messages and sums")
    for a, b in zip(first, second):
        require_close(a, b, tolerance * np.maximum(1.0, np.abs(b)), what)


def check_parameters(case):
    """Clones carry the parameters, and `fit` leaves every one of them as it is."""
    parameters, made = case.estimator.get_params(deep=False), case._make()
    server = getattr(case.estimator, "server_", None)
    before = made.get_params(deep=False)
    require_equal(sorted(before), sorted(parameters), "names of the parameters of a clone")
    with quiet():
        case._fit(made, case.rows)
    for name, value in made.get_params(deep=False).items():
        kept = value is before[name]
        require(kept, f"parameter {name} after fit: expected {before[name]!r}; got {value!r}")
    kept = getattr(case.estimator, "server_", None) is server
    require(kept, "the estimator itself: expected it unchanged; fit of a clone changed it")


def check_fit_is_reproducible(case):
    """The same seed gives the same state; other seeds other messages; data stay as they are."""
    before, again = case.rows.copy(), case._make()
    with quiet():
        case._fit(again, case.rows)
        other = case._fit(case._make().set_params(random_state=1), case.rows)
    require_same_arrays(case.rows, before, "data after fit")
    require_same_state(again, case.fitted, "state of a second fit with the same seed")
    if np.isfinite(case.estimator.epsilon):
        same = np.array_equal(other.estimate_, again.estimate_)
        require(not same, "fit with another seed: expected another estimate; got the same")


def check_loop_equals_fit(case):
    """Queries, participants and `partial_fit` one round at a time give what `fit` does."""
    live = case._started()
    require_equal(live.protocol_, case.fitted.protocol_, "protocol of the live collection")
    case._run(live, live.participant(), len(case.rows))
    require_same_state(live, case.fitted, "state of the live collection", _ROUNDING)
    require_equal(live.queries(), [], "open queries after the last participant")


def check_replay(case):
    """A transcript, and its rows as an array, give the state of the run to the last bit."""
    transcript = case.fitted.transcript_
    replayed = case._make().partial_fit(transcript)
    require_same_state(replayed, case.fitted, "state of the replayed transcript")
    if case.asks_in_rounds:
        return  # their messages have addresses, which rows have not
    rows = case._started()
    for block in np.array_split(transcript.messages, 7):
        rows.partial_fit(block)
    require_same_state(rows, case.fitted, "state of the replayed rows")


def check_resume(case):
    """A saved collection, its open round included, goes on exactly as the unbroken one."""
    live = case._started()
    client = live.participant()
    case._run(live, client, 1 if case.asks_in_rounds else len(case.rows) // 4 * 2)
    datum = case.rows[live.n_participants_]
    live.partial_fit(client.respond(live.queries()[-1], datum))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        live.save_state(path)
        resumed = case._make().load_state(path)
    require_equal(resumed.protocol_, live.protocol_, "protocol of the resumed collection")
    require_same_state(resumed, live, "state of the resumed collection")
    rest = [client.respond(query, datum) for query in live.queries()]
    for _ in range(3):
        for one in (live, resumed):
            one.partial_fit(rest)
        require_same_state(resumed, live, "state of the resumed collection, later")
        rest = [client.respond(query, datum) for query in live.queries()]


def check_pickle_and_record(case):
    """Pickles carry the state; the protocol reads back from JSON; a participant pickles."""
    copy = pickle.loads(pickle.dumps(case.fitted))
    require_same_state(copy, case.fitted, "state of the pickled estimator")
    protocol = case.fitted.protocol_
    require_equal(Protocol.from_json(protocol.to_json()), protocol, "protocol from its JSON text")
    client = pickle.loads(pickle.dumps(case.fitted.participant()))
    require_equal(client.protocol, protocol, "protocol of the pickled participant")


def check_region(case):
    """The region is centred at the estimate, nested in the level, with the boundary it says."""
    fitted = case.fitted
    with quiet():
        regions = [fitted.confidence_region(level) for level in (0.5, 0.95)]
    small, large = regions
    require_close(large.statistic(fitted.estimate_), 0.0, 1e-8, "statistic of the estimate")
    require_close(large.pvalue(fitted.estimate_), 1.0, 1e-6, "p-value of the estimate")
    require_at_most(small.threshold, large.threshold, "threshold of the smaller level")
    eigenvalues = np.linalg.eigvalsh(fitted.covariance_)
    require(eigenvalues[0] > 0, f"covariance_: expected positive eigenvalues; got {eigenvalues}")
    if large.is_informative:
        boundary = large.boundary(8)
        statistic = large.statistic(boundary)
        tolerance = 1e-6 * large.threshold
        require_close(
            statistic, np.full(8, large.threshold), tolerance, "statistic at the boundary"
        )
        require_close(
            large.pvalue(boundary), np.full(8, 0.05), 1e-6, "p-value at the boundary of 0.95"
        )
    for level in (0.0, 1.0, -1.0, np.nan):
        require_refused(f"level={level}", fitted.confidence_region, level)


def check_predictions(case):
    """Predictions and score are finite numbers of the rows; the estimate has a functional."""
    fitted = case.fitted
    require(np.isfinite(fitted.estimate_).all(), f"estimate_: expected numbers; got {fitted}")
    arguments = case._split(case.rows)
    require_equal(len(fitted.predict(arguments[0])), len(case.rows), "number of predictions")
    require(np.isfinite(fitted.score(*arguments)), "score: expected a finite number")
    with quiet():
        functional = fitted.functional(lambda point: np.ravel(point)[0])
    require_close(
        functional.estimate, np.ravel(fitted.estimate_)[:1], 1e-12, "functional of an entry"
    )


def check_bad_data(case):
    """NaN, infinite, misshapen and off-manifold rows are refused, and change nothing."""
    bad = {"NaN": case.rows.copy(), "inf": case.rows.copy(), "no": case.rows[:0]}
    bad["NaN"][1].flat[0], bad["inf"][1].flat[0] = np.nan, np.inf
    if case.rows.ndim == 3:
        bad["matrices that are not square as"] = case.rows[:, :, :-1]
    bad["one row as"] = case.rows[0, ..., 0]
    if case.off_manifold is not None:
        bad["off-manifold"] = case.rows.copy()
        bad["off-manifold"][2] = case.off_manifold
    used = pickle.loads(pickle.dumps(case.fitted))
    for name, rows in bad.items():
        for estimator in (case._make(), used):
            with quiet():
                require_refused(f"fit with {name} data", case._fit, estimator, rows)
    require_same_state(used, case.fitted, "state after refused data")


def check_bad_messages(case):
    """Foreign, repeated, late, NaN and off-tangent messages are refused, and change nothing."""
    live = case._started()
    client, data = live.participant(), case.rows
    first, second = (client.respond(q, y) for q, y in zip(live.queries()[:2], data))
    live.partial_fit(first)
    huge = np.full_like(first.tangent_vec, 1e200)
    bad = {
        "foreign": Message("0" * 64, second.round, second.index, second.tangent_vec),
        "repeated": first,
        "late": Message(second.fingerprint, second.round + 5, second.index, second.tangent_vec),
        "NaN": Message(second.fingerprint, second.round, second.index, np.nan * huge),
        "huge": Message(second.fingerprint, second.round, second.index, huge),
    }
    if case.asks_in_rounds:
        del bad["repeated"]  # many participants answer one query
    before = pickle.loads(pickle.dumps(live))
    for name, message in bad.items():
        what, both = f"a message that is {name}", [second, message]
        require_refused(what, live.partial_fit, both, error=MessageError)
        require_same_state(live, before, f"state after {what}")
    live.partial_fit(second)
    require_equal(live.n_participants_, 2, "participants after the round was completed")


_CHECKS = (
    check_parameters,
    check_fit_is_reproducible,
    check_loop_equals_fit,
    check_replay,
    check_resume,
    check_pickle_and_record,
    check_region,
    check_predictions,
    check_bad_data,
    check_bad_messages,
)
