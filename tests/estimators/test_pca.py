"""PrivatePCA: the interactive run, replay, checkpoints, refusals and the meaning of the numbers."""

import json
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from geomstats_ldp import Message, Participant, PrivatePCA, Query, Transcript, Tuning
from geomstats_ldp.exceptions import (
    DuplicateMessageError,
    FewParticipantsWarning,
    ForeignMessageError,
    HessianFloorWarning,
    InvalidMessageError,
    MessageError,
    NotReadyError,
    ProtocolError,
    SafeguardWarning,
    StaleMessageError,
    UninformativeRegionWarning,
)
from geomstats_ldp.protocol import GainRule, InferenceRule

# Runs are short, and say so; what they say is tested where it is the point.
pytestmark = [
    pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.ClippingWarning"),
    pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.SafeguardWarning"),
]

MECHANISMS = [("privunit", 0.0), ("gaussian", 1e-6), ("l2_ball", 0.0)]


def make_data(n=301, seed=0):
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(np.array([[1.0, 1, 1], [1, 0, 0], [0, 1, 0]]).T)[0]
    return (rng.normal(size=(n, 3)) * [1.5, 0.6, 0.3]) @ axes.T


def make_pca(**parameters):
    return PrivatePCA(**{"norm_bound": 2.0, "epsilon": 4.0, "random_state": 3, **parameters})


def states(pca):
    state = pca.server_.state
    return [state.iterate, state.average, state.clock, *state.sums]


def snapshot(pca):
    pending = sorted(pca.server_.pending.items())
    return [array.copy() for array in states(pca)] + [np.array(v) for _, v in pending]


def assert_same(first, second, exactly=True):
    assert len(first) == len(second)
    for a, b in zip(first, second):
        if exactly:
            np.testing.assert_array_equal(a, b)
        else:
            # Sums of some hundred terms of size up to ten, in another order of operations.
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-11)


def run_rounds(pca, X, start=0, stop=None):
    """Feed rows one round at a time, as an interactive collection does."""
    client, i = pca.participant(), start
    while i < (len(X) if stop is None else stop):
        messages = [client.respond(query, X[i + j]) for j, query in enumerate(pca.queries())]
        pca.partial_fit(messages)
        i += len(messages)
    return client


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "delta", "engine"),
    [("privunit", 0.0, "compiled"), *((*mechanism, "geomstats") for mechanism in MECHANISMS)],
)
def test_rounds_equal_fit_with_the_same_draws(mechanism, delta, engine):
    X = make_data()
    common = {"mechanism": mechanism, "delta": delta, "tuning": Tuning(engine=engine)}
    fitted = make_pca(**common).fit(X)
    live = make_pca(**common, n_participants=len(X), initial_point=np.ones(3))
    run_rounds(live, X)
    assert live.protocol_ == fitted.protocol_
    assert_same(states(live), states(fitted), exactly=False)
    np.testing.assert_allclose(live.estimate_, fitted.estimate_, atol=1e-12)
    assert live.queries() == []


@pytest.mark.parametrize("pairs_per_round", [1, 4])
def test_saved_transcript_replays_to_the_last_bit(tmp_path, pairs_per_round):
    X = make_data()
    fitted = make_pca(tuning=Tuning(keep_transcript=True, pairs_per_round=pairs_per_round)).fit(X)
    path = tmp_path / "run.npz"
    fitted.transcript_.save(path)
    transcript = Transcript.load(path)
    assert len(transcript) == len(X)
    replayed = make_pca().partial_fit(transcript)
    assert_same(states(replayed), states(fitted))
    rows = make_pca(n_participants=len(X), tuning=Tuning(pairs_per_round=pairs_per_round))
    for block in np.array_split(transcript.messages, 7):
        rows.partial_fit(block)
    assert_same(states(rows), states(fitted))


def test_interactive_run_keeps_its_transcript():
    X = make_data(41)
    live = make_pca(
        n_participants=41, initial_point=np.ones(3), tuning=Tuning(keep_transcript=True)
    )
    run_rounds(live, X)
    assert_same(states(make_pca().partial_fit(live.transcript_)), states(live))


