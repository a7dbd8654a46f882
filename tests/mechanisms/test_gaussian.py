"""The calibration of the Gaussian mechanism against its definition and independent references."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad

from geomstats_ldp.mechanisms import (
    Gaussian,
    analytic_gaussian_scale,
    gaussian_log_delta,
    make_mechanism,
    mechanism_from_spec,
)

EPSILONS = [1e-3, 0.03, 0.5, 1.0, 4.0, 30.0, 700.0]
DELTAS = [1e-12, 1e-6, 1e-2, 0.5, 0.999]


def exact_log_delta(scale, epsilon):
    """Balle and Wang's condition, subtracted with as many digits as it takes."""
    with mp.workdps(60 + int(epsilon)):  # e^eps Phi(-b) needs no more guard digits than eps
        s, e = mp.mpf(scale), mp.mpf(epsilon)

        def tail(z):
            return mp.erfc(z / mp.sqrt(2)) / 2

        return mp.log(tail(e * s - 1 / (2 * s)) - mp.exp(e) * tail(e * s + 1 / (2 * s)))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_log_delta_is_accurate(epsilon):
    for scale in [0.02, 0.1, 0.7, 0.999, 1.001, 3.0, 30.0, 1e3, 1e5]:
        if epsilon * scale > 100:
            continue  # log delta below -5000; the reference would need as many digits
        exact = exact_log_delta(scale, epsilon)
        error = abs(mp.mpf(gaussian_log_delta(scale, epsilon)) - exact)
        assert error < 1e-12 + 1e-14 * abs(exact), (scale, error)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 700.0])
def test_log_delta_has_its_limits_and_is_monotone(epsilon):
    scales = np.geomspace(1e-3, 1e4, 400)
    values = np.array([gaussian_log_delta(s, epsilon) for s in scales])
    assert np.isfinite(values).all()
    assert (np.diff(values) <= 0).all()
    assert values[0] == pytest.approx(0.0, abs=1e-9)
    assert values[-1] < -10.0


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_delta_is_never_exceeded_and_nearly_attained(epsilon, delta):
    mechanism = make_mechanism("gaussian", epsilon=epsilon, delta=delta, dim=2, bound=0.3)
    scale = mechanism.sigma / (2 * mechanism.bound)
    slack = mp.log(mp.mpf(delta)) - exact_log_delta(scale, epsilon)
    assert 0 <= slack < 1e-10


def test_reference_values():
    # 2G = 2, delta = 1e-6; solved with mpmath at 50 digits, rounded
    expected = {1.0: 8.44936, 2.0: 4.46095, 4.0: 2.38704, 8.0: 1.30587}
    for epsilon, sigma in expected.items():
        got = Gaussian(epsilon=epsilon, delta=1e-6, dim=2, bound=1.0).sigma
        assert got == pytest.approx(sigma, abs=5.1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0, 30.0, 300.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2, 0.5])
def test_agrees_with_dp_accounting(epsilon, delta):
    dp_accounting = pytest.importorskip("dp_accounting")
    if not hasattr(dp_accounting, "get_sigma_gaussian"):
        pytest.skip("the last release of dp-accounting for Python 3.9 has no such function")
    reference = dp_accounting.get_sigma_gaussian(epsilon, delta)
    # its root finder stops at an absolute 1e-12; ours stays 1e-11 below log delta
    assert analytic_gaussian_scale(epsilon, delta) == pytest.approx(reference, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (1.0, 1e-6), (4.0, 1e-2)])
def test_hockey_stick_divergence_of_the_stated_density_is_delta(epsilon, delta):
    """sup_A P(A|v) - e^eps P(A|w) = int (p_v - e^eps p_w)_+ = delta for antipodal v, w."""
    mechanism = Gaussian(epsilon=epsilon, delta=delta, dim=1, bound=1.3)

    def integrand(z):
        log_v = mechanism.log_density([z], [mechanism.bound])
        gap = log_v - mechanism.log_density([z], [-mechanism.bound]) - epsilon
        return np.exp(log_v) * -np.expm1(-gap) if gap > 0 else 0.0

    edge = epsilon * mechanism.sigma**2 / (2 * mechanism.bound)  # where the gap is 0
    total = quad(integrand, edge, edge + 12 * mechanism.sigma, epsabs=0, epsrel=1e-11)[0]
    assert total == pytest.approx(delta, rel=1e-8)
    assert total <= delta


def test_density_is_normal():
    mechanism = Gaussian(epsilon=1.0, delta=1e-3, dim=2, bound=1.0)
    z, v = np.array([1.0, -2.0]), np.array([0.1, 0.2])
    square = np.sum((z - v) ** 2) / mechanism.sigma**2
    expected = -0.5 * square - np.log(2 * np.pi * mechanism.sigma**2)
    assert mechanism.log_density(z, v) == pytest.approx(expected, rel=1e-13)


def test_classical_calibration():
    mechanism = Gaussian(epsilon=0.5, delta=1e-6, dim=2, bound=1.5, calibration="classical")
    assert mechanism.sigma == pytest.approx(3.0 * math.sqrt(2 * math.log(1.25e6)) / 0.5)
    analytic = Gaussian(epsilon=0.5, delta=1e-6, dim=2, bound=1.5)
    assert mechanism.sigma > analytic.sigma
    assert mechanism != analytic
    assert mechanism.to_spec()["calibration"] == "classical"
    assert mechanism_from_spec(mechanism.to_spec()) == mechanism
    assert exact_log_delta(mechanism.sigma / 3.0, 0.5) < math.log(1e-6)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.999])
@pytest.mark.parametrize("delta", [1e-12, 1e-3, 0.5, 0.99])
def test_classical_scale_is_private_and_larger(epsilon, delta):
    mechanism = Gaussian(epsilon=epsilon, delta=delta, dim=1, bound=0.5, calibration="classical")
    assert exact_log_delta(mechanism.sigma, epsilon) < math.log(delta)
    assert mechanism.sigma > analytic_gaussian_scale(epsilon, delta)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_classical_calibration_is_refused_where_it_is_not_proved(epsilon):
    with pytest.raises(ValueError, match="epsilon must be below 1 for calibration='classical'"):
        Gaussian(epsilon=epsilon, delta=1e-6, dim=2, bound=1.0, calibration="classical")


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="calibration must be one of"):
        Gaussian(epsilon=0.5, delta=1e-6, dim=2, bound=1.0, calibration="tight")
    with pytest.raises(ValueError, match="scale must be positive"):
        gaussian_log_delta(0.0, 1.0)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        gaussian_log_delta(1.0, math.nan)
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\)"):
        analytic_gaussian_scale(1.0, 0.0)
    with pytest.raises(ValueError, match=r"epsilon must be in \[1e-3, 700\]"):
        analytic_gaussian_scale(math.inf, 0.1)
