"""Closed forms on SPD matrices against 60-digit arithmetic and against geomstats."""

import mpmath
import numpy as np
import pytest
import scipy.linalg

from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.spaces import (
    space_from_spec,
    symmetric_matrices,
)

METRICS = ["SPDAffineInvariant", "SPDLogEuclidean"]
# Condition number of the points, displacement, relative tolerance in the metric. A point of
# condition c is known to c * 1e-16 in the metric.
CASES = [
    (5.0, None, 1e-12),
    (1e3, None, 1e-10),
    (1e8, None, 1e-6),
    (5.0, 1e-8, 1e-8),
    (1e3, 1e-8, 1e-8),
    (5.0, 1e-3, 1e-12),
]


# ------------------------------------------------------------------------ 60 digits


def exact(matrix):
    return mpmath.matrix(np.asarray(matrix, dtype=float).tolist())


def function_of(matrix, function):
    values, vectors = mpmath.eigsy(matrix)
    return vectors * mpmath.diag([function(value) for value in values]) * vectors.T


def length(matrix):
    return mpmath.sqrt(mpmath.fsum(entry**2 for entry in matrix))


class Affine:
    """Textbook forms with square roots of the base point."""

    def __init__(self, base):
        self.root = function_of(base, mpmath.sqrt)
        self.inverse = function_of(base, lambda x: 1 / mpmath.sqrt(x))

    def relative(self, matrix):
        matrix = self.inverse * matrix * self.inverse
        return (matrix + matrix.T) / 2

    def exp(self, vector):
        return self.root * function_of(self.relative(vector), mpmath.exp) * self.root

    def log(self, point):
        return self.root * function_of(self.relative(point), mpmath.log) * self.root

    def transport(self, vector, end):
        mover = self.root * function_of(self.relative(end), mpmath.sqrt) * self.inverse
        return mover * vector * mover.T

    def norm(self, vector):
        return length(self.relative(vector))


class LogEuclidean:
    """Differentials by divided differences in 60 digits."""

    def __init__(self, base):
        self.base = base
        self.values, self.vectors = mpmath.eigsy(base)

    def slope(self, i, j):
        a, b = self.values[i], self.values[j]
        return 1 / a if abs(a - b) < 1e-40 else (mpmath.log(a) - mpmath.log(b)) / (a - b)

    def differential(self, vector, inverse=False):
        inner = self.vectors.T * vector * self.vectors
        for i in range(inner.rows):
            for j in range(inner.rows):
                inner[i, j] *= 1 / self.slope(i, j) if inverse else self.slope(i, j)
        return self.vectors * inner * self.vectors.T

    def exp(self, vector):
        image = function_of(self.base, mpmath.log) + self.differential(vector)
        return function_of((image + image.T) / 2, mpmath.exp)

    def log(self, point):
        difference = function_of(point, mpmath.log) - function_of(self.base, mpmath.log)
        return self.differential(difference, inverse=True)

    def transport(self, vector, end):
        return LogEuclidean(end).differential(self.differential(vector), inverse=True)

    def norm(self, vector):
        return length(self.differential(vector))


REFERENCES = {"SPDAffineInvariant": Affine, "SPDLogEuclidean": LogEuclidean}


def gap(reference_metric, actual, reference):
    """Riemannian length of the error, relative to that of the reference."""
    error = reference_metric.norm(exact(actual) - reference)
    return float(error / reference_metric.norm(reference))


# ------------------------------------------------------------------------ points


def random_point(rng, size, condition=5.0):
    vectors = np.linalg.qr(rng.normal(size=(size, size)))[0]
    values = np.geomspace(1.0, 1 / condition, size) * rng.uniform(0.5, 2.0)
    point = (vectors * values) @ vectors.T
    return (point + point.T) / 2


def random_vector(rng, point):
    """Tangent vector of length about one in the affine metric."""
    factor = np.linalg.cholesky(point)
    vector = factor @ rng.normal(size=point.shape) @ factor.T
    return (vector + vector.T) / 2


def random_pair(size, condition, displacement, seed):
    rng = np.random.default_rng(seed)
    base = random_point(rng, size, condition)
    if displacement is None:
        return base, random_point(rng, size, condition)
    return base, base + displacement * random_vector(rng, base)


def make(metric, size, seed=100, condition=3.0):
    space = space_from_spec({"name": metric, "n": size})
    return Geometry(space, random_point(np.random.default_rng(seed), size, condition))


# ------------------------------------------------------------------------ eigenvalues