CRASHING = """
import os, sys
sys.path[:0] = [{here!r}]
from test_pca import *
pca = make_pca(n_participants=101, initial_point=np.ones(3))
run_rounds(pca, make_data(101), stop=60)
query = pca.queries()[1]
pca.partial_fit(Message(query.fingerprint, query.round, query.index, np.zeros(3)))
pca.save_state({path!r})
os._exit(9)
"""


@pytest.mark.slow
def test_a_killed_process_loses_nothing(tmp_path):
    path = str(tmp_path / "state.npz")
    code = CRASHING.format(here=os.path.dirname(__file__), path=path)
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    here = make_pca(n_participants=101, initial_point=np.ones(3))
    run_rounds(here, make_data(101), stop=60)
    query = here.queries()[1]
    here.partial_fit(Message(query.fingerprint, query.round, query.index, np.zeros(3)))
    resumed = make_pca().load_state(path)
    assert_same(snapshot(resumed), snapshot(here))
    assert [query.index for query in resumed.queries()] == [0]
    np.testing.assert_array_equal(resumed.queries()[0].point, here.queries()[0].point)


def test_queries_and_messages_travel_as_text():
    pca = make_pca(initial_point=np.ones(3), random_state=None)
    client = pickle.loads(pickle.dumps(pca.participant()))
    assert isinstance(client, Participant)
    query = Query.from_json(pca.queries()[0].to_json())
    message = Message.from_json(client.respond(query, [0.1, 0.2, 0.3]).to_json())
    pca.partial_fit(message)
    assert pca.diagnostics_["n_pending"] == 1
    assert json.loads(pca.protocol_.to_json())["mechanism"]["epsilon"] == 4.0


def refused_messages(pca, case):
    query, other = pca.queries()
    good = pca.participant().respond(query, [1.0, 0.5, 0.2])
    make = lambda **change: Message(**{**good.__dict__, **change})  # noqa: E731
    tangent = np.cross(query.point, [1.0, 0.0, 0.0])
    return {
        "not a message": [good, "text"],
        "foreign": make(fingerprint="0" * 64),
        "stale": make(round=query.round - 1),
        "future": make(round=query.round + 1),
        "index": make(index=2),
        "duplicate": [good, good],
        "second of two": [good, make(index=other.index, tangent_vec=[1, 2, np.nan])],
        "nan": make(tangent_vec=[np.nan, 0, 0]),
        "inf": make(tangent_vec=[np.inf, 0, 0]),
        "width": make(tangent_vec=[1.0, 0.0]),
        "normal": make(tangent_vec=good.tangent_vec + 0.1 * query.point),
        "support": make(tangent_vec=1e3 * tangent),
    }[case]


REFUSALS = {
    "not a message": (MessageError, ValueError, TypeError),
    "foreign": ForeignMessageError,
    "stale": StaleMessageError,
    "future": StaleMessageError,
    "duplicate": DuplicateMessageError,
    **dict.fromkeys(
        ["index", "second of two", "nan", "inf", "width", "normal", "support"],
        InvalidMessageError,
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refused_messages_leave_everything_as_it_was(case):
    pca = make_pca(initial_point=np.ones(3))
    run_rounds(pca, make_data(20))
    messages, error = refused_messages(pca, case), REFUSALS[case]
    before = snapshot(pca)
    with pytest.raises(error):
        pca.partial_fit(messages)
    assert_same(snapshot(pca), before)
    run_rounds(pca, make_data(2))
    assert pca.n_participants_ == 22


@pytest.mark.parametrize(
    "rows",
    [[[np.nan, 0, 0]], [[0, np.inf, 0]], [[1.0, 2.0]], [[1.0, 2.0, 3.0, 4.0]], [1.0, 2.0, 3.0]],
)
def test_refused_rows_leave_everything_as_it_was(rows):
    pca = make_pca().fit(make_data(60))
    before, width = snapshot(pca), pca.n_features_in_
    with pytest.raises(ValueError):
        pca.partial_fit(rows)
    with pytest.raises(ValueError):
        pca.fit(rows if np.shape(rows)[-1:] == (3,) else [[np.nan, 1.0]])
    assert_same(snapshot(pca), before)
    assert pca.n_features_in_ == width


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": np.nan}, "epsilon"),
        ({"delta": -0.1}, "delta"),
        ({"delta": 1.0, "mechanism": "gaussian"}, "delta"),
        ({"delta": 1e-6}, "delta"),
        ({"norm_bound": 0}, "norm_bound"),
        ({"norm_bound": -2.0}, "norm_bound"),
        ({"norm_bound": np.inf}, "norm_bound"),
        ({"mechanism": "laplace"}, "laplace"),
        ({"region_radius": 0}, "radius"),
        ({"region_radius": 1.5}, "region_radius"),
        ({"initial_point": [1.0, 0.0]}, "initial_point"),
        ({"initial_point": np.zeros(3)}, "initial_point"),
        ({"tuning__preconditioner": -np.eye(3)}, "preconditioner"),
        ({"tuning__preconditioner": np.eye(2)}, "preconditioner"),
        ({"tuning__pairs_per_round": 0}, "pairs_per_round"),
        ({"tuning__retraction": "cayley"}, "retraction"),
        ({"tuning__engine": "fast"}, "engine"),
    ],
)
def test_bad_parameters_are_named_and_change_nothing(parameters, name):
    pca = make_pca().fit(make_data(60))
    before = snapshot(pca)
    pca.set_params(**parameters)
    with pytest.raises(ValueError, match=name):
        pca.fit(make_data(60))
    assert_same(snapshot(pca), before)


