"""The Gaussian quasi-likelihood of a covariance matrix: score, bounds, Hessian."""

import math
import pickle

import numpy as np
import pytest

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import geodesic_ball
from geomstats_ldp.losses import SPDLikelihoodLoss, loss_from_spec

BOUND = 2.5


@pytest.fixture(params=["affine2", "affine3"])
def spd(request, setting_of):
    return setting_of(request.param)


def vectors(spd, n=12, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, spd.geometry.shape[0]))
    lengths = np.linspace(0.1, 2 * BOUND, n)
    return rows * (lengths / np.linalg.norm(rows, axis=1))[:, None]


def clipped(spd, loss, **options):
    return loss.clip(spd.geometry, vectors(spd, **options))


def lowest(spd):
    """A query of the region with its least eigenvalue, and a datum along that eigenvector."""
    center = spd.region.center
    values, axes = np.linalg.eigh(center)
    query = center + values[0] * math.expm1(-spd.region.radius) * np.outer(axes[:, 0], axes[:, 0])
    return query, BOUND * axes[:, 0]


def test_value_is_half_the_deviance(spd):
    loss = SPDLikelihoodLoss(norm_bound=BOUND)
    data, point = clipped(spd, loss), spd.queries()[2]
    expected = [np.log(np.linalg.det(point)) / 2 + y @ np.linalg.inv(point) @ y / 2 for y in data]
    np.testing.assert_allclose(loss.value(spd.geometry, point, data), expected, rtol=1e-12)


def test_least_eigenvalue_of_the_region_is_attained(spd):
    query, _ = lowest(spd)
    radius = spd.region.radius
    assert spd.geometry.dist(query, spd.region.center) == pytest.approx(radius, rel=1e-9)
    floor = np.linalg.eigvalsh(spd.region.center)[0] * math.exp(-radius)
    assert np.linalg.eigvalsh(query)[0] == pytest.approx(floor, rel=1e-12)
    edge = spd.around(spd.region.center, np.full(300, radius))
    assert np.linalg.eigvalsh(edge)[:, 0].min() >= floor * (1 - 1e-12)


def test_score_bound_holds_for_adversarial_data(spd):
    loss, geometry = SPDLikelihoodLoss(norm_bound=BOUND), spd.geometry
    bound = loss.score_bound(geometry, spd.region)
    edge = spd.around(spd.region.center, np.full(100, spd.region.radius))
    for point in edge:
        worst = BOUND * np.linalg.eigh(point)[1][:, 0]
        data = loss.clip(geometry, np.vstack([vectors(spd, 50) * 100, worst]))
        assert geometry.norm(loss.score(geometry, point, data), point).max() <= bound
    query, datum = lowest(spd)
    norm = geometry.norm(loss.score(geometry, query, datum), query)
    assert norm == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("norm_bound", [0.05, 0.3, 0.9, 1.2])
def test_score_bound_is_attained_for_small_data_too(spd, norm_bound):
    """Where |xi|^2 stays under 2 a zero datum has the largest score, sqrt(m) / 2."""
    loss, geometry = SPDLikelihoodLoss(norm_bound=norm_bound), spd.geometry
    bound = loss.score_bound(geometry, spd.region)
    query, datum = lowest(spd)
    data = np.stack([np.zeros_like(datum), datum * norm_bound / BOUND])
    norms = geometry.norm(loss.score(geometry, query, data), query)
    assert norms.max() == pytest.approx(bound, rel=1e-9)


def test_bounds_are_at_most_those_of_the_paper(spd):
    loss = SPDLikelihoodLoss(norm_bound=BOUND)
    ratio = BOUND**2 / np.linalg.eigvalsh(lowest(spd)[0])[0]
    m = spd.geometry.shape[0]
    paper = (math.sqrt(m) + ratio) / 2
    tight = math.sqrt(m - 1 + (ratio - 1) ** 2) / 2
    assert loss.score_bound(spd.geometry, spd.region) == pytest.approx(tight, rel=1e-12)
    assert tight < paper
    expected = ratio / 2
    assert loss.hessian_bound(spd.geometry, spd.region) == pytest.approx(expected, rel=1e-12)
    tiny = SPDLikelihoodLoss(norm_bound=0.01)
    assert tiny.hessian_bound(spd.geometry, spd.region) == 0.5


