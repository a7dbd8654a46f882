"""Right in every unit and at every scale, through geomstats and in closed form."""

import itertools
import warnings

import mpmath
import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.poincare_half_space import PoincareHalfSpace

from geomstats_ldp import PrivateFrechetMean, Tuning
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.geometry.spaces.hyperbolic import on_sheet

METRICS = ["SPDAffineInvariant", "SPDLogEuclidean"]


@pytest.fixture(params=["compiled", "geomstats"])
def make(request, closed_forms):
    """Operations of a geometry: its closed forms, or those of geomstats."""
    return closed_forms if request.param == "compiled" else lambda geometry: geometry


# ------------------------------------------------------------------------ SPD matrices


def spd(metric, n, reference=None):
    return Geometry(space_from_spec({"name": metric, "n": n}), reference)


def random_spd(rng, n, condition=4.0):
    vectors = np.linalg.qr(rng.normal(size=(n, n)))[0]
    matrix = (vectors * np.geomspace(1.0, condition, n) * rng.uniform(0.8, 1.2, n)) @ vectors.T
    return (matrix + matrix.T) / 2


def tangent_at(rng, point):
    factor = np.linalg.cholesky(point)
    noise = rng.normal(size=point.shape)
    vector = factor @ (noise + noise.T) @ factor.T / 2
    return (vector + vector.T) / 2


def power_of_two(exponent):
    """The power of two next to ten to this exponent, which scales without rounding."""
    return 2.0 ** np.round(exponent * np.log2(10.0))


@pytest.mark.parametrize("n", [1, 3, 30])
@pytest.mark.parametrize("k", [1, 8, 40])
def test_affine_results_do_not_depend_on_the_units_of_the_variables(k, n, make, closed_forms):
    """Congruence by D is an isometry: everything at D X D is D ... D of what it is at X."""
    if n == 30 and make is closed_forms:
        pytest.skip("minutes in the interpreter; n = 3 runs the same loops")
    rng = np.random.default_rng(n + k)
    base, end = random_spd(rng, n), random_spd(rng, n)
    vector = tangent_at(rng, base) / n
    units = power_of_two(-k * np.linspace(0.0, 1.0, n) if n > 1 else -float(k) * np.ones(1))
    units = np.outer(units, units)
    plain = spd("SPDAffineInvariant", n, base)
    mixed = make(spd("SPDAffineInvariant", n, base * units))
    expected = plain.dist(base, end)
    assert mixed.dist(base * units, end * units) == pytest.approx(float(expected), rel=1e-12)
    for name, arguments in (
        ("exp", (vector, base)),
        ("log", (end, base)),
        ("transport", (vector, base, end)),
    ):
        expected = getattr(plain, name)(*arguments)
        actual = getattr(mixed, name)(*(argument * units for argument in arguments)) / units
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [1, 3, 30])
@pytest.mark.parametrize("exponent", [-120, -12, 6, 120])
def test_results_do_not_depend_on_one_unit_for_all(exponent, n, metric, make, closed_forms):
    """The logarithm of sX is that of X plus a multiple of the identity."""
    if n == 30 and make is closed_forms:
        pytest.skip("minutes in the interpreter; n = 3 runs the same loops")
    rng = np.random.default_rng(n)
    base, end = random_spd(rng, n), random_spd(rng, n)
    vector, unit = tangent_at(rng, base) / n, power_of_two(exponent)
    plain = spd(metric, n, base)
    scaled = make(spd(metric, n, unit * base))
    expected = float(plain.dist(base, end))
    assert scaled.dist(unit * base, unit * end) == pytest.approx(expected, rel=1e-11)
    for name, arguments in (
        ("exp", (vector, base)),
        ("log", (end, base)),
        ("transport", (vector, base, end)),
    ):
        expected = getattr(plain, name)(*arguments)
        actual = getattr(scaled, name)(*(unit * argument for argument in arguments)) / unit
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def exact_log(matrix):
    values, vectors = mpmath.eigsy(mpmath.matrix(np.asarray(matrix, dtype=float).tolist()))
    return vectors * mpmath.diag([mpmath.log(value) for value in values]) * vectors.T


