"""Regions, tests and intervals of estimators that may be looked at again and again."""

import numpy as np
import pytest

from geomstats_ldp import PrivatePCA
from geomstats_ldp.exceptions import ArgumentTypeError, ProtocolError
from geomstats_ldp.inference import AnyLook

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")

N, PLANNED = 2000, 10_000


@pytest.fixture(scope="module", params=[None, 5], ids=["pairs", "rounds"])
def pca(request):
    rows = np.random.default_rng(0).normal([0.3, 0.8, 0.3], 0.2, size=(N, 3))
    model = PrivatePCA(
        norm_bound=2.0,
        epsilon=8.0,
        initial_point=[1, 2, 1],
        n_rounds=request.param,
        random_state=0,
    )
    return model.fit(rows)


def test_an_anytime_region_is_the_wald_region_enlarged(pca):
    once, ever = pca.confidence_region(0.9), pca.confidence_region(0.9, anytime=PLANNED)
    calibration = AnyLook(N, PLANNED)
    assert ever.threshold == calibration.quantile(0.9, 2) > once.threshold
    factor = np.sqrt(ever.threshold / once.threshold)
    np.testing.assert_allclose(ever.semi_axis_lengths, factor * once.semi_axis_lengths)
    edge = ever.boundary(12)
    np.testing.assert_allclose(ever.pvalue(edge), 0.1, rtol=1e-6)
    assert not once.contains(edge).any()
    inside = ever.points_at(0.999 * ever.boundary_coordinates(12))
    assert ever.contains(inside).all()
    assert "anytime" in repr(ever) and "anytime" not in repr(once)
    factor = np.sqrt(calibration.quantile(0.9, 1)) / 1.6448536269514722
    np.testing.assert_allclose(ever.marginal_intervals(), factor * once.marginal_intervals())


def test_tests_and_functionals_take_the_same_choice(pca):
    point = pca.confidence_region().boundary(3)[1]
    region = pca.confidence_region(anytime=PLANNED)
    assert pca.test(point, anytime=PLANNED) == region.pvalue(point) > 3 * pca.test(point)
    once, ever = (pca.functional(lambda u: u[:2], anytime=a) for a in (False, PLANNED))
    half = [np.diff(one.interval(0.95))[:, 0] / 2 for one in (once, ever)]
    np.testing.assert_allclose(
        half[1], ever.standard_error * np.sqrt(ever.calibration.quantile(0.95, 1))
    )
    assert (half[1] > 1.3 * half[0]).all()
    value = once.estimate + [0.03, 0.0]
    assert ever.pvalue(value) > once.pvalue(value)
    edge = ever.pvalue(value)
    assert ever.contains(value, 1 - 0.99 * edge) and not ever.contains(value, 1 - 1.01 * edge)


def test_true_takes_the_planned_number(pca):
    assert pca.confidence_region(anytime=True).threshold == AnyLook(N, N).quantile(0.95, 2)


def test_a_region_of_a_collection_without_a_plan_has_to_name_a_number():
    model = PrivatePCA(norm_bound=2.0, epsilon=8.0, initial_point=[1, 2, 1], random_state=0)
    messages = np.random.default_rng(1).normal(size=(200, 3))
    model.partial_fit(messages)
    with pytest.raises(ProtocolError, match="anytime must be a number of participants"):
        model.confidence_region(anytime=True)
    assert model.confidence_region(anytime=500).calibration == AnyLook(200, 500)


@pytest.mark.parametrize("anytime", [0, -2, 1.5, "yes", None])
def test_what_is_no_number_is_refused(pca, anytime):
    with pytest.raises((ProtocolError, ArgumentTypeError), match="anytime must be an integer"):
        pca.confidence_region(anytime=anytime)


def test_score_regions_are_of_one_look(pca):
    for use in (
        lambda: pca.confidence_region(kind="score", anytime=True),
        lambda: pca.test([0, 1, 0], "score", anytime=PLANNED),
        lambda: pca.functional(lambda u: u[0], kind="score", anytime=True),
    ):
        with pytest.raises(ProtocolError, match="anytime must be False for kind='score'"):
            use()
