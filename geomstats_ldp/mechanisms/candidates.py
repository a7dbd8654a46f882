r"""Release by candidate: a message is an integer that was drawn without looking at the datum.

A *candidate* is an integer c in [0, 2^64) from the operating system. The public generator below
turns it into a point U(c) of a sphere. A mechanism states a weight w(U(c), v) in [e^-eps, 1], and
the device sends the first candidate that it accepts, each with probability w. Then

.. math:: P(c \mid v) = w_v(c) / \sum_{c'} w_v(c'),

so that no rounding inside w can break the guarantee, and the number of candidates tried is
independent of the one that is sent. docs/theory/release_by_candidate.md has the lemma, its proof,
and the slack that `released_epsilon` keeps for the normalising sums.

The generator, so that another language gives the same points:

1. Block j = 0, 1, ... of candidate c is Philox4x32 with 10 rounds (Salmon et al. 2011) of the
   counter (j, 0, 0, 0) under the key (c mod 2^32, c div 2^32): four words x0, x1, x2, x3.
2. With h = x0 2^20 + (x1 div 2^12) and k = x2 2^20 + (x3 div 2^12), integers of 52 bits, block j
   gives r = sqrt(-2 log((2h + 1) 2^-53)) and a = 2 pi (2k + 1) 2^-53, and from them the
   normals g_(2j) = r cos(a) and g_(2j+1) = r sin(a).
3. The point is g/|g| for the first entries of g that are needed.

Steps 1 and 2 up to h and k are exact. Two implementations of log, cos and sin may differ in the
last digits of a point. That moves the vector of a message by its last digits, and cannot touch the
guarantee, which holds for the weight as the device computes it, whatever it is.

References
----------
Salmon, Moraes, Dror and Shaw (2011), Parallel random numbers: as easy as 1, 2, 3, SC11.
"""

from __future__ import annotations

import math
import os
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.validation import real_array

#: Largest epsilon of a device: a larger one protects nobody, and takes a million candidates.
LARGEST_EPSILON = 16.0

#: Candidates are integers below this.
N_CANDIDATES = 2**64

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_ROUNDS = 10
_LOW, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)

#: Candidates tried at once: the first time, and at most.
_FIRST_BLOCK, _LARGEST_BLOCK = 64, 4096


def philox4x32(counter, key):
    """Philox4x32 with 10 rounds, the counter-based generator of Random123.

    Counter and key are tuples of 4 and 2 arrays of uint64, shape [...], words below 2^32, and so is
    the result, of 4.
    """
    x0, x1, x2, x3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        first, second = _MULTIPLIERS[0] * x0, _MULTIPLIERS[1] * x2
        x0, x1 = (second >> _SHIFT) ^ x1 ^ k0, second & _LOW
        x2, x3 = (first >> _SHIFT) ^ x3 ^ k1, first & _LOW
        k0, k1 = (k0 + _KEY_STEPS[0]) & _LOW, (k1 + _KEY_STEPS[1]) & _LOW
    return x0, x1, x2, x3