def gap_of_logs(a, b):
    difference = exact_log(a) - exact_log(b)
    return mpmath.sqrt(mpmath.fsum(entry**2 for entry in difference))


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("k", [1, 8, 40])
def test_log_euclidean_results_in_mixed_units(k, n, make):
    """Against 250 digits, in the metric: logarithms of what comes out."""
    rng = np.random.default_rng(n + k)
    units = power_of_two(-k * np.linspace(0.0, 1.0, n))
    units = np.outer(units, units)
    base, end = random_spd(rng, n) * units, random_spd(rng, n) * units
    engine = make(spd("SPDLogEuclidean", n))
    with mpmath.workdps(250):
        for start in (np.eye(n), base):
            distance = gap_of_logs(start, end)
            assert engine.dist(start, end) == pytest.approx(float(distance), rel=1e-13)
        log = engine.log(end, np.eye(n))
        difference = mpmath.matrix(log.tolist()) - exact_log(end)
        assert float(max(abs(entry) for entry in difference)) < 1e-13 * float(distance)
        assert float(gap_of_logs(engine.exp(log, np.eye(n)), end)) < 1e-12 * float(distance)
        halfway = engine.exp(engine.log(end, base) / 2, base)
        for point in (base, end):
            assert float(gap_of_logs(halfway, point) / distance) == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("unit", [1e-150, 1e-12, 1e150])
@pytest.mark.parametrize("n", [1, 3])
def test_a_reference_in_any_unit_has_a_frame(n, unit, metric):
    reference = unit * random_spd(np.random.default_rng(n), n)
    geometry = spd(metric, n, reference)
    coords = np.random.default_rng(0).normal(size=geometry.dim)
    point = geometry.exp(geometry.lift(0.3 * coords, reference), reference)
    back = geometry.coordinates(geometry.lift(coords, point), point)
    np.testing.assert_allclose(back, coords, atol=1e-12)
    with pytest.raises(ValueError, match="orthonormal"):
        Geometry(geometry.space, reference, basis=geometry.basis * 1.001)


def test_a_log_euclidean_reference_must_leave_digits_for_its_neighbours():
    geometry = spd("SPDLogEuclidean", 2, np.diag([1.0, 1e-7]))
    coords = np.array([0.1, 0.3, -0.2])
    point = geometry.exp(geometry.lift(coords, geometry.reference), geometry.reference)
    back = geometry.coordinates(geometry.log(point, geometry.reference), geometry.reference)
    np.testing.assert_allclose(back, coords, atol=1e-16 * 1e7 * 10)
    with pytest.raises(ValueError, match=r"condition number .* units of like size"):
        spd("SPDLogEuclidean", 2, np.diag([1.0, 1e-12]))


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("metric", METRICS)
def test_matrices_in_mixed_units_are_taken_for_what_they_are(n, metric):
    geometry = spd(metric, n)
    units = 10.0 ** (-40.0 * np.linspace(0.0, 1.0, n))
    good = random_spd(np.random.default_rng(1), n) * np.outer(units, units)
    bad = good.copy()
    bad[0, -1] = bad[-1, 0] = 2 * np.sqrt(good[0, 0] * good[-1, -1])
    np.testing.assert_array_equal(geometry.is_on(np.stack([good, bad]), 1e-8), [True, False])
    asymmetric = good + np.triu(good, 1) * 1e-5
    with pytest.raises(ValueError, match="must lie on SPD"):
        geometry.check_points(asymmetric)


def test_affine_transport_between_rotated_ill_conditioned_matrices(make):
    """A point of condition c is known to c * 1e-16, and nothing more may be lost."""
    for condition in (1e4, 1e8, 1e12):
        rng = np.random.default_rng(4)
        base = random_spd(rng, 3, condition)
        vector = tangent_at(rng, base)
        end = base + 0.3 * tangent_at(rng, base)
        geometry = spd("SPDAffineInvariant", 3)
        engine = make(geometry)
        moved = engine.transport(vector, base, end)
        length = float(geometry.norm(vector, base))
        assert float(geometry.norm(moved, end)) == pytest.approx(length, rel=1e-15 * condition)
        back = engine.transport(moved, end, base)
        assert geometry.norm(back - vector, base) < 1e-14 * condition * length


# ------------------------------------------------------------------------ small distances


