"""Data that are passed as messages: nothing protects them, and a warning says so."""

import math
import warnings

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from sklearn.base import clone

from geomstats_ldp import PrivateFrechetMean, PrivatePCA, PrivateVMFLocation, Tuning
from geomstats_ldp.exceptions import InvalidMessageError, RawDataWarning
from geomstats_ldp.mechanisms import MECHANISMS, make_mechanism
from geomstats_ldp.mechanisms.plausibility import can_be_released, log_chance_of_spread
from geomstats_ldp.protocol import Transcript

# Runs are short, and say so; what they say is tested where it is the point.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.SafeguardWarning")


def directions(n, dim=3, seed=0):
    rows = np.random.default_rng(seed).normal([2.0] + [0.5] * (dim - 1), 1.0, size=(n, dim))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def cloud(n, spread, offset=0.0, dim=2, seed=0):
    return offset + spread * np.random.default_rng(seed).normal(size=(n, dim))


@pytest.fixture
def no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RawDataWarning)
        yield


MODELS = {
    "directions": (PrivateVMFLocation(epsilon=2.0, random_state=0), directions(6000)),
    "axes": (PrivatePCA(norm_bound=4.0, epsilon=2.0, random_state=0), cloud(6000, 1.0, 0.3, dim=3)),
    "centred data": (
        PrivateFrechetMean(epsilon=1.0, data_radius=4.0, random_state=0),
        cloud(6000, 0.5),
    ),
    "data off the centre": (
        PrivateFrechetMean(epsilon=2.0, data_radius=4.0, random_state=0),
        cloud(6000, 0.5, 1.5),
    ),
    "normal noise": (
        PrivateFrechetMean(
            epsilon=1.0, delta=1e-6, mechanism="gaussian", data_radius=4.0, random_state=0
        ),
        cloud(6000, 0.5, 1.5),
    ),
    "a sphere of messages": (
        PrivateFrechetMean(epsilon=1.0, mechanism="l2_ball", data_radius=4.0, random_state=0),
        cloud(6000, 0.5),
    ),
}


#: The other space, and two kinds of noise more, are compiled for.
NAMES = [
    *list(MODELS)[:2],
    *(pytest.param(name, marks=pytest.mark.slow) for name in list(MODELS)[2:]),
]


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_are_added_to_a_fit_are_no_messages(name):
    model, X = MODELS[name]
    model.fit(X[:1000])
    with pytest.warns(RawDataWarning, match="look like data; use fit") as caught:
        model.partial_fit(X[1000:])
    found = [one for one in caught if one.category is RawDataWarning]
    assert [one.filename for one in found] == [__file__]


@pytest.mark.parametrize("name", NAMES)
def test_messages_of_an_array_pass(name, no_warning):
    model, X = MODELS[name]
    model.set_params(tuning=Tuning(keep_transcript=True)).fit(X[:1001])
    messages = model.transcript_.messages
    again = clone(model).set_params(n_participants=1001).start(X.shape[1])
    for rows in np.array_split(messages, 7):
        again.partial_fit(rows)
    # A few digits are enough, as in a text file.
    model.fit(X[:100])
    rounded = model.transcript_.messages.astype(np.float32)
    again = clone(model).set_params(n_participants=100).start(X.shape[1])
    again.partial_fit(rounded)


def test_a_warning_that_is_an_error_leaves_the_state(no_warning, same_state):
    model, X = MODELS["directions"]
    model.fit(X[:1000])
    state = model.server_.state
    with pytest.raises(RawDataWarning):
        model.partial_fit(X[1000:])
    assert same_state(model.server_.state, state)
    assert model.server_.n_received == model.n_participants_ == 1000


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda row: row * 1e60, "in the support of the mechanism; row 17 is not"),
        (lambda row: row + 1.0, "tangent at their query; row 17 is not"),
    ],
)
def test_transcripts_hold_messages_only(spoil, match, same_state):
    model, X = MODELS["directions"]
    model.set_params(tuning=Tuning(keep_transcript=True)).fit(X[:50])
    messages = model.transcript_.messages.copy()
    messages[17] = spoil(messages[17])
    fresh = PrivateVMFLocation()
    with pytest.raises(InvalidMessageError, match=match):
        fresh.partial_fit(Transcript(model.protocol_, messages))
    assert not hasattr(fresh, "server_")
    fresh.partial_fit(model.transcript_)
    assert same_state(fresh.server_.state, model.server_.state)


# ------------------------------------------------------------------------ the bound


def mechanism(name, epsilon, dim):
    delta = 1e-6 if name == "gaussian" else 0.0
    return make_mechanism(name, epsilon=epsilon, delta=delta, dim=dim, bound=2.0)


@pytest.mark.parametrize("dim", [1, 2, 9])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"identity"}))
def test_messages_about_any_datum_have_a_likely_spread(name, epsilon, dim):
    randomiser = mechanism(name, epsilon, dim)
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(5, dim))
    for score in (0.0 * scores[0], *(2.0 * scores / np.linalg.norm(scores, axis=1)[:, None])):
        for n in (1, 30, 3000):
            released = randomiser.randomise(np.tile(score, (n, 1)), rng)
            assert log_chance_of_spread(randomiser, released) == 0.0
            assert can_be_released(randomiser, released, 1e-9).all()


@pytest.mark.parametrize("name", sorted(set(MECHANISMS) - {"identity"}))
def test_the_bound_is_one_for_the_smallest_of_many_batches(name):
    """Of the 1000 batches the tightest has probability about 1/1000, which no bound undercuts."""
    randomiser = mechanism(name, 4.0, 2)
    rng = np.random.default_rng(4)
    released = randomiser.randomise(np.tile([2.0, 0.0], (20_000, 1)), rng).reshape(1000, 20, 2)
    chances = [log_chance_of_spread(randomiser, rows) for rows in released]
    assert min(chances) >= math.log(1e-3) - math.log(1e3)


@pytest.mark.parametrize("name", ["privunit", "gaussian"])
def test_the_bound_falls_with_the_spread_and_the_number(name):
    randomiser = mechanism(name, 2.0, 3)
    rows = randomiser.randomise(np.zeros((4000, 3)), np.random.default_rng(5))
    chances = [log_chance_of_spread(randomiser, factor * rows) for factor in (0.8, 0.5, 0.2, 0.0)]
    assert chances == sorted(chances, reverse=True)
    assert chances[-1] < -100.0
    fewer = [log_chance_of_spread(randomiser, 0.2 * rows[:n]) for n in (0, 10, 400, 4000)]
    assert fewer == sorted(fewer, reverse=True)
    assert fewer[0] == 0.0


def test_without_noise_nothing_can_be_told():
    randomiser = make_mechanism("identity", epsilon=math.inf, dim=2, bound=1.0)
    assert log_chance_of_spread(randomiser, np.zeros((100, 2))) == 0.0


@pytest.mark.slow  # compiles for flat space
def test_data_as_wide_as_the_noise_pass_and_nothing_can_tell(no_warning):
    model = PrivateFrechetMean(Euclidean(2), epsilon=8.0, data_radius=4.0, random_state=0)
    model.fit(cloud(1000, 0.5))
    noise = math.sqrt(model.protocol_.mechanism.noise_variance)
    rows = cloud(1000, noise)
    rows = rows[np.linalg.norm(rows, axis=1) < model.protocol_.mechanism.support_radius]
    model.partial_fit(rows)
