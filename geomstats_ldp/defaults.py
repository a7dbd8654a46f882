"""Radius, gain and step cap from public numbers alone.

Nothing here looks at data: the rules read the dimension, the noise of the mechanism, the public
bounds of the loss, the size of the working region, the preconditioner and the planned number of
participants. Every length is relative to one of these, so that results do not depend on the unit
of the data. The constants were fixed on simulation designs of their own.

Words of all rules: `hessian_bound` is L_H, and `hessian` a typical eigenvalue of the Hessian, where
the loss knows better than L_H / 5. `length` is the scale over which the score bends: at most the
radius of the region, and at most the radius of curvature of the space (1 on the unit sphere).
`n_participants` is the planned number of people, None where nobody knows it. `third_derivative` and
`saturation` are what `Loss` states.
"""

from __future__ import annotations

import math

import numpy as np

from geomstats_ldp.mechanisms.checks import typical_variance
from geomstats_ldp.protocol.rules import GainRule, RadiusRule
from geomstats_ldp.schedules import gain_offset

#: Exponent of the gain, and largest step relative to the radius of curvature.
_GAIN_EXPONENT = 0.6
_LARGEST_STEP = 0.75

#: Largest mean square distance of the late iterates that noise may cause, relative to length^2.
_LARGEST_SPREAD = 0.03

#: The same where the Hessian is known not to be small: a smaller gain then averages well, and
#: targets close to the edge of the region are covered.
_LARGEST_SPREAD_KNOWN = 0.01

#: Least C n^(1 - a) p H of a run.
_FEWEST_MIXINGS = 8.0

#: Exponent of the radius, and the number of participants at which `_balanced_radius` applies.
_RADIUS_EXPONENT = 0.27
REFERENCE_PARTICIPANTS = 5000

#: Typical Hessian relative to its public bound L_H.
_TYPICAL_HESSIAN = 0.2

#: Relative finite-difference bias b (h / length)^2, and the largest h / length.
_BIAS = 1.0
_LARGEST_RADIUS = 0.4

#: The same where neither the space nor the loss says that the score bends, and the region is the
#: only length there is: regressions with bounded residuals, whose Hessians are far under their
#: bounds, want wide offsets.
_MILD_BIAS = 0.15

#: Rounds in which queries come closer by and by: first radius over the last of eight, the
#: exponent that takes it there, and the largest relative to the length.
_WIDENING, _WIDENING_EXPONENT = 2.3, 0.4
_LARGEST_WIDE_RADIUS = 0.5

#: The same where the first round alone is wide, and the loss does not say how its scores saturate.
_LARGEST_FIRST_RADIUS = 0.2

#: Where a loss says how its scores saturate: share of the rounds that are wide, of the people they
#: ask, a small Hessian over its bound, and the part of the saturation that is not known.
_WIDE_ROUNDS, _WIDE_SHARE = 3 / 8, 1 / 5
_SMALL_HESSIAN, _UNKNOWN_SATURATION = 1 / 20, 2 / 5

#: The same where the loss knows its Hessian: the queries need not reach far to find it, and the
#: score bound grows with their reach.
_LARGEST_RADIUS_KNOWN = 0.2

#: Where scores are linear at any distance and the Hessian is not known: radius of the queries, over
#: that of the region which holds them.
_FAR_SHARE = 3 / 4

#: Answers about curvature: norm to which they are clipped over the root of the dimension, and how
#: much longer regions are for the square of the relative error of the Hessian.
_CLIPPING, _COST_OF_ERRORS = 3.0, 15.0

#: Where the loss bends by itself, queries at distance h move the target by up to b h^2 / length.
#: That is kept under a share of a small standard error: of scores with this variance over G^2.
_SKEW = 0.3
_LARGEST_SHIFT = 0.5
_SMALL_SCORE_VARIANCE = 0.02

#: A large Hessian, for which standard errors are small, relative to a typical one.
_LARGE_HESSIAN = 2.5

#: Smoothing of a median: share of the radius of the data for one participant, and its exponent.
_SMOOTHING, _SMOOTHING_EXPONENT = 1 / 4, 1 / 3


def default_smoothing(data_radius, n_participants=None):
    """Scale of the pseudo-Huber loss whose centre stands for the geometric median.

    The bias that a scale rho leaves is of order rho^2 where the density of the data is smooth. It
    vanishes faster than the standard error, of order n^(-1/2), if rho does faster than n^(-1/4).
    """
    planned = REFERENCE_PARTICIPANTS if n_participants is None else n_participants
    return _SMOOTHING * data_radius * planned**-_SMOOTHING_EXPONENT


