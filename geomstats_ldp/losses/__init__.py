"""Losses: the only functions that ever see a datum."""

from geomstats_ldp.losses.base import Loss, score_into
from geomstats_ldp.losses.frechet import FrechetLoss
from geomstats_ldp.losses.pca import PCALoss
from geomstats_ldp.losses.pseudo_huber import PseudoHuberLoss
from geomstats_ldp.losses.spd_likelihood import SPDLikelihoodLoss
from geomstats_ldp.losses.transformed_frechet import TransformedFrechetLoss, register_transform
from geomstats_ldp.losses.von_mises_fisher import VonMisesFisherLoss

LOSSES = {
    loss.name: loss
    for loss in (
        VonMisesFisherLoss,
        PCALoss,
        FrechetLoss,
        PseudoHuberLoss,
        TransformedFrechetLoss,
        SPDLikelihoodLoss,
    )
}


def loss_from_spec(spec):
    """Rebuild a loss from its plain record.

    Raises
    ------
    ValueError
        If the record names no known loss.
    """
    parameters = dict(spec)
    name = parameters.pop("name", None)
    if name not in LOSSES:
        raise ValueError(f"loss must be one of {sorted(LOSSES)}; got {name!r}")
    return LOSSES[name](**parameters)


__all__ = [
    "LOSSES",
    "Loss",
    "VonMisesFisherLoss",
    "PCALoss",
    "FrechetLoss",
    "PseudoHuberLoss",
    "TransformedFrechetLoss",
    "register_transform",
    "SPDLikelihoodLoss",
    "loss_from_spec",
    "score_into",
]
