"""The directional loss: score, bound, Hessian."""

import pickle

import numpy as np
import pytest

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses import VonMisesFisherLoss, loss_from_spec

SPHERES = ["sphere1", "sphere2", "sphere5"]
KAPPA = 2.5


@pytest.fixture(params=SPHERES)
def sphere(request, setting_of):
    return setting_of(request.param)


def directions(sphere, n=12, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, sphere.geometry.dim + 1))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_score_bound_holds_and_is_attained_at_a_right_angle(sphere):
    loss = VonMisesFisherLoss(kappa=KAPPA)
    bound = loss.score_bound(sphere.geometry, sphere.region)
    assert bound == KAPPA
    data = loss.clip(sphere.geometry, directions(sphere, 2000) * (1 + 1e-6))
    for point in sphere.queries():
        norms = np.linalg.norm(loss.score(sphere.geometry, point, data), axis=1)
        assert norms.max() <= bound * (1 + 1e-14)  # rounding
        worst = sphere.geometry.lift(np.eye(sphere.geometry.dim)[0], point)
        norm = np.linalg.norm(loss.score(sphere.geometry, point, worst))
        assert norm == pytest.approx(bound, rel=1e-14)


def test_population_hessian_is_scalar(sphere, hessian):
    loss = VonMisesFisherLoss(kappa=KAPPA)
    data = sphere.around(sphere.center, np.linspace(0.0, 1.5, 9))
    mean = data.mean(axis=0)
    length = np.linalg.norm(mean)
    target = mean / length
    score = loss.score(sphere.geometry, target, data).mean(axis=0)
    np.testing.assert_allclose(score, 0.0, atol=1e-14)
    actual = hessian(sphere, loss, target, data)
    expected = KAPPA * length * np.eye(sphere.geometry.dim)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-7)
    known = loss.target_hessian(sphere.geometry, sphere.region)
    assert known.is_isotropic
    assert known.low < KAPPA * length < known.high


def test_hessian_bound_holds_and_is_attained_at_the_datum(sphere, hessian):
    loss = VonMisesFisherLoss(kappa=KAPPA)
    bound = loss.hessian_bound(sphere.geometry, sphere.region)
    for point in sphere.queries():
        for datum in directions(sphere, 5):
            values = np.linalg.eigvalsh(hessian(sphere, loss, point, datum[None]))
            assert values[-1] <= bound + 1e-6  # finite differences
        at_datum = hessian(sphere, loss, point, point[None])
        np.testing.assert_allclose(at_datum, bound * np.eye(len(at_datum)), rtol=0, atol=1e-6)


@pytest.mark.parametrize("factor", [1.0, 1e-300, 0.5, 3.0, 1e307])
def test_only_the_direction_of_a_datum_counts(sphere, factor):
    geometry, loss = sphere.geometry, VonMisesFisherLoss(kappa=KAPPA)
    data = directions(sphere)
    clipped = loss.clip(geometry, loss.check_data(geometry, factor * data))
    # the entries of the smallest factor have lost digits to the subnormal range
    np.testing.assert_allclose(clipped, data, rtol=1e-13)
    np.testing.assert_allclose(loss.clip(geometry, clipped), clipped, rtol=1e-15)


def test_a_zero_vector_has_no_direction_and_no_pull(sphere):
    geometry, loss = sphere.geometry, VonMisesFisherLoss(kappa=KAPPA)
    data = np.vstack([directions(sphere), 0.0 * geometry.reference])
    clipped = loss.clip(geometry, loss.check_data(geometry, data))
    np.testing.assert_array_equal(clipped[-1], 0.0)
    np.testing.assert_array_equal(loss.score(geometry, geometry.reference, clipped)[-1], 0.0)


@pytest.mark.parametrize("size", [1e100, 1e200, 1e307])
def test_clipping_holds_for_huge_data_all_the_same(sphere, size):
    data = directions(sphere)
    clipped = VonMisesFisherLoss(kappa=KAPPA).clip(sphere.geometry, size * data)
    np.testing.assert_allclose(clipped, data, rtol=1e-13)


def test_bad_data_are_refused(sphere):
    loss, data = VonMisesFisherLoss(kappa=KAPPA), directions(sphere)
    with pytest.raises(ValueError, match="datum must be finite"):
        loss.check_data(sphere.geometry, data * np.nan)
    with pytest.raises(ValueError, match="datum must have shape"):
        loss.check_data(sphere.geometry, data[:, :-1])
    assert len(loss.check_data(sphere.geometry, data[:0])) == 0


@pytest.mark.parametrize("kappa", [0.0, -1.0, np.nan, np.inf])
def test_bad_concentrations_are_refused(kappa):
    with pytest.raises(ValueError, match="kappa"):
        VonMisesFisherLoss(kappa=kappa)


def test_other_spaces_are_refused(setting):
    loss, guard = VonMisesFisherLoss(kappa=1.0), setting.geometry
    if guard.name == "Hypersphere":
        loss.check_space(guard)
    else:
        with pytest.raises(ProtocolError, match="needs a Hypersphere"):
            loss.check_space(guard)


def test_records_and_pickles_read_back():
    loss = VonMisesFisherLoss(kappa=KAPPA)
    for copy in (loss_from_spec(loss.to_spec()), pickle.loads(pickle.dumps(loss))):
        assert copy == loss
        assert hash(copy) == hash(loss)
    assert eval(repr(loss), {"VonMisesFisherLoss": VonMisesFisherLoss}) == loss
    assert loss != VonMisesFisherLoss(kappa=1.0)
