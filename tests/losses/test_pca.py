"""The Rayleigh loss: score, bound, clipping, Hessian."""

import itertools
import math

import numpy as np
import pytest
from geomstats.geometry.hypersphere import Hypersphere
from numba import njit

from geomstats_ldp.geometry import Geometry
from geomstats_ldp.losses import PCALoss, loss_from_spec, score_into

DIMS = [1, 2, 5]


@njit
def _compiled_score(twin, point, datum, out):
    score_into(twin, None, point, datum, out)


def compiled_score(loss, point, datum, out):
    _compiled_score(loss.twin(), point, loss.clip(None, datum), out)


def score_of(loss, point, data):
    """Score of raw data: clipped first, as a participant does; the loss needs no geometry."""
    return loss.score(None, point, loss.clip(None, data))


def unit(vector):
    return vector / np.linalg.norm(vector)


def tangent_basis(point):
    """Orthonormal rows spanning the complement of a unit vector."""
    return np.linalg.svd(point[None, :])[2][1:]


def cases(dim, bound=1.5):
    """A loss, points and data on both sides of the clipping bound."""
    rng = np.random.default_rng(dim)
    data = rng.normal(size=(8, dim + 1))
    data *= np.linspace(0.3, 3.0, 8)[:, None] / np.linalg.norm(data, axis=1, keepdims=True)
    points = [unit(rng.normal(size=dim + 1)) for _ in range(4)]
    return PCALoss(norm_bound=bound), points, data


@pytest.mark.parametrize("dim", DIMS)
def test_score_bound_holds_and_is_attained(dim):
    loss, points, _ = cases(dim)
    bound = loss.score_bound(None, None)
    assert bound == pytest.approx(1.5**2 / 2)
    data = 10 ** np.random.default_rng(1).uniform(-3, 3, size=(5000, 1))
    data = data * np.random.default_rng(2).normal(size=(5000, dim + 1))
    for point in points:
        norms = np.linalg.norm(score_of(loss, point, data), axis=1)
        assert norms.max() <= bound * (1 + 1e-14)  # rounding
        worst = 1.5 * unit(point + tangent_basis(point)[0])  # halfway between point and equator
        assert np.linalg.norm(score_of(loss, point, worst)) == pytest.approx(bound, rel=1e-14)


def test_data_are_clipped_to_the_bound_and_no_further():
    loss = PCALoss(norm_bound=2.0)
    inside, outside = np.array([0.1, -0.2, 1.5]), np.array([3.0, 0.0, 4.0])
    np.testing.assert_array_equal(loss.clip(None, inside), inside)
    np.testing.assert_allclose(loss.clip(None, outside), [1.2, 0.0, 1.6], rtol=1e-15)
    np.testing.assert_array_equal(loss.clip(None, np.zeros(3)), 0.0)
    point = unit(np.array([1.0, 2.0, -1.0]))
    # the second call sees the clipped datum: one more rounding of the scale
    np.testing.assert_allclose(
        score_of(loss, point, outside), score_of(loss, point, 0.4 * outside), rtol=1e-14
    )


@pytest.mark.parametrize("size", [1e150, 1e200, 1e307])
def test_huge_data_are_clipped_to_the_bound(size):
    loss = PCALoss(norm_bound=2.0)
    direction = unit(np.array([1.0, -2.0, 2.0]))
    np.testing.assert_allclose(loss.clip(None, size * direction), 2.0 * direction, rtol=1e-14)
    point, out = unit(np.array([1.0, 2.0, -1.0])), np.empty(3)
    expected = score_of(loss, point, 2.0 * direction)
    np.testing.assert_allclose(score_of(loss, point, size * direction), expected, rtol=1e-13)
    compiled_score(loss, point, size * direction, out)
    np.testing.assert_allclose(out, expected, rtol=1e-13)


@pytest.mark.parametrize("dim", DIMS)
def test_compiled_score_equals_numpy(dim):
    loss, points, data = cases(dim)
    geometry = Geometry(Hypersphere(dim), points[0])
    for point in points:
        for datum, score in zip(data, score_of(loss, point, data)):
            out = np.empty(dim + 1)
            compiled_score(loss, point, datum, out)
            np.testing.assert_allclose(out, score, rtol=0, atol=1e-14)
            interpreted = np.empty(dim + 1)
            score_into(loss, geometry, point, loss.clip(None, datum), interpreted)
            np.testing.assert_array_equal(interpreted, score_of(loss, point, datum))


def test_population_hessian_has_the_eigengaps():
    values = np.array([3.0, 1.5, 0.8, 0.3])
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))
    data = signs * np.sqrt(values)  # second moment diag(values), exactly
    loss = PCALoss(norm_bound=math.sqrt(values.sum()))
    leading, step = np.eye(4)[0], 1e-5

    def mean_score(direction, length):
        """Mean score at a point of a geodesic, transported back to its start."""
        point = math.cos(length) * leading + math.sin(length) * direction
        score = score_of(loss, point, data).mean(axis=0)
        velocity = math.cos(length) * direction - math.sin(length) * leading
        return score + (score @ velocity) * (direction - velocity)

    columns = [
        (mean_score(axis, step) - mean_score(axis, -step)) / (2 * step) for axis in np.eye(4)[1:]
    ]
    hessian = np.array(columns)[:, 1:]
    # central difference: step^2 times a third derivative of size 10
    np.testing.assert_allclose(hessian, np.diag(values[0] - values[1:]), atol=1e-8)
    np.testing.assert_allclose(mean_score(np.eye(4)[1], 0.0), 0.0, atol=1e-14)
    assert loss.hessian_bound(None, None) >= np.linalg.eigvalsh(hessian)[-1]


@pytest.mark.parametrize(
    ("datum", "match"),
    [
        ([1.0, 2.0], "shape"),
        (3.0, "shape"),
        ([1.0, np.nan, 0.0], "finite"),
        ([[1.0, 2.0, 3.0], [1.0, np.inf, 0.0]], "finite"),
    ],
)
def test_bad_data_are_refused(datum, match):
    with pytest.raises(ValueError, match=match):
        PCALoss(norm_bound=1.0).check_data(Geometry(Hypersphere(2), np.eye(3)[0]), datum)


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan, np.inf])
def test_bad_norm_bounds_are_refused(bound):
    with pytest.raises(ValueError, match="norm_bound"):
        PCALoss(norm_bound=bound)


def test_record_of_a_loss_reads_back():
    loss = PCALoss(norm_bound=1.5)
    rebuilt = loss_from_spec(loss.to_spec())
    assert rebuilt == loss
    assert hash(rebuilt) == hash(loss)
    assert rebuilt != PCALoss(norm_bound=1.6)
    assert eval(repr(loss), {"PCALoss": PCALoss}) == loss
    with pytest.raises(ValueError, match="loss must be one of"):
        loss_from_spec({"name": "mystery"})