def largest_radius(length, is_hessian_known=False):
    """Largest query radius that `default_radius` may choose."""
    return length * (_LARGEST_RADIUS_KNOWN if is_hessian_known else _LARGEST_RADIUS)


def largest_step(region_radius, curvature_length):
    """Step cap: the radius of the region, on curved spaces at most 0.75 radii of curvature."""
    return min(region_radius, _LARGEST_STEP * curvature_length)


def default_gain(
    mechanism,
    hessian_bound,
    length,
    step_cap,
    preconditioner,
    n_participants=None,
    pairs_per_round=1,
    hessian=None,
):
    """Gain constant of at most 2 / (typical Hessian), as the noise allows, with an offset.

    Large gains forget the initial point and average well; but noise then drives the iterates far
    from the target, where the score bends. In the linear recursion their coordinates have
    variance C n^-a p Sigma / (2 H), with p the largest eigenvalue of the preconditioner. However
    strong the noise, the constant stays so large that C n^(1 - a) p H is 8: this many effective
    samples of the recursion average out in the run, and the initial point is forgotten.

    The offset keeps the noise of the first update within the step cap, as in the paper, and the
    first gain times L_H at most 1, so that no update overshoots, however many pairs share it.
    """
    largest = float(np.linalg.eigvalsh(preconditioner)[-1])
    largest_spread = _LARGEST_SPREAD if hessian is None else _LARGEST_SPREAD_KNOWN
    hessian = _TYPICAL_HESSIAN * hessian_bound if hessian is None else hessian
    planned = REFERENCE_PARTICIPANTS if n_participants is None else n_participants
    spread = mechanism.dim * largest * typical_variance(mechanism) / (2 * hessian)
    allowed = largest_spread * length**2 * planned**_GAIN_EXPONENT / spread
    smallest = _FEWEST_MIXINGS * planned ** (_GAIN_EXPONENT - 1) / (hessian * largest)
    constant = min(max(allowed, smallest), 2 / (hessian * largest))
    answers = 2 * pairs_per_round
    noise_scale = largest * math.sqrt(mechanism.noise_variance)
    offset = max(
        gain_offset(constant, _GAIN_EXPONENT, noise_scale, mechanism.dim, step_cap, answers),
        (answers * constant * largest * hessian_bound) ** (1 / _GAIN_EXPONENT) - answers,
    )
    return GainRule(constant, offset, _GAIN_EXPONENT, step_cap)


def widened_radius(rule, length, mechanism, third_derivative, n_participants):
    """Rule of rounds that ask from farther away at first, where the regression allows for it.

    Scores of wide queries tell the Hessian, those of narrow ones the gradient, and the two
    together how strongly the score bends. Eight rounds end with the radius of `rule`, or where a
    typical third derivative t moves the mean score by its standard error: h^2 t / 2 is that.
    """
    unmoved = _unmoved_radius(mechanism, third_derivative, n_participants)
    scale = _WIDENING * min(rule.scale, unmoved)
    return RadiusRule(min(scale, _LARGEST_WIDE_RADIUS * length), scale, _WIDENING_EXPONENT)


def wide_and_close_radius(mechanism, hessian_bound, length, saturation, n_participants, n_rounds):
    """Rule of rounds of which some ask from far away, for the Hessian, and others at the centre.

    With a part b = 2c/5 of the saturation c unknown, a Hessian H from n' people has a relative bias
    of b h^2 and a relative variance of v d / (n' h^2 H^2). The sum of squares is least at
    h^6 = v d / (2 n' b^2 H^2).

    No radius is larger than `length`.
    """
    n_asked = _WIDE_SHARE * n_participants
    variance = _small_variance(mechanism) * mechanism.dim
    noise = variance / (n_asked * (_SMALL_HESSIAN * hessian_bound) ** 2)
    balanced = (noise / (2 * (_UNKNOWN_SATURATION * saturation) ** 2)) ** (1 / 6)
    radius = min(balanced, length)
    return RadiusRule(radius, radius, 0.0, max(1, round(_WIDE_ROUNDS * n_rounds)))


def curvature_bound(dim):
    """Norm to which answers about curvature are clipped, in units in which each is one on average.

    Of d squares of normals, less their mean one, the root mean square norm is the root of 2 d.
    """
    return _CLIPPING * math.sqrt(dim)


