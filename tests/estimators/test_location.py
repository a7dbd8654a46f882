"""Location estimators: batch answers in the limit, coordinates, functionals, refusals."""

import pickle

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDLogEuclideanMetric, SPDMatrices
from geomstats.learning.frechet_mean import FrechetMean
from sklearn.base import clone

from geomstats_ldp import PrivateFrechetMean, PrivateMEstimator, PrivateVMFLocation, Tuning
from geomstats_ldp.losses import FrechetLoss, PCALoss, VonMisesFisherLoss
from geomstats_ldp.protocol import InferenceRule

# Bounds are small on purpose, so that clipping takes part.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.ClippingWarning")


def disc_data(n, seed=0):
    """Points of the Poincare disc, well inside the unit ball of data about its centre."""
    return np.random.default_rng(seed).normal([0.15, -0.1], 0.08, size=(n, 2))


def log_euclidean(size=2):
    space = SPDMatrices(size, equip=False)
    space.equip_with_metric(SPDLogEuclideanMetric)
    return space


def spd_data(space, n, seed=0):
    logs = np.random.default_rng(seed).normal(size=(n, *space.shape)) * 0.15
    logs = (logs + np.swapaxes(logs, 1, 2)) / 2 + np.diag([0.1, -0.1])
    values, vectors = np.linalg.eigh(logs)
    return np.einsum("nij,nj,nkj->nik", vectors, np.exp(values), vectors)


def assert_near(estimator, target, level=0.999):
    """The batch answer lies in the estimator's own region, which is informative."""
    region = estimator.confidence_region(level)
    assert region.is_informative
    assert region.contains(target)


@pytest.mark.slow
def test_euclidean_mean_without_privacy():
    X = np.random.default_rng(0).normal([0.2, -0.1], 0.15, size=(20_000, 2))
    mean = PrivateFrechetMean(epsilon=np.inf, random_state=0).fit(X)
    assert_near(mean, X.mean(axis=0))
    # the score is affine: the Hessian is the identity but for the ridge and the noise of D
    np.testing.assert_allclose(mean.hessian_, np.eye(2), atol=0.05)
    np.testing.assert_allclose(mean.score_covariance_, np.cov(X.T), atol=0.003)


@pytest.mark.slow
def test_hyperbolic_mean_without_privacy():
    disc, X = Hyperbolic(dim=2, coords_type="ball"), disc_data(8000)
    mean = PrivateFrechetMean(disc, epsilon=np.inf, random_state=0).fit(X)
    hyperboloid = Hyperbolic(dim=2)
    batch = FrechetMean(hyperboloid).set(epsilon=1e-14, max_iter=500)
    points = disc.to_coordinates(X, "extrinsic")
    target = disc.from_coordinates(batch.fit(points).estimate_, "extrinsic")
    assert_near(mean, target)


@pytest.mark.slow
@pytest.mark.parametrize("coords_type", ["ball", "half-space"])
def test_coordinates_do_not_matter(coords_type):
    space, hyperboloid = Hyperbolic(dim=2, coords_type=coords_type), Hyperbolic(dim=2)
    points = Hyperbolic(dim=2, coords_type="ball").to_coordinates(disc_data(600), "extrinsic")
    outer = PrivateFrechetMean(
        space, epsilon=4.0, random_state=1, tuning=Tuning(keep_transcript=True)
    )
    outer.fit(space.from_coordinates(points, "extrinsic"))
    inner = PrivateFrechetMean(hyperboloid, epsilon=4.0, random_state=1).fit(points)
    converted = space.to_coordinates(outer.estimate_, "extrinsic")
    np.testing.assert_allclose(converted, inner.estimate_, atol=1e-9)
    region, other = outer.confidence_region(), inner.confidence_region()
    boundary = region.boundary(20)
    assert boundary.shape == (20, 2)
    np.testing.assert_allclose(region.statistic(boundary), region.threshold, rtol=1e-8)
    np.testing.assert_allclose(
        other.statistic(space.to_coordinates(boundary, "extrinsic")), region.threshold, rtol=1e-6
    )
    np.testing.assert_allclose(region.center, outer.estimate_)
    assert pickle.loads(pickle.dumps(outer)).predict(boundary).shape == (20, 2)


