"""What a device refuses is public, and what it answers does not depend on the datum."""

import itertools
import json
import math
import traceback
import warnings

import mpmath
import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

from geomstats_ldp import (
    Participant,
    PrivateFrechetMean,
    PrivateSPDCovariance,
    Protocol,
    Server,
    Tuning,
)
from geomstats_ldp.exceptions import ArgumentTypeError, DatumError, ProtocolError
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.mechanisms import candidates, make_mechanism
from geomstats_ldp.mechanisms.privunit import PrivUnit
from geomstats_ldp.protocol import Query


def device(protocol):
    return Participant(protocol, fingerprint=protocol.fingerprint)


# ------------------------------------------------------------------------ the largest epsilon


@pytest.mark.parametrize("wrong", ["3", True, [1.0], "a", 1j])
def test_a_largest_epsilon_of_another_type_is_named(pca_protocol, wrong):
    with pytest.raises(ArgumentTypeError, match="max_epsilon must be a real number"):
        Participant(pca_protocol(), max_epsilon=wrong)


@pytest.mark.parametrize("wrong", [math.nan, -1.0, 0.0, 1e-9, 5e5])
def test_a_largest_epsilon_out_of_range_is_named(pca_protocol, wrong):
    with pytest.raises(ProtocolError, match=r"max_epsilon must be in \[1e-3, 700\] or inf"):
        Participant(pca_protocol(), max_epsilon=wrong)


# ------------------------------------------------------------------------ queries at the edge


def spd(name, unit):
    return space_from_spec({"name": name, "n": 2}), unit * np.array([[2.0, 0.3], [0.3, 1.0]])


PLACES = {
    "sphere": (Hypersphere(2), np.array([0.0, 0.6, 0.8]), 1.0),
    "hyperboloid": (Hyperboloid(2), np.array([1.0, 0.0, 0.0]), 1.0),
    "hyperboloid, far out": (Hyperboloid(2), np.array([np.cosh(9), 0.0, np.sinh(9)]), 1.0),
    "rotations": (SpecialOrthogonal(3), np.eye(3), 1.0),
    **{f"R3 in {u:g}": (Euclidean(3), np.zeros(3), u) for u in (1e-12, 1e-6, 1.0, 1e6, 1e12)},
    "R3, far off": (Euclidean(3), np.array([1e12, 3e11, 1.0]), 1.0),
    **{
        f"{name} in {u:g}": (*spd(name, u), 1.0)
        for name in ("SPDAffineInvariant", "SPDLogEuclidean")
        for u in (1e-12, 1.0, 1e12)
    },
}


@pytest.mark.parametrize("radius", [1e-9, 1e-4, 1.0])
@pytest.mark.parametrize("place", PLACES)
def test_queries_are_taken_up_to_the_edge_and_no_farther(place, radius):
    """The edge moved by 1e-6 in any unit, which was far out in a small one."""
    space, center, unit = PLACES[place]
    mean = PrivateFrechetMean(
        space, initial_point=center, region_radius=radius * unit, data_radius=unit
    )
    protocol = mean.start().protocol_
    geometry, region = protocol.geometry, protocol.query_region
    rng = np.random.default_rng(0)
    rounding = 30 * geometry.rounding(geometry.reference)
    for _ in range(10):
        axis = rng.normal(size=geometry.dim)
        axis *= region.radius / np.linalg.norm(axis)
        for factor, taken in ((1.0, True), (1.0 + 1e-5, False)):
            if not taken and 1e-5 * region.radius < rounding:
                continue
            point = geometry.exp(geometry.lift(factor * axis, center), center)
            query = Query.from_json(Query(protocol.fingerprint, 0, 0, "plus", point).to_json())
            if taken:
                device(protocol).respond(query, center)
            else:
                with pytest.raises(ProtocolError, match="public region of queries"):
                    device(protocol).respond(query, center)


@pytest.mark.parametrize("center", [np.eye(3), np.diag([1.0, 1e-4, 1e-7]), 1e-20 * np.eye(3)])
@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e20])
def test_the_one_query_of_a_plan_is_answered_though_its_region_has_no_radius(center, unit):
    model = PrivateSPDCovariance(unit, epsilon=2.0, initial_point=unit**2 * center).start()
    protocol = Protocol.from_json(model.protocol_.to_json())
    assert protocol.query_region.radius == 0.0
    query = Query.from_json(model.queries()[0].to_json())
    device(protocol).respond(query, unit * np.ones(3))