def curvature_share(mechanism, n_participants):
    """Share of the people who are asked for curvature.

    With p n people whitened entries of the Hessian have a relative variance of r^2 = C / (p n),
    C = (s^2 tau^2 + 2) d / 2 with s the noise of the mechanism over its bound, tau that of the
    answers and 2 the variance of a square of a normal. Regions are longer by the people that are
    not asked for scores, p, and by a few times r^2: their sum is least at p = (c C / n)^(1/2).

    The share may be larger than one.
    """
    noise = mechanism.noise_variance / mechanism.bound**2 * curvature_bound(mechanism.dim) ** 2
    variance = (noise + 2) * mechanism.dim / 2
    return math.sqrt(_COST_OF_ERRORS * variance / n_participants)


def far_radius(region):
    """Rule of rounds whose scores are linear however far away, in a Hessian that nobody knows.

    Queries ask as far from the start as the region allows, and no farther, as scores are bounded
    by its size; their centres have the rest of it to follow the estimate.
    """
    return RadiusRule.fixed(_FAR_SHARE * region.in_radius)


def first_round_radius(mechanism, length, third_derivative, saturation, n_first):
    """Rule of rounds that ask at their centre, but for the first, which has to find a Hessian.

    A typical third derivative t moves the mean score by no more than its standard error in the
    first round: h^2 t / 2 is that. Where it is not known how scores saturate, queries are closer.

    `n_first` people answer in the first round.
    """
    largest = (_LARGEST_WIDE_RADIUS if saturation > 0 else _LARGEST_FIRST_RADIUS) * length
    if third_derivative > 0:
        largest = min(largest, _unmoved_radius(mechanism, third_derivative, n_first))
    return RadiusRule(largest, largest, 0.0, n_wide=1)


def _unmoved_radius(mechanism, third_derivative, n_participants):
    """Radius at which a third derivative t moves a mean score, by h^2 t / 2, by its error."""
    error = math.sqrt(_small_variance(mechanism) / n_participants)
    return math.sqrt(2 * error / third_derivative)


def _small_variance(mechanism):
    """Variance of a coordinate of a message of small scores."""
    return mechanism.noise_variance + _SMALL_SCORE_VARIANCE * mechanism.bound**2


def _balanced_radius(mechanism, hessian, length, bias):
    """Radius that balances bias and noise of the Hessian at the reference sample size.

    The relative bias of the central difference is b (h / l)^2, its relative variance
    v d / (L h^2 H^2) with v = Sigma / 2 and L = n / 2; the sum of squares is least at
    h^6 = l^4 (v d / (L H^2)) / (2 b^2).
    """
    variance = typical_variance(mechanism) * mechanism.dim
    noise = variance / (REFERENCE_PARTICIPANTS * hessian**2)
    return (length**4 * noise / (2 * bias**2)) ** (1 / 6)


def _unshifted_radius(mechanism, hessian, length):
    """Radius at the reference sample size that leaves the target where it is, next to the noise.

    The average of a pair has a bias of order h^2 times the third derivative of the population
    loss. That vanishes, or is small, for the smooth losses of the package; a loss that bends
    within its data makes it matter where these are few on one side.
    """
    error = math.sqrt(_small_variance(mechanism) / REFERENCE_PARTICIPANTS)
    return math.sqrt(_LARGEST_SHIFT * error / (_LARGE_HESSIAN * hessian) * length / _SKEW)


def default_radius(
    mechanism,
    hessian_bound,
    length,
    maximum,
    n_participants=None,
    hessian=None,
    loss_length=math.inf,
    bends=True,
):
    """Query radius: fixed c n^-0.27 for a planned n, else the same rule along the run.

    It is at most `maximum`, see `largest_radius`. `loss_length` is the distance over which the
    score changes its slope, whatever the curvature of the space. `bends` says whether the space or
    the loss has a length over which scores bend, or the Hessian is known.
    """
    hessian = _TYPICAL_HESSIAN * hessian_bound if hessian is None else hessian
    balanced = min(
        _balanced_radius(mechanism, hessian, length, _BIAS if bends else _MILD_BIAS),
        _unshifted_radius(mechanism, hessian, loss_length),
    )
    if n_participants is not None:
        shrink = (n_participants / REFERENCE_PARTICIPANTS) ** -_RADIUS_EXPONENT
        return RadiusRule.fixed(min(maximum, balanced * shrink))
    # Cycle c of 2d pairs ends with participant 4 d c.
    scale = balanced * (REFERENCE_PARTICIPANTS / (4 * mechanism.dim)) ** _RADIUS_EXPONENT
    return RadiusRule(maximum, scale, _RADIUS_EXPONENT)
