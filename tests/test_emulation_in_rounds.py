"""Emulation in rounds: the same as a server that is fed messages, whatever cores and blocks."""

import math
import pickle

import joblib
import numpy as np
import pytest
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivateSPDCovariance,
    PrivateVMFLocation,
    Tuning,
    replicate,
)
from geomstats_ldp.emulation_in_rounds import BLOCK, block_size, emulate_in_rounds
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.protocol import Message

# Bounds are small on purpose, so that clipping takes part.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.ClippingWarning")

SPACES = {
    "S1": Hypersphere(1),
    "S2": Hypersphere(2),
    "H2": Hyperboloid(2),
    "R3": space_from_spec({"name": "Euclidean", "dim": 3}),
    "SPD2 affine": space_from_spec({"name": "SPDAffineInvariant", "n": 2}),
    "SPD2 log": space_from_spec({"name": "SPDLogEuclidean", "n": 2}),
}
SPD_CENTER = [[2.0, 0.3], [0.3, 0.7]]
CENTERS = ([0.6, 0.8], [0.0, 0.6, 0.8], [1.0, 0.0, 0.0], [0.1, 0.2, 0.3], SPD_CENTER, SPD_CENTER)


def data_of(space, center, n=150):
    geometry = Geometry(space, center)
    coords = 0.2 * np.random.default_rng(1).normal(size=(n, geometry.dim))
    return geometry.exp(geometry.lift(coords, geometry.reference), geometry.reference)


def vectors(n=150):
    return np.random.default_rng(0).normal(size=(n, 3)) * [1.5, 0.8, 0.4]


MODELS = {
    **{
        name: (PrivateFrechetMean(space, initial_point=center), data_of(space, center))
        for (name, space), center in zip(SPACES.items(), CENTERS)
    },
    "PCA": (PrivatePCA(norm_bound=2.0, initial_point=[1.0, 0.2, 0.1]), vectors()),
    "vMF": (PrivateVMFLocation(initial_point=[1.0, 0.2, 0.1]), vectors()),
    "covariance": (PrivateSPDCovariance(norm_bound=2.0), vectors()[:, :2]),
}


#: Compiled in the fast tests; the others wait for the slow ones.
FEW = ("S2", "R3", "PCA", "vMF")


@pytest.fixture(
    params=[pytest.param(name, marks=[] if name in FEW else pytest.mark.slow) for name in MODELS]
)
def model(request):
    estimator, data = MODELS[request.param]
    options = {"epsilon": 4.0, "n_rounds": 3, "random_state": 0}
    return pickle.loads(pickle.dumps(estimator)).set_params(**options), data


def state_of(estimator):
    return estimator.server_.state


def assert_close(one, other, tolerance):
    for a, b in zip(state_of(one), state_of(other)):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * (1 + np.abs(b).max()))
    np.testing.assert_allclose(one.estimate_, other.estimate_, rtol=tolerance, atol=tolerance)


def sorted_by_index(messages, addresses):
    """Messages and addresses of a round in the order of its query points."""
    order = np.argsort(addresses[:, 1], kind="stable")
    return messages[order], addresses[order]


