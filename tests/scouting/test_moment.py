"""What scouts tell of a moment: its error by their own messages, and the start that follows."""

import math

import numpy as np
import pytest
from scipy.stats import special_ortho_group

from geomstats_ldp import PrivatePCA, PrivateVMFLocation
from geomstats_ldp.emulation_in_rounds import emulate_in_rounds
from geomstats_ldp.exceptions import NotReadyError
from geomstats_ldp.score_regression.moments import symmetric_basis
from geomstats_ldp.scouting.moment import (
    scouted_moment,
    squared_angle_of_leading,
    squared_angle_of_mean,
)
from geomstats_ldp.server import make_server

TURN = special_ortho_group.rvs(3, random_state=3)


def rows_in_a_plane(n, rng):
    """Unit rows at 35 degrees on either side of an axis, in one plane."""
    angle = math.radians(35) * rng.choice([-1, 1], size=n)
    return np.stack([np.cos(angle), np.sin(angle), np.zeros(n)], axis=1) @ TURN


def normal_rows(n, rng):
    return rng.normal(size=(n, 3)) * [3.0, 2.0, 1.0]


def start_of(model=PrivatePCA, **parameters):
    values = {"initial_point": "scout", "n_rounds": 5, "epsilon": 8.0, **parameters}
    return model(**values).scout_plan(3).start


def told_by(start, rows, seed):
    server = make_server(start)
    emulate_in_rounds(server, rows, seed)
    return scouted_moment(start, server.state)


def coordinates(moments):
    """Of second moments; a mean is its own."""
    if moments.ndim == 2:
        return moments
    return np.tensordot(moments, symmetric_basis(3, False), axes=([1, 2], [1, 2]))


CASES = {
    "plane, epsilon 4": (start_of(epsilon=4.0), rows_in_a_plane),
    "plane, epsilon 8": (start_of(), rows_in_a_plane),
    "normal, epsilon 2": (start_of(norm_bound=2.0, epsilon=2.0), normal_rows),
    "one length, l2_ball": (start_of(norm_bound="scout", mechanism="l2_ball"), normal_rows),
    "mean": (start_of(PrivateVMFLocation), rows_in_a_plane),
}


@pytest.mark.parametrize(
    "name",  # another mechanism compiles
    [pytest.param(name, marks=[pytest.mark.slow] * ("l2_ball" in name)) for name in CASES],
)
def test_the_stated_covariance_is_that_of_simulated_scouts(name):
    (start, draw), n_times = CASES[name], 120
    rng, told = np.random.default_rng(0), []
    for seed in range(n_times):
        told.append(told_by(start, draw(400, rng), seed))
    moments, stated = (np.array(part) for part in zip(*told))
    found, stated = np.cov(coordinates(moments).T), stated.mean(axis=0)
    variances = np.diag(found)
    error = np.sqrt((np.outer(variances, variances) + found**2) / n_times)
    # Above what is found by 2% as the inverse is to have no bias, and where noise is raised to what
    # is known of it.
    assert (np.abs(stated - found) < 4.5 * error + 0.05 * np.diag(variances)).all()


def test_the_error_where_rows_vary_in_one_plane():
    """Without noise it is that of one entry, whose mean is zero."""
    rng = np.random.default_rng(1)
    moment, covariance = told_by(start_of(epsilon=math.inf), rows_in_a_plane(20_000, rng), 0)
    c, s = math.cos(math.radians(35)), math.sin(math.radians(35))
    np.testing.assert_allclose(TURN @ moment @ TURN.T, np.diag([c**2, s**2, 0.0]), atol=0.02)
    entry = np.zeros((3, 3))
    entry[0, 1] = entry[1, 0] = math.sqrt(0.5)
    direction = coordinates((TURN.T @ entry @ TURN)[None])[0]
    np.testing.assert_allclose(
        direction @ covariance @ direction, 2 * (c * s) ** 2 / 20_000, rtol=1e-3
    )
    assert np.linalg.eigvalsh(covariance)[-2] < 1e-2 * np.linalg.eigvalsh(covariance)[-1]


@pytest.mark.parametrize("n", [1, 5, 8, 9])
def test_few_scouts_are_taken_for_as_vague_as_the_bound_allows(n):
    start = start_of()
    rng = np.random.default_rng(n)
    _, covariance = told_by(start, rows_in_a_plane(n, rng), n)
    _, most = told_by(start, rows_in_a_plane(1, rng), n)
    values = np.linalg.eigvalsh(n * covariance)
    highest = np.linalg.eigvalsh(most)[-1]
    assert values[-1] <= highest * (1 + 1e-9)
    if n <= 8:
        np.testing.assert_allclose(values, highest)


def test_nobody_has_told_anything():
    start = start_of()
    with pytest.raises(NotReadyError, match="nobody has answered"):
        scouted_moment(start, make_server(start).state)


def errors(covariance, n, size):
    factor = np.linalg.cholesky(covariance)
    return np.random.default_rng(2).normal(size=(n, size)) @ factor.T


@pytest.mark.parametrize("n_components", [1, 2])
def test_the_angle_by_which_eigenvectors_are_off(n_components):
    """Against those of the moment with simulated errors."""
    size, p = 10, 4
    factor = np.random.default_rng(1).normal(size=(size, size))
    covariance = 1e-6 * factor @ factor.T
    turn = special_ortho_group.rvs(p, random_state=5)
    moment = turn @ np.diag([1.0, 0.8, 0.5, 0.1]) @ turn.T
    kept = turn[:, :n_components]
    squares = []
    for error in errors(covariance, 4000, size):
        matrix = moment + np.tensordot(error, symmetric_basis(p, False), axes=1)
        found = np.linalg.eigh(matrix)[1][:, -n_components:]
        # The sum of squared sines of the principal angles.
        squares.append(n_components - np.sum((found.T @ kept) ** 2))
    expected = squared_angle_of_leading(moment, covariance, n_components, 2.5)
    tolerance = 4 * np.std(squares) / math.sqrt(len(squares))
    assert np.mean(squares) == pytest.approx(expected, abs=tolerance)
    assert squared_angle_of_leading(moment, 1e4 * covariance, n_components, 2.5) == math.inf


def test_eigenvalues_are_told_apart_by_the_error_of_their_difference():
    """Of (2, 0) and (0, 1) it has the variance c11 + c33 - 2 c13."""
    covariance = np.array([[0.3, 0.0, 0.1], [0.0, 1.0, 0.0], [0.1, 0.0, 0.4]])
    moment, error = np.diag([2.0, 1.0]), math.sqrt(0.3 + 0.4 - 2 * 0.1)
    assert squared_angle_of_leading(moment, covariance, 1, 1.001 / error) == math.inf
    found = squared_angle_of_leading(moment, covariance, 1, 0.999 / error)
    assert found == pytest.approx(1.0 / 2)  # of the entry off the diagonal, over the gap


def test_the_angle_by_which_a_mean_is_off():
    factor = np.random.default_rng(1).normal(size=(3, 3))
    covariance, mean = 1e-5 * factor @ factor.T, np.array([0.3, -0.4, 0.1])
    found = mean + errors(covariance, 4000, 3)
    cosine = found @ mean / np.linalg.norm(found, axis=1) / np.linalg.norm(mean)
    squares = np.arccos(np.minimum(cosine, 1.0)) ** 2
    tolerance = 4 * squares.std() / math.sqrt(len(squares))
    expected = squared_angle_of_mean(mean, covariance)
    assert squares.mean() == pytest.approx(expected, abs=tolerance)
    assert squared_angle_of_mean(np.zeros(3), covariance) == math.inf
