"""Everybody asked at one public point: exact estimates, their covariance, and who is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from geomstats_ldp import (
    Participant,
    PrivateFrechetMean,
    PrivateMEstimator,
    PrivateSPDCovariance,
    Tuning,
)
from geomstats_ldp.exceptions import ProtocolError, SafeguardWarning
from geomstats_ldp.geometry import GeodesicBall, Geometry
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.geometry.spaces.spd_affine import SecondMomentChart
from geomstats_ldp.losses import FrechetLoss, SPDLikelihoodLoss
from geomstats_ldp.protocol import InferenceRule, Protocol, RadiusRule, RoundPlan
from geomstats_ldp.score_regression.single_query import _hessian_error

TARGET = np.array([[0.8, 0.3], [0.3, 0.5]])
BOUND = 2.6
SPD_LOG = space_from_spec({"name": "SPDLogEuclidean", "n": 2})


def make_rows(n=400, seed=0):
    rows = np.random.default_rng(seed).multivariate_normal([0, 0], TARGET, size=n)
    return rows * np.minimum(1.0, BOUND / np.linalg.norm(rows, axis=1))[:, None]


def covariance(tuning=None, **parameters):
    """Estimator that runs without compilation."""
    tuning = clone(Tuning() if tuning is None else tuning).set_params(engine="geomstats")
    return PrivateSPDCovariance(
        **{"norm_bound": BOUND, "epsilon": math.inf, "random_state": 0, **parameters},
        tuning=tuning,
    )


@pytest.mark.slow
@pytest.mark.parametrize("n_rounds", [None, 1, 5])
def test_without_noise_it_is_the_second_moment_and_its_standard_errors(n_rounds):
    rows = make_rows()
    model = covariance(n_rounds=n_rounds).fit(rows)
    np.testing.assert_allclose(model.estimate_, rows.T @ rows / len(rows), rtol=1e-12)
    for weights in (np.eye(2), [[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.5], [0.5, 0.0]]):
        found = model.functional(lambda matrix, w=weights: np.sum(w * matrix))
        values = np.einsum("ni,ij,nj->n", rows, weights, rows)
        expected = values.std(ddof=1) / math.sqrt(len(rows))
        guard = model.diagnostics_["guard"]
        assert found.standard_error[0] == pytest.approx(expected * math.sqrt(guard), rel=1e-5)
    np.testing.assert_array_equal(model.hessian_, np.eye(3) / 2)


@pytest.mark.slow
@pytest.mark.parametrize("space", [None, SPD_LOG], ids=["vectors", "log-Euclidean"])
def test_without_noise_a_flat_mean_is_the_mean(space):
    rng = np.random.default_rng(0)
    coords = rng.normal(size=(300, 2 if space is None else 3)) * 0.2 + 0.1
    origin = np.zeros(2) if space is None else np.eye(2)
    flat = space_from_spec({"name": "Euclidean", "dim": 2}) if space is None else space
    geometry = Geometry(flat, origin)
    rows = geometry.exp(geometry.lift(coords, origin), origin)
    options = {"epsilon": math.inf, "data_radius": 3.0, "region_radius": 2.0, "random_state": 0}
    options["tuning"] = Tuning(engine="geomstats")  # without compilation
    mean = PrivateFrechetMean(space, n_rounds=3, initial_point=origin, **options).fit(rows)
    found = geometry.coordinates(geometry.log(mean.estimate_, origin), origin)
    np.testing.assert_allclose(found, coords.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(mean.covariance_, np.cov(coords.T) / len(rows), rtol=1e-9)
    assert mean.protocol_.mechanism.bound == 3.0
    pairs = PrivateFrechetMean(space, initial_point=origin, **options).fit(rows)
    assert pairs.protocol_.rounds is None and pairs.protocol_.mechanism.bound > 5.0


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_noise_makes_the_least_of_the_target_at_this_query(size):
    loss = SPDLikelihoodLoss(norm_bound=BOUND)
    geometry = Geometry(space_from_spec({"name": "SPDAffineInvariant", "n": size}), np.eye(size))
    chosen = loss.single_query(geometry)[0, 0]

    def noise(scale):
        return 2 * scale * loss.score_bound(geometry, GeodesicBall(scale * np.eye(size), 0.0))

    for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
        assert noise(chosen) < noise(factor * chosen)
    # Relative to a target, no direction has more noise than at the best multiple of the target.
    target = np.diag(np.linspace(0.2, 1.0, size))
    multiples = [
        2 * c * loss.score_bound(geometry, GeodesicBall(c * target, 0.0))
        for c in np.geomspace(0.1, 100, 200)
    ]
    assert noise(chosen) / 0.2 <= min(multiples)


def test_a_device_answers_at_this_query_only():
    model = covariance(epsilon=4.0, n_participants=10).start(2)
    protocol = Protocol.from_json(model.protocol_.to_json())
    query = model.queries()[0]
    np.testing.assert_array_equal(query.point, BOUND**2 / 2 * np.eye(2))
    participant = Participant(protocol, max_epsilon=4.0)
    for moved in (query.point * (1 + 1e-5), np.eye(2), TARGET):
        with pytest.raises(ProtocolError, match="public region of queries"):
            participant.respond(replace(query, point=moved), [0.3, 0.1])
    model.partial_fit(participant.respond(query, [0.3, 0.1]))
    assert model.n_participants_ == 1


def test_noise_that_leaves_no_covariance_is_told():
    with pytest.warns(SafeguardWarning):
        model = covariance(epsilon=0.5, random_state=1).fit(make_rows(60))
    assert np.linalg.eigvalsh(model.estimate_)[0] > 0
    protocol = model.protocol_
    assert protocol.working_region.contains(protocol.geometry, model.estimate_)


def test_the_hessian_is_off_by_what_the_estimate_is():
    """E ((m + 2) |E|^2 + (tr E)^2) / 16 against the operator, for errors with a covariance."""
    model = covariance().fit(make_rows())
    geometry, point = model.protocol_.geometry, model.estimate_
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    covariance_of_score = root @ root.T
    basis = geometry.lift(np.eye(3), point)
    factor = np.linalg.cholesky(point)
    whitened = np.linalg.solve(factor, np.swapaxes(np.linalg.solve(factor, basis), 1, 2))
    total = 0.0
    for column in root.T:  # E of coordinates -2 c for each column c of the root
        error = -2 * np.einsum("k,kij->ij", column, whitened)
        operator = [[np.sum(a * (error @ b + b @ error)) / 4 for b in whitened] for a in whitened]
        total += np.sum(np.square(operator))
    found = _hessian_error(model.protocol_, point, covariance_of_score)
    assert found == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize(
    "tuning",
    [
        Tuning(radius=RadiusRule.fixed(0.1)),
        Tuning(pairs_per_round=2),
        Tuning(inference=InferenceRule(hessian="raw")),
        Tuning(inference=InferenceRule.paper()),
    ],
)
def test_tunings_of_pairs_ask_pairs(tuning):
    assert covariance(tuning=tuning).start(2).protocol_.rounds is None
    rounds = covariance(tuning=tuning, n_rounds=3)
    if tuning.pairs_per_round == 1:
        assert rounds.start(2).protocol_.rounds.query is None


def test_the_general_estimator_asks_there_too():
    space = space_from_spec({"name": "SPDAffineInvariant", "n": 2})
    loss = SPDLikelihoodLoss(norm_bound=BOUND)
    options = {"initial_point": np.eye(2), "tuning": Tuning(engine="geomstats")}
    model = PrivateMEstimator(space, loss, math.inf, region_radius=2.0, **options)
    rows = make_rows()
    np.testing.assert_allclose(model.fit(rows).estimate_, rows.T @ rows / len(rows), rtol=1e-12)


@pytest.mark.parametrize(
    ("plan", "match"),
    [
        (RoundPlan(1, moment="covariance"), "radius"),
        (RoundPlan(1, query=np.eye(2)), "query must be None unless"),
        (RoundPlan(1, moment="quadratic", query=np.eye(2)), "moment must be one that"),
        (RoundPlan(1, moment="covariance", query=-np.eye(2)), "query"),
        (RoundPlan(1, moment="covariance", query=np.eye(3)), "query"),
    ],
)
def test_plans_that_tell_nothing_are_refused(plan, match):
    protocol = covariance().start(2).protocol_
    text = replace(protocol, rounds=plan).to_json()
    with pytest.raises(ProtocolError, match=match):
        Protocol.from_json(text)


def test_a_query_of_a_flat_mean_needs_its_hessian():
    protocol = PrivateFrechetMean(n_rounds=2).start(2).protocol_
    rule = replace(protocol.inference, hessian_range=(0.5, 1.0))
    with pytest.raises(ProtocolError, match="query must be None unless"):
        Protocol.from_json(replace(protocol, inference=rule).to_json())
    with pytest.raises(ProtocolError, match="radius or rounds with a query"):
        Protocol.from_json(replace(protocol, radius=RadiusRule.fixed(0.1)).to_json())


def test_losses_off_flat_spaces_have_no_single_query():
    center = [1.0, 0.0, 0.0]
    geometry = Geometry(space_from_spec({"name": "Hypersphere", "dim": 2}), center)
    loss = FrechetLoss(center=center, data_radius=0.5)
    assert loss.single_query(geometry) is None and loss.moment(geometry) is None


@pytest.mark.parametrize("radius", [3.0, 0.3])  # the smaller region does not hold the moment
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_the_score_region_is_hotellings_in_the_entries_of_the_matrix(radius):
    rows = make_rows(40)
    model = covariance(initial_point=3 * np.eye(2), region_radius=radius).fit(rows)
    assert model.server_.is_cut == (radius < 1)
    region = model.confidence_region(0.9, kind="score")
    rows = rows * np.minimum(1.0, BOUND / np.linalg.norm(rows, axis=1))[:, None]
    entries = np.stack([rows[:, 0] ** 2, rows[:, 0] * rows[:, 1], rows[:, 1] ** 2], axis=1)
    spread = np.cov(entries.T) / len(rows)
    for matrix in (TARGET, np.eye(2), np.array([[2.0, -0.3], [-0.3, 1.0]])):
        away = matrix[np.triu_indices(2)] - entries.mean(axis=0)
        assert region.statistic(matrix) == pytest.approx(away @ np.linalg.solve(spread, away))


def test_sums_of_matrices_are_a_chart():
    geometry = Geometry(space_from_spec({"name": "SPDAffineInvariant", "n": 2}))
    chart = SecondMomentChart(geometry.space, geometry.reference, geometry.basis)
    moved = np.array([[0.5, -0.2], [-0.2, 0.9]])
    away = chart.inverse_retract(moved, TARGET)
    np.testing.assert_array_equal(away, moved - TARGET)
    np.testing.assert_allclose(chart.retract(away, TARGET), moved)
    coords = chart.coordinates(away, TARGET)
    assert chart.retracted_distances(coords, TARGET) == pytest.approx(chart.dist(moved, TARGET))
    # Out of the cone there is a matrix at its edge, and no distance.
    out = chart.retract(-2 * TARGET, TARGET)
    assert np.linalg.eigvalsh(out)[0] > 0
    assert chart.dist(out, TARGET) > 20
    assert np.isinf(chart.retracted_distances(-2 * chart.coordinates(TARGET, TARGET), TARGET))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_score_regions_cover_where_noise_is_as_large_as_an_eigenvalue():
    """Wald regions cover .87 there; the standard error of a share of 200 is .015."""
    target = np.array([[1.0, 0.85], [0.85, 0.75]])
    inside = 0
    for seed in range(200):
        rows = np.random.default_rng(seed).multivariate_normal(np.zeros(2), target, size=8000)
        model = PrivateSPDCovariance(3.2, epsilon=4.0, region_radius=6.0, random_state=seed)
        region = model.fit(rows).confidence_region(kind="score")
        clipped = rows * np.minimum(1.0, 3.2 / np.linalg.norm(rows, axis=1))[:, None]
        inside += region.contains(clipped.T @ clipped / len(rows))
    assert 0.92 <= inside / 200 <= 0.99