def origin_and_step(space, length):
    """Origin of a space, and the point at a tiny distance from it along the last coordinate."""
    geometry = Geometry(
        space, np.eye(space.shape[0])[0] if isinstance(space, Hypersphere) else None
    )
    point = geometry.reference.copy()
    if point.ndim == 2:
        point[0, -1] += length / np.sqrt(2)
        point[-1, 0] += length / np.sqrt(2)
    else:
        point[-1] += length
    return geometry, geometry.reference, point


SPACES = {
    "R1": Euclidean(1),
    "R30": Euclidean(30),
    "S1": Hypersphere(1),
    "S30": Hypersphere(30),
    "H1": Hyperboloid(1),
    "H30": Hyperboloid(30),
    **{f"{name}{n}": space_from_spec({"name": name, "n": n}) for name in METRICS for n in (2, 3)},
}


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("length", [1e-300, 1e-170, 1e-20])
def test_tiny_distances_are_not_rounded_to_zero(length, name, make):
    geometry, base, point = origin_and_step(SPACES[name], length)
    engine = make(geometry)
    assert engine.dist(base, point) == pytest.approx(length, rel=1e-12)
    log = engine.log(point, base)
    assert geometry.norm(log, base) == pytest.approx(length, rel=1e-12)


def test_huge_distances_are_finite_on_flat_space(make):
    geometry, base, point = origin_and_step(Euclidean(3), 1e200)
    assert make(geometry).dist(base, point) == 1e200
    assert geometry.norm(point, base) == 1e200


# ------------------------------------------------------------------------ hyperbolic space


def polar(radius, angle, dim):
    """Point of the sheet at a distance from the origin and an angle from the first axis."""
    spatial = np.zeros(dim)
    spatial[0] = np.sinh(radius) * np.cos(angle)
    if dim > 1:
        spatial[-1] = np.sinh(radius) * np.sin(angle)
    return on_sheet(spatial)


def exact_distance(a, b):
    """From the spatial coordinates, in 200 digits."""
    with mpmath.workdps(200):
        a, b = ([mpmath.mpf(float(x)) for x in point[1:]] for point in (a, b))
        times = [mpmath.sqrt(1 + mpmath.fsum(x * x for x in point)) for point in (a, b)]
        return float(mpmath.acosh(times[0] * times[1] - mpmath.fsum(x * y for x, y in zip(a, b))))


@pytest.mark.parametrize("dim", [1, 2, 30])
@pytest.mark.parametrize("far", [0.5, 40.0, 300.0])
def test_hyperbolic_distances_far_out(far, dim, make):
    engine = make(Geometry(Hyperboloid(dim)))
    angles = [0.0, np.pi] if dim == 1 else [0.0, 1e-6, 0.3, 2.0, np.pi]
    for near, angle in itertools.product([1e-9, 0.5, 3.0, 20.0], angles):
        a, b = polar(near, angle, dim), polar(far, 0.0, dim)
        expected = pytest.approx(exact_distance(a, b), rel=1e-13, abs=1e-15)
        assert (engine.dist(a, b), engine.dist(b, a)) == (expected, expected), (near, angle)


def test_the_distance_of_a_point_at_one_half_and_one_at_sixty():
    geometry = Geometry(Hyperboloid(2))
    distance = geometry.dist(polar(0.5, 0.3, 2), polar(60.0, 0.0, 2))
    assert distance == pytest.approx(59.538, abs=5e-4)


@pytest.mark.parametrize("dim", [2, 30])
@pytest.mark.parametrize("far", [5.0, 60.0, 300.0])
@pytest.mark.parametrize("angle", [1e-3, 2.0])
def test_far_points_are_moved_along_the_geodesic(angle, far, dim, make):
    """A fraction of the way lands on the triangle's side: distances to both ends add up."""
    geometry = Geometry(Hyperboloid(dim))
    engine = make(geometry)
    center, data = polar(0.5, angle, dim), polar(far, 0.0, dim)
    log, distance = engine.log(data, center), exact_distance(center, data)
    assert geometry.norm(log, center) == pytest.approx(distance, rel=1e-13)
    landed = engine.exp(log / distance, center)
    assert exact_distance(center, landed) == pytest.approx(1.0, rel=1e-12)
    assert exact_distance(landed, data) == pytest.approx(distance - 1.0, rel=1e-12)