def copy_of(estimator, **parameters):
    return pickle.loads(pickle.dumps(estimator)).set_params(**parameters)


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
class TestAllSpaces:
    def test_a_server_fed_with_the_same_messages(self, model):
        estimator, data = model
        fitted = copy_of(estimator, tuning=Tuning(keep_transcript=True)).fit(data)
        record = fitted.transcript_
        geometry = fitted.protocol_.geometry
        live = copy_of(estimator, n_participants=len(data)).start(data.shape[1])
        start = 0
        while not live.server_.is_complete:
            queries = live.queries()
            part = slice(start, start + len(queries))
            messages = []
            for query, coords, address in zip(
                sorted(queries, key=lambda query: query.index),
                *sorted_by_index(record.messages[part], record.addresses[part]),
            ):
                assert tuple(address) == (query.round, query.index)
                vector = geometry.lift(coords, query.point)
                messages.append(Message(query.fingerprint, query.round, query.index, vector))
            live.partial_fit(messages)
            start += len(queries)
        assert start == len(data)
        assert_close(live, fitted, 1e-9)

    def test_both_engines(self, model):
        estimator, data = model
        data = data[:90]
        compiled, slow = (
            copy_of(estimator, tuning=Tuning(engine=engine)).fit(data)
            for engine in ("auto", "geomstats")
        )
        assert compiled.diagnostics_["engine"] == "compiled"
        assert_close(slow, compiled, 1e-9)
        np.testing.assert_allclose(slow.covariance_, compiled.covariance_, rtol=1e-6)

    def test_blocks_of_any_sizes_and_copies(self, model):
        estimator, data = model
        fitted = copy_of(estimator).fit(data)
        for cuts in ([], [1, 2, 77], [50, 100], list(range(10, 150, 10))):
            blocked = copy_of(estimator).fit_blocks(np.split(data, cuts), len(data))
            for a, b in zip(state_of(blocked), state_of(fitted)):
                np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(blocked.estimate_, fitted.estimate_)
        copied = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(copied.covariance_, fitted.covariance_)
        assert np.isfinite(fitted.score(data))


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_the_number_of_threads_does_not_matter(n_threads, monkeypatch):
    monkeypatch.setattr("geomstats_ldp.emulation_in_rounds.BLOCK", 64)
    pca = copy_of(MODELS["PCA"][0], n_rounds=3, random_state=3, epsilon=4.0)
    expected = copy_of(pca).fit(vectors(1500))
    monkeypatch.setattr(joblib, "effective_n_jobs", lambda n: n_threads)
    again = copy_of(pca).fit(vectors(1500))
    for a, b in zip(state_of(again), state_of(expected)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    "name",
    [
        "covariance",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("SPD2 affine", "SPD2 log")),
    ],
)
def test_threads_do_not_share_scratch(name, monkeypatch):
    """Twins of SPD matrices hold scratch: shared by two threads it would spoil messages."""
    monkeypatch.setattr("geomstats_ldp.emulation_in_rounds.BLOCK", 2000)
    model, data = MODELS[name]
    data = np.tile(data, (40_000 // len(data) + 1,) + (1,) * (data.ndim - 1))[:40_000]
    fits = []
    for n_threads in (1, 4):
        monkeypatch.setattr(joblib, "effective_n_jobs", lambda n, count=n_threads: count)
        fits.append(copy_of(model, n_rounds=1, random_state=0, epsilon=4.0).fit(data))
    for a, b in zip(*map(state_of, fits)):
        np.testing.assert_array_equal(a, b)


def test_clipped_rows_are_counted_over_threads(monkeypatch):
    monkeypatch.setattr("geomstats_ldp.emulation_in_rounds.BLOCK", 16)
    monkeypatch.setattr(joblib, "effective_n_jobs", lambda n: 8)
    X = vectors(2000)
    n_long = int(np.sum(np.linalg.norm(X, axis=1) > 2.0))
    pca = copy_of(MODELS["PCA"][0], n_rounds=3, random_state=3, epsilon=4.0, n_participants=2000)
    clipping = emulate_in_rounds(pca.start(3).server_, X, 0)
    assert (clipping.n_clipped, clipping.n_rows) == (n_long, 2000)


def test_more_rows_than_planned_change_nothing():
    pca = copy_of(MODELS["PCA"][0], n_rounds=3, random_state=3, n_participants=50)
    with pytest.raises(ProtocolError, match=r"plan of n_participants=50|hold \d+ rows"):
        pca.start(3).fit_blocks([vectors(30), vectors(30)])
    assert pca.n_participants_ == 0


def fit_once(seed):
    pca = copy_of(
        MODELS["PCA"][0], n_rounds=3, epsilon=4.0, random_state=np.random.default_rng(seed)
    )
    return pca.fit(vectors(200)).estimate_


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
@pytest.mark.slow  # processes of their own
def test_repetitions_do_not_depend_on_workers():
    one, two = (np.array(list(replicate(fit_once, 4, seed=1, n_jobs=n))) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    assert len(np.unique(one[:, 0])) == 4


@pytest.mark.parametrize("n_rows", [None, 1, BLOCK, BLOCK + 1, 500_000, 4 * BLOCK, 4 * BLOCK + 1])
def test_large_rounds_are_cut_into_a_multiple_of_four_even_blocks(n_rows):
    size = block_size(n_rows)
    assert 0 < size <= BLOCK
    if n_rows is None or n_rows <= BLOCK:
        assert size == BLOCK
    else:
        n_blocks = math.ceil(n_rows / size)
        assert n_blocks % 4 == 0 and n_blocks * size < n_rows + n_blocks


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
@pytest.mark.parametrize("n_rounds", [4, 8])
def test_rows_in_order_meet_the_questions_that_they_meet_in_fit(n_rounds):
    # Without noise nothing else differs; from five rounds on two of them ask for curvature.
    rng, n = np.random.default_rng(3), 1000
    X = rng.normal(size=(n, 2))
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))) * 1.0
    parameters = {"epsilon": np.inf, "classes": (0, 1), "n_rounds": n_rounds, "random_state": 0}
    at_once = PrivateLogisticRegression(2.0, **parameters).fit(X, y)
    assert (at_once.protocol_.rounds.curvature_rounds is not None) == (n_rounds == 8)
    live = PrivateLogisticRegression(2.0, n_participants=n, **parameters).start(n_features=2)
    rows, person = iter(np.column_stack([X, y])), live.participant()
    while queries := live.queries():
        live.partial_fit([person.respond(query, next(rows)) for query in queries])
    counts = live.server_.state.counts, at_once.server_.state.counts
    np.testing.assert_array_equal(*counts)
    np.testing.assert_allclose(live.estimate_, at_once.estimate_, rtol=1e-9)