def test_plan_is_kept():
    X = make_data(12)
    pca = make_pca(n_participants=12, initial_point=np.ones(3))
    run_rounds(pca, X)
    before = snapshot(pca)
    with pytest.raises(StaleMessageError, match="12 participants are planned"):
        pca.partial_fit(X)
    assert_same(snapshot(pca), before)


def test_fit_is_extended_by_more_messages():
    pca = make_pca().fit(make_data(61))
    pca.partial_fit(np.zeros((5, 3)))
    assert pca.n_participants_ == 65
    assert pca.diagnostics_["n_pending"] == 1


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_few_participants_are_a_warning_and_a_named_error(n):
    with pytest.warns(FewParticipantsWarning, match=f"{n} participants"):
        pca = make_pca().fit(make_data(n))
    assert pca.n_participants_ == n
    assert np.isclose(np.linalg.norm(pca.estimate_), 1.0)
    with pytest.raises(NotReadyError, match="participants have answered"):
        pca.confidence_region()
    assert not hasattr(pca, "covariance_")
    assert pca.diagnostics_["n_participants"] == n


def test_unfitted_estimator_says_so():
    with pytest.raises(NotFittedError):
        make_pca().confidence_region()
    with pytest.raises(ProtocolError, match="n_features"):
        make_pca().queries()
    assert len(make_pca().start(3).queries()) == 2


def test_circle_has_one_dimensional_region():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 2)) * [1.0, 0.4] @ np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    pca = make_pca(norm_bound=2.0, tuning=Tuning(engine="geomstats"))  # compiles for two columns
    region = pca.fit(X).confidence_region()
    assert region.semi_axis_lengths.shape == (1,)
    assert region.boundary().shape == (2, 2)
    assert region.contains(np.ones(2) / np.sqrt(2))


@pytest.mark.slow  # compiles pairs without noise
def test_without_privacy_the_estimate_is_the_batch_direction():
    X = make_data(40_001)
    pca = make_pca(epsilon=np.inf).fit(X)
    clipped = X * np.minimum(1, 2.0 / np.linalg.norm(X, axis=1))[:, None]
    direction = np.linalg.eigh(clipped.T @ clipped)[1][:, -1]
    direction *= np.sign(direction.sum())
    region = pca.confidence_region(level=0.999)
    assert region.contains(direction)
    # The algorithm's own error is far under the sampling error that the region describes.
    assert region.geometry.dist(pca.estimate_, direction) < region.angular_radii[-1] / 3


