"""Cut loci, points off the manifold, ill-conditioned matrices, one dimension, few participants.

Each is answered right or refused by name, and nothing is ever NaN.
"""

import math

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDLogEuclideanMetric, SPDMatrices
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

from geomstats_ldp import PrivateFrechetMean, PrivateSPDCovariance, PrivateVMFLocation, Tuning
from geomstats_ldp.exceptions import FewParticipantsWarning, LDPWarning, NotReadyError

NORTH = np.array([0.0, 0.0, 1.0])

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")


def spd_space(size, metric):
    space = SPDMatrices(size, equip=metric is None)
    if metric is not None:
        space.equip_with_metric(metric)
    return space


SPD = {"affine": None, "log": SPDLogEuclideanMetric}
PLAIN = {"tuning": Tuning(engine="geomstats"), "random_state": 0, "epsilon": 8.0}


def all_finite(estimator):
    estimate = np.asarray(estimator.estimate_)
    region = estimator.confidence_region()
    numbers = [estimate, region.covariance, region.angular_radii, region.boundary(8)]
    return all(np.isfinite(array).all() for array in numbers)


# ------------------------------------------------------------------------ cut loci


def test_antipodal_directions_are_data_like_others():
    rows = np.tile([NORTH, -NORTH], (30, 1))
    location = PrivateVMFLocation(initial_point=NORTH, **PLAIN).fit(rows)
    assert all_finite(location)
    region = location.confidence_region()
    antipode = -location.estimate_
    assert not region.contains(antipode)
    assert region.statistic(antipode) == np.inf
    assert location.test(antipode) == 0.0


def test_the_antipode_of_the_centre_is_moved_into_the_ball_of_data():
    rows = np.tile([-NORTH], (60, 1))
    mean = PrivateFrechetMean(
        Hypersphere(2), initial_point=NORTH, data_radius=0.5, region_radius=0.8, **PLAIN
    ).fit(rows)
    assert all_finite(mean)
    assert not mean.confidence_region().contains(-NORTH)
    assert math.isfinite(mean.score(rows))


def test_half_turns_are_moved_into_the_ball_of_data():
    rows = np.array([np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, -1.0, 1.0])] * 15)
    mean = PrivateFrechetMean(
        SpecialOrthogonal(3), data_radius=0.5, region_radius=0.8, **PLAIN
    ).fit(rows)
    assert all_finite(mean)
    region = mean.confidence_region()
    assert region.statistic(mean.estimate_ @ rows[0]) == np.inf
    assert mean.test(mean.estimate_ @ rows[0]) == 0.0
    assert math.isfinite(mean.score(rows))


def test_balls_that_reach_the_cut_locus_are_refused():
    for space, start in [(Hypersphere(2), NORTH), (SpecialOrthogonal(3), np.eye(3))]:
        mean = PrivateFrechetMean(space, initial_point=start, data_radius=2.0, **PLAIN)
        with pytest.raises(ValueError, match="injectivity radius"), pytest.warns(LDPWarning):
            mean.fit(np.tile(start, (20,) + (1,) * start.ndim))


# ------------------------------------------------------------------------ off the manifold


@pytest.mark.parametrize(
    ("space", "start", "bad"),
    [
        (Hypersphere(2), NORTH, 1.01 * NORTH),
        (Hypersphere(2), NORTH, np.zeros(3)),
        (SpecialOrthogonal(3), np.eye(3), np.diag([1.0, 1.0, -1.0])),
        (SpecialOrthogonal(3), np.eye(3), np.ones((3, 3))),
        (spd_space(2, None), np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])),
        (spd_space(2, None), np.eye(2), np.array([[1.0, 0.5], [0.0, 1.0]])),
        (spd_space(2, SPDLogEuclideanMetric), np.eye(2), np.zeros((2, 2))),
    ],
)
def test_points_off_the_manifold_are_named(space, start, bad):
    options = {"data_radius": 0.5, "region_radius": 0.5, **PLAIN}
    rows = np.tile(start, (30,) + (1,) * start.ndim)
    with pytest.raises(ValueError, match="must lie on"):
        PrivateFrechetMean(space, initial_point=bad, **options).fit(rows)
    mean = PrivateFrechetMean(space, initial_point=start, **options)
    spoiled = rows.copy()
    spoiled[7] = bad
    with pytest.raises(ValueError, match="datum must lie on"):
        mean.fit(spoiled)
    assert not hasattr(mean, "server_")
    mean.fit(rows)
    for ask in (mean.test, mean.confidence_region().contains):
        with pytest.raises(ValueError, match="points must lie on"):
            ask(bad)


# ------------------------------------------------------------------------ ill-conditioned matrices


