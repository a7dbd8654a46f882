"""Rows go through closed forms as single data go through geomstats."""

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import FrechetLoss
from geomstats_ldp.losses.clipping import clip_to_norm, unit_directions
from geomstats_ldp.losses.rows import check_data, clip_data

SLOW = pytest.mark.slow  # compiles
SPACES = {
    "euclidean": (Euclidean(3), np.zeros(3)),
    "sphere": (Hypersphere(2), np.array([0.6, 0.0, 0.8])),
    "hyperboloid": (Hyperboloid(2), np.array([1.25, 0.75, 0.0])),
    "affine": (space_from_spec({"name": "SPDAffineInvariant", "n": 2}), np.diag([1.0, 2.0])),
    "log": (space_from_spec({"name": "SPDLogEuclidean", "n": 3}), np.diag([1.0, 2.0, 0.5])),
}


@pytest.fixture(
    params=[
        name if name in ("euclidean", "sphere") else pytest.param(name, marks=SLOW)
        for name in SPACES
    ]
)
def made(request):
    """Geometry, loss, and points at distances 0 to 1.5 times the radius, with some rounding."""
    space, center = SPACES[request.param]
    geometry, loss = Geometry(space, center), FrechetLoss(center=center, data_radius=1.0)
    rng = np.random.default_rng(3)
    coords = rng.normal(size=(300, geometry.dim))
    coords *= rng.uniform(0, 1.5, size=(300, 1)) / np.linalg.norm(coords, axis=1, keepdims=True)
    points = np.array([geometry.exp(geometry.lift(c, center), center) for c in coords])
    return geometry, loss, points * (1 + 1e-9 * rng.normal(size=(300, *[1] * len(geometry.shape))))


def test_clipping_is_that_of_the_loss(made):
    geometry, loss, points = made
    rows = check_data(loss, geometry, points, geometry.twin())
    ours, theirs = clip_data(loss, geometry, rows, geometry.twin()), loss.clip(geometry, points)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11)
    distances = geometry.dist(ours, loss.center)
    assert np.sum(np.isclose(distances, 1.0, rtol=0, atol=1e-9)) > 60
    assert np.all(distances <= 1.0 + 1e-9)


@pytest.mark.parametrize(
    "name",
    ["sphere", *(pytest.param(name, marks=SLOW) for name in ("hyperboloid", "affine", "log"))],
)
def test_rows_off_the_manifold_are_refused_as_by_the_loss(name):
    space, center = SPACES[name]
    geometry, loss = Geometry(space, center), FrechetLoss(center=center, data_radius=1.0)
    rows = np.stack([center, center, center])
    rows[1, 0] = rows[1, 0] - 5.0
    for twin in (None, geometry.twin()):
        with pytest.raises(ValueError, match=r"datum must lie on [\s\S]* at index 1$"):
            check_data(loss, geometry, rows, twin)
    rows[1] = np.nan
    with pytest.raises(ValueError, match=r"finite.* at index 1$"):
        check_data(loss, geometry, rows, geometry.twin())


def test_the_index_is_that_among_all_rows():
    """Rows that a closed form leaves open are examined on their own."""
    space, center = SPACES["hyperboloid"]
    geometry, loss = Geometry(space, center), FrechetLoss(center=center, data_radius=1.0)
    far = np.array([np.cosh(31.0), np.sinh(31.0), 0.0])
    rows = np.stack([center, far, center, [2.0, 0.0, 0.0], far])
    with pytest.raises(ValueError, match=r"at index 3$"):
        check_data(loss, geometry, rows, geometry.twin())


@pytest.mark.parametrize("shape", [(3,), (2, 1, 3), (2, 3, 1)])
def test_rows_of_another_shape_are_named(shape):
    space, center = SPACES["euclidean"]
    geometry, loss = Geometry(space, center), FrechetLoss(center=center, data_radius=1.0)
    for twin in (None, geometry.twin()):
        with pytest.raises(ValueError, match=r"data must have shape \(n, 3\); got \("):
            check_data(loss, geometry, np.zeros(shape), twin)


def test_what_closed_forms_leave_open_takes_the_long_way():
    space, center = SPACES["sphere"]
    geometry, loss = Geometry(space, center), FrechetLoss(center=center, data_radius=1.0)
    rows = np.stack([center, -center])  # the antipode has no direction
    clipped = clip_data(loss, geometry, rows, geometry.twin())
    np.testing.assert_array_equal(clipped, loss.clip(geometry, rows))
    far = np.array([[np.cosh(31.0), np.sinh(31.0), 0.0]])
    space, center = SPACES["hyperboloid"]
    geometry, loss = Geometry(space, center), FrechetLoss(center=center, data_radius=1.0)
    rows = check_data(loss, geometry, far, geometry.twin())
    clipped = clip_data(loss, geometry, rows, geometry.twin())
    np.testing.assert_array_equal(clipped, loss.clip(geometry, rows))


def test_a_loss_with_a_clip_of_its_own_keeps_it():
    class Own(FrechetLoss):
        def clip(self, geometry, data):
            return np.zeros_like(data)

    space, center = SPACES["euclidean"]
    geometry = Geometry(space, center)
    rows = clip_data(
        Own(center=center, data_radius=1.0), geometry, np.ones((2, 3)), geometry.twin()
    )
    assert not rows.any()


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1e-90, 1.0, 1e90, 1e160, 1e300])
def test_norms_of_any_size(size):
    rows = size * np.random.default_rng(0).normal(size=(50, 4))
    rows[7] = 0.0
    lengths = np.linalg.norm(unit_directions(rows), axis=1)  # hypot below: no squares underflow
    np.testing.assert_allclose(np.delete(lengths, 7), 1.0, rtol=1e-14)
    assert lengths[7] == 0.0
    clipped = clip_to_norm(rows, 1.5)
    np.testing.assert_allclose(
        np.hypot.reduce(clipped / 1.5, axis=1),
        np.minimum(1.0, np.linalg.norm(rows / size, axis=1) * (size / 1.5)),
        rtol=1e-14,
    )
