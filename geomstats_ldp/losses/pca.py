"""Leading principal direction: the Rayleigh loss on the sphere."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.extending import overload, register_jitable

from geomstats_ldp.losses.base import Loss, finite_array, score_into
from geomstats_ldp.twins import twin_class


class PCATwin(NamedTuple):
    """Selects the compiled score of `PCALoss`."""

    norm_bound: float


class PCALoss(Loss):
    r"""Rayleigh loss :math:`-(u^T y)^2 / 2` on the unit sphere (section S.1.4 of the paper).

    Data are clipped to norm `norm_bound`, so the target is the leading eigenvector of the clipped
    second moment. The score :math:`-(I - uu^T) y y^T u` has norm at most B^2 / 2.

    Parameters
    ----------
    dim : int
        Dimension of the sphere; data have ``dim + 1`` coordinates.
    norm_bound : float
        Public bound B on the Euclidean norm of a datum, in the units of the data.
    """

    name = "pca"

    def __init__(self, *, dim, norm_bound):
        norm_bound = float(norm_bound)
        if not (math.isfinite(norm_bound) and norm_bound > 0):
            raise ValueError(f"norm_bound must be positive and finite; got {norm_bound}")
        self.dim = int(dim)
        self.data_shape = (self.dim + 1,)
        self.norm_bound = norm_bound

    def clip(self, data):
        """Scale rows longer than `norm_bound` back to it."""
        norm = np.linalg.norm(data, axis=-1, keepdims=True)
        return data * np.minimum(1.0, self.norm_bound / np.maximum(norm, 1e-300))

    def value(self, point, data):
        """Loss of each datum, shape [...]; see `Loss.value`."""
        return -0.5 * np.sum(self.clip(data) * point, axis=-1) ** 2

    def score(self, point, data):
        """Riemannian gradient, shape [..., dim + 1]; see `Loss.score`."""
        data = self.clip(data)
        along = np.sum(data * point, axis=-1, keepdims=True)
        return -along * (data - along * point)

    def score_bound(self, region=None):
        """B^2 / 2, on the whole sphere."""
        return 0.5 * self.norm_bound**2

    def hessian_bound(self, region=None):
        """B^2: an eigengap cannot exceed the trace of the clipped second moment."""
        return self.norm_bound**2

    def check_data(self, data):
        """Finite rows of width ``dim + 1``."""
        return finite_array(data, self.data_shape, "datum")

    def to_spec(self):
        """Plain record, for JSON."""
        return {"name": self.name, "dim": self.dim, "norm_bound": self.norm_bound}

    def twin(self):
        """Select the compiled score."""
        return PCATwin(self.norm_bound)


@register_jitable
def _score(twin, point, datum, out):
    squared = 0.0
    along = 0.0
    for i in range(out.shape[0]):
        squared += datum[i] * datum[i]
        along += datum[i] * point[i]
    norm = math.sqrt(squared)
    clip = twin.norm_bound / norm if norm > twin.norm_bound else 1.0
    along *= clip
    for i in range(out.shape[0]):
        out[i] = -along * (clip * datum[i] - along * point[i])


@overload(score_into)
def _choose_score(loss, point, datum, out):
    if twin_class(loss) is PCATwin:
        return lambda loss, point, datum, out: _score(loss, point, datum, out)
