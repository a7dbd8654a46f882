"""Euclidean space: the flat special case, with identity transport and a constant frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import assign
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.spaces.axes import (
    axes_of,
    combine,
    coordinates_first,
    distance_between,
    products,
    width_of,
)


class EuclideanGeometry(Geometry):
    """Vectors with the standard metric."""

    name = "Euclidean"
    space_class = Euclidean
    metric_class = Euclidean.default_metric()
    curvature = (0.0, 0.0)

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


_closed_form = dispatch.closed_forms(EuclideanTwin)


@_closed_form
def _dim(twin):
    return width_of(twin.axes, twin.basis)


@_closed_form
def _exp(twin, tangent_vec, base_point, out):
    for i in range(_dim(twin)):
        out[i] = base_point[i] + tangent_vec[i]


@_closed_form
def _log(twin, point, base_point, out):
    for i in range(_dim(twin)):
        out[i] = point[i] - base_point[i]


@_closed_form
def _dist(twin, point_a, point_b):
    return distance_between(twin.axes, point_a, point_b)


@_closed_form
def _transport(twin, tangent_vec, base_point, end_point, out):
    assign(tangent_vec, out)


@_closed_form
def _to_tangent(twin, vector, base_point, out):
    assign(vector, out)


@_closed_form
def _lift(twin, coords, point, out):
    combine(twin.axes, _dim(twin), coords, twin.basis, out)


@_closed_form
def _coordinates(twin, tangent_vec, point, out):
    products(twin.axes, _dim(twin), tangent_vec, twin.basis, out)


@_closed_form
def _settle(twin, point, out):
    assign(point, out)
    return True


_closed_form(_exp, "retract")
