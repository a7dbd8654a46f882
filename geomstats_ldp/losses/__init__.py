"""Losses: the only functions that ever see a datum."""

from geomstats_ldp.losses.base import Loss, score_into
from geomstats_ldp.losses.pca import PCALoss

LOSSES = {loss.name: loss for loss in (PCALoss,)}


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


__all__ = ["LOSSES", "Loss", "PCALoss", "loss_from_spec", "score_into"]
