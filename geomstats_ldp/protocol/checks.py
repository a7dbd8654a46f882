"""Checks that a protocol, made here or read from a text, is one that can be run."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.regions import check_region, region_of_iterates, region_of_queries
from geomstats_ldp.schedules import check_direction_cycle


def check_protocol(protocol):
    """Check everything that can be checked without the loss.

    Raises
    ------
    ProtocolError
        Naming the part that does not fit.
    """
    geometry, region, dim = protocol.geometry, protocol.working_region, protocol.geometry.dim
    if protocol.mechanism.dim != dim:
        raise ProtocolError(
            f"mechanism must have the dimension of the space, {dim}; got {protocol.mechanism.dim}"
        )
    geometry.check_point(region.center, "center of the region")
    initial_point = geometry.check_point(protocol.initial_point, "initial_point")
    check_region(geometry, region, protocol.radius.maximum)
    iterates = region_of_iterates(region, protocol.radius.maximum)
    if not iterates.contains(geometry, initial_point, slack=1e-9):
        raise ProtocolError(
            "initial_point must lie in the working region, and as far from its edge as the queries "
            "reach if the region holds them"
        )
    region_of_queries(geometry, region, protocol.radius.maximum)
    check_direction_cycle(protocol.directions, dim)
    check_preconditioner(protocol.preconditioner, dim)
    protocol.inference.check_dimension(dim)
    bound = check_hessian_bound(protocol.hessian_bound)
    known = protocol.inference.hessian_range
    if known is not None and known[0] > bound:
        raise ProtocolError(f"hessian_range must begin under hessian_bound={bound}; got {known}")
    check_count("pairs_per_round", protocol.pairs_per_round)
    if protocol.n_participants is not None:
        check_count("n_participants", protocol.n_participants)
    _check_plan(protocol)


def _check_plan(protocol):
    rounds = protocol.rounds
    if (rounds is None) == (protocol.gain is None):
        raise ProtocolError(
            "a protocol must have a gain or rounds, and not both; "
            f"got gain={protocol.gain!r} and rounds={rounds!r}"
        )
    if rounds is None:
        return
    if protocol.pairs_per_round != 1:
        raise ProtocolError(
            f"pairs_per_round must be 1 in a collection in rounds; got {protocol.pairs_per_round}"
        )
    if rounds.n_participants != protocol.n_participants:
        raise ProtocolError(
            f"sizes must add up to n_participants={protocol.n_participants}; got {rounds.sizes}"
        )
    if rounds.moment is not None and protocol.space_spec["name"] != "Hypersphere":
        raise ProtocolError(
            f"moment must be None outside the unit sphere; got {rounds.moment!r} on "
            f"{protocol.space_spec['name']}"
        )


def check_hessian_bound(hessian_bound):
    """Return the bound as a float, or raise ProtocolError unless it is positive and finite."""
    bound = float(hessian_bound)
    if not (np.isfinite(bound) and bound > 0):
        raise ProtocolError(f"hessian_bound must be positive and finite; got {bound}")
    return bound


def check_count(name, value):
    """Return a positive integer as an int, or raise ProtocolError naming it."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ProtocolError(f"{name} must be a positive integer; got {value!r}")
    return int(value)


def check_preconditioner(preconditioner, dim):
    """Return a preconditioner as a matrix, shape [dim, dim]; None is the identity.

    Raises
    ------
    ProtocolError
        Unless it is finite, symmetric and positive definite.
    """
    if preconditioner is None:
        return np.eye(dim)
    preconditioner = np.array(preconditioner, dtype=float)
    if preconditioner.shape != (dim, dim) or not np.isfinite(preconditioner).all():
        raise ProtocolError(
            f"preconditioner must be a finite matrix of shape {(dim, dim)}; "
            f"got shape {preconditioner.shape}"
        )
    symmetric = np.allclose(preconditioner, preconditioner.T, rtol=1e-10)
    if not symmetric or np.linalg.eigvalsh(preconditioner)[0] <= 0:
        raise ProtocolError("preconditioner must be symmetric positive definite")
    return preconditioner
