"""Euclidean space: the flat special case, with identity transport and a constant frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.spaces.axes import (
    axes_of,
    coordinates_first,
    distance_between,
    width_of,
)
from geomstats_ldp.twins import compile_for_twin, jitable


class EuclideanGeometry(Geometry):
    """Vectors with the standard metric."""

    name = "Euclidean"
    curvature = (0.0, 0.0)

    @classmethod
    def accepts(cls, space):
        """Euclidean vectors, not matrices."""
        return type(space) is Euclidean and len(space.shape) == 1

    @classmethod
    def to_spec(cls, space):
        """Plain record, for JSON."""
        return {"name": cls.name, "dim": int(space.dim)}

    @classmethod
    def from_spec(cls, spec):
        """Build the space."""
        return Euclidean(dim=int(spec["dim"]))

    @classmethod
    def origin(cls, space):
        """Zero."""
        return np.zeros(int(space.dim))

    def is_on(self, points, rtol):
        """Every vector does."""
        return np.ones(np.shape(points)[:-1], dtype=bool)

    def dist(self, point_a, point_b):
        """Length of the difference."""
        return distance_between((), coordinates_first(point_a), coordinates_first(point_b))

    def transport(self, tangent_vec, base_point, end_point):
        """The vector itself."""
        return np.array(tangent_vec, dtype=float)

    def twin(self):
        """Select the closed forms below."""
        return EuclideanTwin(self.basis, axes_of(self.dim))


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


@jitable
def _dim(twin):
    return width_of(twin.axes, twin.basis)


@jitable
def _exp(twin, tangent_vec, base_point, out):
    for i in range(_dim(twin)):
        out[i] = base_point[i] + tangent_vec[i]


@jitable
def _log(twin, point, base_point, out):
    for i in range(_dim(twin)):
        out[i] = point[i] - base_point[i]


@jitable
def _dist(twin, point_a, point_b):
    return distance_between(twin.axes, point_a, point_b)


@jitable
def _transport(twin, tangent_vec, base_point, end_point, out):
    for i in range(_dim(twin)):
        out[i] = tangent_vec[i]


@jitable
def _to_tangent(twin, vector, base_point, out):
    for i in range(_dim(twin)):
        out[i] = vector[i]


@jitable
def _lift(twin, coords, point, out):
    for i in range(_dim(twin)):
        entry = 0.0
        for j in range(_dim(twin)):
            entry += coords[j] * twin.basis[j, i]
        out[i] = entry


@jitable
def _coordinates(twin, tangent_vec, point, out):
    for j in range(_dim(twin)):
        entry = 0.0
        for i in range(_dim(twin)):
            entry += twin.basis[j, i] * tangent_vec[i]
        out[j] = entry


@jitable
def _settle(twin, point, out):
    for i in range(_dim(twin)):
        out[i] = point[i]
    return True


for _operation, _kernel in (
    (dispatch.exp, _exp),
    (dispatch.log, _log),
    (dispatch.transport, _transport),
    (dispatch.retract, _exp),
    (dispatch.to_tangent, _to_tangent),
    (dispatch.lift, _lift),
    (dispatch.coordinates, _coordinates),
    (dispatch.dist, _dist),
    (dispatch.settle, _settle),
    (dispatch.dim, _dim),
):
    compile_for_twin(_operation, EuclideanTwin, _kernel)
