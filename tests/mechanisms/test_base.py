"""What every mechanism promises, whatever its law: checks, streams, immutability, projection."""

import copy
import json
import math
import pickle

import numpy as np
import pytest

from geomstats_ldp.mechanisms import (
    MECHANISMS,
    Identity,
    Mechanism,
    Streams,
    make_mechanism,
    make_streams,
    mechanism_from_spec,
)

CASES = {
    "privunit": {"epsilon": 1.5, "delta": 0.0},
    "gaussian": {"epsilon": 1.5, "delta": 1e-5},
    "l2_ball": {"epsilon": 1.5, "delta": 0.0},
    "identity": {"epsilon": math.inf, "delta": 0.0},
}


def build(name, dim=3, bound=2.0, **changes):
    return make_mechanism(name, **{**CASES[name], "dim": dim, "bound": bound, **changes})


def test_every_concrete_mechanism_is_registered_and_tested():
    package = "geomstats_ldp"
    concrete = {c for c in Mechanism.__subclasses__() if c.__module__.startswith(package)}
    assert concrete == set(MECHANISMS.values())
    assert set(CASES) == set(MECHANISMS)


@pytest.mark.parametrize("name", ["privunit", "gaussian", "l2_ball"])
def test_variates_are_data_free_and_release_is_deterministic(name):
    mechanism = build(name)
    variates = mechanism.draw(5, make_streams(0))
    vectors = np.random.default_rng(1).normal(size=(5, 3))
    first = mechanism.release(vectors, variates)
    np.testing.assert_array_equal(first, mechanism.release(vectors, variates))
    np.testing.assert_array_equal(first, mechanism.randomise(vectors, 0))
    assert not np.array_equal(first, mechanism.randomise(vectors, 1))


@pytest.mark.parametrize("name", CASES)
def test_release_broadcasts_over_leading_axes(name):
    mechanism = build(name)
    vectors = np.asfortranarray(np.random.default_rng(1).normal(size=(4, 3)))
    variates = mechanism.draw(20, make_streams(0)).reshape(5, 4, -1)
    batch = mechanism.release(vectors, variates)
    assert batch.shape == (5, 4, 3)
    single = mechanism.release(vectors[2], variates[3, 2])
    assert single.shape == (3,)
    np.testing.assert_array_equal(batch[3, 2], single)
    assert mechanism.randomise(np.zeros((0, 3))).shape == (0, 3)
    assert mechanism.noise_covariance(vectors[0]).shape == (3, 3)


@pytest.mark.parametrize("name", ["privunit", "gaussian", "l2_ball"])
def test_memory_order_of_the_inputs_does_not_matter(name):
    mechanism = build(name)
    vectors = np.random.default_rng(1).normal(size=(5, 8, 3))
    released = mechanism.randomise(vectors, 0)
    fortran = np.asfortranarray(vectors)
    np.testing.assert_array_equal(mechanism.randomise(fortran, 0), released)
    expected = mechanism.log_density(released, vectors)
    got = mechanism.log_density(np.asfortranarray(released), fortran)
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("factor", [1.0000001, 10.0, 1e150, 1e307])
def test_vectors_outside_the_ball_are_projected_radially(name, factor):
    mechanism = build(name)
    inside = mechanism.bound * np.array([2.0, -1.0, 2.0]) / 3
    variates = mechanism.draw(8, make_streams(3))
    expected = mechanism.release(inside, variates)
    got = mechanism.release(inside * factor, variates)
    # the lift of a boundary point, sqrt(1 - |v/G|^2), turns a rounding of 1e-16 into 1e-8
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-6)
    if name != "identity":
        point = expected[0]
        got = mechanism.log_density(point, inside * factor)
        np.testing.assert_allclose(got, mechanism.log_density(point, inside), rtol=1e-9)
    np.testing.assert_allclose(
        mechanism.noise_covariance(inside * factor), mechanism.noise_covariance(inside), atol=1e-12
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_units_of_the_score_only_scale_the_messages(name, scale):
    vector = np.array([0.3, -0.8, 0.1])
    variates = build(name).draw(50, make_streams(2))
    one = build(name, bound=1.0).release(vector, variates)
    scaled = build(name, bound=scale).release(vector * scale, variates)
    np.testing.assert_allclose(scaled, one * scale, rtol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
def test_non_finite_vectors_release_nothing(name, entry):
    mechanism = build(name)
    vectors = np.zeros((4, 3))
    vectors[3, 1] = entry
    variates = mechanism.draw(4, make_streams(0))
    with pytest.raises(ValueError, match="vectors must be finite"):
        mechanism.release(vectors, variates)
    with pytest.raises(ValueError, match="vectors must be finite"):
        mechanism.randomise(vectors)


@pytest.mark.parametrize("name", CASES)
def test_release_refuses_wrong_arrays(name):
    mechanism = build(name)
    variates = mechanism.draw(2, make_streams(0))
    with pytest.raises(ValueError, match=r"vectors must have shape \[\.\.\., 3\]; got \(2, 2\)"):
        mechanism.release(np.zeros((2, 2)), variates)
    with pytest.raises(ValueError, match="variates must have shape"):
        mechanism.release(np.zeros((2, 3)), np.zeros((2, mechanism.n_variates + 1)))
    for wrong in (np.zeros((2, 3), bool), np.full((2, 3), "1.0"), np.zeros((2, 3), complex)):
        with pytest.raises(ValueError, match="vectors must be an array of real numbers"):
            mechanism.release(wrong, variates)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"epsilon": -1.0}, ValueError, r"epsilon must be in \[1e-3, 700\] or inf; got -1.0"),
        ({"epsilon": 0.0}, ValueError, "epsilon must be"),
        ({"epsilon": 701}, ValueError, "epsilon must be"),
        ({"epsilon": -math.inf}, ValueError, "epsilon must be"),
        ({"epsilon": math.nan}, ValueError, "epsilon must be"),
        ({"epsilon": True}, TypeError, "epsilon must be a real number"),
        ({"epsilon": "1"}, TypeError, "epsilon must be a real number"),
        ({"epsilon": None}, TypeError, "epsilon must be a real number"),
        ({"delta": -1e-9}, ValueError, r"delta must be in \[0, 1\)"),
        ({"delta": 1.0}, ValueError, r"delta must be in \[0, 1\)"),
        ({"delta": math.nan}, ValueError, "delta must be"),
        ({"delta": False}, TypeError, "delta must be a real number"),
        ({"dim": 0}, ValueError, "dim must be an integer of at least 1; got 0"),
        ({"dim": 2.0}, TypeError, "dim must be an integer"),
        ({"dim": True}, TypeError, "dim must be an integer"),
        ({"bound": 0.0}, ValueError, "bound must be in"),
        ({"bound": -1.0}, ValueError, "bound must be in"),
        ({"bound": math.inf}, ValueError, "bound must be in"),
        ({"bound": math.nan}, ValueError, "bound must be in"),
        ({"bound": "1"}, TypeError, "bound must be a real number"),
    ],
)
@pytest.mark.parametrize("name", ["privunit", "gaussian", "l2_ball"])
def test_bad_parameters_are_named(name, changes, error, message):
    with pytest.raises(error, match=message):
        build(name, **changes)