@pytest.mark.parametrize(
    "matrix",
    [
        [[2.0, 0.0], [0.0, 2.0]],
        [[1.0, 1e-9], [1e-9, 1.0]],
        [[1.0, 1e-9], [1e-9, 1.0 + 1e-12]],
        [[1e8, 3.0], [3.0, 1.0]],
        [[0.0, 1.0], [1.0, 0.0]],
        [[0.0, 0.0], [0.0, 0.0]],
        [[1e-200, 1e-201], [1e-201, 1e-200]],
        np.diag([1.0, 2.0, 1.0]) + 1e-10,
        np.ones((4, 4)),
        np.diag([1e8, 1e4, 1.0, 1e-4]) + 1e-5,
        np.add.outer(np.arange(6.0), np.arange(6.0)) - 5,
    ],
)
def test_eigenvalues_and_vectors(matrix):
    matrix = np.array(matrix)
    spectrum, vectors = matrix.copy(), np.empty_like(matrix)
    symmetric_matrices.eigen((), spectrum, vectors)
    size, scale = len(matrix), np.abs(matrix).max()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(size), atol=3e-15)
    back = (vectors * np.diag(spectrum)) @ vectors.T
    np.testing.assert_allclose(back, matrix, rtol=0, atol=3e-15 * scale)
    with mpmath.workdps(400):
        expected = sorted(float(value) for value in mpmath.eigsy(exact(matrix))[0])
    np.testing.assert_allclose(np.sort(np.diag(spectrum)), expected, atol=3e-15 * scale)


def test_small_eigenvalues_of_graded_matrices_keep_their_digits():
    scales = np.array([1e4, 1.0, 1e-3])
    matrix = np.array([[1.0, 0.3, -0.2], [0.3, 1.0, 0.4], [-0.2, 0.4, 1.0]]) * np.outer(
        scales, scales
    )
    spectrum, vectors = matrix.copy(), np.empty((3, 3))
    symmetric_matrices.eigen((), spectrum, vectors)
    with mpmath.workdps(60):
        expected = sorted(float(value) for value in mpmath.eigsy(exact(matrix))[0])
    np.testing.assert_allclose(np.sort(np.diag(spectrum)), expected, rtol=1e-14)


# ------------------------------------------------------------------------ against 60 digits


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("condition", "displacement", "tolerance"), CASES)
def test_log_distance_and_transport_against_mpmath(
    metric, size, condition, displacement, tolerance, closed_forms
):
    closed = closed_forms(make(metric, size))
    for seed in range(3):
        base, point = random_pair(size, condition, displacement, seed)
        vector = random_vector(np.random.default_rng(seed), base)
        with mpmath.workdps(60):
            reference = REFERENCES[metric](exact(base))
            at_end = REFERENCES[metric](exact(point))
            expected = reference.log(exact(point))
            log = closed.log(point, base)
            assert gap(reference, log, expected) < tolerance
            distance = float(reference.norm(expected))
            assert abs(closed.dist(base, point) / distance - 1) < tolerance
            moved = closed.transport(vector, base, point)
            expected = reference.transport(exact(vector), exact(point))
            assert gap(at_end, moved, expected) < max(1e-12, condition * 1e-14)
            np.testing.assert_array_equal(log, log.T)
            np.testing.assert_array_equal(moved, moved.T)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("condition", [5.0, 1e3, 1e8])
@pytest.mark.parametrize("step", [1e-8, 0.5])
def test_exp_against_mpmath(metric, size, condition, step, closed_forms):
    closed = closed_forms(make(metric, size))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        base = random_point(rng, size, condition)
        vector = step * random_vector(rng, base)
        with mpmath.workdps(60):
            expected = REFERENCES[metric](exact(base)).exp(exact(vector))
            out = closed.exp(vector, base)
            # a point of condition c is known to c * 1e-16 in the metric
            miss = Affine(expected).norm(exact(out) - expected)
            assert float(miss) < max(1e-14, condition * 1e-14)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("condition", "tolerance"), [(5.0, 1e-12), (1e3, 1e-12), (1e8, 5e-8)])
def test_lift_and_lower_are_inverse_isometries(metric, size, condition, tolerance, closed_forms):
    geometry = make(metric, size)
    closed, dim = closed_forms(geometry), geometry.dim
    for seed in range(5):
        rng = np.random.default_rng(seed)
        point, coords = random_point(rng, size, condition), rng.normal(size=dim)
        coords /= np.linalg.norm(coords)
        lifted = closed.lift(coords, point)
        with mpmath.workdps(60):
            reference = REFERENCES[metric](exact(point))
            assert abs(reference.norm(exact(lifted)) - 1) < tolerance
            lowered = closed.coordinates(lifted, point)
            np.testing.assert_allclose(lowered, coords, rtol=0, atol=tolerance)
            vector = random_vector(rng, point)
            lowered = closed.coordinates(vector, point)
            norm = float(reference.norm(exact(vector)))
            assert abs(np.linalg.norm(lowered) / norm - 1) < tolerance


