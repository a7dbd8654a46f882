"""The mean score that the messages of a collection predict about its estimate."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import eigh

from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.spaces.spd_affine import SecondMomentChart
from geomstats_ldp.inference.moment_regression import predict_by_moment
from geomstats_ldp.inference.sandwich import pool_groups
from geomstats_ldp.score_regression import PredictedScore
from geomstats_ldp.score_regression.blocks import blocks_of
from geomstats_ldp.score_regression.shrinkage import spherical_part
from geomstats_ldp.server.recursion import N_PAIRS, OF_PAIRS, SQUARES_OF_PAIRS, State
from geomstats_ldp.server.regression import COMPLETE, CURRENT, sums_by_group

if TYPE_CHECKING:
    from geomstats_ldp.protocol import InferenceRule, Protocol

#: Relative error of the Hessian in its weakest direction above which a Wald region is not to be
#: relied on; chosen by the table of docs/weak_curvature.md.
LARGEST_ERROR = 0.15


def predict_pair_scores(state: State, protocol: Protocol) -> PredictedScore:
    """Prediction about the running average, from the state of a collection in pairs.

    Where scores are linear in a moment it is that of the exact regression of all messages on it,
    otherwise `predict_from_differences`.

    Parameters
    ----------
    state : State
    protocol : Protocol

    Returns
    -------
    prediction : PredictedScore

    Raises
    ------
    NotReadyError
        If too few participants have answered.
    """
    rule = protocol.inference
    low, high = rule.hessian_range or (0.0, math.inf)
    if rule.moment is None or low == high:
        return predict_from_differences(state, protocol)
    return predict_by_moment(state, protocol)


def predict_from_differences(state: State, protocol: Protocol) -> PredictedScore:
    r"""Prediction about the running average, by the half-differences of the pairs.

    It has the Hessian of the Wald region, before that is shrunk.

    The K pair averages U are scores at the iterates, with (weighted) mean :math:`\bar U` and
    covariance :math:`\Sigma / (2K)`; the regression of the half-differences takes them from the
    mean iterate to a point u, with no ridge or prior:

    .. math:: g(u) = \bar U + \hat H (u - p),\qquad
        \mathrm{Cov}\,g(u) \preceq \tfrac{1}{2K} \Sigma \{1 + K (u - p)^\top Q^{-1} (u - p)\},

    with p the mean of the iterates that were asked about.

    Parameters
    ----------
    state : State
    protocol : Protocol

    Returns
    -------
    prediction : PredictedScore

    Raises
    ------
    NotReadyError
        If too few participants have answered.
    """
    rule, n_pairs = protocol.inference, int(state.clock[N_PAIRS])
    pooled = pool_groups(state, protocol)
    inverse = np.linalg.inv(pooled.regression.gram)
    slope = pooled.sums.dx @ inverse
    totals, squares = state.weights[:, OF_PAIRS], state.weights[:, SQUARES_OF_PAIRS]
    covariance = pooled.mean_covariance(n_pairs, totals, squares)
    slope = (slope + slope.T) / 2
    growth = n_pairs * inverse * pooled.noise_ratio(covariance)
    covariance = covariance / (2 * n_pairs)
    if rule.hessian == "isotropic":
        slope, growth = spherical_part(slope), growth / protocol.dim
    slope, growth = _in_blocks(slope, growth, rule)
    pivot = _mean_iterate(state, protocol, n_pairs)
    parts = sums_by_group(state.sums, len(totals))
    average = sum(part.u[CURRENT] + part.u[COMPLETE] for part in parts) / totals.sum()
    return PredictedScore(average - slope @ pivot, slope, covariance, pivot, growth)


def _in_blocks(slope, growth, rule):
    """Slope and growth without what the Hessian is known not to have, and without known blocks.

    Offsets of tight frames have a Gram matrix that is a multiple of the identity: the regression
    of a block on its own offsets is the block of the whole regression.
    """
    slopes, growths = np.zeros_like(slope), np.zeros_like(growth)
    for block in blocks_of(rule, len(slope)):
        place = block.place
        if block.is_known:
            slopes[place, place] = block.rule.hessian_range[0] * np.eye(block.size)
        else:
            slopes[place, place], growths[place, place] = block.of(slope), block.of(growth)
    return slopes, growths


def _mean_iterate(state, protocol, n_pairs):
    """Mean of the iterates that pairs were asked about, in frame coordinates at the average.

    The average is that of the iterates after each step: the last one instead of the first.
    """
    geometry, ends = protocol.geometry, np.stack([protocol.initial_point, state.iterate])
    coords = geometry.coordinates(geometry.log(ends, state.average), state.average)
    return (coords[0] - coords[1]) * protocol.pairs_per_round / n_pairs


def chart_of_scores(protocol: Protocol) -> Geometry:
    """Geometry in whose frame coordinates scores are predicted.

    That of the protocol; but scores that are linear in a moment on the unit sphere are exactly, or
    up to the square of the score itself, linear in the coordinates of the projecting retraction,
    and those of a covariance matrix that is asked for at one point exactly in the matrix.

    Parameters
    ----------
    protocol : Protocol

    Returns
    -------
    geometry : Geometry
    """
    geometry, rounds = protocol.geometry, protocol.rounds
    moment = (rounds or protocol.inference).moment
    if moment == "covariance" and rounds is not None and rounds.query is not None:
        return SecondMomentChart(geometry.space, geometry.reference, geometry.basis)
    if moment is None or "projection" not in geometry.retractions:
        return geometry
    return Geometry(geometry.space, geometry.reference, geometry.basis, retraction="projection")


def weak_curvature(
    prediction: PredictedScore, hessian: np.ndarray, rule: InferenceRule
) -> tuple[float, np.ndarray]:
    """Direction in which the Hessian is known worst, and its relative error there.

    What is publicly known of the Hessian counts as one more measurement of it.

    Parameters
    ----------
    prediction : PredictedScore
    hessian : array, shape [dim, dim]
        As the sandwich has it.
    rule : InferenceRule

    Returns
    -------
    error : float
        Standard error over size.
    direction : array, shape [dim]
        Unit vector in frame coordinates.
    """
    found = [_weak_in_block(prediction, hessian, block) for block in blocks_of(rule, len(hessian))]
    return max(found, key=lambda one: one[0])


def _weak_in_block(prediction, hessian, block):
    """The same among the directions of one block, of which alone something may be known."""
    place = block.place
    part = replace(prediction, slope=prediction.slope[:, place], growth=block.of(prediction.growth))
    error, own = weakest_direction(part)
    direction = np.zeros(len(hessian))
    direction[place] = own
    spread = math.inf if block.rule.prior_sd is None else block.rule.prior_sd
    if block.rule.hessian_range is not None:
        # The mean square error of an estimate at the edge of the range.
        low, high = block.rule.hessian_range
        spread = min(spread, (high - low) / math.sqrt(3))
    if error == 0 or spread == 0:
        return 0.0, direction
    return 1 / math.hypot(1 / error, float(direction @ hessian @ direction) / spread), direction


def weakest_direction(prediction: PredictedScore) -> tuple[float, np.ndarray]:
    """Direction in which the Hessian is known worst, relative to its size.

    Parameters
    ----------
    prediction : PredictedScore

    Returns
    -------
    relative_error : float
        Standard error over size, both in units of the standard error of the score.
    direction : array, shape [dim]
        Unit vector in frame coordinates.
    """
    size = prediction.slope.T @ np.linalg.solve(prediction.covariance, prediction.slope)
    # Next to this positive definite matrix the growth is as it is.
    least = 1e-12 * np.trace(size) * np.eye(len(size))
    values, vectors = eigh((size + size.T) / 2, prediction.growth + least)
    direction = vectors[:, 0] / np.linalg.norm(vectors[:, 0])
    return (math.inf if values[0] <= 0 else float(1 / math.sqrt(values[0]))), direction
