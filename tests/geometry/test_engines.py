"""The compiled recursion against the one through geomstats, space by space."""

import numpy as np
import pytest
from geomstats.geometry.hyperboloid import Hyperboloid
from numba import njit

from geomstats_ldp.geometry import Geometry, dispatch, geodesic_ball
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.geometry.spaces.hyperbolic import on_sheet
from geomstats_ldp.schedules import Schedule, coordinate_cycle
from geomstats_ldp.server.engine import make_engine
from geomstats_ldp.server.recursion import N_CAPPED, N_PROJECTED, initial_state, make_scratch

# Compiling the recursion takes up to a minute for each of the three kinds of space.
pytestmark = pytest.mark.slow

#: Larger ones, where no safeguard acts, are in `tests/test_agreement.py`.
SPACES = {
    "hyperboloid": Hyperboloid(2),
    "SPDAffineInvariant": space_from_spec({"name": "SPDAffineInvariant", "n": 2}),
    "SPDLogEuclidean": space_from_spec({"name": "SPDLogEuclidean", "n": 2}),
}


def random_points(space, n, seed):
    rng = np.random.default_rng(seed)
    if isinstance(space, Hyperboloid):
        return on_sheet(rng.normal(size=(n, space.dim)))
    roots = rng.normal(size=(n, *space.shape))
    return roots @ np.swapaxes(roots, 1, 2) + 0.3 * np.eye(space.n)


@pytest.mark.parametrize("name", SPACES)
def test_compiled_recursion_equals_the_geomstats_engine(name):
    space = SPACES[name]
    geometry = Geometry(space, random_points(space, 1, seed=1)[0])
    dim, rng = geometry.dim, np.random.default_rng(2)
    # a region so small, a cap so short and a drift such that both safeguards act
    schedule = Schedule(coordinate_cycle(dim), 0.3, 0.5, 0.27, 0.4, 5.0, 0.6, 0.2, np.eye(dim), 1)
    region = geodesic_ball(geometry.reference, 0.75)
    messages = rng.normal(size=(400, *geometry.shape))
    messages[:200] += 2 * geometry.basis[0]
    start = geometry.exp(0.2 * geometry.basis[-1], geometry.reference)
    states, released = [], []
    for name in ("compiled", "geomstats"):
        engine = make_engine(name, geometry)
        state = initial_state(start, dim, 2 * dim)
        scratch = make_scratch(geometry.shape, dim, 1)
        tangent, coords = np.empty_like(messages), np.empty((len(messages), dim))
        engine.replay_rounds(
            engine.geometry, region, schedule, state, scratch, messages, tangent, coords
        )
        states.append(state)
        released.append(coords)
    compiled, interpreted = states
    np.testing.assert_allclose(*released, rtol=0, atol=1e-9 * np.abs(released[1]).max())
    np.testing.assert_array_equal(compiled.clock, interpreted.clock)
    np.testing.assert_array_equal(compiled.safeguards, interpreted.safeguards)
    assert compiled.safeguards[N_CAPPED] > 0 and compiled.safeguards[N_PROJECTED] > 0
    np.testing.assert_allclose(compiled.iterate, interpreted.iterate, rtol=0, atol=1e-9)
    np.testing.assert_allclose(compiled.average, interpreted.average, rtol=0, atol=1e-9)
    for ours, theirs in zip(compiled.sums, interpreted.sums):
        scale = max(1.0, float(np.max(np.abs(theirs))))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * scale)


@njit
def run_all(twin, bases, points, vectors, out, coords):
    """Run every operation on every pair; return how many results were not finite."""
    n_bad = 0
    for k in range(bases.shape[0]):
        dispatch.log(twin, points[k], bases[k], out)
        n_bad += not np.all(np.isfinite(out))
        dispatch.transport(twin, vectors[k], bases[k], points[k], out)
        n_bad += not np.all(np.isfinite(out))
        dispatch.exp(twin, vectors[k], bases[k], out)
        n_bad += not np.all(np.isfinite(out))
        dispatch.coordinates(twin, vectors[k], points[k], coords)
        n_bad += not np.all(np.isfinite(coords))
        n_bad += not np.isfinite(dispatch.dist(twin, bases[k], points[k]))
    return n_bad


@pytest.mark.parametrize("name", SPACES)
def test_no_operation_is_nan_on_nearly_coincident_pairs(name):
    space = SPACES[name]
    geometry, n = Geometry(space, random_points(space, 1, seed=3)[0]), 100_000
    rng = np.random.default_rng(4)
    bases = random_points(space, n, seed=5)
    vectors = geometry.to_tangent(rng.normal(size=bases.shape), bases)
    nudges = 10 ** rng.uniform(-20, -7, size=(n, *[1] * len(geometry.shape)))
    points = geometry.settle(bases + nudges * vectors)
    out, coords = np.empty(geometry.shape), np.empty(geometry.dim)
    assert run_all(geometry.twin(), bases, points, vectors, out, coords) == 0