def test_the_rounding_of_a_point():
    """To move the smallest eigenvalue of a matrix takes less the larger the others are."""
    space, _ = spd("SPDAffineInvariant", 1.0)
    eps = np.finfo(float).eps
    for ratio in (1.0, 1e-3, 1e-6):
        turn = np.array([[0.6, -0.8], [0.8, 0.6]])
        mean = PrivateFrechetMean(space, initial_point=turn @ np.diag([1.0, ratio]) @ turn.T)
        geometry = mean.start().protocol_.geometry
        largest = np.max(np.abs(geometry.reference))
        rounding = geometry.rounding(geometry.reference)
        np.testing.assert_allclose(rounding, largest * eps / ratio, rtol=1e-6)


# ------------------------------------------------------------------------ weights of other people


class Odd(PrivUnit):
    """Its weight fails for half of the scores, in a way that is chosen."""

    name = "odd"
    failure = None

    def weight(self, points, vector):
        weights = super().weight(points, vector)
        return weights if vector[0] <= 0.0 else self.failure(weights)


def _raise(weights):
    raise RuntimeError("the secret 271828")


FAILURES = {
    "raises": _raise,
    "stops": lambda weights: next(iter(())),
    "divides by zero": lambda weights: 1 // 0,
    "nan": lambda weights: np.nan * weights,
    "infinite": lambda weights: np.inf * weights,
    "negative": lambda weights: -weights,
    "one number": lambda weights: weights[0],
    "a column": lambda weights: weights[:, None],
    "too few": lambda weights: weights[:-1],
    "nothing": lambda weights: None,
    "texts": lambda weights: ["a"] * len(weights),
    "imaginary": lambda weights: weights * 1j,
}


def odd(failure, epsilon=1.0):
    mechanism = Odd(epsilon=epsilon, dim=2, bound=1.0)
    object.__setattr__(mechanism, "failure", staticmethod(FAILURES[failure]).__func__)
    return mechanism


@pytest.mark.parametrize("failure", FAILURES)
def test_a_weight_that_fails_is_answered_without_a_sound(failure, recwarn, capfd, caplog):
    mechanism = odd(failure)
    for score in ([0.7, 0.1], [-0.7, 0.1], [0.0, 0.0]):
        assert 0 <= mechanism.release_candidate(score) < 2**64
    assert (list(recwarn), list(caplog.records), *capfd.readouterr()) == ([], [], "", "")


@pytest.mark.parametrize("failure", ["raises", "one number", "a column", "texts", "imaginary"])
def test_a_weight_that_fails_is_that_of_a_zero_score(failure):
    mechanism = odd(failure)
    points = mechanism.candidate_points(np.arange(5000, dtype=np.uint64))
    weights = candidates.weights_of(mechanism, points, np.array([0.7, 0.1]))
    np.testing.assert_array_equal(weights, mechanism.weight(points, np.zeros(2)))


@pytest.mark.parametrize("failure", FAILURES)
def test_weights_that_fail_keep_epsilon(failure):
    """Ratios of the levels that accept a candidate, over scores whose weights fail or do not."""
    mechanism = odd(failure, epsilon=0.5)
    least = math.ceil(mechanism.least_weight * 2**64)
    points = mechanism.candidate_points(np.arange(3000, dtype=np.uint64))
    scores = np.array([[0.7, 0.1], [-0.7, 0.1], [0.0, 0.0], [0.0, -1.0]])
    with np.errstate(all="ignore"):
        levels = [
            candidates.largest_levels(candidates.weights_of(mechanism, points, score), least)
            for score in scores
        ]
    table = np.array(levels).astype(float) + 1.0
    for one, other in itertools.permutations(table, 2):
        assert np.max(one / other) <= math.exp(0.5)


