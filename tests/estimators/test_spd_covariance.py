"""The covariance estimator: batch answers in the limit, messages, what it offers beside."""

import math
import pickle

import numpy as np
import pytest
from sklearn.covariance import EmpiricalCovariance

from geomstats_ldp import PrivateSPDCovariance, Tuning
from geomstats_ldp.exceptions import InvalidMessageError, ProtocolError
from geomstats_ldp.protocol import InferenceRule, RadiusRule

# Bounds are small on purpose, so that clipping takes part.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.ClippingWarning")

TARGET = np.array([[0.8, 0.3], [0.3, 0.5]])
BOUND = 2.6


def make_rows(n, seed=0, target=TARGET):
    return np.random.default_rng(seed).multivariate_normal(np.zeros(len(target)), target, size=n)


def clip(rows, bound=BOUND):
    return rows * np.minimum(1.0, bound / np.linalg.norm(rows, axis=1))[:, None]


def second_moment(rows):
    return clip(rows).T @ clip(rows) / len(rows)


def make(**parameters):
    return PrivateSPDCovariance(
        **{"norm_bound": BOUND, "epsilon": np.inf, "random_state": 0, **parameters}
    )


def make_ruled(hessian):
    return make(tuning=Tuning(inference=InferenceRule(hessian=hessian)))


@pytest.fixture(scope="module")
def fitted():
    return make().fit(make_rows(20_000))


def test_without_privacy_it_is_the_second_moment_of_the_clipped_rows(fitted):
    target = second_moment(make_rows(20_000))
    region = fitted.confidence_region(0.999)
    assert region.is_informative
    assert region.contains(target)
    assert not region.contains(np.diag(np.diag(target)))
    np.testing.assert_array_equal(fitted.estimate_, fitted.covariance_matrix_)
    assert np.linalg.norm(fitted.estimate_ - target) < 0.05


@pytest.mark.slow
def test_the_regression_finds_the_hessian_that_is_the_prior():
    """I / 2 in the frame at the target, less what wandering iterates and the radius change."""
    rows = make_rows(20_000)
    np.testing.assert_allclose(make_ruled("raw").fit(rows).hessian_, np.eye(3) / 2, atol=0.12)
    pairs = make(tuning=Tuning(radius=RadiusRule.fixed(0.2))).start(2).protocol_.inference
    np.testing.assert_array_equal(pairs.prior_hessian, np.eye(3) / 2)
    assert make_ruled("shrunk").start(2).protocol_.inference.prior_hessian is None


def test_functionals_have_intervals(fitted):
    target = second_moment(make_rows(20_000))
    for function in (np.linalg.eigvalsh, np.trace, lambda x: np.linalg.slogdet(x)[1]):
        intervals = fitted.functional(function).interval(0.999)
        assert np.all(intervals[:, 0] < function(target))
        assert np.all(function(target) < intervals[:, 1])


def test_precision_distances_and_score_are_those_of_scikit_learn(fitted):
    rows = make_rows(50, seed=3)
    assert not np.array_equal(clip(rows), rows)  # a common likelihood has no bounds
    few = math.sqrt(2) * np.linalg.cholesky(fitted.estimate_).T  # two rows with this covariance
    other = EmpiricalCovariance(assume_centered=True).fit(few)
    np.testing.assert_allclose(fitted.precision_, other.get_precision(), rtol=1e-10)
    np.testing.assert_allclose(fitted.mahalanobis(rows), other.mahalanobis(rows), rtol=1e-10)
    # log_likelihood of scikit-learn has the constant -m log(2 pi) / 2
    assert fitted.score(rows) == pytest.approx(other.score(rows) + math.log(2 * math.pi))
    assert not hasattr(fitted, "predict")


def test_default_centre_is_where_one_gaussian_row_in_a_hundred_is_clipped():
    model = make().start(3)
    center = model.protocol_.geometry.reference
    rows = make_rows(100_000, target=center)
    share = np.mean(np.linalg.norm(rows, axis=1) > BOUND)
    assert share == pytest.approx(0.01, abs=4 * math.sqrt(0.01 / 100_000))
    assert make(initial_point=TARGET).start().protocol_.geometry.shape == (2, 2)


def test_messages_are_matrices():
    rows = make_rows(12)
    model = make(epsilon=4.0, tuning=Tuning(keep_transcript=True))
    with pytest.raises(AttributeError) as refusal:
        model.partial_fit(np.zeros((2, 2, 2)))
    assert "start(n_features)" in str(refusal.value.__cause__)
    model.start(2)
    client = model.participant()
    for row in rows[:4].reshape(2, 2, 2):
        model.partial_fit([client.respond(q, y) for q, y in zip(model.queries(2), row)])
    with pytest.raises(InvalidMessageError, match="shape"):
        model.partial_fit(rows)
    model.partial_fit(np.zeros((4, 2, 2)))
    assert model.n_participants_ == 8
    replayed = make(epsilon=4.0).start(2).partial_fit(model.transcript_)
    np.testing.assert_array_equal(replayed.estimate_, model.estimate_)
    assert pickle.loads(pickle.dumps(model)).partial_fit(np.zeros((2, 2, 2))).n_participants_ == 10
    known = make(initial_point=TARGET).partial_fit(np.zeros((2, 2, 2)))
    assert known.n_participants_ == 2
    assert not hasattr(make().fit(rows), "partial_fit")


@pytest.mark.slow  # compiles
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.SafeguardWarning")
def test_engines_agree():
    rows = make_rows(200, target=np.diag([0.5, 0.4, 0.6]))
    engines = [Tuning(engine=engine) for engine in ("compiled", "geomstats")]
    fits = [make(epsilon=4.0, tuning=tuning).fit(rows) for tuning in engines]
    np.testing.assert_allclose(fits[0].estimate_, fits[1].estimate_, atol=1e-9)


@pytest.mark.slow  # compiles for one feature
def test_one_feature_is_a_variance():
    rows = np.random.default_rng(0).normal(0.0, 0.8, size=(20_000, 1))
    model = make(norm_bound=2.2).fit(rows)
    variance = np.mean(np.minimum(np.abs(rows), 2.2) ** 2)
    assert model.confidence_region(0.999).contains([[variance]])
    assert model.estimate_[0, 0] == pytest.approx(variance, abs=0.05)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"norm_bound": 0.0}, "norm_bound"),
        ({"norm_bound": np.nan}, "norm_bound"),
        ({"initial_point": np.zeros((2, 2))}, "initial_point must lie on"),
        ({"initial_point": [[1.0, 2.0], [0.0, 1.0]]}, "initial_point must lie on"),
        ({"initial_point": np.eye(3)}, "shape"),
        ({"initial_point": 1.0}, "shape"),
        ({"region_radius": -1.0}, "radius"),
        ({"tuning": Tuning(retraction="projection")}, "retraction"),
    ],
)
def test_bad_parameters_are_named(parameters, match):
    with pytest.raises(ValueError, match=match):
        make(**parameters).fit(make_rows(20))


def test_data_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="shape"):
        make().fit(np.zeros((20, 2, 2)))
    with pytest.raises(ProtocolError, match="shape"):
        make(initial_point=np.ones(3)).start()


@pytest.mark.slow
def test_coverage():
    """200 runs; 0.95 less four Monte Carlo standard errors of 0.015 is 0.89."""
    big = make_rows(2_000_000, seed=99)
    target, covered = second_moment(big), 0
    for seed in range(200):
        model = make(epsilon=8.0, random_state=seed).fit(make_rows(8000, seed=seed))
        covered += model.confidence_region().contains(target)
    assert covered / 200 >= 0.89