def test_hessian_and_score_covariance_are_recovered():
    X = make_data(60_000, seed=2)
    pca = make_pca(epsilon=8.0, random_state=0).fit(X)
    clipped = X * np.minimum(1, 2.0 / np.linalg.norm(X, axis=1))[:, None]
    moment = clipped.T @ clipped / len(X)
    frame = pca.protocol_.geometry.lift(np.eye(2), pca.estimate_)
    hessian = frame @ (np.linalg.eigvalsh(moment)[-1] * np.eye(3) - moment) @ frame.T
    radius = pca.protocol_.radius.maximum
    noise = pca.protocol_.mechanism.noise_variance
    along = clipped @ pca.estimate_
    scores = -along[:, None] * (clipped @ frame.T)
    covariance = np.cov(scores.T) + noise * np.eye(2)
    # Standard error of an entry of the Hessian: Sigma / 2 over the Gram matrix s / d = L h^2 / 2.
    error = np.sqrt(np.max(covariance) / 2 / (15_000 * radius**2))
    # The central difference at distance h has a relative bias of order h^2.
    assert np.all(np.abs(pca.hessian_ - hessian) < 4 * error + 1.5 * radius**2 * hessian.max())
    assert np.allclose(pca.score_covariance_, covariance, atol=0.05 * np.max(covariance))


def test_warnings_name_what_to_change():
    X = make_data(400)
    pca = make_pca(
        epsilon=0.5,
        random_state=0,
        tuning=Tuning(
            inference=InferenceRule(hessian="raw"),
            gain=GainRule(constant=1.0, offset=0.0, exponent=0.6, step_cap=0.75),
        ),
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        region = pca.fit(X).confidence_region()
    kinds = [warning.category for warning in caught]
    assert {UninformativeRegionWarning, HessianFloorWarning} <= set(kinds)
    assert kinds.count(SafeguardWarning) == 1
    assert not region.is_informative
    assert "uninformative" in repr(region)


def test_pipeline_clone_pickle_and_names():
    X = make_data(400)
    scaler = FrozenEstimator(StandardScaler().fit(make_data(100, seed=9)))
    pipeline = make_pipeline(scaler, make_pca()).fit(X)
    assert pipeline.predict(X).shape == (400,)
    assert pipeline.transform(X).shape == (400, 1)
    assert pipeline[-1].get_feature_names_out().tolist() == ["privatepca0"]
    pca = make_pca().fit(X)
    twin = pickle.loads(pickle.dumps(pca))
    assert_same(states(twin), states(pca))
    assert_same(states(clone(pca).fit(X)), states(pca))
    assert twin.score(X) == pytest.approx(pca.score(X))
    assert "privunit" in repr(pca.protocol_).lower() and "epsilon=4.0" in repr(pca.protocol_)
    assert "PrivatePCA" in pca._repr_html_()


def test_score_is_minus_the_mean_loss():
    X = make_data(50)
    pca = make_pca().fit(make_data(400))
    assert np.linalg.norm(X, axis=1).max() > pca.norm_bound
    assert pca.score(X) == pytest.approx(np.mean((X @ pca.estimate_) ** 2) / 2)
    np.testing.assert_allclose(pca.predict(X), X @ pca.components_[0])


@pytest.mark.slow
def test_a_search_over_bounds_finds_one_that_fits_the_data():
    """Rows clipped to the bound of each candidate made the largest win, whatever its noise."""
    X = np.random.default_rng(2).normal(size=(3000, 3)) * [1.0, 0.4, 0.4]
    model = make_pca(epsilon=2.0, initial_point=[1.0, 1.0, 1.0], n_rounds=5)
    search = GridSearchCV(model, {"norm_bound": [2.0, 50.0]}, cv=3).fit(X)
    assert search.best_params_ == {"norm_bound": 2.0}
    assert search.best_estimator_.estimate_[0] > 0.95


def test_preconditioner_changes_the_path_not_the_limit():
    X = make_data(20_000, seed=4)
    metric = np.diag([2.0, 1.0, 0.5])
    plain = make_pca(epsilon=8.0).fit(X)
    preconditioned = make_pca(epsilon=8.0, tuning=Tuning(preconditioner=metric)).fit(X)
    assert not np.allclose(plain.server_.state.iterate, preconditioned.server_.state.iterate)
    assert plain.confidence_region(0.99).contains(preconditioned.estimate_)
