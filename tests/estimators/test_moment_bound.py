"""Regions, tests and intervals of the target of data that are not clipped."""

import numpy as np
import pytest

from geomstats_ldp import PrivateFrechetMean, PrivatePCA, PrivateSPDCovariance
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.inference import AnyLook, OneLook
from geomstats_ldp.losses import loss_of

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")

MOMENT = (4, 2.0)


@pytest.fixture(scope="module")
def pca():
    rows = np.random.default_rng(0).normal([0.3, 0.8, 0.3], 0.2, size=(2000, 3))
    model = PrivatePCA(
        norm_bound=2.0, epsilon=8.0, initial_point=[1, 2, 1], n_rounds=5, random_state=0
    )
    return model.fit(rows)


def score_change(model):
    """Length of the largest change, which is the same in all directions."""
    geometry, point = model.protocol_.geometry, model.estimate_
    return loss_of(model.protocol_).score_change_bound(geometry, point, MOMENT)[0, 0]


def test_a_wald_region_makes_room_for_every_bias_of_the_stated_size(pca):
    plain, wide = pca.confidence_region(0.9), pca.confidence_region(0.9, moment_bound=MOMENT)
    assert wide.threshold > plain.threshold
    assert "with a bias" in repr(wide) and "bias" not in repr(plain)
    np.testing.assert_allclose(wide.pvalue(wide.boundary(12)), 0.1, rtol=1e-6)
    # The worst of the shifts H^-1 b has the noncentrality of the region.
    change = score_change(pca)
    angles = np.linspace(0, np.pi, 721)
    scores = change * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    shifts = np.linalg.solve(pca.hessian_, scores.T).T
    worst = np.max(wide.statistic_at(shifts))
    assert wide.calibration.noncentrality == pytest.approx(worst, rel=1e-4)


@pytest.mark.parametrize("kind", ["wald", "score"])
def test_tests_and_functionals_take_the_same_choice(pca, kind):
    region = pca.confidence_region(kind=kind, moment_bound=MOMENT)
    assert isinstance(region.calibration.base, OneLook)
    point = region.boundary(3)[1]
    assert pca.test(point, kind, moment_bound=MOMENT) == pytest.approx(0.05, rel=1e-6)
    assert pca.test(point, kind) < 0.03
    plain, wide = (
        pca.functional(lambda u: u[0], kind=kind, moment_bound=m) for m in (None, MOMENT)
    )
    ends = wide.interval(0.9)[0]
    assert ends[0] < plain.interval(0.9)[0, 0] < plain.interval(0.9)[0, 1] < ends[1]
    assert wide.pvalue([ends[0]]) == pytest.approx(0.1, rel=1e-3)
    inner = region.marginal_intervals()
    assert (np.abs(inner) > np.abs(pca.confidence_region(kind=kind).marginal_intervals())).all()


def test_a_score_region_needs_no_hessian(pca):
    region = pca.confidence_region(kind="score", moment_bound=MOMENT)
    change = score_change(pca)
    expected = change**2 / np.linalg.eigvalsh(region.prediction.covariance)[0]
    assert region.calibration.noncentrality == pytest.approx(expected)


def test_all_looks_and_a_bias_go_together(pca):
    region = pca.confidence_region(anytime=4000, moment_bound=MOMENT)
    assert region.calibration.base == AnyLook(2000, 4000)
    assert region.threshold > pca.confidence_region(anytime=4000).threshold
    assert "anytime, with a bias" in repr(region)


def test_what_does_not_bound_the_bias_is_refused(pca):
    with pytest.raises(ProtocolError, match="moment_bound must be a pair"):
        pca.confidence_region(moment_bound=4)
    with pytest.raises(ProtocolError, match="order of moment_bound must be finite and above 2"):
        pca.test([0, 1, 0], moment_bound=(2, 1.0))


# ---------------------------------------------------------------- coverage


#: Share of the rows that are long.
SHARE = 0.01


def heavy_mean(rng, n):
    """Short rows of both signs, and a few long ones along (1, 0)."""
    long = rng.uniform(size=n) < SHARE
    rows = 0.5 * rng.choice([-1.0, 1.0], size=(n, 2))
    return np.where(long[:, None], [4.0, 0.0], rows)


def heavy_axes(rng, n):
    """Short rows close to (1, 0), and a few long ones along (1, 1)."""
    long = rng.uniform(size=n) < SHARE
    rows = rng.choice([-1.0, 1.0], size=(n, 2)) * [0.5, 0.25]
    return np.where(long[:, None], np.sqrt([2.0, 2.0]), rows)


def case(name):
    """Law, bound on its fourth moment, model, and target of the rows as they are."""
    if name == "mean":
        moment = (4, SHARE * 4.0**4 + (1 - SHARE) * 0.5**2)
        model = PrivateFrechetMean(data_radius=2.5, n_rounds=1, region_radius=3.0, epsilon=8.0)
        return heavy_mean, moment, model, [SHARE * 4.0, 0.0]
    moment = (4, SHARE * 2.0**4 + (1 - SHARE) * (0.5**2 + 0.25**2) ** 2)
    second = SHARE * np.full((2, 2), 2.0) + (1 - SHARE) * np.diag([0.5**2, 0.25**2])
    if name == "covariance":
        model = PrivateSPDCovariance(norm_bound=np.sqrt(2.0), epsilon=8.0)
        return heavy_axes, moment, model, second
    first = np.linalg.eigh(second)[1][:, -1]
    model = PrivatePCA(norm_bound=1.4, epsilon=8.0, n_rounds=5, initial_point=[1.0, 0.3])
    return heavy_axes, moment, model, first * np.sign(first[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mean", "covariance", "pca"])
def test_the_target_of_heavy_tails_is_missed_without_and_held_with_the_moment(name):
    law, moment, model, target = case(name)
    repetitions, held = 100, np.zeros(2)
    for seed in range(repetitions):
        model.set_params(random_state=seed).fit(law(np.random.default_rng(1000 + seed), 16_000))
        for i, bound in enumerate((None, moment)):
            region = model.confidence_region(moment_bound=bound)
            held[i] += region.is_informative and region.contains(target)
    # Standard errors of these shares are at most 0.05 and, at 0.95, 0.022.
    assert held[0] < 0.5 * repetitions
    assert held[1] > 0.95 * repetitions - 3 * np.sqrt(0.95 * 0.05 * repetitions)


@pytest.mark.slow
def test_the_level_is_about_kept_at_the_worst_law():
    # The law that attains the bound of the mean: nothing, or q / (q - 1) times the radius.
    chance, radius = 0.02, 1.0
    length = 4 / 3 * radius
    model = PrivateFrechetMean(data_radius=radius, n_rounds=1, epsilon=4.0)
    repetitions, held = 400, np.zeros(2)
    for seed in range(repetitions):
        rng = np.random.default_rng(5000 + seed)
        rows = np.zeros((4000, 2))
        rows[:, 0] = length * (rng.uniform(size=4000) < chance)
        model.set_params(random_state=seed).fit(rows)
        for i, bound in enumerate((None, (4, chance * length**4))):
            region = model.confidence_region(moment_bound=bound)
            held[i] += region.contains([chance * length, 0.0])
    # A bias of 0.0067 next to a standard error of 0.0078; a share has one of 0.011 at the level.
    assert held[0] / repetitions < 0.92
    assert 0.95 - 3 * 0.011 < held[1] / repetitions < 0.985
