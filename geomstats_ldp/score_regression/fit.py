r"""Estimate from all messages of a collection in rounds: one regression of scores on query points.

In the chart at a centre c the mean message at query q, carried to c, is

.. math:: E z_q = A_q \beta,\qquad \beta = (g, K),

with g the gradient and K the Hessian of the population loss at c (`moments`). Weighted least
squares gives both. The estimate is a Newton step from the mean query point, hedged against the
error of the Hessian. See docs/theory/rounds.md for what is proved about it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.regions import project
from geomstats_ldp.score_regression.answers import Answers, pooled_covariance
from geomstats_ldp.score_regression.blocks import (
    basis_within,
    blocks_of,
    possible_hessians,
    rows_of_error,
    usable_hessian,
)
from geomstats_ldp.score_regression.chart import Chart
from geomstats_ldp.score_regression.curvature import known_apart, told_curvature
from geomstats_ldp.score_regression.following import bias_of_following
from geomstats_ldp.score_regression.hessian_error import mean_product

if TYPE_CHECKING:
    from geomstats_ldp.protocol import Protocol
    from geomstats_ldp.score_regression.state import RoundState

#: Charts through which an estimate is brought, each about the estimate before.
_N_CHARTS = 3

#: Share of the expected square error of the Hessian against which the step is hedged. A full share
#: minimises the error of one step; but then centres approach a far target too slowly.
HEDGE = 0.25


@dataclass(frozen=True, eq=False)
class ScoreFit:
    """Estimate and what its covariance is made of, in coordinates of the public frame.

    Attributes
    ----------
    point : array, shape [*point_shape]
        The estimate, in the working region.
    n_participants : int
        Messages it is made from.
    precision : array, shape [n_groups]
        Of one message of each group of participants, one on average; zero for groups of which too
        few have answered.
    score_covariance : array, shape [dim, dim]
        Covariance of one released score, pooled within query points, above the known noise. With
        groups of participants, that of a score of average precision: n of these would tell as much.
    raw_hessian : array, shape [dim, dim]
        Hessian by least squares.
    hessian_bias : array, shape [dim, dim]
        What of it comes from centres that follow the noise; see `bias_of_following`.
    hessian : array, shape [dim, dim]
        The same less its bias, shrunk by its noise and with eigenvalues in their public range.
    errors : array, shape [n_blocks, 2]
        Expected squared Frobenius norms of its error in each block on its diagonal: of the mean
        eigenvalue, and of the deviatoric part. Where one query is asked, all is in the second.
    information : array, shape [dim, dim]
        Inverse covariance, in units of the score variance, of the gradient at the mean query point,
        by the noise of the messages.
    told_covariance : array, shape [dim, dim]
        What a moment that other people have told adds to the covariance of that gradient.
    gram : array, shape [n_basis, n_basis]
        Information about the Hessian, in the same units.
    offset : array, shape [dim]
        Mean query point less the estimate.
    leftover : array, shape [dim]
        Gradient that the hedged step leaves to go.
    hessian_floor, hessian_bound : float
        Bounds between which the eigenvalues of the Hessian were put.
    hessian_floor_active, hessian_bound_active : bool
        Whether the vanishing floor or the public bound L_H moved an eigenvalue.
    is_cut : bool
        Whether the last step was shortened, or the estimate put back into the working region.
    hessian_covariance : array, shape [n_basis, n_basis], or None
        Covariance of the Hessian in the basis of `symmetric_basis`, where rounds ask for curvature:
        its error is then counted entry by entry.
    """

    point: np.ndarray
    n_participants: int
    precision: np.ndarray
    score_covariance: np.ndarray
    raw_hessian: np.ndarray
    hessian_bias: np.ndarray
    hessian: np.ndarray
    errors: np.ndarray
    information: np.ndarray
    told_covariance: np.ndarray
    gram: np.ndarray
    offset: np.ndarray
    leftover: np.ndarray
    hessian_floor: float
    hessian_bound: float
    hessian_floor_active: bool
    hessian_bound_active: bool
    is_cut: bool
    hessian_covariance: np.ndarray | None = None

    @property
    def hessian_error(self) -> float:
        """Expected squared Frobenius norm of the error of the Hessian."""
        return float(np.sum(self.errors))

    @property
    def is_hessian_told(self) -> bool:
        """Whether scores tell all of the Hessian: it takes answers at points all around.

        Otherwise the ridge puts what they leave open to zero, with hardly any noise.
        """
        return bool(np.linalg.matrix_rank(self.gram, hermitian=True) == len(self.gram))


def fit_scores(
    protocol: Protocol,
    state: RoundState,
    points: np.ndarray,
    twin: tuple | None = None,
    for_region: bool = True,
) -> ScoreFit | None:
    """Estimate from the sums of a collection in rounds.

    Parameters
    ----------
    protocol : Protocol
        With rounds.
    state : RoundState
    points : array, shape [n_opened, n_directions, *point_shape]
        See `query_points`.
    twin : NamedTuple, optional
        Twin of the geometry, for the compiled engine.
    for_region : bool
        Otherwise the Hessian keeps its bias, which the estimate does not depend on.

    Returns
    -------
    fit : ScoreFit or None
        None while too few have answered to tell a score from its noise; the estimate is then the
        centre of the last round.
    """
    answers = Answers(protocol, state, points)
    if answers.n == 0:
        return None
    curvature = told_curvature(protocol, state)
    center, weights, fit = state.centers[-1], np.ones(state.n_opened), None
    for number in range(_N_CHARTS):
        is_unbiased = for_region and number == _N_CHARTS - 1
        fit = _fit_in_chart(protocol, answers, center, weights, twin, is_unbiased, curvature)
        center = fit.point
        if protocol.rounds.moment is None:
            weights = bending_weights(protocol, answers, state.centers, fit)
    return fit


def bending_weights(protocol, answers, centers, fit):
    """Weights of rounds, shape [n_opened]: less where the linear term was taken too far away.

    A score that is linear only to first order is off by about b = D^2 / (2 l) at distance D, in
    units of the parameter, with l the length over which it bends. A round with this bias and the
    share of its own of the variance tr(Xi) / n errs least with weight 1 / (1 + n b^2 / tr Xi).
    """
    distances = protocol.geometry.dist(fit.point, centers)
    bias = distances**2 / (2 * protocol.rounds.bending_length)
    inverse = np.linalg.inv(fit.hessian)
    spread = np.trace(inverse @ fit.score_covariance @ inverse)
    weights = 1 / (1 + answers.n * bias**2 / spread)
    return weights / weights[answers.rounds].max()


def _fit_in_chart(protocol, answers, center, round_weights, twin, is_unbiased, curvature=()):
    """Least squares and one hedged step in the chart at `center`.

    `curvature` is from `told_curvature`. With `is_unbiased` the bias that the centres leave is
    taken off the Hessian, after the step.
    """
    rule, dim = protocol.inference, protocol.dim
    weights = round_weights[answers.rounds]
    basis, fixed = possible_hessians(protocol.geometry, protocol.rounds.moment, rule)
    chart = Chart(protocol, answers, center, basis, fixed, twin)
    covariance = pooled_covariance(protocol, answers, weights, chart.scatter)
    variance = float(np.trace(covariance)) / dim
    share = answers.counts * answers.precision * weights
    pull = third_derivative_weight(protocol, variance)
    known = known_apart(protocol, curvature, center, basis, variance, round_weights)
    estimate, own, told, gram, penalty = _least_squares(
        chart, pull, share, weights, rule, variance, answers.n, known
    )
    raw = fixed + np.einsum("k,kij->ij", estimate[dim:], basis)
    noise = variance * (own + told)[dim:, dim:]
    hessian, errors, bounds = usable_hessian(protocol, raw, noise, basis, answers.n)
    # From the mean query point, where the gradient is least tied to the error of the Hessian.
    counted = share
    if protocol.rounds.saturation > 0:
        counted = intercept_weights(share, chart.bend, pull)
    pivot = counted @ chart.coords / counted.sum()
    gradient = estimate[:dim] + raw @ pivot
    by_entry, blocks = protocol.rounds.curvature_rounds is not None, blocks_of(rule, dim)
    rows = rows_of_error(errors.sum(axis=1), blocks)
    step = hedged_step(hessian, mean_product(noise, np.eye(dim)) if by_entry else rows)
    target = pivot - step @ gradient
    point, is_cut = _move(protocol, center, target, twin)
    offset = pivot - target
    bias = np.zeros((dim, dim))
    if is_unbiased and rule.hessian != "raw":
        steps = partial(_step_by_noise, hessian, basis, blocks)
        bias = bias_of_following(protocol, answers, chart, known, weights, penalty, variance, steps)
        hessian, errors, bounds = usable_hessian(protocol, raw - bias, noise, basis, answers.n)
    at_pivot = np.concatenate([np.eye(dim), np.einsum("kij,j->ik", basis, pivot)], axis=1)
    return ScoreFit(
        point=point,
        n_participants=answers.n,
        precision=answers.group_precision,
        score_covariance=covariance,
        raw_hessian=raw,
        hessian_bias=bias,
        hessian=hessian,
        errors=errors,
        information=np.linalg.inv(at_pivot @ own @ at_pivot.T),
        told_covariance=variance * at_pivot @ told @ at_pivot.T,
        gram=gram,
        offset=offset,
        leftover=hessian @ (offset - step @ hessian @ offset),
        is_cut=is_cut,
        hessian_covariance=noise if by_entry else None,
        **bounds,
    )


def hedged_step(hessian, square):
    """Matrix by which a step multiplies the gradient, shape [dim, dim].

    `square` is the expected square of the error of the Hessian, shape [dim, dim], or the diagonal
    of that where it is diagonal: the expected squared error of each row, a number where all are
    alike.
    """
    square = square if np.ndim(square) == 2 else square * np.eye(len(hessian))
    return hessian @ np.linalg.inv(hessian @ hessian + HEDGE * square)


def _step_by_noise(hessian, basis, blocks, noise):
    """Step for a Hessian whose coefficients have a covariance, shape [n_basis, n_basis]."""
    errors = []
    for block in blocks:
        own = basis_within(basis, block)
        errors.append(np.trace(noise[np.ix_(own, own)]))
    return hedged_step(hessian, rows_of_error(errors, blocks))


def intercept_weights(share, bend, pull):
    r"""Weights with which the mean messages of query points make the gradient at the pivot.

    They are the shares s_q where the third derivative is taken for zero. As a random effect of
    precision `pull`, with the columns x_q I, it takes its part of what wide queries say:
    s_q (1 - kappa x_q) with kappa = sum s x / (sum s x^2 + pull). See docs/theory/rounds.md.
    """
    if bend.shape[2] == 0:
        return share
    shift = bend[:, 0, 0]
    return share * (1 - shift * (share @ shift) / (share @ shift**2 + pull))


def third_derivative_weight(protocol, variance):
    """Precision of the mean third derivative by its public size, in units of `variance`."""
    size = protocol.rounds.third_derivative
    return 0.0 if size == 0 else variance / size**2


def _least_squares(chart, pull, share, weights, rule, variance, n, known):
    """Gradient and Hessian, ridged or pulled to a public prior, with their covariance.

    The third derivative, with the columns `bend` of the chart, is a random effect of precision
    `pull`, and `known` is as `knowledge` gives it.

    Returns
    -------
    estimate : array, shape [dim + n_basis]
    own, told : array, shape [dim + n_basis, dim + n_basis]
        Covariance by the noise of the messages, and by that of what is known, in units of the
        variance of a coordinate of one score.
    gram : array, shape [n_basis, n_basis]
        Information about the Hessian when the gradient is unknown.
    penalty : array, shape [dim + n_basis + n_bends]
        What was added to the diagonal of the normal equations.
    """
    design, bend, means, basis = chart.design, chart.bend, chart.means, chart.basis
    dim, n_kept = means.shape[1], design.shape[2]
    slopes, bends = slice(dim, n_kept), slice(n_kept, n_kept + bend.shape[2])
    # Offsets in units of their own size: no unit of the data decides what is taken for zero.
    size = math.sqrt(np.mean(design[:, :, dim:] ** 2) / np.mean(design[:, :, :dim] ** 2)) or 1.0
    units = np.repeat([1.0, size, size**2], [dim, len(basis), bend.shape[2]])
    rows = np.concatenate([design, bend], axis=2).reshape(-1, len(units)) / units
    weighted = rows * np.repeat(share, dim)[:, None]
    normal, moments = weighted.T @ rows, weighted.T @ means.ravel()
    mixed = np.linalg.lstsq(normal[:dim, :dim], normal[:dim, slopes], rcond=None)[0]
    gram = normal[slopes, slopes] - normal[slopes, :dim] @ mixed
    weight = rule.ridge * np.trace(gram) / len(gram) / math.sqrt(n)
    if rule.prior_hessian is not None:
        prior = variance / rule.prior_sd**2
        middle = np.einsum("kij,ij->k", basis, np.array(rule.prior_hessian))
        moments[slopes] += prior / size * middle
        weight += prior / size**2
    meat = (weighted * np.repeat(weights, dim)[:, None]).T @ rows
    kept = slice(n_kept)
    informed = known.information / np.outer(units[kept], units[kept])
    normal[kept, kept] += informed
    noise = known.noise / np.outer(units[kept], units[kept])
    moments[kept] += known.values / units[kept]
    random = pull / size**4 * np.eye(bend.shape[2])
    normal[slopes, slopes] += weight * np.eye(len(gram))
    normal[bends, bends] += random
    meat[bends, bends] += random
    inverse = np.linalg.pinv(normal, hermitian=True)
    outer = (inverse / units[:, None])[kept]
    own, told = outer @ meat @ outer.T, outer[:, kept] @ noise @ outer[:, kept].T
    penalty = np.repeat([0.0, weight * size**2, pull], [dim, len(basis), bend.shape[2]])
    return outer @ moments, own, told, gram * size**2, penalty


def _move(protocol, center, coords, twin):
    """Point with given coordinates in the chart, not farther than the region is wide, and in it."""
    geometry, region = protocol.geometry, protocol.working_region
    length = float(np.linalg.norm(coords))
    is_cut = length > region.radius
    if is_cut:
        coords = coords * (region.radius / length)
    step, geometry = (step_inside, geometry) if twin is None else (_compiled_step_inside, twin)
    scratch, spare, point, out = _buffers(protocol)
    # Where scores are linear at any distance, an estimate may be where nobody is asked.
    room = 0.0 if protocol.rounds.moment == "quadratic" else _room(protocol)
    moved = step(region, geometry, room, center, coords, scratch, spare, point, out)
    return (out, True) if moved else (point, is_cut)


def step_inside(region, geometry, room, center, coords, vectors, spare, point, out):
    """Step from a centre to `point`, and project it to the region; runs in both engines.

    Returns whether `point` was outside, and the answer is in `out`.
    """
    dispatch.lift(geometry, coords, center, vectors[0])
    dispatch.exp(geometry, vectors[0], center, point)
    return project(region, geometry, room, point, vectors, spare, out)


_compiled_step_inside = cached_njit(step_inside, allocates=False)


def into_region(protocol, point):
    """Nearest point from which queries may be made; the point itself if they may from it."""
    region, room = protocol.working_region, _room(protocol)
    scratch, spare, _, out = _buffers(protocol)
    moved = project(region, protocol.geometry, room, point, scratch, spare, out)
    return out if moved else point


def _room(protocol):
    """Distance that iterates keep from the edge of the working region."""
    return protocol.reach if protocol.working_region.holds_queries else 0.0


def _buffers(protocol):
    """Scratch of `step_inside`, and room for its two points."""
    shape, dim = protocol.geometry.shape, protocol.dim
    return np.zeros((2, *shape)), np.zeros(dim), np.empty(shape), np.empty(shape)
