"""Euclidean space: the flat special case, with identity transport and a constant frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from geomstats.geometry.euclidean import Euclidean
from numba.extending import register_jitable

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.spaces.axes import axes_of, width_of
from geomstats_ldp.geometry.spaces.base import GuardedSpace
from geomstats_ldp.twins import compile_for_twin


class GuardedEuclidean(GuardedSpace):
    """Vectors with the standard metric."""

    name = "Euclidean"
    curvature = (0.0, 0.0)

    @classmethod
    def accepts(cls, space):
        """Euclidean vectors, not matrices."""
        return type(space) is Euclidean and len(space.shape) == 1

    def to_spec(self):
        """Plain record, for JSON."""
        return {"name": self.name, "dim": self.dim}

    @classmethod
    def from_spec(cls, spec):
        """Build the space."""
        return Euclidean(dim=int(spec["dim"]))

    def origin(self):
        """Zero."""
        return np.zeros(self.dim)

    def dist(self, point_a, point_b):
        """Length of the difference."""
        return np.linalg.norm(np.subtract(point_a, point_b), axis=-1)

    def transport(self, tangent_vec, base_point, end_point):
        """The vector itself."""
        return np.array(tangent_vec, dtype=float)

    def twin(self, reference, basis, retraction):
        """Select the closed forms below."""
        return EuclideanTwin(basis, axes_of(len(basis)))


class EuclideanTwin(NamedTuple):
    """What the compiled functions need to know.

    Attributes
    ----------
    basis : array, shape [dim, dim]
        Orthonormal basis, one vector a row.
    axes : tuple of int
        See `axes_of`.
    """

    basis: np.ndarray
    axes: tuple


@register_jitable
def _dim(twin):
    return width_of(twin.axes, twin.basis)


@register_jitable
def _exp(twin, tangent_vec, base_point, out):
    for i in range(_dim(twin)):
        out[i] = base_point[i] + tangent_vec[i]


@register_jitable
def _log(twin, point, base_point, out):
    for i in range(_dim(twin)):
        out[i] = point[i] - base_point[i]


@register_jitable
def _dist(twin, point_a, point_b):
    squared = 0.0
    for i in range(_dim(twin)):
        squared += (point_a[i] - point_b[i]) ** 2
    return np.sqrt(squared)


@register_jitable
def _transport(twin, tangent_vec, base_point, end_point, out):
    for i in range(_dim(twin)):
        out[i] = tangent_vec[i]


@register_jitable
def _to_tangent(twin, vector, base_point, out):
    for i in range(_dim(twin)):
        out[i] = vector[i]


@register_jitable
def _lift(twin, coords, point, out):
    for i in range(_dim(twin)):
        entry = 0.0
        for j in range(_dim(twin)):
            entry += coords[j] * twin.basis[j, i]
        out[i] = entry


@register_jitable
def _lower(twin, tangent_vec, point, out):
    for j in range(_dim(twin)):
        entry = 0.0
        for i in range(_dim(twin)):
            entry += twin.basis[j, i] * tangent_vec[i]
        out[j] = entry


@register_jitable
def _settle(twin, point, out):
    for i in range(_dim(twin)):
        out[i] = point[i]
    return True


@register_jitable
def _carry(twin, message, query, point, vectors, out):
    _lower(twin, message, point, out)


for _operation, _kernel in (
    (dispatch.exp, _exp),
    (dispatch.log, _log),
    (dispatch.transport, _transport),
    (dispatch.retract, _exp),
    (dispatch.to_tangent, _to_tangent),
    (dispatch.lift, _lift),
    (dispatch.lower, _lower),
    (dispatch.dist, _dist),
    (dispatch.settle, _settle),
    (dispatch.dim, _dim),
    (dispatch.carry, _carry),
):
    compile_for_twin(_operation, EuclideanTwin, _kernel)