def test_rows_of_messages_replay_in_poincare_coordinates():
    disc = Hyperbolic(dim=2, coords_type="ball")
    tuning = Tuning(keep_transcript=True, engine="geomstats")
    options = {"epsilon": 4.0, "random_state": 1, "tuning": tuning}
    fitted = PrivateFrechetMean(disc, **options).fit(disc_data(40))
    rows = PrivateFrechetMean(disc, n_participants=40, **options).start()
    for block in np.array_split(fitted.transcript_.messages, 3):
        rows.partial_fit(block)  # messages are vectors of the hyperboloid
    np.testing.assert_array_equal(rows.estimate_, fitted.estimate_)
    with pytest.raises(ValueError, match="messages must have shape"):
        rows.partial_fit(disc_data(2))


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.WeakCurvatureWarning")
def test_a_loaded_collection_keeps_the_coordinates_of_its_data(tmp_path):
    """Whatever the space of the estimator that loads it."""
    disc, X = Hyperbolic(dim=2, coords_type="ball"), disc_data(100)
    tuning = Tuning(engine="geomstats")
    mean = PrivateFrechetMean(disc, epsilon=4.0, n_rounds=1, tuning=tuning, random_state=0).fit(X)
    mean.save_state(tmp_path / "state.npz")
    loaded = PrivateFrechetMean().load_state(tmp_path / "state.npz")
    assert loaded.n_features_in_ == 2
    np.testing.assert_array_equal(loaded.estimate_, mean.estimate_)
    assert loaded.score(X) == mean.score(X)
    assert loaded.test([0.1, 0.0]) == mean.test([0.1, 0.0])


@pytest.mark.slow
def test_pseudo_huber_centre_resists_outliers():
    X = np.random.default_rng(3).normal(0.0, 0.1, size=(20_000, 2))
    X[::10] = [0.9, 0.0]  # a tenth of the participants, all on one side
    options = {"epsilon": np.inf, "random_state": 0}
    plain = PrivateFrechetMean(**options).fit(X)
    robust = PrivateFrechetMean(loss="pseudo_huber", scale=0.1, **options).fit(X)
    assert np.linalg.norm(robust.estimate_) < 0.4 * np.linalg.norm(plain.estimate_)
    assert_near(plain, X.mean(axis=0))
    assert robust.protocol_.mechanism.bound < 0.1 < plain.protocol_.mechanism.bound


def test_mean_direction():
    rng = np.random.default_rng(4)
    X = rng.normal([1.0, 0.6, 0.4], 0.4, size=(20_000, 3))
    directions = X / np.linalg.norm(X, axis=1, keepdims=True)
    resultant = directions.mean(axis=0)
    length = np.linalg.norm(resultant)
    location = PrivateVMFLocation(kappa=2.0, epsilon=8.0, random_state=0).fit(X)
    assert_near(location, resultant / length)
    # the Hessian is kappa |m| times the identity, less what wandering iterates and the central
    # difference take away
    values = np.linalg.eigvalsh(location.hessian_)
    assert np.all(np.abs(values / (2.0 * length) - 1) < 0.2)
    unit = PrivateVMFLocation(kappa=2.0, epsilon=8.0, random_state=0).fit(directions)
    np.testing.assert_allclose(unit.estimate_, location.estimate_, atol=1e-12)


@pytest.mark.slow  # compiles
def test_log_euclidean_mean_of_matrices():
    space = log_euclidean()
    X = spd_data(space, 6000)
    mean = PrivateFrechetMean(space, epsilon=8.0, random_state=0).fit(X)
    values, vectors = np.linalg.eigh(X)
    logs = np.einsum("nij,nj,nkj->nik", vectors, np.log(values), vectors).mean(axis=0)
    values, vectors = np.linalg.eigh(logs)
    assert_near(mean, (vectors * np.exp(values)) @ vectors.T)
    assert mean.predict(X[:5]).shape == (5, 2, 2)
    assert mean.n_features_in_ == 2
    trace = mean.functional(np.trace)
    low, high = trace.interval(0.999)[0]
    assert low < np.sum(np.exp(values)) < high


def test_functional_of_the_delta_method():
    X = np.random.default_rng(5).normal([0.3, 0.2], 0.2, size=(6000, 2))
    mean = PrivateFrechetMean(epsilon=8.0, random_state=0).fit(X)
    contrast = np.array([[1.0, -1.0]])
    numerical = mean.functional(lambda x: x[0] - x[1])
    exact = mean.functional(lambda x: x[0] - x[1], jacobian=contrast)
    # the frame of Euclidean space is constant, so the Jacobian is the contrast itself
    np.testing.assert_allclose(numerical.jacobian, contrast, atol=1e-9)
    np.testing.assert_allclose(exact.covariance, contrast @ mean.covariance_ @ contrast.T)
    radius = mean.functional(np.linalg.norm)
    gradient = mean.estimate_ / np.linalg.norm(mean.estimate_)
    np.testing.assert_allclose(radius.jacobian[0], gradient, atol=1e-4)
    both = mean.functional(lambda x: x)
    region = mean.confidence_region()
    np.testing.assert_allclose(both.statistic([0.3, 0.2]), region.statistic([0.3, 0.2]))
    assert mean.test([0.3, 0.2]) == pytest.approx(region.pvalue([0.3, 0.2]))
    assert both.pvalue([0.3, 0.2]) == pytest.approx(mean.test([0.3, 0.2]))
    assert mean.test([0.9, -0.2]) < 1e-6
    with pytest.raises(ValueError, match="singular"):
        mean.functional(lambda x: np.array([x[0], x[0]])).pvalue([0.0, 0.0])
    with pytest.raises(ValueError, match="jacobian must have shape"):
        mean.functional(lambda x: x[0], jacobian=np.eye(2))