@pytest.mark.parametrize("metric", list(SPD))
def test_ill_conditioned_data_are_moved_to_the_ball(metric):
    rows = np.tile([[[1e4, 0.0], [0.0, 1e-4]], [[1e-4, 0.0], [0.0, 1e4]]], (15, 1, 1))
    mean = PrivateFrechetMean(spd_space(2, SPD[metric]), **PLAIN).fit(rows)
    assert all_finite(mean)
    assert np.linalg.eigvalsh(mean.estimate_)[0] > 0
    assert math.isfinite(mean.score(rows))


@pytest.mark.parametrize("condition", [1e4, 1e8])
@pytest.mark.parametrize("metric", list(SPD))
def test_ill_conditioned_centres(metric, condition):
    """The data sit at the centre, and so does their mean, known to the rounding of the centre."""
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    start = turn @ np.diag([condition**0.5, condition**-0.5]) @ turn.T
    start = (start + start.T) / 2
    options = {**PLAIN, "epsilon": np.inf, "initial_point": start}
    mean = PrivateFrechetMean(spd_space(2, SPD[metric]), **options)
    mean.fit(np.tile(start, (30, 1, 1)))
    assert all_finite(mean)
    assert mean.protocol_.geometry.dist(mean.estimate_, start) < 1e-14 * condition
    assert mean.confidence_region().contains(start)


@pytest.mark.parametrize("start", [np.diag([1e4, 1e-4]), np.diag([1.0, 1e-8])])
def test_ill_conditioned_covariances(start):
    rows = np.random.default_rng(0).normal(size=(30, 2)) * np.sqrt(np.diag(start))
    bound = 3.0 * np.sqrt(start[0, 0])
    model = PrivateSPDCovariance(norm_bound=bound, initial_point=start, **PLAIN).fit(rows)
    assert np.isfinite(model.estimate_).all()
    region = model.confidence_region()
    assert np.isfinite(region.covariance).all() and not region.is_informative
    assert region.contains(model.estimate_)
    with pytest.raises(ValueError, match="uninformative"):
        region.boundary(8)


# ------------------------------------------------------------------------ one dimension


def test_a_mean_on_the_circle():
    angles = np.random.default_rng(0).normal(0.3, 0.2, size=200)
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    options = {"initial_point": [1.0, 0.0], **PLAIN}
    mean = PrivateFrechetMean(Hypersphere(1), region_radius=0.8, **options).fit(rows)
    location = PrivateVMFLocation(**options).fit(rows)
    for estimator in (mean, location):
        region = estimator.confidence_region(0.999)
        assert region.boundary().shape == (2, 2)
        assert region.contains([np.cos(0.3), np.sin(0.3)])
        assert not region.contains([0.0, -1.0])


def test_a_mean_on_the_line():
    rows = np.random.default_rng(0).normal(0.2, 0.3, size=(200, 1))
    for space in (None, Euclidean(1)):
        mean = PrivateFrechetMean(space, **PLAIN).fit(rows)
        low, high = mean.functional(lambda x: x[0]).interval(0.999)[0]
        assert low < 0.2 < high
        assert mean.confidence_region(0.999).contains([0.2])


@pytest.mark.parametrize("metric", list(SPD))
def test_a_mean_of_positive_numbers(metric):
    """On 1x1 matrices both metrics are those of logarithms."""
    rows = np.exp(np.random.default_rng(0).normal(0.2, 0.3, size=(200, 1, 1)))
    mean = PrivateFrechetMean(spd_space(1, SPD[metric]), **PLAIN).fit(rows)
    assert mean.confidence_region(0.999).contains([[math.exp(0.2)]])


# ------------------------------------------------------------------------ few participants


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7])
def test_few_participants_move_the_estimate_and_give_no_region(n):
    rows = np.random.default_rng(0).normal(0.2, 0.1, size=(n, 2))
    mean = PrivateFrechetMean(**PLAIN)
    with pytest.warns(FewParticipantsWarning):
        mean.fit(rows)
    assert mean.n_participants_ == n
    assert np.isfinite(mean.estimate_).all() and np.any(mean.estimate_ != 0)
    for ask in (mean.confidence_region, lambda: mean.test([0.0, 0.0]), lambda: mean.covariance_):
        with pytest.raises(NotReadyError, match="regression window"):
            ask()


@pytest.mark.parametrize("n", [41, 61])
def test_an_odd_participant_is_counted(n):
    rows = np.random.default_rng(0).normal(0.2, 0.1, size=(n, 2))
    even = PrivateFrechetMean(n_participants=n, **PLAIN).fit(rows[:-1])
    odd = PrivateFrechetMean(n_participants=n, **PLAIN).fit(rows)
    assert odd.diagnostics_["n_pairs"] == even.diagnostics_["n_pairs"] == n // 2
    assert odd.n_participants_ == n
    assert np.any(odd.estimate_ != even.estimate_)
    assert all_finite(odd)
