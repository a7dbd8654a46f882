"""Eigenvalues of a second moment that is known up to a multiple of the identity."""

import numpy as np
import pytest

from geomstats_ldp.inference.spectrum import explained_variance, spectrum_of
from geomstats_ldp.score_regression import LearntMoment
from geomstats_ldp.score_regression.moments import symmetric_basis

VALUES = np.array([3.0, 1.5, 0.8, 0.3])
AXES = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
BASIS = symmetric_basis(4, False)
COVARIANCE = np.diag(np.linspace(1e-4, 3e-4, len(BASIS)))


def learnt_of(values=VALUES, k=2, covariance=COVARIANCE, shift=0.7):
    """A moment in all symmetric matrices, shifted by an unknown multiple of the identity."""
    moment = AXES @ np.diag(values + shift) @ AXES.T
    coefficients = np.einsum("mab,ab->m", BASIS, moment)
    return LearntMoment(coefficients, covariance, BASIS, AXES[:, :k] @ AXES[:, :k].T)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_unknown_trace_changes_no_component_and_no_excess(k):
    for shift in (0.0, 0.7, -5.0):
        spectrum = spectrum_of(learnt_of(k=k, shift=shift))
        np.testing.assert_allclose(spectrum.excess, VALUES[:k] - VALUES[k:].mean(), atol=1e-12)
        aligned = np.abs(np.sum(spectrum.components * AXES[:, :k].T, axis=1))
        np.testing.assert_allclose(aligned, 1.0, atol=1e-12)
        assert np.all(spectrum.components.max(axis=1) == np.abs(spectrum.components).max(axis=1))
        assert spectrum.ties == ()


def test_derivatives_of_excesses_are_those_of_eigenvalues():
    learnt, step = learnt_of(), 1e-6
    spectrum = spectrum_of(learnt)

    def excess(coefficients):
        """From all eigenvalues of the whole matrix, the subspace moving along."""
        values = np.linalg.eigvalsh(np.tensordot(coefficients, BASIS, axes=1))[::-1]
        return values[:2] - values[2:].mean()

    for m, unit in enumerate(np.eye(len(BASIS))):
        change = excess(learnt.coefficients + step * unit)
        change = change - excess(learnt.coefficients - step * unit)
        np.testing.assert_allclose(spectrum.jacobian[:, m], change / (2 * step), atol=1e-8)


@pytest.mark.parametrize("as_ratio", [False, True])
def test_a_known_trace_gives_eigenvalues_and_shares_with_their_covariance(as_ratio):
    learnt, total, error = learnt_of(), VALUES.sum(), 0.03
    found = explained_variance(spectrum_of(learnt), total, error**2, as_ratio)
    expected = VALUES[:2] / (total if as_ratio else 1.0)
    np.testing.assert_allclose(found.estimate, expected, atol=1e-12)
    rng, n = np.random.default_rng(1), 4000
    noise = rng.multivariate_normal(np.zeros(len(BASIS)), COVARIANCE, size=n)
    draws = []
    for change, trace in zip(noise, total + error * rng.normal(size=n)):
        values = np.linalg.eigvalsh(np.tensordot(learnt.coefficients + change, BASIS, axes=1))[::-1]
        values = values[:2] + (trace - values.sum()) / 4
        draws.append(values / (trace if as_ratio else 1.0))
    # A variance of 4000 normal numbers has a relative standard error of 2.2%; curvature of
    # eigenvalues adds less than the noise over the smallest gap, squared: under 1%.
    ratio = np.cov(np.transpose(draws)) / found.covariance
    np.testing.assert_allclose(np.diag(ratio), 1.0, atol=4 * 0.022 + 0.01)


@pytest.mark.parametrize(
    ("values", "ties"),
    [
        ([3.0, 2.99, 0.8, 0.3], (1,)),
        ([3.0, 0.805, 0.8, 0.3], (2,)),
        ([0.81, 0.805, 0.8, 0.3], (1, 2)),
        ([3.0, 1.5, 0.8, 0.8], ()),
    ],
)
def test_ties_within_the_subspace_and_at_its_edge_are_found(values, ties):
    """Ties outside of the subspace are of no account."""
    assert spectrum_of(learnt_of(np.array(values))).ties == ties
