"""Spaces the package does not know: registered by name, probed, called row by row."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from geomstats.geometry.hypersphere import Hypersphere, HypersphereMetric
from geomstats.geometry.matrices import Matrices
from geomstats.geometry.spd_matrices import SPDBuresWassersteinMetric, SPDMatrices
from geomstats.geometry.stiefel import Stiefel
from geomstats.geometry.symmetric_matrices import SymmetricMatrices

from geomstats_ldp import PrivateFrechetMean, Protocol, Tuning, register_space
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.spaces import registered, space_from_spec, space_to_spec
from geomstats_ldp.registry import Registry

_NAMES = itertools.count()
NORTH = np.array([0.0, 0.0, 1.0])


def fresh(factory, **bounds):
    return register_space(f"space {next(_NAMES)}", factory, **bounds)


def sphere():
    return fresh(lambda: Hypersphere(2), curvature=(1.0, 1.0), injectivity_radius=math.pi)


def equipped(space, metric):
    def factory():
        built = space()
        built.equip_with_metric(metric)
        return built

    return factory


def test_it_does_what_the_known_space_does():
    ours, known = Geometry(sphere(), NORTH), Geometry(Hypersphere(2), NORTH)
    coords = np.random.default_rng(0).normal(size=(5, 2)) * 0.4
    points = ours.exp(ours.lift(coords, NORTH), NORTH)
    np.testing.assert_allclose(points, known.exp(known.lift(coords, NORTH), NORTH), atol=1e-14)
    np.testing.assert_allclose(ours.log(NORTH, points), known.log(NORTH, points), atol=1e-12)
    np.testing.assert_allclose(ours.dist(points, NORTH), known.dist(points, NORTH), atol=1e-12)
    for point in points:
        np.testing.assert_allclose(ours.lift(coords, point), known.lift(coords, point), atol=1e-12)
        back = ours.coordinates(ours.lift(coords, point), point)
        np.testing.assert_allclose(back, coords, atol=1e-12)
    np.testing.assert_array_equal(ours.lift(coords, NORTH), coords @ ours.basis)
    assert ours.twin() is None


def test_a_private_mean_equals_that_on_the_known_space():
    rows = np.random.default_rng(0).normal([0.1, 0.2, 1.0], 0.1, size=(60, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    options = {"initial_point": NORTH, "data_radius": 0.8, "epsilon": 8.0, "random_state": 0}
    ours = PrivateFrechetMean(sphere(), region_radius=0.5, **options).fit(rows)
    options["tuning"] = Tuning(engine="geomstats")  # no need to compile
    known = PrivateFrechetMean(Hypersphere(2), region_radius=0.5, **options).fit(rows)
    np.testing.assert_allclose(ours.estimate_, known.estimate_, atol=1e-9)
    assert ours.confidence_region().contains(ours.estimate_)
    protocol = Protocol.from_json(ours.protocol_.to_json())
    assert protocol == ours.protocol_
    assert pickle.loads(pickle.dumps(ours)).score(rows) == ours.score(rows)


def test_records_hold_the_name_and_handles_copy_by_name():
    space = sphere()
    spec = space_to_spec(space)
    assert spec["registered"] == space.name
    for other in (space_from_spec(spec), copy.deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert other == space and hash(other) == hash(space) and other.shape == (3,)
    assert repr(space) == f"RegisteredSpace({space.name!r})"
    with pytest.raises(AttributeError):
        assert space.no_such_thing


def test_a_process_that_did_not_register_is_told_to(monkeypatch):
    spec = space_to_spec(sphere())
    with monkeypatch.context() as patch:
        patch.setattr(registered, "_REGISTERED", Registry("space", str))
        with pytest.raises(ProtocolError, match="registered, with register_space"):
            space_from_spec(spec)
    with pytest.raises(ProtocolError, match="the record says"):
        space_from_spec({**spec, "curvature": [0.0, 1.0]})


def test_names_are_taken_once():
    space = fresh(lambda: Matrices(2, 2))
    assert register_space(space.name, lambda: Matrices(2, 2)) == space
    for other, bounds in [
        (lambda: Matrices(2, 3), {}),
        (lambda: Hypersphere(3), {}),
        (lambda: Matrices(2, 2), {"curvature": (0.0, 0.0)}),
    ]:
        with pytest.raises(ProtocolError, match="is taken"):
            register_space(space.name, other, **bounds)


class LadderMetric(HypersphereMetric):
    """An approximate transport, of second order in the length of a rung."""

    def parallel_transport(self, tangent_vec, base_point, direction=None, end_point=None):
        if direction is None:
            direction = self.log(end_point, base_point)
        ladder = self.ladder_parallel_transport(
            tangent_vec, base_point, direction, n_rungs=2, scheme="schild"
        )
        return ladder["transported_tangent_vec"]


class ShortLog(HypersphereMetric):
    def log(self, point, base_point):
        return 0.9 * super().log(point, base_point)


class NoTurn(HypersphereMetric):
    def parallel_transport(self, tangent_vec, base_point, direction=None, end_point=None):
        return self._space.to_tangent(tangent_vec, end_point)


class Twist(HypersphereMetric):
    """An isometry that turns by a right angle: no transport."""

    def parallel_transport(self, tangent_vec, base_point, direction=None, end_point=None):
        moved = super().parallel_transport(tangent_vec, base_point, end_point=end_point)
        return np.cross(end_point, moved)


@pytest.mark.parametrize(
    ("factory", "reference", "match"),
    [
        (lambda: Stiefel(3, 2), np.eye(3)[:, :2], "needs parallel_transport"),
        (
            equipped(lambda: Hypersphere(2, equip=False), LadderMetric),
            NORTH,
            "parallel_transport .* must be an isometry",
        ),
        (equipped(lambda: Hypersphere(2, equip=False), ShortLog), NORTH, "log .* must invert exp"),
        (equipped(lambda: Hypersphere(2, equip=False), NoTurn), NORTH, "must be an isometry"),
        (equipped(lambda: Hypersphere(2, equip=False), Twist), NORTH, "velocity of geodesics"),
    ],
)
def test_what_is_missing_or_wrong_is_named(factory, reference, match):
    with pytest.raises(ProtocolError, match=match):
        Geometry(fresh(factory), reference)


def test_transport_by_an_equation_is_accurate_enough():
    space = fresh(equipped(lambda: SPDMatrices(2, equip=False), SPDBuresWassersteinMetric))
    geometry = Geometry(space, [[1.0, 0.2], [0.2, 0.8]])
    assert geometry.dim == 3


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("", lambda: Matrices(2, 2)), "name must be"),
        ((3, lambda: Matrices(2, 2)), "name must be"),
        (("no space", lambda: np.eye(2)), "no dim"),
        (("no metric", lambda: Hypersphere(2, equip=False)), "no metric"),
    ],
)
def test_bad_registrations_are_named(arguments, match):
    with pytest.raises(ProtocolError, match=match):
        register_space(*arguments)
    for bounds in ({"curvature": (1.0, 0.0)}, {"injectivity_radius": 0.0}):
        with pytest.raises(ProtocolError, match=next(iter(bounds))):
            fresh(lambda: Matrices(2, 2), **bounds)


def test_unknown_spaces_are_pointed_to_the_door():
    with pytest.raises(ProtocolError, match="register_space"):
        Geometry(Matrices(2, 2), np.eye(2))


@pytest.mark.parametrize("unit", [1e-150, 1e-12, 1.0, 1e12, 1e150])
def test_points_of_a_cone_are_known_in_any_unit(unit):
    """A tolerance of 1e-6 in the unit of the data took small matrices that were not symmetric."""
    geometry = Geometry(fresh(lambda: SPDMatrices(2)), [[1.0, 0.2], [0.2, 0.8]])
    good = [[1.0, 0.3], [0.3, 0.5]], [[1.0, 1e-7], [0.0, 1.0]]
    bad = [[1.0, 0.4], [0.0, 1.0]], [[1.0, 1e-4], [0.0, 1.0]], [[1.0, 0.0], [0.0, -0.5]]
    assert geometry.is_on(unit * np.array(good), 1e-6).all()
    assert not geometry.is_on(unit * np.array(bad), 1e-6).any()


def test_points_of_other_spaces_have_a_length():
    space = sphere()
    geometry = Geometry(space, NORTH)
    points = np.array([NORTH, 2 * NORTH, 1e-12 * NORTH, (1 + 1e-9) * NORTH])
    assert geometry.is_on(points, 1e-6).tolist() == [True, False, False, True]
    flat = Geometry(fresh(lambda: SymmetricMatrices(2)), np.zeros((2, 2)))
    for unit in (1e-20, 1.0, 1e20):
        assert flat.is_on(unit * np.array([[0.0, 1.0], [1.0, 2.0]]), 1e-6)
        assert not flat.is_on(unit * np.array([[0.0, 1.0], [0.5, 2.0]]), 1e-6)