def sphere_points(candidates: ArrayLike, width: int) -> np.ndarray:
    """Points of the unit sphere of R^width that the generator gives to candidates.

    Parameters
    ----------
    candidates : array of uint64, shape [n]
    width : int

    Returns
    -------
    points : array, shape [n, width]
    """
    x0, x1, x2, x3 = _candidate_blocks(candidates, -(-width // 2))
    radius = np.sqrt(-2.0 * np.log(_uniform(x0, x1)))
    angle = 2.0 * math.pi * _uniform(x2, x3)
    normals = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    normals = normals.reshape(len(normals), -1)[:, :width]
    return normals / np.sqrt(np.sum(normals * normals, axis=1, keepdims=True))


def candidate_words(candidates: ArrayLike, width: int) -> np.ndarray:
    """Words of 64 bits, shape [n, width], that the generator gives to candidates, shape [n].

    Words 2j and 2j + 1 are (x0, x1) and (x2, x3) of block j, the first of each high.
    """
    x0, x1, x2, x3 = _candidate_blocks(candidates, -(-width // 2))
    words = np.stack([(x0 << _SHIFT) | x1, (x2 << _SHIFT) | x3], axis=-1)
    return words.reshape(len(words), 2 * words.shape[1])[:, :width]


def _candidate_blocks(candidates, n_blocks):
    """Blocks of the generator, four words of shape [n, n_blocks], for candidates of shape [n]."""
    candidates = np.asarray(candidates, dtype=np.uint64)[:, None]
    blocks = np.arange(n_blocks, dtype=np.uint64)[None, :]
    zero = np.zeros_like(blocks)
    return philox4x32((blocks, zero, zero, zero), (candidates & _LOW, candidates >> _SHIFT))


def _uniform(high, low):
    """Midpoint (2k + 1) 2^-53 of the cell that the upper 52 bits of two words choose."""
    bits = (high << np.uint64(20)) | (low >> np.uint64(12))
    return (2.0 * bits.astype(np.float64) + 1.0) * 2.0**-53


def check_candidate(candidate):
    """Return a candidate as an int, or raise TypeError or ValueError."""
    if isinstance(candidate, bool) or not isinstance(candidate, Integral):
        raise TypeError(f"candidate must be an integer; got {type(candidate).__name__}")
    if not 0 <= candidate < N_CANDIDATES:
        raise ValueError("candidate must lie in [0, 2^64)")
    return int(candidate)


def released_epsilon(epsilon, dim):
    """Epsilon that the weights keep to, so that a message keeps to the nominal `epsilon` itself.

    It is smaller by the largest difference of the normalising sums: 2e-7 to 7e-7 at epsilon = 8 for
    dim = 1 to 30, 9e-6 to 4e-5 at 16.

    Notes
    -----
    By Bernstein's inequality, for all 2^(64 dim) vectors of doubles at once, with probability
    1 - 2^-63 over generators that give independent words to different candidates. The last term is
    for the 52 bits of a uniform and for the rounding of a weight.
    """
    log_vectors = 64.0 * (dim + 1) * math.log(2.0)
    deviation = math.sinh(0.5 * epsilon) * math.sqrt(2.0 * log_vectors / N_CANDIDATES)
    excess = math.exp(epsilon) * (log_vectors / (1.5 * N_CANDIDATES) + dim * 2.0**-48)
    relative = deviation + excess
    return epsilon - math.log1p(2.0 * relative / (1.0 - relative))


def draw_candidate(mechanism, vector, entropy=os.urandom):
    """Draw candidates until one is accepted, and return it.

    Parameters
    ----------
    mechanism : Mechanism
        With a `weight`.
    vector : array, shape [dim]
        Score in frame coordinates, finite.
    entropy : callable
        Returns a given number of bytes; by default from the operating system, which the guarantee
        needs.

    Notes
    -----
    How many candidates are tried is a geometric variate of mean 1/Z, with Z the mean weight, which
    is the same for all vectors. Never choose between inside and outside of a cap first: how long
    that takes depends on the choice.
    """
    least = math.ceil(math.exp(-released_epsilon(mechanism.epsilon, mechanism.dim)) * N_CANDIDATES)
    block = _FIRST_BLOCK
    while True:
        words = np.frombuffer(entropy(16 * block), dtype="<u8").astype(np.uint64)
        candidates, levels = words[:block], words[block:]
        weights = weights_of(mechanism, mechanism.candidate_points(candidates), vector)
        accepted = levels <= largest_levels(weights, least)
        if accepted.any():
            return int(candidates[np.argmax(accepted)])
        block = min(2 * block, _LARGEST_BLOCK)


def weights_of(mechanism, points, vector):
    """Weights of any mechanism: those of a zero score where it fails, and zeros where these do.

    Shape [n], for points of shape [n, candidate_width] and a score of shape [dim].
    """
    for score in (vector, np.zeros_like(vector)):
        try:
            weights = real_array("weights", mechanism.weight(points, score))
        except Exception:
            # To raise, here or in the person's program, would tell of the score.
            continue
        if weights.shape == points.shape[:1]:
            return weights
    return np.zeros(len(points))


def largest_levels(weights, least):
    """Largest 64-bit levels that accept a candidate: a weight times 2^64, less one, clamped.

    Whatever the weights are, NaN included, levels are in [least - 1, 2^64 - 1], so that a uniform
    one is at most as large with probability least / 2^64 to 1.
    """
    inner = np.where(weights > 0.0, np.minimum(weights, 1.0 - 2.0**-53), 0.0)
    accepting = np.maximum((inner * 2.0**64).astype(np.uint64), np.uint64(least))
    return np.where(weights >= 1.0, np.uint64(N_CANDIDATES - 1), accepting - np.uint64(1))
