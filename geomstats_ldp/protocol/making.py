"""From a geometry, a loss, a mechanism and plans to a protocol."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.geometry.spaces import space_to_spec
from geomstats_ldp.mechanisms import Mechanism
from geomstats_ldp.protocol.checks import check_preconditioner, check_protocol
from geomstats_ldp.protocol.groups import group_specs, widest_mechanism
from geomstats_ldp.protocol.protocol import Protocol
from geomstats_ldp.protocol.queries import all_queries
from geomstats_ldp.protocol.rounds import RoundPlan
from geomstats_ldp.protocol.rules import GainRule, InferenceRule, RadiusRule
from geomstats_ldp.schedules import direction_cycle
from geomstats_ldp.serialization import nested_tuple
from geomstats_ldp.validation import check_integer, check_positive


def make_protocol(
    geometry: Geometry,
    loss: Any,
    mechanism: Mechanism | dict[str, Mechanism],
    working_region: WorkingRegion,
    *,
    radius: RadiusRule | None,
    gain: GainRule | None,
    inference: InferenceRule | None = None,
    initial_point: ArrayLike | None = None,
    directions: ArrayLike | None = None,
    preconditioner: ArrayLike | None = None,
    hessian_bound: float | None = None,
    pairs_per_round: int = 1,
    n_participants: int | None = None,
    rounds: RoundPlan | None = None,
    coordinates: str | None = None,
) -> Protocol:
    """Build a protocol from objects, and check that its parts fit together.

    Parameters
    ----------
    geometry : Geometry
        Space, public frame and retraction.
    loss : Loss
    mechanism : Mechanism, or dict of str to Mechanism
        A dict gives groups of participants by name a mechanism of their own.
    working_region : GeodesicBall, LogBox or SpectralBand
        Region K_s.
    radius : RadiusRule or None
        None with `rounds` that name a query.
    gain : GainRule or None
        None with `rounds`.
    inference : InferenceRule, optional
    initial_point : array-like, shape [*point_shape], optional
        Default the centre of the working region.
    directions : array-like, shape [n_directions, dim], optional
        Default e_1, -e_1, ..., e_d, -e_d.
    preconditioner : array-like, shape [dim, dim], optional
        Default the identity.
    hessian_bound : float, optional
        Default the bound that the loss states.
    pairs_per_round : int
    n_participants : int, optional
    rounds : RoundPlan, optional
        Default symmetric pairs.
    coordinates : {"poincare_ball", "half_space"}, optional
        See `Protocol`.

    Returns
    -------
    protocol : Protocol

    Raises
    ------
    ProtocolError
        Naming the part that does not fit.
    """
    center = geometry.check_point(working_region.center, "center of the region")
    loss.check_space(geometry)
    query_region = all_queries(geometry, working_region, radius, rounds)
    bound = loss.score_bound(geometry, query_region)
    groups, widest = group_specs(mechanism), widest_mechanism(mechanism)
    every = mechanism.values() if isinstance(mechanism, dict) else [mechanism]
    smallest = min(each.bound for each in every)
    if smallest < bound * (1 - 1e-12):
        raise ProtocolError(
            f"mechanism bound must be at least the score bound {bound}; got {smallest}"
        )
    if hessian_bound is None:
        hessian_bound = loss.hessian_bound(geometry, query_region)
    initial_point = geometry.check_point(
        center if initial_point is None else initial_point, "initial_point"
    )
    dim = geometry.dim
    protocol = Protocol(
        space_spec=space_to_spec(geometry.space),
        loss_spec=loss.to_spec(),
        mechanism_spec=widest.to_spec(),
        working_region_spec=working_region._replace(center=center).to_spec(),
        retraction=geometry.retraction,
        reference=nested_tuple(geometry.reference),
        basis=nested_tuple(geometry.basis),
        initial_point=nested_tuple(initial_point),
        directions=nested_tuple(direction_cycle(directions, dim)),
        preconditioner=nested_tuple(check_preconditioner(preconditioner, dim)),
        radius=radius,
        gain=gain,
        inference=(InferenceRule() if inference is None else inference).settled(),
        hessian_bound=check_positive("hessian_bound", hessian_bound),
        pairs_per_round=check_integer("pairs_per_round", pairs_per_round),
        n_participants=(
            None if n_participants is None else check_integer("n_participants", n_participants)
        ),
        rounds=rounds,
        coordinates=coordinates,
        groups=groups,
    )
    check_protocol(protocol)
    return protocol
