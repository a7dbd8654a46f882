"""The plan of the rounds of an estimator, from public arguments."""

from __future__ import annotations

from dataclasses import replace

from geomstats_ldp.defaults import REFERENCE_PARTICIPANTS, curvature_bound, curvature_share
from geomstats_ldp.losses.curvature import may_ask_for_curvature
from geomstats_ldp.protocol import InferenceRule, RoundPlan
from geomstats_ldp.protocol.groups import widest_mechanism
from geomstats_ldp.protocol.rounds import check_n_rounds, round_sizes, sizes_with_curvature
from geomstats_ldp.schedules import direction_cycle

#: Rounds that ask for curvature: the third, when scores have been asked for near the target, and
#: the fifth, which knows from the third what to ask, but not the last; and the fewest rounds of
#: such a plan. Curvature near the target with scores from far away makes steps too long.
_CURVATURE_ROUNDS, _FEWEST_ROUNDS = (2, 4), 5

#: Largest share of the people who are asked for curvature. Where this many would be wanted, noise
#: is too strong for it.
_LARGEST_SHARE, _FAR_TOO_MANY = 1 / 5, 2 / 5


def make_round_plan(n_rounds, n_participants, geometry, loss, length, tuning, make_mechanisms):
    """Plan of the rounds of an estimator, None for pairs.

    `length` is the scale over which scores bend, and `make_mechanisms` makes the mechanism of all
    participants, or those of the groups, for scores in the working region.

    Raises
    ------
    ProtocolError
        If the number of rounds does not suit.
    """
    query = loss.single_query(geometry) if _leaves_queries_open(tuning) else None
    moment = loss.moment(geometry)
    if moment == "covariance":
        # Pairs and regressions would be biased by how fast this score bends.
        moment, n_rounds = (moment, n_rounds or 1) if query is not None else (None, n_rounds)
    bend = loss.third_derivative(geometry)
    if n_rounds is None:
        return None
    n_rounds, sizes = check_n_rounds(n_rounds), None
    may_ask = n_rounds >= _FEWEST_ROUNDS and query is None and _leaves_queries_open(tuning)
    may_ask = may_ask and may_ask_for_curvature(loss, geometry)
    directions = direction_cycle(tuning.directions, geometry.dim)
    n_points = len(directions) if query is None else 1
    if n_participants is not None:
        # Two answers a query point tell a score from its noise.
        sizes = round_sizes(n_participants, n_rounds, 2 * n_points)
        may_ask = may_ask and len(sizes) == n_rounds
        n_rounds, n_points = len(sizes), min(n_points, *sizes)
    saturation = loss.saturation(geometry)
    plan = RoundPlan(n_rounds, sizes, n_points, moment, length, query, bend, saturation)
    return _asking_for_curvature(plan, make_mechanisms) if may_ask else plan


def _asking_for_curvature(plan, make_mechanisms):
    """The plan with rounds that ask for curvature; as it is where noise is too strong for these."""
    mechanism, sizes = widest_mechanism(make_mechanisms()), plan.sizes
    share = curvature_share(mechanism, plan.n_participants or REFERENCE_PARTICIPANTS)
    if share > _FAR_TOO_MANY:
        return plan
    numbers = tuple(number for number in _CURVATURE_ROUNDS if number < plan.n_rounds - 1)
    if sizes is not None:
        share = min(share, _LARGEST_SHARE)
        sizes = sizes_with_curvature(sizes, numbers, share, 2 * plan.minimum)
    return replace(
        plan,
        sizes=sizes,
        curvature_rounds=numbers,
        curvature_bound=curvature_bound(mechanism.dim),
    )


def _leaves_queries_open(tuning):
    """Whether nothing in a `Tuning` is about queries around estimates or their regression."""
    fields = (tuning.radius, tuning.gain, tuning.preconditioner, tuning.directions)
    rule = tuning.inference or InferenceRule()
    fields += (rule.hessian, rule.hessian_range, rule.prior_hessian)
    return all(field is None for field in fields) and tuning.pairs_per_round == 1
