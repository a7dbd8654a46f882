"""Comparing fitted estimators: what may be compared, and what comes out."""

import warnings

import numpy as np
import pandas as pd
import pytest
from geomstats.geometry.hyperbolic import Hyperbolic

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivateVMFLocation,
    Tuning,
    compare,
)
from geomstats_ldp.exceptions import (
    ArgumentTypeError,
    NotReadyError,
    ProtocolError,
    SeedWarning,
    UninformativeRegionWarning,
)

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")


def fit_pca(shift=0.0, seed=0, **parameters):
    rows = np.random.default_rng(seed).normal([0.3 + shift, 0.8, 0.3], 0.2, size=(3000, 3))
    options = {"norm_bound": 2.0, "epsilon": 8.0, "initial_point": [1, 2, 1], **parameters}
    return PrivatePCA(**options, random_state=seed).fit(rows)


def test_equal_and_unequal_axes():
    same = compare(fit_pca(), fit_pca(seed=1), fit_pca(seed=2, n_rounds=5, epsilon=4.0))
    assert same.degrees_of_freedom == 4 and same.pvalue > 0.01
    assert same.difference(0.99, second=2).contains(np.zeros(2))
    other = compare(fit_pca(), fit_pca(0.3, seed=1))
    assert other.pvalue < 1e-6 and not other.difference().contains(np.zeros(2))
    low, high = other.functional(lambda u: u[0]).interval()[0]
    first, second = (v / np.linalg.norm(v) for v in ([0.3, 0.8, 0.3], [0.6, 0.8, 0.3]))
    assert low < second[0] - first[0] < high


def test_the_sign_of_an_axis_does_not_matter():
    one, two = fit_pca(), fit_pca(0.1, seed=1)
    turned = fit_pca(0.1, seed=1, initial_point=[-1, -2, -1])
    straight, crooked = compare(one, two), compare(one, turned)
    # The other collection draws its noise in another frame.
    np.testing.assert_allclose(crooked.estimates, straight.estimates, atol=0.05)
    assert (crooked.estimates[:, 1] > 0).all()


def test_axes_that_might_be_either_are_refused():
    rows = np.random.default_rng(0).normal(0.0, [0.9, 0.2, 0.2], size=(3000, 3))
    one = fit_pca()
    two = PrivatePCA(norm_bound=2.0, epsilon=8.0, initial_point=[1, -0.4, 0], random_state=0).fit(
        rows - rows.mean(axis=0)
    )
    three = PrivatePCA(
        norm_bound=2.0, epsilon=8.0, initial_point=[0.1, -0.35, 0.9], random_state=0
    ).fit(rows[:, [2, 1, 0]])
    with pytest.raises(ProtocolError, match="axis of argument 1 must be clearly less"):
        compare(two, three)
    assert compare(one, one).statistic < 1e-9


@pytest.mark.slow  # compiles subspaces
def test_subspaces_have_no_sign_and_are_as_far_apart_as_their_angles():
    rng, angle = np.random.default_rng(0), 0.1
    turn = np.eye(4)
    turn[1:3, 1:3] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    planes = [
        PrivatePCA(
            norm_bound=2.5,
            epsilon=np.inf,
            n_components=2,
            n_rounds=8,
            initial_point=[[0.1, 1.0, 0.0, 0.2], [0.0, 0.2, 0.1, 1.0]],
            random_state=seed,
        ).fit(rng.normal(size=(4000, 4)) * [0.3, 1.2, 0.2, 0.7] @ by)
        for seed, by in enumerate([np.eye(4), turn])
    ]
    comparison = compare(*planes)
    assert comparison.degrees_of_freedom == 4 and comparison.pvalue < 1e-3
    # Standard errors of the difference, in lengths of the logarithm, are under 0.02.
    assert abs(np.linalg.norm(comparison.difference().center) - np.sqrt(2) * angle) < 0.06


