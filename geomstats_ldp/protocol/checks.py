"""Checks that a protocol, made here or read from a text, is one that can be run."""

from __future__ import annotations

import math

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.coordinates import UserCoordinates
from geomstats_ldp.geometry.regions import check_region, region_of_iterates, slack_of
from geomstats_ldp.protocol.groups import widest_mechanism
from geomstats_ldp.protocol.rules import MOST_FEATURES
from geomstats_ldp.schedules import check_direction_cycle
from geomstats_ldp.validation import check_integer, check_positive, definite_matrix


def check_protocol(protocol):
    """Raise ProtocolError, naming the part that does not fit; all is checked but for the loss."""
    geometry, region, dim = protocol.geometry, protocol.working_region, protocol.geometry.dim
    UserCoordinates.from_name(protocol.coordinates, geometry.space)
    for mechanism in (protocol.mechanism, *protocol.mechanisms.values()):
        if mechanism.dim != dim:
            raise ProtocolError(
                f"mechanism must have the dimension of the space, {dim}; got {mechanism.dim}"
            )
    geometry.check_point(region.center, "center of the region")
    initial_point = geometry.check_point(protocol.initial_point, "initial_point")
    check_region(geometry, region, protocol.reach)
    iterates = region_of_iterates(region, protocol.reach)
    if not iterates.contains(geometry, initial_point, slack=slack_of(geometry, region, 1e-9)):
        raise ProtocolError(
            "initial_point must lie in the working region, and as far from its edge as the queries "
            "reach if the region holds them"
        )
    _ = protocol.query_region
    check_direction_cycle(protocol.directions, dim)
    check_preconditioner(protocol.preconditioner, dim)
    protocol.inference.check_dimension(dim)
    bound = check_positive("hessian_bound", protocol.hessian_bound)
    known = protocol.inference.hessian_range
    if known is not None and known[0] > bound:
        raise ProtocolError(f"hessian_range must begin under hessian_bound={bound}; got {known}")
    check_integer("pairs_per_round", protocol.pairs_per_round)
    if protocol.n_participants is not None:
        check_integer("n_participants", protocol.n_participants)
    _check_plan(protocol)
    _check_moment_of_pairs(protocol)


def _check_moment_of_pairs(protocol):
    """The state can have the sums for the moment of the inference rule."""
    geometry, moment = protocol.geometry, protocol.inference.moment
    is_small = geometry.name == "Hypersphere" and geometry.shape[0] <= MOST_FEATURES
    if moment is not None and not (protocol.rounds is None and is_small):
        raise ProtocolError(
            f"moment of the inference rule must be None but for pairs on a sphere of at most "
            f"{MOST_FEATURES} coordinates; got {moment!r}"
        )


def _check_plan(protocol):
    rounds = protocol.rounds
    if (rounds is None) == (protocol.gain is None):
        raise ProtocolError(
            "a protocol must have a gain or rounds, and not both; "
            f"got gain={protocol.gain!r} and rounds={rounds!r}"
        )
    if protocol.groups is not None:
        _check_groups(protocol)
    if rounds is None:
        if protocol.radius is not None and protocol.radius.n_wide is not None:
            raise ProtocolError(f"n_wide must be None without rounds; got {protocol.radius.n_wide}")
        return
    if protocol.pairs_per_round != 1:
        raise ProtocolError(
            f"pairs_per_round must be 1 in a collection in rounds; got {protocol.pairs_per_round}"
        )
    if rounds.n_participants != protocol.n_participants:
        raise ProtocolError(
            f"sizes must add up to n_participants={protocol.n_participants}; got {rounds.sizes}"
        )
    _check_moment(protocol)


def _check_groups(protocol):
    if protocol.pairs_per_round != 1:
        raise ProtocolError(
            "pairs_per_round must be 1 where there are groups: of which group the next pair is "
            f"shows only when somebody comes; got {protocol.pairs_per_round}"
        )
    widest = widest_mechanism(protocol.mechanisms)
    if protocol.mechanism_spec != widest.to_spec():
        raise ProtocolError(
            f"mechanism must be that of the group with the largest epsilon, {widest!r}; "
            f"got {protocol.mechanism!r}"
        )


def _check_moment(protocol):
    """The moment is one that scores of this space have, and tells the target where it must."""
    moment, query, geometry = protocol.rounds.moment, protocol.rounds.query, protocol.geometry
    suits = {
        None: True,
        "first": geometry.name == "Hypersphere",
        "second": geometry.name in ("Hypersphere", "Grassmannian"),
        "quadratic": geometry.is_flat,
        "covariance": geometry.name == "SPDAffineInvariant",
    }
    if not suits[moment]:
        raise ProtocolError(
            f"moment must be one that scores on {geometry.name} have; got {moment!r}"
        )
    if moment == "covariance" and query is None:
        raise ProtocolError("moment must be None without a query; got 'covariance'")
    known = protocol.rounds.known_moment
    if known is not None and (geometry.name, (len(known),)) != ("Hypersphere", geometry.shape):
        raise ProtocolError(
            f"known_moment must be a matrix of {geometry.shape[0]} rows on a sphere; got "
            f"{len(known)} rows on {geometry.name}"
        )
    low, high = protocol.inference.hessian_range or (0.0, math.inf)
    is_determined = moment == "covariance" or (moment == "quadratic" and 0 < low == high)
    if query is not None and not is_determined:
        raise ProtocolError(
            "query must be None unless the mean score there tells the target: with the moment "
            "'covariance', or 'quadratic' and a hessian_range of one positive number; "
            f"got moment={moment!r} and hessian_range={protocol.inference.hessian_range}"
        )


def check_preconditioner(preconditioner, dim):
    """Return a preconditioner as a matrix, shape [dim, dim]; None is the identity.

    ProtocolError unless it is finite, symmetric and positive definite.
    """
    if preconditioner is None:
        return np.eye(dim)
    return definite_matrix("preconditioner", preconditioner, dim)
