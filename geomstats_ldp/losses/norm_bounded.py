"""Losses of vectors whose norm has a public bound."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.losses.base import Loss
from geomstats_ldp.losses.clipping import clip_to_norm
from geomstats_ldp.validation import check_scale


class NormBoundedLoss(Loss):
    """Base of the losses whose data are vectors, clipped to a public norm.

    Parameters
    ----------
    norm_bound : float
        Public bound B on the Euclidean norm of a datum, in the units of the data.

    Raises
    ------
    ValueError
        If the bound is not in [1e-40, 1e40].
    """

    def __init__(self, *, norm_bound: float):
        self.norm_bound = check_scale("norm_bound", norm_bound)

    def data_shape(self, geometry: Geometry) -> tuple[int, ...]:
        """Vectors as long as the first axis of a point."""
        return geometry.shape[:1]

    def clip(self, geometry: Geometry, data: np.ndarray) -> np.ndarray:
        """Scale vectors longer than `norm_bound` back to it."""
        return clip_to_norm(data, self.norm_bound)