@pytest.mark.parametrize("dim", [2, 30])
@pytest.mark.parametrize(("near", "far"), [(0.5, 12.0), (12.0, 0.5), (0.5, 5.0), (8.0, 8.0)])
def test_transport_between_near_and_far_points_is_an_isometry(near, far, dim, make):
    geometry = Geometry(Hyperboloid(dim))
    engine = make(geometry)
    base, end = polar(near, 0.3, dim), polar(far, 0.0, dim)
    # coordinates are known to cosh(distance) roundings
    slack = 1e-15 * np.cosh(max(near, far)) * 20
    velocity = engine.transport(engine.log(end, base), base, end)
    arriving = -engine.log(base, end)
    distance = exact_distance(base, end)
    assert geometry.norm(velocity - arriving, end) < slack * distance
    frame = np.stack([engine.transport(vector, base, end) for vector in geometry.basis_at(base)])
    gram = geometry.inner(frame[:, None], frame, end)
    np.testing.assert_allclose(gram, np.eye(dim), atol=slack)


# ------------------------------------------------------------------------ spheres


@pytest.mark.parametrize("dim", [1, 2, 30])
@pytest.mark.parametrize("short", [1e-3, 1e-6, 1e-8])
def test_transport_next_to_the_antipode(short, dim, make):
    """Rotation in the plane of the two points, with their coordinates known to 1e-16 / short."""
    base, side = np.eye(dim + 1)[:2]
    angle = np.pi - short
    end = np.sin(short) * side - np.cos(short) * base
    geometry = Geometry(Hypersphere(dim), base)
    moved = make(geometry).transport(side, base, end)
    expected = np.cos(angle) * side - np.sin(angle) * base
    np.testing.assert_allclose(moved, expected, atol=1e-15 / short)
    assert abs(moved @ end) < 1e-15 / short


# ------------------------------------------------------------------------ whole fits


def fitted(space, rows, initial_point):
    mean = PrivateFrechetMean(
        space,
        initial_point=initial_point,
        epsilon=8.0,
        random_state=0,
        tuning=Tuning(engine="geomstats"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)  # sixty rows are few
        return mean.fit(rows)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1e-6, 1e-20, 1e-40])
def test_an_affine_fit_in_mixed_units_is_that_in_equal_ones(ratio):
    space = space_from_spec({"name": "SPDAffineInvariant", "n": 3})
    rng = np.random.default_rng(0)
    rows = np.stack([random_spd(rng, 3, 2.0) for _ in range(60)])
    units = power_of_two(np.log10(ratio) * np.linspace(0.0, 1.0, 3))
    units = np.outer(units, units)
    plain = fitted(space, rows, np.eye(3))
    mixed = fitted(space, rows * units, np.eye(3) * units)
    np.testing.assert_allclose(mixed.estimate_ / units, plain.estimate_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mixed.covariance_, plain.covariance_, rtol=1e-8, atol=1e-10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)  # sixty rows do not make a narrow region
        assert mixed.confidence_region().contains(mixed.estimate_)


@pytest.mark.parametrize("metric", METRICS)
def test_a_fit_from_a_small_initial_point_that_is_not_diagonal(metric):
    space = space_from_spec({"name": metric, "n": 2})
    rng = np.random.default_rng(1)
    rows = np.stack([random_spd(rng, 2, 2.0) for _ in range(60)])
    start = np.array([[2.0, 0.7], [0.7, 1.0]])
    plain, small = (fitted(space, unit * rows, unit * start) for unit in (1.0, 2.0**-40))
    np.testing.assert_allclose(small.estimate_ * 2.0**40, plain.estimate_, rtol=1e-9)


def test_data_at_the_edge_of_the_half_space_are_clipped():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(0.5, 0.3, 60), np.exp(rng.normal(0.0, 0.3, 60))])
    rows[7:10] = [[0.7, 1e-18], [0.7, 1e-100], [1e30, 1.0]]
    mean = fitted(PoincareHalfSpace(2), rows, [0.5, 1.0])
    assert np.isfinite(mean.estimate_).all() and mean.estimate_[1] > 0