# ------------------------------------------------------------------------ against geomstats


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("metric", METRICS)
def test_closed_forms_equal_geomstats(metric, size, closed_forms):
    geometry = make(metric, size)
    closed, dim, shape = closed_forms(geometry), geometry.dim, (size, size)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        base, end = random_point(rng, size), random_point(rng, size)
        vector, ambient = random_vector(rng, base), rng.normal(size=shape)
        coords = rng.normal(size=dim)
        pairs = [
            (closed.exp(vector, base), geometry.exp(vector, base)),
            (
                closed.exp(vector, base),
                geometry.retract(vector, base),
            ),
            (closed.log(end, base), geometry.log(end, base)),
            (
                closed.transport(vector, base, end),
                geometry.transport(vector, base, end),
            ),
            (
                closed.to_tangent(ambient, base),
                geometry.to_tangent(ambient, base),
            ),
            (closed.lift(coords, base), geometry.lift(coords, base)),
            (
                closed.coordinates(vector, base),
                geometry.coordinates(vector, base),
            ),
            (closed.dist(base, end), geometry.dist(base, end)),
        ]
        for closed_form, through_geomstats in pairs:
            # exp reaches entries of some hundreds: absolute and relative
            np.testing.assert_allclose(closed_form, through_geomstats, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("metric", METRICS)
def test_a_point_and_itself(metric, closed_forms):
    closed, point = closed_forms(make(metric, 3)), random_point(np.random.default_rng(1), 3, 100.0)
    assert not closed.log(point, point).any()
    assert closed.dist(point, point) == 0.0
    still = closed.exp(np.zeros((3, 3)), point)
    np.testing.assert_allclose(still, point, rtol=0, atol=1e-14)
    identity = closed.log(np.eye(3), np.eye(3))
    np.testing.assert_array_equal(identity, np.zeros((3, 3)))


@pytest.mark.parametrize("metric", METRICS)
def test_arguments_are_left_as_they_are(metric, closed_forms):
    closed, rng = closed_forms(make(metric, 3)), np.random.default_rng(2)
    base, end = random_point(rng, 3), random_point(rng, 3)
    vector, coords = random_vector(rng, base), rng.normal(size=6)
    copies = [array.copy() for array in (base, end, vector, coords)]
    frame = closed.twin.frame.copy()
    for operation, arguments in [
        (closed.exp, (vector, base)),
        (closed.log, (end, base)),
        (closed.transport, (vector, base, end)),
        (closed.lift, (coords, base)),
        (closed.coordinates, (vector, base)),
    ]:
        first = operation(*arguments)
        closed.dist(base, end)
        # nothing survives in the scratch
        np.testing.assert_array_equal(operation(*arguments), first)
    for before, after in zip([*copies, frame], [base, end, vector, coords, closed.twin.frame]):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("n", [300, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("metric", METRICS)
def test_distance_is_symmetric_and_nothing_is_nan_for_close_points(metric, n, closed_forms):
    closed, rng = closed_forms(make(metric, 2)), np.random.default_rng(3)
    for _ in range(n):
        base = random_point(rng, 2, 10 ** rng.uniform(0, 6))
        point = base + 10 ** rng.uniform(-20, -7) * random_vector(rng, base)
        there, back = closed.dist(base, point), closed.dist(point, base)
        # the metric changes by the distance itself, and is known to the condition times 1e-16
        assert abs(there - back) <= 1e-6 * there
        log = closed.log(point, base)
        assert np.isfinite(log).all()
        landed = closed.exp(log, base)
        np.testing.assert_allclose(landed, point, rtol=0, atol=1e-14 * np.abs(point).max())
        assert np.isfinite(closed.transport(log, base, point)).all()


@pytest.mark.parametrize("metric", METRICS)
def test_one_by_one_matrices_are_positive_numbers(metric):
    """The logarithm is an isometry to the line; geomstats fails on them."""
    geometry = Geometry(space_from_spec({"name": metric, "n": 1}), [[2.0]])
    points = np.exp(np.linspace(-1.0, 2.0, 7))[:, None, None]
    logs = np.log(points[:, 0, 0])
    np.testing.assert_allclose(geometry.dist(points, geometry.reference), abs(logs - np.log(2.0)))
    tangent = geometry.log(points, geometry.reference)
    np.testing.assert_allclose(tangent[:, 0, 0], 2.0 * (logs - np.log(2.0)), atol=1e-15)
    np.testing.assert_allclose(geometry.exp(tangent, geometry.reference), points)
    for point in points:
        moved = geometry.transport(tangent, geometry.reference, point)
        np.testing.assert_allclose(
            geometry.norm(moved, point), geometry.norm(tangent, geometry.reference)
        )
        np.testing.assert_allclose(geometry.coordinates(geometry.lift([0.7], point), point), [0.7])
    np.testing.assert_array_equal(geometry.check_points(points), points)


def test_log_euclidean_frame_is_that_of_the_matrix_logarithm_at_every_reference():
    space = space_from_spec({"name": "SPDLogEuclidean", "n": 2})
    reference, point = np.array([[2.0, 0.7], [0.7, 1.0]]), np.array([[1.3, -0.4], [-0.4, 0.9]])
    geometry = Geometry(space, reference)
    coords = geometry.coordinates(geometry.log(point, reference), reference)
    gap = scipy.linalg.logm(point) - scipy.linalg.logm(reference)
    np.testing.assert_allclose(coords, [gap[0, 0], np.sqrt(2) * gap[0, 1], gap[1, 1]], atol=1e-12)