@pytest.mark.parametrize("name", ["privunit", pytest.param("l2_ball", marks=pytest.mark.slow)])
def test_the_number_of_weights_does_not_depend_on_the_score(name, monkeypatch):
    """Blocks of candidates that 500 answers take, by score; four standard errors."""
    mechanism = make_mechanism(name, epsilon=6.0, dim=3, bound=1.0)
    calls = []
    weights = candidates.weights_of
    monkeypatch.setattr(
        candidates, "weights_of", lambda *args: calls.append(len(args[1])) or weights(*args)
    )
    counts = []
    for score in (np.zeros(3), np.eye(3)[0], -np.eye(3)[0], np.full(3, 1e-160), np.full(3, 0.3)):
        calls.clear()
        for _ in range(500):
            mechanism.release_candidate(score)
        counts.append(len(calls) / 500)
    # The number of blocks is geometric: its standard deviation is below its mean.
    spread = max(counts) * math.sqrt(2 / 500)
    assert max(counts) - min(counts) < 4 * spread


# ------------------------------------------------------------------------ the person's coordinates


def ball_to_sheet(x):
    """The hyperboloid point of a point of the Poincare ball, from the definition."""
    x = np.asarray(x)
    return np.concatenate([[1 + x @ x], 2 * x]) / (1 - x @ x)


def half_space_to_sheet(x):
    """By the inversion about (0, ..., 0, -1) of radius sqrt(2), and a reflection, to the ball."""
    end = np.eye(len(x))[-1]
    shifted = np.asarray(x) + end
    ball = 2 * shifted / (shifted @ shifted) - end
    return ball_to_sheet(ball - 2 * (ball @ end) * end)


MODELS = {
    "poincare_ball": ("ball", ball_to_sheet, [0.3, -0.5]),
    "half_space": ("half-space", half_space_to_sheet, [0.7, 1.3]),
}


def collecting(coords_type, **options):
    space = Hyperbolic(2, coords_type=coords_type)
    options = {"tuning": Tuning(engine="geomstats"), **options}
    return PrivateFrechetMean(space, epsilon=8.0, **options).start()


@pytest.mark.parametrize("name", MODELS)
def test_a_device_takes_data_in_the_coordinates_of_the_estimator(name, score_at):
    coords_type, to_sheet, datum = MODELS[name]
    outer, inner = collecting(coords_type), collecting("extrinsic")
    query = outer.queries()[0]
    participant = outer.participant()
    score = score_at(outer.protocol_, query.point, datum)
    expected = score_at(inner.protocol_, query.point, to_sheet(datum))
    np.testing.assert_allclose(score, expected, rtol=0, atol=1e-12)
    assert participant.check(datum) is None
    outer.partial_fit(participant.respond(query, datum))
    assert outer.server_.n_received == 1


@pytest.mark.parametrize("name", MODELS)
def test_coordinates_belong_to_the_protocol(name):
    protocol = collecting(MODELS[name][0]).protocol_
    plain = collecting("extrinsic").protocol_
    assert (protocol.coordinates, plain.coordinates) == (name, None)
    assert protocol.fingerprint != plain.fingerprint
    assert Protocol.from_json(protocol.to_json()) == protocol
    assert "coordinates" not in json.loads(plain.to_json())
    with pytest.raises(ProtocolError, match="coordinates must be one of"):
        Protocol.from_json(plain.to_json()[:-1] + ',"coordinates":"polar"}')
    flat = PrivateFrechetMean().start(2).protocol_.to_json()
    with pytest.raises(ProtocolError, match="coordinates must be one of"):
        Protocol.from_json(flat[:-1] + f',"coordinates":"{name}"}}')


@pytest.mark.parametrize("n_rounds", [None, 3])
@pytest.mark.parametrize("name", MODELS)
def test_a_collection_gives_what_fit_gives(name, n_rounds):
    coords_type, _, datum = MODELS[name]
    X = np.asarray(datum) + np.random.default_rng(0).uniform(-0.2, 0.2, size=(24, 2))
    options = {"n_participants": 24, "random_state": 5, "tuning": Tuning(engine="geomstats")}
    if n_rounds is not None:
        options["n_rounds"] = n_rounds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = PrivateFrechetMean(
            Hyperbolic(2, coords_type=coords_type), epsilon=8.0, **options
        ).fit(X)
        model, rows = collecting(coords_type, **options), iter(X)
        client = model.participant()
    while queries := model.queries():
        model.partial_fit([client.respond(query, row) for query, row in zip(queries, rows)])
    if n_rounds is None:  # in rounds the emulation draws its noise in another order
        np.testing.assert_allclose(model.estimate_, fitted.estimate_, rtol=0, atol=1e-12)
    assert model.n_participants_ == fitted.n_participants_ == 24
    assert model.estimate_.shape == (2,)


