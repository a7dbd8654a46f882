"""PrivatePCA of several components, and the variances of components."""

import warnings

import numpy as np
import pytest

from geomstats_ldp import Message, Participant, PrivatePCA, Protocol, Query, Tuning
from geomstats_ldp.exceptions import (
    LDPWarning,
    NotReadyError,
    ProtocolError,
    TiedComponentsWarning,
)
from geomstats_ldp.geometry import principal_angles, projection_on

BOUND = 2.5
GUESS = [[0.1, 1.0, 0.0, 0.2], [0.0, 0.2, 0.1, 1.0]]


def make_data(n=4000, scales=(0.3, 1.2, 0.2, 0.7), seed=0):
    return np.random.default_rng(seed).normal(size=(n, 4)) * scales


def make_pca(**parameters):
    common = {"norm_bound": BOUND, "epsilon": np.inf, "n_components": 2, "initial_point": GUESS}
    return PrivatePCA(**{**common, "n_rounds": 8, "random_state": 0, **parameters})


def clipped(X):
    return X * np.minimum(1.0, BOUND / np.linalg.norm(X, axis=1))[:, None]


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def fitted(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        return make_pca().fit(data)


@pytest.mark.slow  # compiles subspaces
def test_without_privacy_the_batch_components_and_variances_are_found(fitted, data):
    """Rounds ask different people different questions: 4 standard errors, as they are stated."""
    values, vectors = np.linalg.eigh(clipped(data).T @ clipped(data) / len(data))
    leading = vectors[:, :1:-1].T
    region = fitted.confidence_region(0.999)
    assert region.contains(projection_on(leading))
    aligned = np.abs(np.sum(fitted.components_ * leading, axis=1))
    assert np.all(aligned > 1 - 0.1**2 / 2)
    np.testing.assert_allclose(fitted.components_ @ fitted.components_.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(
        fitted.components_.T @ fitted.components_, fitted.estimate_, atol=1e-10
    )
    excess = fitted.excess_variance()
    assert np.all(
        np.abs(excess.estimate - values[:1:-1] + values[:2].mean()) < 4 * excess.standard_error
    )


@pytest.mark.slow
def test_shares_need_a_total_that_is_given_or_asked_of_other_people(data):
    fitted = make_pca().fit(data)
    others = make_data(2000, seed=1)
    for attribute in ("explained_variance_", "explained_variance_ratio_", "total_variance_"):
        with pytest.raises(NotReadyError, match=r"fit_variance\(X\)"):
            getattr(fitted, attribute)
    fitted.fit_variance(others)
    total = np.mean(np.sum(clipped(others) ** 2, axis=1))
    assert fitted.total_variance_.estimate[0] == pytest.approx(total, rel=1e-9)  # no privacy
    variance, ratio = fitted.explained_variance(), fitted.explained_variance_ratio()
    np.testing.assert_allclose(fitted.explained_variance_, variance.estimate)
    np.testing.assert_allclose(fitted.explained_variance_ratio_, variance.estimate / total)
    values = np.linalg.eigvalsh(clipped(data).T @ clipped(data) / len(data))[:1:-1]
    assert np.all(np.abs(variance.estimate - values) < 4 * variance.standard_error)
    # A public total has no error of its own, so that the ratio is the variance over it.
    public = fitted.explained_variance_ratio(total)
    np.testing.assert_allclose(
        public.standard_error, fitted.explained_variance(total).standard_error / total
    )
    assert np.all(ratio.standard_error > 0)
    with pytest.raises(ProtocolError, match="total must be a number"):
        fitted.explained_variance("much")
    fitted.fit(data)
    with pytest.raises(NotReadyError, match="fit_variance"):
        fitted.explained_variance()


def test_one_component_has_variances_in_rounds_too(data):
    X = data[:, :3]
    pca = make_pca(n_components=1, initial_point=GUESS[0][:3]).fit(X)
    values = np.linalg.eigvalsh(clipped(X).T @ clipped(X) / len(X))
    excess = pca.excess_variance()
    gap = abs(excess.estimate[0] - values[-1] + values[:-1].mean())
    assert gap < 4 * excess.standard_error[0] < 0.5


@pytest.mark.slow
def test_rows_go_to_coordinates_and_back(fitted, data):
    inside = data[:5] @ fitted.estimate_
    coordinates = fitted.transform(inside)
    assert coordinates.shape == (5, 2)
    np.testing.assert_allclose(fitted.inverse_transform(coordinates), inside, atol=1e-10)
    np.testing.assert_allclose(fitted.transform(data[:5]), fitted.transform(inside), atol=1e-10)
    mean_loss = np.mean(np.sum((data @ fitted.estimate_) ** 2, axis=1)) / 2
    assert fitted.score(data) == pytest.approx(mean_loss)
    assert fitted.get_feature_names_out().tolist() == ["privatepca0", "privatepca1"]
    with pytest.raises(ProtocolError, match="X must have shape"):
        fitted.inverse_transform(data[:5])


@pytest.mark.slow
def test_principal_angles_have_intervals(fitted):
    plane = [[0.3, 1.0, 0.0, 0.0], [0.0, 0.0, 0.8, 1.0]]
    angles = fitted.functional(principal_angles(plane))
    truth = principal_angles(plane)(np.diag([0.0, 1.0, 0.0, 1.0]))
    assert np.all(np.abs(angles.estimate - truth) < 4 * angles.standard_error)
    assert np.all(angles.standard_error < 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scales", "number", "words"),
    [((0.2, 0.9, 0.2, 0.9), 1, "mean nothing"), ((0.7, 1.2, 0.2, 0.7), 2, "subspace ends")],
)
def test_ties_are_said(scales, number, words):
    pca = make_pca()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        pca.fit(make_data(scales=scales, seed=3))
    with pytest.warns(TiedComponentsWarning, match=f"eigenvalues {number} and .*{words}"):
        assert pca.components_.shape == (2, 4)


def test_devices_answer_from_the_text_of_the_protocol(data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        options = {"n_participants": 40, "n_rounds": 2, "initial_point": np.eye(3)[1:]}
        interpreted = Tuning(engine="geomstats")
        live = make_pca(epsilon=4.0, random_state=None, tuning=interpreted, **options).start()
        protocol = Protocol.from_json(live.protocol_.to_json())
        assert protocol.fingerprint == live.protocol_.fingerprint
        people = iter(data[:, :3])
        while queries := [Query.from_json(query.to_json()) for query in live.queries()]:
            answers = [
                Participant(protocol, max_epsilon=4.0).respond(query, next(people))
                for query in queries
            ]
            live.partial_fit([Message.from_json(answer.to_json()) for answer in answers])
    assert live.n_participants_ == 40
    estimate = live.estimate_
    np.testing.assert_allclose(estimate @ estimate, estimate, atol=1e-10)
    assert np.trace(estimate) == pytest.approx(2.0)
    bound = BOUND**2 / 2 / np.sqrt(2)
    assert protocol.mechanism.bound == pytest.approx(bound)


@pytest.mark.slow  # the interpreter, row by row
def test_pairs_order_the_components_and_give_no_variances():
    """Row by row in the interpreter, a few people: what comes out is a subspace and an order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        pca = make_pca(n_rounds=None, tuning=Tuning(engine="geomstats")).fit(make_data(120))
        assert pca.components_.shape == (2, 4)
        np.testing.assert_allclose(pca.components_.T @ pca.components_, pca.estimate_, atol=1e-10)
        with pytest.raises(NotReadyError, match="n_rounds"):
            pca.excess_variance()


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 4, "initial_point": np.eye(4)}, "n_components"),
        ({"n_components": 1.5}, "n_components"),
        ({"n_components": 3}, "initial_point"),
        ({"initial_point": None}, "initial_point must be given for n_components=2"),
        ({"initial_point": [GUESS[0], GUESS[0]]}, "initial_point must be independent"),
        ({"initial_point": [[1.0, 0.0, np.nan, 0.0], GUESS[1]]}, "initial_point"),
        ({"region_radius": 1.6}, "region_radius|radius"),
    ],
)
def test_bad_parameters_are_named(data, parameters, match):
    with pytest.raises((ValueError, TypeError), match=match):
        make_pca(**parameters).fit(data)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_regions_and_variances_cover():
    """60 repetitions at 95%: at least 51 cover, which a true 95% misses once in 10,000."""
    target, n_covered = np.diag([0.0, 1.0, 0.0, 1.0]), np.zeros(2)
    values = np.mean(clipped(make_data(400_000, seed=9)) ** 2, axis=0)
    truth = values[[1, 3]] - values[[0, 2]].mean()
    for seed in range(60):
        pca = make_pca(epsilon=8.0, random_state=seed).fit(make_data(8000, seed=100 + seed))
        interval = pca.excess_variance().interval(0.95)
        n_covered[0] += pca.confidence_region(0.95).contains(target)
        n_covered[1] += np.mean((interval[:, 0] <= truth) & (truth <= interval[:, 1]))
    assert np.all(n_covered >= 51)
