"""Leading principal direction: the Rayleigh loss on the sphere."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.spaces import space_to_spec
from geomstats_ldp.losses.base import Loss, finite_array, score_into
from geomstats_ldp.twins import compile_for_twin


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
        # Dividing by the largest entry first keeps the square of a huge one finite.
        unit = np.maximum(np.max(np.abs(data), axis=-1, keepdims=True), self.norm_bound)
        scaled = data / unit
        length = np.linalg.norm(scaled, axis=-1, keepdims=True)
        is_long = length > self.norm_bound / unit
        return np.where(is_long, scaled * (self.norm_bound / np.where(is_long, length, 1.0)), data)

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

    def check_space(self, space):
        """The unit sphere of dimension `dim`."""
        if space_to_spec(space) != {"name": "Hypersphere", "dim": self.dim}:
            raise ProtocolError(
                f"loss 'pca' of dim={self.dim} needs Hypersphere({self.dim}); "
                f"got {type(space).__name__} of dimension {space.dim}"
            )

    def to_spec(self):
        """Plain record, for JSON."""
        return {"name": self.name, "dim": self.dim, "norm_bound": self.norm_bound}

    def twin(self):
        """Select the compiled score."""
        return PCATwin(self.norm_bound)


@register_jitable
def _score(twin, point, datum, out):
    # Dividing by the largest entry first keeps the square of a huge one finite.
    unit = twin.norm_bound
    for i in range(out.shape[0]):
        unit = max(unit, abs(datum[i]))
    squared = 0.0
    along = 0.0
    for i in range(out.shape[0]):
        scaled = datum[i] / unit
        squared += scaled * scaled
        along += scaled * point[i]
    norm = math.sqrt(squared)
    clip = twin.norm_bound / norm if norm > twin.norm_bound / unit else unit
    along *= clip
    for i in range(out.shape[0]):
        out[i] = -along * (clip * (datum[i] / unit) - along * point[i])


compile_for_twin(score_into, PCATwin, _score)