HARD = {
    "ball": [
        [1.0, 0.0],
        [0.9999999999999999, 0.0],
        [2.71828, 0.3],
        [1e200, 0.0],
        [np.nan, 0.0],
        [1.2, 0.3, 0.4],
        "271828",
        None,
        [0.0, 0.0],
    ],
    "half-space": [
        [0.7, 1e-18],
        [0.7, 1e-320],
        [0.7, 0.0],
        [0.7, -2.71828],
        [2.71828e200, 1.0],
        [1.0, 1e300],
        [np.inf, 1.0],
        [[0.7, 1.0]],
        {"271828": 1},
        [0.0, 1.0],
    ],
}


@pytest.mark.parametrize("coords_type", HARD)
def test_any_datum_of_a_model_is_answered_without_a_sound(
    coords_type, recwarn, capfd, caplog, score_at
):
    protocol = collecting(coords_type).protocol_
    query = Server(protocol, "geomstats").queries()[0]
    with np.errstate(all="raise"):
        for datum in HARD[coords_type]:
            score = score_at(protocol, query.point, datum)
            assert np.isfinite(score).all() and score.shape == (2,)
            device(protocol).respond(query, datum)
    assert (list(recwarn), list(caplog.records), *capfd.readouterr()) == ([], [], "", "")


def test_a_point_far_down_the_half_space_counts_as_the_edge_of_the_ball_of_data(score_at):
    """[.7, 1e-18] is 41 away; it is moved to distance 1 along the same geodesic."""
    protocol = collecting("half-space").protocol_
    point = np.asarray(Server(protocol).queries()[0].point)
    with mpmath.workdps(60):
        x, y = mpmath.mpf(0.7), mpmath.mpf(1e-18)
        sheet = [x / y, (x**2 + y**2 - 1) / (2 * y)]
        size = mpmath.sqrt(sheet[0] ** 2 + sheet[1] ** 2)
        edge = [float(mpmath.sinh(1) * entry / size) for entry in sheet]
    clipped = np.array([math.cosh(1.0), *edge])
    expected = score_at(collecting("extrinsic").protocol_, point, clipped)
    score = score_at(protocol, point, [0.7, 1e-18])
    np.testing.assert_allclose(score, expected, rtol=0, atol=1e-9)


# ------------------------------------------------------------------------ texts of errors

#: Data that cannot be used, whose numbers no text may hold.
SECRETS = {
    "affine": (
        *spd("SPDAffineInvariant", 1.0),
        [[[2.71828, 0.3], [0.4, 1.0]], [[2.71828, 3.0], [3.0, 1.0]], [2.71828, 1.0]],
    ),
    "log-Euclidean": (
        *spd("SPDLogEuclidean", 1.0),
        [[[2.71828, 0.3], [0.4, 1.0]], [[-2.71828, 0.0], [0.0, 1.0]], [[np.nan, 1], [1, 2.71828]]],
    ),
    "ball": (
        Hyperbolic(2, coords_type="ball"),
        None,
        [[2.71828, 0.1], [[0.1, 0.2], [2.71828, 0.0]], [2.71828, 0.1, 0.2], ["2.71828", 0.0]],
    ),
    "half-space": (
        Hyperbolic(2, coords_type="half-space"),
        None,
        [[0.1, -2.71828], [[0.1, 0.2], [0.1, -2.71828]], [2.71828], [2.71828, np.nan]],
    ),
}


@pytest.mark.parametrize("name", SECRETS)
def test_texts_about_a_datum_hold_none_of_its_numbers(name):
    """A text ends up in a log: what is told is the rule that is broken and the place."""
    space, center, data = SECRETS[name]
    mean = PrivateFrechetMean(space, initial_point=center)
    participant = device(mean.start().protocol_)
    for datum in data:
        with pytest.raises(DatumError) as caught:
            participant.check(datum)
        texts = [str(caught.value)]
        assert caught.value.__cause__ is None and caught.value.__context__ is None
        with pytest.raises(ValueError) as caught, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            PrivateFrechetMean(space, initial_point=center).fit(
                datum if np.ndim(datum) > 2 else [datum]
            )
        texts.append(str(caught.value))
        texts.append("".join(traceback.format_exception_only(caught.type, caught.value)))
        assert all("2.71828" not in text and "271828" not in text for text in texts)
