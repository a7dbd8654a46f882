"""Covariance of the estimate of a collection in rounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from geomstats_ldp.exceptions import NotReadyError
from geomstats_ldp.inference.sandwich import SandwichEstimate
from geomstats_ldp.score_regression import ScoreFit, fewest_participants
from geomstats_ldp.score_regression.blocks import BOUNDS, blocks_of, rows_of_error
from geomstats_ldp.score_regression.fit import hedged_step
from geomstats_ldp.score_regression.hessian_error import guard_of_covariance, mean_product
from geomstats_ldp.score_regression.shrinkage import (
    clip_eigenvalues,
    guard_of_error,
    guard_of_parts,
    slope_error,
)

if TYPE_CHECKING:
    from geomstats_ldp.protocol import Protocol


def estimate_round_sandwich(fit: ScoreFit | None, protocol: Protocol) -> SandwichEstimate:
    r"""Sandwich covariance of the estimate by score regression.

    With u the mean query point less the estimate, l the gradient that the hedged step leaves, I the
    information about the gradient at the mean query point, T what the error of a moment that others
    have told adds to its covariance, and e^2 the expected squared error of the Hessian,

    .. math:: C = H_\gamma^{-1}\{\Sigma\,\tfrac1d\operatorname{tr} I^{-1} + T
        + \tfrac{2 e^2}{d (d + 1)} |u|^2 I + l l^\top\} H_\gamma^{-1},

    where :math:`H_\gamma` is the Hessian over the root of the guard, but no smaller than it is
    publicly known to be. Where the Hessian is block diagonal each block has its own e, u and guard.

    The second term is what the error of the Hessian makes of the distance over which the estimate
    is extrapolated, the third the bias of the hedge. No gain enters, and so no horizon. A raw
    Hessian, of a loss that knows nothing of its own, may be far off in weak directions. With it
    :math:`|u|^2` is the square distance of the mean query point to the target instead of that to
    the estimate: the square error that is expected of the estimate is added.

    Parameters
    ----------
    fit : ScoreFit or None
        As `fit_scores` gives it.
    protocol : Protocol

    Returns
    -------
    estimate : SandwichEstimate

    Raises
    ------
    NotReadyError
        If there is no fit, because too few have answered.
    """
    if fit is None:
        raise NotReadyError(
            f"a region takes {protocol.dim + 1} participants more than query points were answered, "
            f"{fewest_participants(protocol)} if all are in one round; too few "
            "participants have answered"
        )
    dim, blocks = protocol.dim, blocks_of(protocol.inference, protocol.dim)
    location = fit.score_covariance * np.trace(np.linalg.inv(fit.information)) / dim
    location = location + fit.told_covariance
    leftover = np.outer(fit.leftover, fit.leftover)
    if fit.hessian_covariance is None:
        score = _with_even_error(fit, protocol, blocks, location, leftover)
    else:
        score = location + leftover + _error_of_slope(fit, location + leftover)
    guard, slope = _guarded(fit, protocol, blocks)
    inverse = np.linalg.inv(slope)
    covariance = inverse @ score @ inverse
    return SandwichEstimate(
        regression=fit,
        hessian=fit.hessian,
        score_covariance=fit.score_covariance,
        covariance=(covariance + covariance.T) / 2,
        guard=float(guard),
        **{name: getattr(fit, name) for name in BOUNDS},
    )


def _with_even_error(fit, protocol, blocks, location, leftover):
    """Covariance of the score with an error of the Hessian that is spread evenly in each block."""
    of_rows = rows_of_error(fit.errors.sum(axis=1), blocks)
    sizes = [block.size for block in blocks]
    lengths = [np.sum(fit.offset[block.place] ** 2) for block in blocks]
    # Of the n (n + 1) / 2 free entries of a block each takes an even share of its error.
    entries = 2 * of_rows / (np.repeat(sizes, sizes) + 1)
    score = location + np.diag(entries * np.repeat(lengths, sizes)) + leftover
    if protocol.inference.hessian == "raw":
        step = hedged_step(fit.hessian, of_rows)
        score = score + np.trace(step @ score @ step) * np.diag(entries)
    return score


def _error_of_slope(fit, score):
    """What the error of the Hessian makes of the way to the target, where all entries are told.

    The way of which nobody knows counts too: the error that is expected of the estimate.
    """
    covariance = fit.hessian_covariance
    step = hedged_step(fit.hessian, mean_product(covariance, np.eye(len(score))))
    known = mean_product(covariance, np.outer(fit.offset, fit.offset))
    return known + mean_product(covariance, step @ (score + known) @ step.T)


def _guarded(fit, protocol, blocks):
    """Largest guard of a block, and the Hessian over the roots of the guards.

    It is no less than what the Hessian is known to be.
    """
    rule, asks_once = protocol.inference, protocol.rounds.query is not None
    guards, slope = [], np.zeros_like(fit.hessian)
    for block, errors in zip(blocks, fit.errors):
        hessian = block.of(fit.hessian)
        if asks_once or rule.guard is not None:
            # As for pairs, what counts is the error of the slope before it is made symmetric. One
            # query has no regression: its guard is against the bend of the logarithm.
            error = slope_error(float(errors.sum()), block.size)
            guard = guard_of_error(error, hessian, fit.hessian_floor, rule)
        elif fit.hessian_covariance is not None:
            guard = guard_of_covariance(fit.hessian_covariance, hessian, rule)
        else:
            guard = guard_of_parts(*errors, hessian, fit.hessian_floor, rule, protocol.dim)
        known = block.rule.hessian_range
        low = 0.0 if asks_once or known is None else known[0]
        slope[block.place, block.place] = clip_eigenvalues(hessian / math.sqrt(guard), low)
        guards.append(guard)
    return max(guards), slope