def test_general_estimator_is_the_same_as_the_special_ones():
    X = np.random.default_rng(6).normal([1.0, 0.5, 0.3], 0.4, size=(500, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    start = np.ones(3) / np.sqrt(3)
    options = {"epsilon": 4.0, "random_state": 0, "tuning": Tuning(retraction="projection")}
    special = PrivateVMFLocation(kappa=1.0, **options).fit(X)
    general = PrivateMEstimator(
        Hypersphere(dim=2), VonMisesFisherLoss(kappa=1.0), initial_point=start, **options
    ).fit(X)
    assert general.protocol_ == special.protocol_
    np.testing.assert_array_equal(general.estimate_, special.estimate_)
    pca = PrivateMEstimator(Hypersphere(2), PCALoss(norm_bound=1.0), initial_point=start, **options)
    assert pca.fit(X).score(X) == pytest.approx(np.mean((X @ pca.estimate_) ** 2) / 2)
    flat = PrivateMEstimator(Euclidean(2), FrechetLoss(center=np.zeros(2), data_radius=1.0))
    assert len(clone(flat).start().queries()) == 2


def prior_of(matrix, sd):
    return Tuning(inference=InferenceRule(prior_hessian=matrix, prior_sd=sd))


@pytest.mark.parametrize(
    ("estimator", "match"),
    [
        (PrivateFrechetMean(loss="cubic"), "loss must be one of"),
        (PrivateFrechetMean(scale=1.0), "scale"),
        (PrivateFrechetMean(loss="pseudo_huber"), "scale must be given"),
        (PrivateFrechetMean(data_radius=0), "data_radius"),
        (PrivateFrechetMean(region_radius=-1), "radius"),
        (PrivateFrechetMean(Hypersphere(dim=2)), "initial_point must be given"),
        (PrivateFrechetMean(initial_point=[0.0, 0.0]), "initial_point"),
        (PrivateFrechetMean(tuning=Tuning(retraction="projection")), "retraction"),
        (PrivateFrechetMean(tuning=prior_of(np.eye(2), 1.0)), "prior_hessian must have shape"),
        (PrivateVMFLocation(kappa=0), "kappa"),
        (PrivateVMFLocation(initial_point=[0.0, 0.0, 0.0]), "initial_point"),
        (PrivateVMFLocation(epsilon=-1.0), "epsilon"),
    ],
)
def test_bad_parameters_are_named(estimator, match):
    X = np.random.default_rng(0).normal([0.5, 0.5, 0.5], 0.1, size=(40, 3))
    with pytest.raises(ValueError, match=match):
        estimator.fit(X)


def test_a_prior_of_the_hessian_sharpens_the_region():
    X = np.random.default_rng(7).normal([0.1, 0.1], 0.2, size=(3000, 2))
    options = {"epsilon": 1.0, "random_state": 0}
    plain = PrivateFrechetMean(
        tuning=Tuning(inference=InferenceRule(hessian="raw")), **options
    ).fit(X)
    prior = PrivateFrechetMean(tuning=prior_of(np.eye(2), 0.05), **options).fit(X)
    error, other = (np.linalg.norm(fit.hessian_ - np.eye(2)) for fit in (plain, prior))
    assert other < error / 3
    np.testing.assert_array_equal(plain.estimate_, prior.estimate_)


def test_data_far_out_are_moved_to_the_edge():
    X = np.full((400, 2), 1e300)
    interpreted = Tuning(engine="geomstats")
    mean = PrivateFrechetMean(epsilon=np.inf, data_radius=0.5, tuning=interpreted).fit(X)
    # all data are at the same point of the edge, at distance 0.5 in direction (1, 1)
    np.testing.assert_allclose(mean.estimate_, 0.5 / np.sqrt(2), atol=1e-3)