def test_guarantees_that_a_mechanism_cannot_give_are_refused():
    for name in ("privunit", "l2_ball"):
        with pytest.raises(ValueError, match=f"delta must be 0 for '{name}'"):
            build(name, delta=1e-6)
        with pytest.raises(ValueError, match="non-private Identity"):
            MECHANISMS[name](epsilon=math.inf, dim=2, bound=1.0)
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\) for 'gaussian'"):
        build("gaussian", delta=0.0)
    with pytest.raises(ValueError, match="epsilon must be inf for 'identity'"):
        build("identity", epsilon=1.0)
    with pytest.raises(ValueError, match=r"mechanism must be one of .*'privunit'.*; got 'laplace'"):
        make_mechanism("laplace", epsilon=1.0, dim=2, bound=1.0)
    with pytest.raises(TypeError):
        make_mechanism("privunit", epsilon=1.0, dim=2, bound=1.0, calibration="analytic")


@pytest.mark.parametrize("name", CASES)
def test_infinite_epsilon_is_the_identity_whatever_the_name(name):
    mechanism = build(name, epsilon=math.inf)
    assert isinstance(mechanism, Identity)
    assert "NOT PRIVATE" in repr(mechanism)


@pytest.mark.parametrize("name", CASES)
def test_specification_is_the_identity_of_a_mechanism(name):
    mechanism = build(name)
    spec = json.loads(json.dumps(mechanism.to_spec()))
    assert set(spec) >= {"name", "epsilon", "delta", "dim", "bound"}
    for other in (
        mechanism_from_spec(spec),
        pickle.loads(pickle.dumps(mechanism)),
        copy.deepcopy(mechanism),
    ):
        assert type(other) is type(mechanism)
        assert other == mechanism
        assert hash(other) == hash(mechanism)
        assert other.twin() == mechanism.twin()
    assert mechanism != build(name, bound=3.0)
    assert mechanism != build(name, dim=2)
    assert mechanism != "privunit"


def test_bad_specifications_are_refused():
    with pytest.raises(TypeError, match="spec must be a dictionary"):
        mechanism_from_spec([1])
    with pytest.raises(ValueError, match="spec must have the keys"):
        mechanism_from_spec({"name": "privunit"})


@pytest.mark.parametrize("name", CASES)
def test_mechanisms_are_immutable(name):
    mechanism = build(name)
    for attribute in ("epsilon", "bound", "anything"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(mechanism, attribute, 5.0)
    with pytest.raises(AttributeError, match="immutable"):
        del mechanism.epsilon
    with pytest.raises(TypeError):
        MECHANISMS[name](1.0, 0.0, 2, 1.0)  # keywords only


@pytest.mark.parametrize("name", CASES)
def test_repr_states_the_guarantee(name):
    text = repr(build(name))
    parts = {"privunit": "pure 1.5-LDP", "l2_ball": "pure 1.5-LDP", "identity": "NOT PRIVATE"}
    assert parts.get(name, "(1.5, 1e-05)-LDP") in text


def test_streams_follow_their_seed():
    first, again = make_streams(3), make_streams(np.random.SeedSequence(3))
    assert first.uniform.random() == again.uniform.random()
    assert first.normal.normal() == again.normal.normal()
    assert make_streams(3).uniform.random() != make_streams(4).uniform.random()
    assert make_streams().uniform.random() != make_streams().uniform.random()
    assert make_streams(first) is first
    assert isinstance(first, Streams)


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_generators_are_advanced_by_one_seed(kind):
    generator = kind(5)
    first, second = make_streams(generator), make_streams(generator)
    assert first.uniform.random() == make_streams(kind(5)).uniform.random()
    assert second.uniform.random() != make_streams(kind(5)).uniform.random()


@pytest.mark.parametrize(("seed", "error"), [(True, TypeError), ("1", TypeError), (-1, ValueError)])
def test_bad_seeds_are_refused(seed, error):
    with pytest.raises(error, match="random_state must be"):
        make_streams(seed)


@pytest.mark.parametrize("n", [-1, 2.0, True])
def test_bad_numbers_of_rows_are_refused(n):
    for name in CASES:
        with pytest.raises((TypeError, ValueError), match="n must be an integer"):
            build(name).draw(n, make_streams(0))
