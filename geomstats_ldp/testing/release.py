"""Checks of the weights by which a mechanism is released on devices; see `Mechanism.weight`."""

from __future__ import annotations

import math

import numpy as np

from geomstats_ldp.testing.cases import require, require_at_most, require_close


def _points(case):
    numbers = np.random.default_rng(case.seed).integers(0, 2**64, case.n, dtype=np.uint64)
    return case.mechanism.candidate_points(numbers)


def _weights(case, points):
    """Weights of points under each input, shape [n_inputs, n]."""
    return np.stack([np.asarray(case.mechanism.weight(points, v)) for v in case.inputs])


def check_weight_range(case):
    """Every weight lies in [e^-eps, 1]: this alone is the guarantee, if the means agree."""
    mechanism = case.mechanism
    weights = _weights(case, _points(case))
    require(weights.shape[1:] == (case.n,), f"weight: expected shape [n]; got {weights.shape[1:]}")
    require(np.isfinite(weights).all(), "weight: expected numbers; got NaN or infinities")
    require_at_most(weights, 1.0, "weight")
    require_at_most(math.exp(-mechanism.epsilon) / weights, 1.0, "e^-epsilon over the weight")


def check_weight_mean(case):
    """The mean weight over the candidates is the same for all inputs, up to Monte Carlo error."""
    weights = _weights(case, _points(case))
    for vector, row in zip(case.inputs[1:], weights[1:]):
        difference = row - weights[0]
        case.require_mean(
            difference, np.array(0.0), f"mean weight of {vector} less that of {case.inputs[0]}"
        )


def check_candidates_are_unbiased(case):
    """The mean of what candidates stand for, by their weights, is the input; the support holds."""
    mechanism, points = case.mechanism, _points(case)
    vectors = mechanism.point_vector(points)
    lengths = np.linalg.norm(vectors, axis=-1)
    require_at_most(lengths, mechanism.support_radius * (1 + 1e-9), "length of a message")
    for vector, weights in zip(case.inputs, _weights(case, points)):
        weighted = (weights / weights.mean())[:, None] * (vectors - vector)
        case.require_mean(weighted, 0 * vector, f"centred mean of the candidates of {vector}")


def check_one_candidate(case):
    """`release_candidate` gives a 64-bit integer, and `candidate_vector` what it stands for."""
    mechanism = case.mechanism
    for vector in case.inputs:
        candidate = mechanism.release_candidate(vector)
        require(
            type(candidate) is int and 0 <= candidate < 2**64,
            f"release_candidate: expected an integer in [0, 2^64); got {candidate!r}",
        )
        expected = mechanism.point_vector(
            mechanism.candidate_points(np.array([candidate], dtype=np.uint64))
        )
        require_close(mechanism.candidate_vector(candidate), expected[0], 0.0, "candidate_vector")


CHECKS = (
    check_weight_range,
    check_weight_mean,
    check_candidates_are_unbiased,
    check_one_candidate,
)