def test_hessian_bound_holds_and_is_attained(spd, hessian):
    loss = SPDLikelihoodLoss(norm_bound=BOUND)
    bound = loss.hessian_bound(spd.geometry, spd.region)
    for point in spd.queries():
        for datum in clipped(spd, loss)[::3]:
            values = np.linalg.eigvalsh(hessian(spd, loss, point, datum[None]))
            assert -1e-6 <= values[0] <= values[-1] <= bound + 1e-6  # finite differences
    query, datum = lowest(spd)
    values = np.linalg.eigvalsh(hessian(spd, loss, query, datum[None]))
    assert values[-1] == pytest.approx(bound, rel=1e-6)


def test_population_hessian_is_half_the_identity_at_the_second_moment(spd, hessian):
    loss = SPDLikelihoodLoss(norm_bound=BOUND)
    data = clipped(spd, loss, n=40)
    target = data.T @ data / len(data)
    score = loss.score(spd.geometry, target, data).mean(axis=0)
    np.testing.assert_allclose(score, 0.0, atol=1e-14)
    actual = hessian(spd, loss, target, data)
    np.testing.assert_allclose(actual, np.eye(spd.geometry.dim) / 2, rtol=0, atol=1e-6)
    known = loss.target_hessian(spd.geometry, spd.region)
    assert (known.low, known.high, known.is_isotropic) == (0.5, 0.5, True)


@pytest.mark.parametrize("size", [1.0, 1e150, 1e200, 1e307])
def test_data_are_clipped_to_the_bound(spd, size):
    loss = SPDLikelihoodLoss(norm_bound=BOUND)
    rows = vectors(spd)
    data = loss.clip(spd.geometry, size * rows)
    np.testing.assert_allclose(
        np.linalg.norm(data, axis=1),
        np.minimum(BOUND, size * np.linspace(0.1, 2 * BOUND, 12)),
        rtol=1e-13,
    )
    np.testing.assert_allclose(loss.clip(spd.geometry, data), data, rtol=1e-14)


def test_bad_data_are_refused(spd):
    loss, data = SPDLikelihoodLoss(norm_bound=BOUND), vectors(spd)
    with pytest.raises(ValueError, match="datum must be finite"):
        loss.check_data(spd.geometry, data * np.inf)
    with pytest.raises(ValueError, match="datum must have shape"):
        loss.check_data(spd.geometry, data[:, :1])
    np.testing.assert_array_equal(loss.check_data(spd.geometry, data), data)


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan, np.inf])
def test_bad_norm_bounds_are_refused(bound):
    with pytest.raises(ValueError, match="norm_bound"):
        SPDLikelihoodLoss(norm_bound=bound)


def test_other_spaces_are_refused(setting):
    loss, guard = SPDLikelihoodLoss(norm_bound=1.0), setting.geometry
    if guard.name == "SPDAffineInvariant":
        loss.check_space(guard)
    else:
        with pytest.raises(ProtocolError, match="affine-invariant"):
            loss.check_space(guard)


def test_bounds_scale_with_the_radius(spd):
    loss = SPDLikelihoodLoss(norm_bound=BOUND)
    near, far = (geodesic_ball(np.eye(spd.geometry.shape[0]), radius) for radius in (0.5, 1.5))
    ratio = loss.hessian_bound(spd.geometry, far) / loss.hessian_bound(spd.geometry, near)
    assert ratio == pytest.approx(math.e, rel=1e-12)


def test_records_and_pickles_read_back():
    loss = SPDLikelihoodLoss(norm_bound=BOUND)
    for copy in (loss_from_spec(loss.to_spec()), pickle.loads(pickle.dumps(loss))):
        assert copy == loss
        assert hash(copy) == hash(loss)
    assert eval(repr(loss), {"SPDLikelihoodLoss": SPDLikelihoodLoss}) == loss
    assert loss != SPDLikelihoodLoss(norm_bound=1.0)
