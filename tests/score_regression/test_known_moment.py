"""A second moment that others have told enters the regression as what it is."""

from dataclasses import replace

import numpy as np
import pytest

from geomstats_ldp import PrivatePCA, Protocol, Tuning
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.protocol import InferenceRule, RoundPlan
from geomstats_ldp.score_regression import query_points
from geomstats_ldp.score_regression.answers import Answers
from geomstats_ldp.score_regression.fit import _fit_in_chart, hedged_step
from geomstats_ldp.score_regression.prediction import regress_about
from geomstats_ldp.server import RoundServer

SPREADS = np.array([1.0, 0.6, 0.4])


def told_moment(sd, seed=0, stretch=1.0):
    """Second moment of rows that are not clipped, with an error of each coordinate.

    That of the entry of the first two axes is larger by a factor.
    """
    sds = sd * np.array([1.0, stretch, 1.0, 1.0, 1.0, 1.0])
    error = symmetric(sds * np.random.default_rng(seed).normal(size=6))
    return np.diag(SPREADS**2) + error, np.diag(sds**2)


def symmetric(coords):
    """Matrix with given coordinates."""
    matrix = np.zeros((3, 3))
    matrix[np.tril_indices(3)] = coords * np.where([1, 0, 1, 0, 0, 1], 1.0, np.sqrt(0.5))
    return matrix + np.tril(matrix, -1).T


def pca_with(known, n_rounds=3, **parameters):
    values = {"norm_bound": 3.0, "epsilon": 4.0, "initial_point": [1.0, 0.3, 0.2]}
    return PrivatePCA(known_moment=known, n_rounds=n_rounds, **{**values, **parameters})


def answers_of(protocol, state):
    return Answers(protocol, state, query_points(protocol, state))


def test_the_regression_is_least_squares_with_the_moment_as_more_rows():
    """In all entries of the moment, without a chart."""
    rows = np.random.default_rng(1).normal(size=(3000, 3)) * SPREADS
    sd = 0.05
    known = told_moment(sd)
    tuning = Tuning(inference=InferenceRule(ridge=1e-14))
    model = pca_with(known, random_state=0, tuning=tuning).fit(rows)
    server = model.server_
    protocol, answers = server.protocol, answers_of(server.protocol, server.state)
    center = server.state.centers[-1]
    fit = _fit_in_chart(protocol, answers, center, np.ones(len(answers.points)), None, False)
    variance = np.trace(fit.score_covariance) / 2
    # Messages have the mean (q q^T - I) S q; unknowns are the nine entries of S.
    design, values = [], []
    geometry = protocol.geometry
    for q, n, mean in zip(answers.points, answers.counts, answers.means):
        for frame, entry in zip(geometry.lift(np.eye(2), q), mean):
            design.append(np.sqrt(n / variance) * -np.outer(frame, q).ravel())
            values.append(np.sqrt(n / variance) * entry)
    design.extend(np.eye(9) / sd)
    values.extend((known[0] / sd).ravel())
    swap = np.eye(9).reshape(3, 3, 9).transpose(1, 0, 2).reshape(9, 9)
    design = np.array(design) @ (np.eye(9) + swap) / 2  # of the symmetric part
    entries = np.linalg.lstsq(design, np.array(values), rcond=None)[0].reshape(3, 3)
    moment = (entries + entries.T) / 2
    axes = geometry.lift(np.eye(2), center)
    hessian = (center @ moment @ center) * np.eye(2) - axes @ moment @ axes.T
    np.testing.assert_allclose(fit.raw_hessian, hessian, rtol=0, atol=1e-10)
    learnt = server.learn_second_moment().matrix  # scores beside it have covariances of their own
    difference = learnt - moment
    difference -= np.trace(difference) / 3 * np.eye(3)
    assert np.linalg.norm(difference) < 0.2 * sd


def fit_with(model, matrix, covariance):
    """Regression of the messages of a fitted model with another moment, in one fixed chart."""
    server = model.server_
    rounds = replace(server.protocol.rounds, known_moment=matrix, known_covariance=covariance)
    protocol = replace(server.protocol, rounds=rounds)
    answers = answers_of(protocol, server.state)
    center, ones = server.state.centers[-1], np.ones(len(answers.points))
    return protocol, _fit_in_chart(protocol, answers, center, ones, None, False)


def test_the_covariance_counts_the_error_of_the_moment_as_it_is():
    """Against the change of the coefficients with each coordinate of the moment."""
    rows = np.random.default_rng(1).normal(size=(3000, 3)) * SPREADS
    factor = np.random.default_rng(4).normal(size=(6, 6))
    matrix, covariance = told_moment(0.0)[0], 1e-3 * factor @ factor.T
    model = pca_with((matrix, covariance), random_state=0).fit(rows)
    server = model.server_

    def gradient(fit):
        step = hedged_step(fit.hessian, fit.hessian_error / len(fit.hessian))
        return np.linalg.solve(step, fit.offset)

    def coefficients(protocol, fit):
        points = query_points(protocol, server.state)
        return regress_about(protocol, server.state, points, fit)[0][:2]

    protocol, fit = fit_with(model, matrix, covariance)
    changed = [fit_with(model, matrix + symmetric(e), covariance)[1] for e in np.eye(6)]
    change = np.array([gradient(other) - gradient(fit) for other in changed]).T
    np.testing.assert_allclose(fit.told_covariance, change @ covariance @ change.T, rtol=1e-8)

    # One that keeps the mean variance of the gradient changes no weight.
    estimate, found = coefficients(protocol, fit)
    others = [fit_with(model, matrix + symmetric(e), covariance)[0] for e in np.eye(6)]
    change = np.array([coefficients(other, fit)[0] - estimate for other in others]).T
    axes = server.protocol.geometry.lift(np.eye(2), fit.point)
    pair = [np.einsum("i,j->ij", fit.point, axis) for axis in axes]
    one, two = (
        np.array([np.sum((part + part.T) * symmetric(e)) for e in np.eye(6)]) for part in pair
    )
    turned = 1e-5 * (np.outer(one, two) + np.outer(two, one))
    assert np.linalg.eigvalsh(covariance + turned)[0] > 0
    again, other = coefficients(fit_with(model, matrix, covariance + turned)[0], fit)
    np.testing.assert_allclose(again, estimate, rtol=1e-9)
    np.testing.assert_allclose(other - found, change @ turned @ change.T, rtol=1e-6, atol=1e-12)


