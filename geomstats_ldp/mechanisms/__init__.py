"""Local randomisers: unbiased on a ball, interchangeable, each with an explicit guarantee.

==========  ====================  =====================================  ==================
name        guarantee             noise covariance                       messages
==========  ====================  =====================================  ==================
privunit    epsilon               tau^2 I, the same for every datum      in a ball
gaussian    (epsilon, delta)      sigma^2 I                              unbounded
l2_ball     epsilon               (B^2/d) I - v v^T                      on a sphere
identity    none (epsilon = inf)  0                                      the scores
==========  ====================  =====================================  ==================
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.mechanisms.base import Mechanism, release_into
from geomstats_ldp.mechanisms.candidates import sphere_points
from geomstats_ldp.mechanisms.checks import check_delta, check_epsilon
from geomstats_ldp.mechanisms.gaussian import (
    Gaussian,
    analytic_gaussian_scale,
    gaussian_log_delta,
)
from geomstats_ldp.mechanisms.identity import Identity
from geomstats_ldp.mechanisms.kernels import ReleaseTwin
from geomstats_ldp.mechanisms.l2_ball import L2Ball
from geomstats_ldp.mechanisms.privunit import PrivUnit
from geomstats_ldp.mechanisms.streams import Streams, make_streams, seed_sequence
from geomstats_ldp.registry import Registry, add_class, place_of

__all__ = [
    "MECHANISMS",
    "Gaussian",
    "Identity",
    "L2Ball",
    "Mechanism",
    "PrivUnit",
    "ReleaseTwin",
    "Streams",
    "analytic_gaussian_scale",
    "gaussian_log_delta",
    "make_mechanism",
    "make_streams",
    "mechanism_from_spec",
    "register_mechanism",
    "release_into",
    "seed_sequence",
    "sphere_points",
]

_MechanismClass = TypeVar("_MechanismClass", bound=type[Mechanism])

#: Mechanisms by name.
MECHANISMS = Registry(
    "mechanism", place_of, {cls.name: cls for cls in (PrivUnit, Gaussian, L2Ball, Identity)}
)


def register_mechanism(cls: _MechanismClass) -> _MechanismClass:
    """Make a mechanism known by its ``name``, to `make_mechanism`, estimators and records.

    A record of a protocol holds the name and the public parameters, never code. Every process
    that rebuilds one, a participant's device for one, has to register the class first.

    Parameters
    ----------
    cls : type
        Concrete subclass of `Mechanism`. Its constructor takes the entries of `to_spec`, but for
        the name, as keywords.

    Returns
    -------
    cls : type
        The class, so that this can be used as a decorator.

    Raises
    ------
    ProtocolError
        If it is not such a class, or its name is taken by another.
    """
    return add_class(MECHANISMS, cls, Mechanism)


def make_mechanism(
    name: str, *, epsilon: float, delta: float = 0.0, dim: int, bound: float, **options: Any
) -> Mechanism:
    """Make a mechanism by name.

    Parameters
    ----------
    name : str, {"privunit", "gaussian", "l2_ball", "identity"}
        Key of `MECHANISMS`; `register_mechanism` adds others.
    epsilon : float
        In [1e-3, 700], or inf, which gives the non-private `Identity` whatever the name.
    delta : float
        In (0, 1) for "gaussian"; 0 for "privunit" and "l2_ball".
    dim : int
        Dimension of the scores.
    bound : float
        Radius of the ball that contains the scores.
    **options
        Further keywords of the class, such as ``calibration`` of `Gaussian`.

    Returns
    -------
    mechanism : Mechanism

    Raises
    ------
    ProtocolError
        If no mechanism of that name is registered.
    """
    cls = MECHANISMS.find(name)
    if math.isinf(check_epsilon(epsilon)):
        return Identity(epsilon=epsilon, delta=check_delta(delta), dim=dim, bound=bound)
    return cls(epsilon=epsilon, delta=delta, dim=dim, bound=bound, **options)


def mechanism_from_spec(spec: dict[str, Any]) -> Mechanism:
    """Rebuild a mechanism from the dictionary that `Mechanism.to_spec` returned.

    Parameters
    ----------
    spec : dict

    Returns
    -------
    mechanism : Mechanism

    Raises
    ------
    TypeError
        If it is no dictionary.
    ProtocolError
        If a key is missing, or no mechanism of that name is registered.
    """
    if not isinstance(spec, dict):
        raise TypeError(f"spec must be a dictionary; got {type(spec).__name__}")
    required = {"name", "epsilon", "delta", "dim", "bound"}
    if not required <= spec.keys():
        raise ProtocolError(f"spec must have the keys {sorted(required)}; got {sorted(spec)}")
    return make_mechanism(**spec)
