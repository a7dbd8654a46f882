"""Losses: the only functions that ever see a datum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses.base import Loss
from geomstats_ldp.losses.frechet import FrechetLoss
from geomstats_ldp.losses.moment_bounds import (
    clipping_bias_bound,
    excess_bound,
    negligible_bound,
)
from geomstats_ldp.losses.pca import PCALoss
from geomstats_ldp.losses.pseudo_huber import PseudoHuberLoss
from geomstats_ldp.losses.regression import (
    HuberRegressionLoss,
    LinearRegressionLoss,
    LogisticRegressionLoss,
)
from geomstats_ldp.losses.scoring import score_coords, score_into
from geomstats_ldp.losses.spd_likelihood import SPDLikelihoodLoss
from geomstats_ldp.losses.subspace import SubspaceLoss
from geomstats_ldp.losses.target_hessian import TargetHessian
from geomstats_ldp.losses.transformed_frechet import TransformedFrechetLoss, register_transform
from geomstats_ldp.losses.von_mises_fisher import VonMisesFisherLoss
from geomstats_ldp.registry import Registry, add_class, place_of
from geomstats_ldp.serialization import BAD_CONTENT

if TYPE_CHECKING:
    from geomstats_ldp.protocol import Protocol

_LossClass = TypeVar("_LossClass", bound=type[Loss])

_OWN = (
    VonMisesFisherLoss,
    PCALoss,
    SubspaceLoss,
    FrechetLoss,
    PseudoHuberLoss,
    TransformedFrechetLoss,
    SPDLikelihoodLoss,
    LinearRegressionLoss,
    LogisticRegressionLoss,
    HuberRegressionLoss,
)

#: Losses by name.
LOSSES = Registry("loss", place_of, {cls.name: cls for cls in _OWN})


def register_loss(cls: _LossClass) -> _LossClass:
    """Make a loss known by its ``name``, so that protocols that use it can be rebuilt.

    A record of a protocol holds the name and the public parameters, never code. Every process
    that rebuilds one, a participant's device for one, has to register the class first.

    Parameters
    ----------
    cls : type
        Concrete subclass of `Loss`. Its constructor takes the entries of `to_spec`, but for the
        name, as keywords.

    Returns
    -------
    cls : type
        The class, so that this can be used as a decorator.

    Raises
    ------
    ProtocolError
        If it is not such a class, or its name is taken by another.
    """
    return add_class(LOSSES, cls, Loss)


def check_registered(loss: object) -> Loss:
    """Return a loss that can be rebuilt from its record.

    Parameters
    ----------
    loss : object

    Returns
    -------
    loss : Loss

    Raises
    ------
    ProtocolError
        If it is no loss, or its class is not registered.
    """
    if not isinstance(loss, Loss):
        raise ProtocolError(f"loss must be an instance of Loss; got {loss!r}")
    if LOSSES.get(loss.name) is not type(loss):
        raise ProtocolError(
            f"loss must be of a registered class: call register_loss({type(loss).__name__}) "
            f"first; the name {loss.name!r} stands for {LOSSES.get(loss.name)}"
        )
    return loss


def loss_from_spec(spec: Mapping[str, Any]) -> Loss:
    """Rebuild a loss from its plain record.

    Parameters
    ----------
    spec : dict
        As `Loss.to_spec` makes it.

    Returns
    -------
    loss : Loss

    Raises
    ------
    ProtocolError
        If the record names no registered loss.
    """
    parameters = dict(spec)
    return LOSSES.find(parameters.pop("name", None))(**parameters)


def loss_of(protocol: Protocol) -> Loss:
    """Loss of a protocol, built from its record once and kept with the protocol.

    Only what sees data calls this: a server has no use for a loss.

    Parameters
    ----------
    protocol : Protocol

    Returns
    -------
    loss : Loss

    Raises
    ------
    ProtocolError
        If the record names no registered loss, or parameters that this loss does not take.
    """
    if "_loss" not in vars(protocol):
        try:
            vars(protocol)["_loss"] = loss_from_spec(protocol.loss_spec)
        except BAD_CONTENT as error:
            raise ProtocolError(f"protocol must have a loss that can be made: {error}") from error
    return vars(protocol)["_loss"]


__all__ = [
    "LOSSES",
    "Loss",
    "TargetHessian",
    "VonMisesFisherLoss",
    "PCALoss",
    "SubspaceLoss",
    "FrechetLoss",
    "PseudoHuberLoss",
    "TransformedFrechetLoss",
    "register_transform",
    "SPDLikelihoodLoss",
    "LinearRegressionLoss",
    "LogisticRegressionLoss",
    "HuberRegressionLoss",
    "check_registered",
    "clipping_bias_bound",
    "excess_bound",
    "loss_from_spec",
    "loss_of",
    "negligible_bound",
    "register_loss",
    "score_coords",
    "score_into",
]