@pytest.mark.slow  # compiles for the hyperbolic plane
def test_points_come_in_the_coordinates_of_the_user():
    disc = Hyperbolic(dim=2, coords_type="ball")
    rng = np.random.default_rng(0)
    fits = [
        PrivateFrechetMean(disc, epsilon=8.0, n_rounds=5, random_state=0).fit(
            rng.normal([0.2, y], 0.1, size=(3000, 2))
        )
        for y in (0.0, 0.1)
    ]
    comparison = compare(*fits)
    np.testing.assert_array_equal(comparison.estimates, [fit.estimate_ for fit in fits])
    assert comparison.common_point.shape == (2,)
    low, high = comparison.functional(lambda point: point[1]).interval()[0]
    assert low < 0.1 < high and comparison.pvalue < 1e-6


def test_warnings_about_a_group_are_about_the_line_that_compares():
    rows = np.random.default_rng(0).uniform(-0.5, 0.5, size=(200, 2))
    one, two = (PrivateFrechetMean(epsilon=0.5, random_state=seed).fit(rows) for seed in (0, 1))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compare(one, two)
    assert UninformativeRegionWarning in [warning.category for warning in caught]
    assert {warning.filename for warning in caught} == {__file__}


def test_what_does_not_estimate_the_same_is_refused():
    pca = fit_pca()
    vectors = np.random.default_rng(0).normal([0.3, 0.8, 0.3], 0.2, size=(300, 3))
    others = {
        "loss": fit_pca(norm_bound=3.0),
        "space": PrivatePCA(epsilon=8.0, random_state=0, tuning=Tuning(engine="geomstats")).fit(
            np.c_[vectors, vectors[:, 0]]
        ),
    }
    for name, other in others.items():
        with pytest.raises(ProtocolError, match=f"argument 1 must have the {name} of the first"):
            compare(pca, other)
    direction = PrivateVMFLocation(epsilon=8.0, initial_point=[1, 2, 1], random_state=0)
    with pytest.raises(ProtocolError, match="same parameter: pca; got von_mises_fisher"):
        compare(pca, direction.fit(vectors))
    with pytest.raises(ArgumentTypeError, match="argument 1 must be an estimator"):
        compare(pca, vectors)
    few = PrivatePCA(norm_bound=2.0, epsilon=8.0, initial_point=[1, 2, 1], random_state=0)
    with pytest.raises(NotReadyError, match="argument 1 must be fitted"):
        compare(pca, few)
    with pytest.raises(NotReadyError, match="argument 1: a region takes"):
        compare(pca, few.fit(vectors[:6]))
    with pytest.raises(ProtocolError, match="h must be a function of a point; got 3"):
        compare(pca, fit_pca(seed=1)).functional(3)


def test_groups_that_share_their_noise_are_told():
    """With one seed the noise of two groups cancels in their difference."""
    seeds = [2, 1, np.int64(2)]
    means = [PrivateFrechetMean(epsilon=8.0, n_rounds=1, random_state=seed) for seed in seeds]
    fits = [mean.fit(np.full((200, 2), 0.1)) for mean in means]
    with pytest.warns(SeedWarning, match="arguments 0 and 2 .* random_state=2") as caught:
        same = compare(*fits)
    assert same.statistic < 1e-6 or same.difference(second=2).center == pytest.approx(0)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeedWarning)
        compare(*fits[:2])


def test_labels_in_another_order_are_refused():
    rows = np.random.default_rng(0).normal(size=(400, 2))

    def mean_of(names):
        table = pd.DataFrame(rows, columns=names)
        return PrivateFrechetMean(epsilon=8.0, random_state=0).fit(table)

    with pytest.raises(ProtocolError, match="argument 1 must have the names of features of"):
        compare(mean_of(["a", "b"]), mean_of(["b", "a"]))
    assert compare(mean_of(["a", "b"]), mean_of(["a", "b"])).statistic == 0

    def odds_of(first, second, **parameters):
        model = PrivateLogisticRegression(2.0, epsilon=8.0, random_state=0, **parameters)
        return model.fit(rows, np.where(rows[:, 0] > 0, first, second))

    with pytest.raises(ProtocolError, match="argument 1 must have the classes of the first one"):
        compare(odds_of("no", "yes"), odds_of("a", "b"))
    turned = odds_of("yes", "no", classes=["no", "yes"])
    assert compare(turned, odds_of("no", "yes")).degrees_of_freedom == 3
