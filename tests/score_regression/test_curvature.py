"""Rounds that ask for curvature: what they ask, what they tell, and that nothing else moves."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from geomstats_ldp import (
    PrivateLogisticRegression,
    Tuning,
)
from geomstats_ldp.defaults import curvature_share
from geomstats_ldp.losses import loss_of
from geomstats_ldp.losses.curvature import curvature
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import InferenceRule
from geomstats_ldp.schedules import direction_cycle
from geomstats_ldp.score_regression.curvature import (
    difference_reach,
    known_apart,
    orthonormal_bases,
    told_curvature,
    whitening_of,
)
from geomstats_ldp.score_regression.fit import hedged_step
from geomstats_ldp.score_regression.hessian_error import guard_of_covariance, mean_product
from geomstats_ldp.score_regression.moments import symmetric_basis
from geomstats_ldp.score_regression.shrinkage import guard_of_parts

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")


# ------------------------------------------------------------------------ what is asked


@pytest.mark.parametrize("dim", range(1, 10))
def test_squares_along_the_bases_tell_all_symmetric_matrices(dim):
    bases = orthonormal_bases(dim)
    assert bases.shape == (dim, dim, dim)
    for basis in bases:
        np.testing.assert_allclose(basis @ basis.T, np.eye(dim), atol=1e-15)
    rows = bases.reshape(-1, dim)
    squares = np.einsum("ni,nj->nij", rows, rows).reshape(len(rows), -1)
    assert np.linalg.matrix_rank(squares) == dim * (dim + 1) // 2
    # Every pair of axes is told once, and every axis as often as any other.
    met = np.sum((rows != 0)[:, :, None] & (rows != 0)[:, None, :], axis=0)
    np.testing.assert_array_equal(met, 2 - 2 * np.eye(dim) + np.diag(np.diag(met)))
    assert len(set(np.diag(met))) == 1


def test_directions_make_the_known_hessian_the_identity(protocol_of, collected):
    server = collected(protocol_of("logistic", 6000), "logistic", 6000)
    fit = server.fit()
    known = replace(fit, hessian_covariance=1e-20 * np.eye(6))
    whitening = whitening_of(server.protocol, known)
    np.testing.assert_allclose(whitening @ fit.raw_hessian @ whitening, np.eye(3), atol=1e-6)
    np.testing.assert_array_equal(whitening, whitening.T)
    # What is not known is not used: an error of the size of the bound leaves nothing to whiten.
    unknown = replace(fit, hessian_covariance=1e6 * np.eye(6))
    bound = server.protocol.hessian_bound
    expected = np.eye(3) / np.sqrt(bound)
    np.testing.assert_allclose(whitening_of(server.protocol, unknown), expected, atol=1e-12)


def test_the_fifth_round_asks_in_the_units_of_what_the_third_has_told(
    people, protocol_of, collected
):
    server = collected(protocol_of("logistic", 40_000), "logistic", 40_000)
    rounds = server.protocol.rounds
    assert rounds.curvature_rounds == (2, 4)
    assert abs(rounds.sizes[4] - 2 * rounds.sizes[2]) <= 1
    data = np.column_stack(people(40_000))
    asked = loss_of(server.protocol), server.protocol.geometry, server.state.centers[4]
    reach = difference_reach(server.protocol)
    for index in range(server.n_directions):
        directions = server.directions(4, index)
        means = curvature(*asked, directions, reach, data).mean(axis=0)
        assert 0.6 < means.min() and means.max() < 1.5
        np.testing.assert_array_equal(server.points(4)[index], server.state.centers[4])
    assert server.directions(3, 0) is None


# ------------------------------------------------------------------------ what is told


#: Derivative of the loss in the predictor, by hand.
SLOPES = {
    "logistic": lambda predictor, target: 1 / (1 + np.exp(-predictor)) - target,
    "huber": lambda predictor, target: np.clip(predictor - target, -1.5, 1.5),
    "linear": lambda predictor, target: predictor - target,
}


@pytest.mark.parametrize("name", ["logistic", "huber", "linear"])
def test_without_noise_or_clipping_answers_are_the_hessian(name, people, protocol_of, collected):
    """Against the mean of z z^T and the rise of the slope about the centre, by hand."""
    n = 3000
    protocol = protocol_of(name, n, epsilon=np.inf)
    protocol = replace(protocol, rounds=replace(protocol.rounds, curvature_bound=1e6))
    server = collected(protocol, name, n)
    X, y = people(n, name)
    told = told_curvature(protocol, server.state)
    assert [answers.number for answers in told] == [2, 4]
    loss, reach = loss_of(protocol), difference_reach(protocol)
    z = np.column_stack([np.full(n, loss.intercept), X])
    start = 0
    for number, size in enumerate(protocol.rounds.sizes[:5]):
        rows, targets = z[start : start + size], y[start : start + size]
        start += size
        if number not in (2, 4):
            continue
        [answers] = [one for one in told if one.number == number]
        for index, mean in enumerate(answers.means):
            own = slice(index, None, server.n_directions)
            predictor, target = rows[own] @ server.state.centers[number], targets[own]
            for direction, found in zip(server.directions(number, index), mean):
                along, step = rows[own] @ direction, reach / np.linalg.norm(direction)
                ends = [SLOPES[name](predictor + s * along, target) for s in (step, -step)]
                expected = np.mean(along * (ends[0] - ends[1]) / (2 * step))
                assert found == pytest.approx(expected, rel=1e-9)
    basis = symmetric_basis(3, is_isotropic=False)
    known = known_apart(protocol, told, server.state.centers[0], basis, 1.0, np.ones(8))
    assert not known.information[:3].any() and not known.values[:3].any()
    if name == "linear":  # one Hessian everywhere
        found = np.tensordot(np.linalg.solve(known.information[3:, 3:], known.values[3:]), basis, 1)
        np.testing.assert_allclose(found, z.T @ z / n, atol=0.2 * np.trace(z.T @ z / n) / 3)


def test_differences_err_by_the_square_of_their_reach(people, protocol_of):
    """Of the logistic loss: l'' (z^T a)^2, and its fourth derivative beyond."""
    protocol, point = protocol_of("logistic", 3000), np.array([0.2, -0.4, 0.6])
    loss, (X, y) = loss_of(protocol), people(500)
    z = np.column_stack([np.full(500, loss.intercept), X])
    directions = np.random.default_rng(0).normal(size=(3, 3))
    p = (1 / (1 + np.exp(-z @ point)))[:, None]
    along, variance = z @ directions.T, p * (1 - p)
    exact, fourth = variance * along**2, variance * (1 - 6 * variance) * along**4
    for reach in (0.1, 0.03):
        data = np.column_stack([X, y])
        off = curvature(loss, protocol.geometry, point, directions, reach, data) - exact
        step = reach / np.linalg.norm(directions, axis=1)
        rest = step**4 / 120 * along**6 / 4  # a sixth derivative is at most a fourth
        assert np.all(np.abs(off - step**2 / 6 * fourth) <= rest + 1e-11)


def test_all_directions_are_told_with_one_relative_error(protocol_of, collected):
    """Whatever the units of the features: that is what the whitening is for.

    By noise alone, entries off the diagonal have 3/4 of the error of those on it, for three axes.
    """
    server = collected(protocol_of("linear", 30_000), "linear", 30_000)
    [answers] = [one for one in told_curvature(server.protocol, server.state) if one.number == 4]
    basis = symmetric_basis(3, is_isotropic=False)
    known = known_apart(server.protocol, [answers], server.state.centers[4], basis, 1.0, np.ones(8))
    covariance = np.linalg.inv(known.information[3:, 3:])
    whitening = server.state.stretches[4]
    into = np.einsum("lij,kij->lk", basis, whitening @ basis @ whitening)
    spread = into @ covariance @ into.T
    errors = np.sqrt(np.diag(spread))
    assert errors.max() < 1.4 * errors.min()


@pytest.mark.parametrize("name", ["logistic", "huber"])
def test_clipping_of_curvature_does_not_move_the_target(name, people, protocol_of, collected):
    """Nearly all answers are at a bound of 0.3; the mean score still vanishes at the estimate."""
    n = 20_000
    protocol = protocol_of(name, n, epsilon=np.inf)
    tight = replace(protocol, rounds=replace(protocol.rounds, curvature_bound=0.3))
    loss, data = loss_of(protocol), np.column_stack(people(n, name))
    for plan, spread in ((protocol, (1.0, np.inf)), (tight, (0.0, 0.3**2))):
        server = collected(plan, name, n)
        scores = loss.score(plan.geometry, server.estimate(), data)
        error = scores.mean(axis=0) / (scores.std(axis=0) / np.sqrt(n))
        assert np.abs(error).max() < 3  # it is not zero, as early rounds asked elsewhere
        last = told_curvature(plan, server.state)[-1]
        assert spread[0] < np.trace(last.covariance) < spread[1]


@pytest.mark.slow  # many collections
def test_the_weakest_eigenvalue_is_known_better():
    """With correlated features, beside rounds that ask from afar, in 30 collections each."""
    errors = {}
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200_000, 2)) @ np.linalg.cholesky([[1, 0.9], [0.9, 1]]).T
    X *= np.minimum(1, 2.5 / np.linalg.norm(X, axis=1))[:, None]
    y = rng.uniform(size=len(X)) < 1 / (1 + np.exp(-X @ [0.5, 0.3]))
    for name, directions in (("afar", direction_cycle(None, 3)), ("curvature", None)):
        found = []
        for seed in range(30):
            places = np.random.default_rng(seed).integers(len(X), size=60_000)
            tuning = Tuning(directions=directions)
            model = PrivateLogisticRegression(2.5, epsilon=3.0, random_state=seed, tuning=tuning)
            model.fit(X[places], y[places])
            found.append(np.linalg.eigvalsh(model.server_.fit().raw_hessian)[0])
        assert (model.protocol_.rounds.curvature_rounds is None) == (name == "afar")
        errors[name] = np.std(found) / np.mean(found)
    assert errors["curvature"] < 0.6 * errors["afar"]


# ------------------------------------------------------------------------ errors of the Hessian


def _random_covariance(size, seed=0):
    root = np.random.default_rng(seed).normal(size=(size, size + 2))
    return root @ root.T / size


def test_mean_products_are_those_of_draws():
    covariance, basis = _random_covariance(6), symmetric_basis(3, is_isotropic=False)
    moment = np.diag([1.0, 2.0, 0.5])
    expected = 0.0
    values, vectors = np.linalg.eigh(covariance)
    for value, vector in zip(values, vectors.T):  # an error along each of its principal axes
        error = np.tensordot(np.sqrt(value) * vector, basis, axes=1)
        expected = expected + error @ moment @ error
    np.testing.assert_allclose(mean_product(covariance, moment), expected, atol=1e-12)


def test_an_even_error_hedges_as_its_norm_does():
    hessian = np.diag([3.0, 1.0, 0.2])
    even = 0.3 * np.eye(6)
    square = mean_product(even, np.eye(3))
    np.testing.assert_allclose(square, np.trace(even) / 3 * np.eye(3), atol=1e-12)
    step = hedged_step(hessian, square)
    np.testing.assert_allclose(step, hedged_step(hessian, np.trace(even) / 3), atol=1e-12)


def test_the_guard_is_the_known_one_for_errors_spread_evenly():
    rule, hessian, basis = InferenceRule(), 2.0 * np.eye(4), symmetric_basis(4, False)
    trace = np.trace(basis, axis1=1, axis2=2) / 2
    spherical = 0.03 * np.outer(trace, trace)
    deviatoric = 0.01 * (np.eye(10) - np.outer(trace, trace))
    for parts in (
        (spherical, 0 * deviatoric),
        (0 * spherical, deviatoric),
        (spherical, deviatoric),
    ):
        expected = guard_of_parts(*(np.trace(part) for part in parts), hessian, 0.0, rule, 4)
        found = guard_of_covariance(sum(parts), hessian, rule)
        assert found == pytest.approx(expected, rel=1e-9)


def test_the_guard_keeps_coverage_where_errors_are_relative():
    """The statistic of a normal score by a Hessian that is off by a tenth in every direction."""
    rng, hessian, basis = (
        np.random.default_rng(0),
        np.diag([4.0, 1.0, 0.1]),
        symmetric_basis(3, False),
    )
    root = np.sqrt(hessian)
    white = (root @ basis @ root).reshape(6, -1)
    into = np.linalg.lstsq(basis.reshape(6, -1).T, white.T, rcond=None)[0]
    covariance = 0.15**2 * into @ into.T
    n = 400_000
    coefficients = rng.multivariate_normal(np.zeros(6), covariance, size=n)
    errors = np.tensordot(coefficients, basis, axes=1)
    score = rng.normal(size=(n, 3))
    moved = score + np.einsum("nij,nj->ni", errors, score @ np.linalg.inv(hessian))
    statistic = np.sum(moved**2, axis=1)
    quantile = stats.chi2.ppf(0.95, 3)
    guard = guard_of_covariance(covariance, hessian, InferenceRule())
    assert np.mean(statistic <= quantile) < 0.945
    assert 0.948 < np.mean(statistic <= guard * quantile) < 0.956


def test_the_share_of_the_people_balances_both_costs():
    mechanism = make_mechanism("privunit", epsilon=3.0, dim=4, bound=7.0)
    n = 50_000
    share = curvature_share(mechanism, n)
    noise = mechanism.noise_variance / mechanism.bound**2
    # Entries of a matrix by 4 bases, each told by a fourth, and half as often again by the pairs.
    variance = (noise * 3.0**2 * 4 + 2) * 4 / 2
    cost = lambda p: p + 15 * variance / (p * n)  # noqa: E731
    assert cost(share) < min(cost(1.1 * share), cost(share / 1.1))
    assert curvature_share(mechanism, 4 * n) == pytest.approx(share / 2)
