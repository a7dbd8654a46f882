"""Differences of groups: derivatives of the logarithm in both arguments, and tests of equality."""

import math

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDMatrices
from scipy import stats

from geomstats_ldp.exceptions import ArgumentTypeError, ProtocolError
from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.inference import Comparison, Group

DIM = 3


def covariance_of(dim, seed, scale=1e-4):
    root = np.random.default_rng(seed).normal(size=(dim, dim))
    return scale * (root @ root.T + 0.2 * np.eye(dim))


def group_at(geometry, point, seed, scale=1e-4, **options):
    ball = geodesic_ball(geometry.reference, 1.2)
    return Group(geometry, point, covariance_of(geometry.dim, seed, scale), ball, **options)


def flat_groups(n_groups, seed=0):
    points = np.random.default_rng(seed).normal(scale=0.02, size=(n_groups, DIM))
    geometry = Geometry(Euclidean(DIM), np.zeros(DIM))
    return [group_at(geometry, point, i) for i, point in enumerate(points)]


def test_two_groups_on_a_flat_space_are_compared_as_by_welch():
    one, two = flat_groups(2)
    comparison, gap = Comparison([one, two]), two.point - one.point
    covariance = one.covariance + two.covariance
    statistic = gap @ np.linalg.solve(covariance, gap)
    np.testing.assert_allclose(comparison.statistic, statistic, rtol=1e-6)
    np.testing.assert_allclose(comparison.pvalue, stats.chi2.sf(statistic, DIM), rtol=1e-5)
    region = comparison.difference(0.9)
    np.testing.assert_allclose(region.center, gap)
    np.testing.assert_allclose(region.covariance, covariance, rtol=1e-6)
    np.testing.assert_allclose(region.pvalue(np.zeros(DIM)), comparison.pvalue, rtol=1e-5)
    assert region.is_informative
    back = comparison.difference(0.9, first=1, second=0)
    np.testing.assert_allclose(back.center, -gap)


@pytest.mark.parametrize("n_groups", [2, 4])
def test_many_groups_are_compared_with_their_weighted_mean(n_groups):
    """The Wald test of all differences from the first is the weighted sum of squares."""
    groups = flat_groups(n_groups)
    weights = [np.linalg.inv(group.covariance) for group in groups]
    pulls = [weight @ group.point for weight, group in zip(weights, groups)]
    mean = np.linalg.solve(sum(weights), sum(pulls))
    gaps = [group.point - mean for group in groups]
    statistic = sum(gap @ weight @ gap for gap, weight in zip(gaps, weights))
    comparison = Comparison(groups)
    assert comparison.degrees_of_freedom == (n_groups - 1) * DIM
    np.testing.assert_allclose(comparison.statistic, statistic, rtol=1e-6)
    np.testing.assert_allclose(comparison.common_point, mean, atol=1e-9)
    shuffled = Comparison(groups[::-1])
    np.testing.assert_allclose(shuffled.statistic, statistic, rtol=1e-6)


@pytest.mark.parametrize(
    ("space", "across_end", "across_base"),
    [
        (Hypersphere(DIM), lambda t: t / math.sin(t), lambda t: -t / math.tan(t)),
        (Hyperboloid(DIM), lambda t: t / math.sinh(t), lambda t: -t / math.tanh(t)),
    ],
    ids=["sphere", "hyperboloid"],
)
@pytest.mark.parametrize("length", [1e-3, 0.9])
def test_the_covariance_is_that_of_jacobi_fields(space, across_end, across_base, length):
    """With the frame given at the first estimate, derivatives are diagonal along the geodesic."""
    center = np.eye(DIM + 1)[0]
    geometry = Geometry(space, center)
    shift = length * np.array([0.6, 0.0, 0.8])
    one = group_at(geometry, center, seed=1)
    two = group_at(geometry, geometry.exp(geometry.lift(shift, center), center), seed=2)
    along = np.outer(shift, shift) / length**2
    across = np.eye(DIM) - along
    base, end = (factor(length) * across for factor in (across_base, across_end))
    base, end = base - along, end + along
    wanted = base @ one.covariance @ base.T + end @ two.covariance @ end.T
    region = Comparison([one, two]).difference()
    np.testing.assert_allclose(region.center, shift, atol=1e-12)
    np.testing.assert_allclose(region.covariance, wanted, rtol=2e-4, atol=1e-9)


