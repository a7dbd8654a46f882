r"""Checks of the guarantee, on the stated density, and of the density, on the messages.

The guarantee is :math:`P(R(v) \in A) \le e^\varepsilon P(R(w) \in A) + \delta`, for all inputs and
events. With p_v the density of R(v), the smallest delta for a pair is
:math:`\int (p_v - e^\varepsilon p_w)_+`, and it is zero when :math:`p_v \le e^\varepsilon p_w`.
"""

from __future__ import annotations

import math

import numpy as np

from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.testing.cases import ConformanceError, require, require_at_most

#: Shifts of the proposals towards the tail, in standard deviations of the noise.
_SHIFTS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


def check_privacy(case):
    """No pair of inputs is told apart better than (epsilon, delta) allows, by the density."""
    if case.mechanism.delta == 0.0:
        _check_density_ratio(case)
    else:
        _check_privacy_curve(case)


def _check_density_ratio(case):
    """Log densities of one message under all inputs differ by at most epsilon."""
    mechanism = case.mechanism
    rng = np.random.default_rng(case.seed)
    random = rng.normal(size=(8, mechanism.dim))
    random *= mechanism.bound / np.linalg.norm(random, axis=1, keepdims=True)
    inputs = np.concatenate([case.inputs, -case.inputs, 1e-12 * case.inputs, random, -random])
    outputs = case.messages[:, :400].reshape(-1, 1, mechanism.dim)
    table = np.asarray(mechanism.log_density(outputs, inputs))  # shape [outputs, inputs]
    require(
        np.isfinite(table).all(),
        "log_density: expected every message to be possible for every input; got infinities",
    )
    ratio = np.ptp(table, axis=1)
    limit = mechanism.epsilon + 1e-9
    require_at_most(ratio, limit, "log of the largest density ratio, epsilon")


def _check_privacy_curve(case):
    """Importance sampling of delta for pairs of inputs, with proposals that reach the tail."""
    mechanism, edge = case.mechanism, case.inputs[3]
    for v, w in ((edge, -edge), (-edge, edge), (edge, 0 * edge), (case.inputs[1], -edge)):
        samples = _excess(case, v, w)
        error = samples.std() / math.sqrt(len(samples))
        require_at_most(
            samples.mean() - case.largest_z * error,
            mechanism.delta,
            f"P(R(v) in A) - e^epsilon P(R(w) in A) for v={v}, w={w} "
            f"(Monte Carlo error {error:.2g}), delta",
        )


def _excess(case, v, w):
    """Weighted samples whose mean is the integral of (p_v - e^epsilon p_w)_+."""
    mechanism = case.mechanism
    along = (v - w) / np.linalg.norm(v - w) * math.sqrt(mechanism.noise_variance)
    shifts = np.multiply.outer(_SHIFTS, along)
    released = mechanism.release(v, mechanism.draw(case.n, make_streams(case.seed)))
    released = released + shifts[np.arange(case.n) % len(shifts)]
    proposals = [mechanism.log_density(released - shift, v) for shift in shifts]
    log_proposal = np.logaddexp.reduce(proposals, axis=0) - math.log(len(shifts))
    log_v, log_w = mechanism.log_density(released, v), mechanism.log_density(released, w)
    # Where p_v is zero the excess is, and the difference of two infinities means nothing.
    with np.errstate(invalid="ignore"):
        loss = np.where(np.isneginf(log_v), -np.inf, mechanism.epsilon + log_w - log_v)
        share = np.where(np.isneginf(log_v), 0.0, np.maximum(-np.expm1(loss), 0.0))
    return np.exp(log_v - log_proposal) * share


def check_density(case):
    """The messages follow the stated density, by reweighting.

    Let q be the mean of the densities of several inputs and Z a message of one of them at random.
    Then E p_v(Z)/q(Z) = 1, E Z p_v(Z)/q(Z) = v, and the second moments follow; the weights are
    bounded by the number of inputs, so that the Monte Carlo error is small.
    """
    mechanism, inputs = case.mechanism, case.inputs[:4]
    messages = case.messages[:4].reshape(-1, mechanism.dim)
    log_densities = np.array([mechanism.log_density(messages, v) for v in inputs])
    if np.isnan(log_densities).any():
        raise ConformanceError("log_density: expected numbers or -inf; got NaN")
    log_mean = np.logaddexp.reduce(log_densities, axis=0) - math.log(len(inputs))
    for vector, log_density in zip(inputs, log_densities):
        weights = np.exp(log_density - log_mean)
        case.require_mean(weights, np.array(1.0), f"weight of the density of {vector}")
        weighted = weights[:, None] * (messages - vector)
        case.require_mean(weighted, 0 * vector, f"centred mean of the density of {vector}")
        products = weighted[:, :, None] * (messages - vector)[:, None, :]
        stated = np.asarray(mechanism.noise_covariance(vector))
        case.require_mean(products, stated, f"covariance of the density of {vector}")


CHECKS = (check_privacy, check_density)
