"""The regression of the baselines against plain least squares."""

import numpy as np
import pytest

from geomstats_ldp.exceptions import NotReadyError
from geomstats_ldp.replication.baselines.recursion import add_row, make_checkpoints
from geomstats_ldp.replication.baselines.regression import (
    fit_regression,
    fit_sandwich,
    ridge_weight,
)


def rows(n=200, dim=3, seed=0):
    """Displacements and scores with means far from zero, so that centring matters."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(n, dim)) * [0.1, 1.0, 3.0][:dim] + 5.0
    slope = rng.normal(size=(dim, dim))
    return w, w @ slope.T - 2.0 + rng.normal(size=(n, dim))


def summed(w, z):
    sums = make_checkpoints([0], [0], (w.shape[1],), w.shape[1]).sums
    for displacement, score in zip(w, z):
        add_row(sums, 0, displacement, score)
    return sums


def test_sums_are_centred_products():
    w, z = rows()
    sums = summed(w, z)
    w, z = w - w.mean(axis=0), z - z.mean(axis=0)
    np.testing.assert_allclose(sums.products[0], [w.T @ w, z.T @ w, z.T @ z], rtol=0, atol=1e-9)
    assert sums.n_rows[0] == len(w)


def test_sums_survive_a_large_mean():
    """Plain sums of squares would lose every digit here."""
    w, z = rows()
    far, near = summed(w + 1e7, z), summed(w, z)
    # w + 1e7 itself is rounded to 1e-9 relative to its spread
    np.testing.assert_allclose(far.products, near.products, rtol=1e-6, atol=1e-4)


def test_without_ridge_it_is_least_squares_with_an_intercept():
    w, z = rows()
    fitted = fit_regression(len(w), *summed(w, z).products[0], ridge=0.0)
    design = np.column_stack([np.ones(len(w)), w])
    coefficients = np.linalg.lstsq(design, z, rcond=None)[0]
    residual = z - design @ coefficients
    np.testing.assert_allclose(fitted.slope, coefficients[1:].T, rtol=0, atol=1e-9)
    expected = residual.T @ residual / (len(w) - w.shape[1] - 1)
    np.testing.assert_allclose(fitted.residual_covariance, expected, rtol=0, atol=1e-9)


def test_the_ridge_is_rows_of_zeros_added_to_least_squares():
    w, z = rows()
    ridge = 7.0
    fitted = fit_regression(len(w), *summed(w, z).products[0], ridge=ridge)
    dim = w.shape[1]
    # An unpenalised intercept is the same as centring; the penalty is a row sqrt(ridge) e_j -> 0.
    centred, target = w - w.mean(axis=0), z - z.mean(axis=0)
    design = np.vstack([centred, np.sqrt(ridge) * np.eye(dim)])
    slope = np.linalg.lstsq(design, np.vstack([target, np.zeros((dim, dim))]), rcond=None)[0].T
    residual = target - centred @ slope.T
    np.testing.assert_allclose(fitted.slope, slope, rtol=0, atol=1e-9)
    expected = residual.T @ residual / (len(w) - dim - 1)
    np.testing.assert_allclose(fitted.residual_covariance, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(fitted.gram, centred.T @ centred, rtol=0, atol=1e-9)


def test_too_few_rows_are_refused():
    w, z = rows(n=4)
    with pytest.raises(NotReadyError, match="holds 4 participants and needs at least 5"):
        fit_regression(4, *summed(w, z).products[0], ridge=0.1)


def test_ridge_weight_is_that_of_the_paper():
    assert ridge_weight(np.diag([2.0, 4.0]), 100) == pytest.approx(0.1 * (1 + 3.0), rel=1e-15)


def sandwich_of(hessian, covariance, n_participants=10_000, n_estimate=5_000):
    """Sandwich of a regression with a prescribed slope and residual covariance."""
    dim, n_rows = len(hessian), 5_000
    gram = 10.0 * np.eye(dim)
    scatter = covariance * (n_rows - dim - 1) + hessian @ gram @ hessian.T
    regression = fit_regression(n_rows, gram, hessian @ gram, scatter, ridge=0.0)
    return fit_sandwich(regression, 3.0, n_participants, n_estimate)


def test_sandwich_is_divided_by_the_participants_behind_the_estimate():
    hessian = np.array([[2.0, 0.3], [-0.1, 1.0]])
    covariance = np.array([[1.5, 0.2], [0.2, 0.7]])
    fitted = sandwich_of(hessian, covariance)
    symmetric = np.array([[2.0, 0.1], [0.1, 1.0]])
    inverse = np.linalg.inv(symmetric)
    np.testing.assert_allclose(fitted.hessian, symmetric, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        fitted.covariance, inverse @ covariance @ inverse / 5_000, rtol=1e-10
    )
    assert not fitted.hessian_floor_active
    assert not fitted.hessian_bound_active


def test_eigenvalues_are_put_between_the_floor_and_the_bound():
    fitted = sandwich_of(np.diag([-0.4, 5.0]), np.diag([2.0, -1e-3]))
    floor = 10_000**-0.25
    np.testing.assert_allclose(fitted.hessian, np.diag([floor, 3.0]), rtol=0, atol=1e-12)
    assert fitted.hessian_floor_active
    assert fitted.hessian_bound_active
    # the projection to positive semidefinite matrices, then min(1e-8, 1 / 5000)
    assert np.linalg.eigvalsh(fitted.score_covariance)[0] == pytest.approx(1e-8, rel=1e-6)


def test_the_floor_never_exceeds_the_bound():
    fitted = sandwich_of(np.eye(2), np.eye(2), n_participants=10, n_estimate=5)
    assert fitted.hessian_floor == pytest.approx(10**-0.25)
    regression = fitted.regression
    small = fit_sandwich(regression, 0.2, 10, 5)
    assert small.hessian_floor == 0.2
    np.testing.assert_allclose(small.hessian, 0.2 * np.eye(2), rtol=1e-12)