def test_one_that_is_known_exactly_decides():
    exact = told_moment(0.0)[0]
    turned = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    turned = turned * np.sign(turned[0])
    matrix = turned @ exact @ turned.T
    rows = 0.5 * np.random.default_rng(1).normal(size=(400, 3))  # no direction at all
    start = turned[:, 0] + 0.2 * turned[:, 1]
    model = pca_with((matrix, 1e-12 * np.eye(6)), initial_point=start, random_state=0).fit(rows)
    np.testing.assert_allclose(np.abs(model.estimate_ @ turned[:, 0]), 1.0, atol=1e-5)
    assert model.confidence_region().largest_radius < 1e-3
    assert model.confidence_region(kind="score").contains(model.estimate_)


def test_a_matrix_may_be_symmetric_to_rounding():
    matrix, sd = told_moment(0.1)
    skew = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    plan = pca_with((matrix + 1e-16 * skew, sd)).start().protocol_.rounds
    known = np.array(plan.known_moment)
    assert np.array_equal(known, known.T)
    np.testing.assert_allclose(known, matrix, rtol=0, atol=1e-15)
    with pytest.raises(ProtocolError, match="known_moment must be symmetric"):
        pca_with((matrix + 1e-6 * skew, sd)).start()


def test_protocols_carry_it():
    protocol = pca_with(told_moment(0.1)).start().protocol_
    again = Protocol.from_json(protocol.to_json(), protocol.fingerprint)
    assert again == protocol and np.array_equal(again.rounds.known_covariance, 0.1**2 * np.eye(6))
    assert isinstance(RoundServer(again), RoundServer)
    assert "known" not in pca_with(None).start().protocol_.to_json()


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        ({"known_moment": None}, "known_moment and known_covariance must be given together"),
        ({"known_covariance": None}, "known_moment and known_covariance must be given together"),
        ({"moment": "first"}, "known_moment must be None unless the moment is 'second'"),
        ({"known_moment": np.ones((2, 3))}, r"known_moment must have shape \(2, 2\); got \(2, 3\)"),
        ({"known_moment": [[1, 2], [3, 4]]}, "known_moment must be symmetric"),
        ({"known_covariance": np.eye(3)}, r"known_covariance must have shape \(6, 6\)"),
        ({"known_covariance": 0.1}, r"known_covariance must have shape \(6, 6\)"),
        (
            {"known_covariance": np.diag([1.0] * 5 + [0.0])},
            "known_covariance must be positive definite",
        ),
        ({"known_covariance": 1e-12 * np.tri(6)}, "known_covariance must be symmetric"),
    ],
)
def test_plans_refuse_what_is_none(plan, named):
    known = {"moment": "second", "known_moment": np.eye(3), "known_covariance": np.eye(6)}
    with pytest.raises(ProtocolError, match=named):
        RoundPlan(3, **{**known, **plan})


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_rounds": None},
        {"n_components": 2, "initial_point": np.eye(3)[:2]},
        {"known": (np.eye(4), np.eye(10))},
        {"known": 3.0},
    ],
)
def test_estimators_refuse_one_that_does_not_fit(parameters):
    with pytest.raises(ProtocolError, match="known_moment must be"):
        pca_with(**{"known": told_moment(0.1), **parameters}).start(3)


@pytest.mark.slow
@pytest.mark.parametrize("stretch", [1.0, 4.0])
def test_regions_count_it_as_what_it_tells(stretch):
    """Over 200 collections and moments: coverage, and the error as it was announced."""
    squares, covered, announced = [], [], []
    target = np.array([1.0, 0.0, 0.0])
    for seed in range(200):
        rows = np.random.default_rng([3, seed]).normal(size=(4000, 3)) * SPREADS
        known = told_moment(0.03, seed, stretch)
        model = pca_with(known, norm_bound=10.0, epsilon=8.0, random_state=seed).fit(rows)
        region = model.confidence_region()
        covered.append(region.contains(target))
        squares.append(np.sum((model.estimate_ - target) ** 2))
        announced.append(np.trace(region.covariance))
    assert 0.95 - 4 * np.sqrt(0.95 * 0.05 / 200) < np.mean(covered)
    ratio = np.mean(squares) / np.mean(announced)
    assert ratio == pytest.approx(1.0, abs=4 * np.std(squares) / np.mean(squares) / np.sqrt(200))