@pytest.mark.slow  # hundreds of comparisons
@pytest.mark.parametrize("space", [Hypersphere(2), Hyperboloid(2), SPDMatrices(2)])
def test_differences_that_are_far_from_zero_are_covered(space):
    """Estimates scattered about two parameters far apart, in frames given at other points."""
    reference = np.eye(2) if isinstance(space, SPDMatrices) else np.eye(3)[0]
    geometry = Geometry(space, reference)
    dim, rng = geometry.dim, np.random.default_rng(5)

    def moved(point, coords):
        return geometry.exp(geometry.lift(coords, point), point)

    truths = [moved(reference, 0.7 * axis) for axis in np.eye(dim)[:2]]
    target = geometry.coordinates(geometry.log(truths[1], truths[0]), truths[0])
    covariances = [covariance_of(dim, seed, 1e-3) for seed in (3, 4)]
    ball, n, level = geodesic_ball(reference, 1.5), 100, 0.9
    covered = 0
    for _ in range(n):
        groups = [
            Group(geometry, moved(truth, rng.multivariate_normal(np.zeros(dim), c)), c, ball)
            for truth, c in zip(truths, covariances)
        ]
        covered += Comparison(groups).difference(level).contains(target)
    assert abs(covered / n - level) < 3.5 * math.sqrt(level * (1 - level) / n)


def test_the_common_point_balances_the_groups_on_a_curved_space():
    geometry = Geometry(Hypersphere(2), np.eye(3)[0])
    rng, center = np.random.default_rng(0), geometry.reference
    points = [geometry.exp(geometry.lift(rng.normal(scale=0.2, size=2), center), center)] * 2
    points += [geometry.exp(geometry.lift(rng.normal(scale=0.2, size=2), center), center)]
    same = [Group(geometry, p, 1e-6 * np.eye(2), geodesic_ball(center, 1.0)) for p in points]
    np.testing.assert_allclose(Comparison(same[:2]).common_point, points[0], atol=1e-9)
    common = Comparison(same[1:]).common_point
    middle = points[1] + points[2]
    np.testing.assert_allclose(common, middle / np.linalg.norm(middle), atol=1e-9)


def test_axes_have_the_sign_of_the_first():
    geometry = Geometry(Hypersphere(2), np.eye(3)[0])
    opposite = Geometry(Hypersphere(2), -np.eye(3)[0])
    point = np.array([0.96, 0.28, 0.0])
    one = group_at(geometry, np.eye(3)[0], seed=1)
    two = group_at(geometry, point, seed=2)
    ball = geodesic_ball(opposite.reference, 1.0)
    # The same axis by its other end: tangent vectors change their sign with it.
    frame = opposite.coordinates(-geometry.lift(np.eye(2), point), -point)
    turned = Group(opposite, -point, frame.T @ two.covariance @ frame, ball, sign=-1.0)
    straight, crooked = Comparison([one, two]), Comparison([one, turned])
    np.testing.assert_allclose(crooked.statistic, straight.statistic, rtol=1e-5)
    np.testing.assert_allclose(crooked.estimates, straight.estimates, atol=1e-12)
    loading = crooked.functional(lambda u: u[1])
    np.testing.assert_allclose(loading.estimate, [0.28])
    np.testing.assert_allclose(
        loading.covariance, straight.functional(lambda u: u[1]).covariance, rtol=1e-5
    )


def test_functions_of_groups_are_independent():
    one, two, three = flat_groups(3)
    functional = Comparison([one, two, three]).functional(lambda x: x[:2], second=2)
    np.testing.assert_allclose(functional.estimate, (three.point - one.point)[:2])
    total = (one.covariance + three.covariance)[:2, :2]
    np.testing.assert_allclose(functional.covariance, total, rtol=1e-6)
    both = [group.covariance for group in (one, three)]
    blocks = np.block([[both[0], np.zeros((DIM, DIM))], [np.zeros((DIM, DIM)), both[1]]])
    np.testing.assert_allclose(
        functional.jacobian @ blocks @ functional.jacobian.T, total, rtol=1e-6
    )
    assert np.all(functional.bend < 1e-6)


@pytest.mark.parametrize(
    ("places", "message"),
    [((0, 0), "must be two groups"), ((0, 3), "from 0 to 2"), ((-1, 1), "from 0 to 2")],
)
def test_places_of_groups_are_checked(places, message):
    comparison = Comparison(flat_groups(3))
    for use in (
        lambda: comparison.difference(0.95, *places),
        lambda: comparison.functional(lambda x: x, *places),
    ):
        with pytest.raises((ProtocolError, ArgumentTypeError), match=message):
            use()
