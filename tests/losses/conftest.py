"""Spaces, points and finite differences that the tests of losses share."""

import math
from typing import NamedTuple

import numpy as np
import pytest

from geomstats_ldp.geometry import GeodesicBall, Geometry, geodesic_ball
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import register_transform

SPACES = {
    "sphere1": ({"name": "Hypersphere", "dim": 1}, [0.6, 0.8]),
    "sphere2": ({"name": "Hypersphere", "dim": 2}, [2 / 3, -1 / 3, 2 / 3]),
    "sphere5": ({"name": "Hypersphere", "dim": 5}, [0.5, 0.5, -0.5, 0.0, 0.5, 0.0]),
    "euclidean": ({"name": "Euclidean", "dim": 3}, [1.0, -2.0, 0.5]),
    "hyperboloid1": ({"name": "Hyperboloid", "dim": 1}, [math.sqrt(1.25), 0.5]),
    "hyperboloid2": ({"name": "Hyperboloid", "dim": 2}, [1.5, 0.5, -1.0]),
    "hyperboloid4": ({"name": "Hyperboloid", "dim": 4}, [2.0, 1.0, 1.0, 0.0, -1.0]),
    "affine2": ({"name": "SPDAffineInvariant", "n": 2}, [[2.0, 0.3], [0.3, 0.7]]),
    "affine3": (
        {"name": "SPDAffineInvariant", "n": 3},
        [[1.0, 0.2, 0.0], [0.2, 0.8, -0.3], [0.0, -0.3, 2.0]],
    ),
    "log2": ({"name": "SPDLogEuclidean", "n": 2}, [[2.0, 0.3], [0.3, 0.7]]),
    "log3": (
        {"name": "SPDLogEuclidean", "n": 3},
        [[1.0, 0.2, 0.0], [0.2, 0.8, -0.3], [0.0, -0.3, 2.0]],
    ),
}

#: Where one loss only is at home.
SPECIAL_SPACES = {
    "lines": ({"name": "Grassmannian", "n": 3, "p": 1}, np.outer([0.6, 0.0, 0.8], [0.6, 0.0, 0.8])),
}

#: Cheap with a large known constant c_psi: psi = log(1 + t), valid for D < sqrt(2).
register_transform("log", np.log1p, lambda t: 1 / (1 + t), lambda t: -1 / (1 + t) ** 2)


class Setting(NamedTuple):
    """A space, a ball of queries and a ball of data whose centres differ."""

    geometry: Geometry
    region: GeodesicBall
    center: np.ndarray
    between: float

    def around(self, center, lengths, seed=0):
        """Points in random directions at the given distances from a centre."""
        coords = np.random.default_rng(seed).normal(size=(len(lengths), self.geometry.dim))
        coords *= (np.asarray(lengths) / np.linalg.norm(coords, axis=1))[:, None]
        return np.stack([self.geometry.exp(self.geometry.lift(c, center), center) for c in coords])

    def queries(self, seed=1):
        """The centre of the region, points inside and points at its edge."""
        radius = self.region.radius
        return self.around(self.region.center, [0.0, 0.4 * radius, radius, radius], seed)

    def farthest(self, data_radius):
        """A query and a datum at the largest distance, on the geodesic of the two centres."""
        unit = self.geometry.log(self.region.center, self.center) / self.between
        query = self.geometry.exp((self.between + self.region.radius) * unit, self.center)
        return query, self.geometry.exp(-data_radius * unit, self.center)


def make_setting(key):
    spec, region_center = (SPACES | SPECIAL_SPACES)[key]
    geometry = Geometry(space_from_spec(spec), region_center)
    region = geodesic_ball(region_center, 0.4)
    coords = np.random.default_rng(7).normal(size=geometry.dim)
    coords *= 0.3 / np.linalg.norm(coords)
    center = geometry.exp(geometry.lift(coords, geometry.reference), geometry.reference)
    return Setting(geometry, region, center, 0.3)


#: One space of each kind, and those of one dimension, where curvature cannot be seen.
KINDS = ["sphere1", "sphere5", "euclidean", "hyperboloid1", "hyperboloid4", "affine3", "log3"]


@pytest.fixture(params=KINDS)
def setting(request):
    return make_setting(request.param)


@pytest.fixture
def setting_of():
    return make_setting


def _gradient(setting, loss, point, data, step=1e-4):
    """Central differences of the value along geodesics, in frame coordinates, shape [n, dim].

    Error step^2 times a third derivative of size 10, and rounding 1e-15 / step: under 1e-6.
    """
    geometry = setting.geometry
    columns = []
    for axis in np.eye(geometry.dim):
        tangent = step * geometry.lift(axis, point)
        ahead, behind = (
            loss.value(geometry, geometry.exp(sign * tangent, point), data) for sign in (1, -1)
        )
        columns.append((ahead - behind) / (2 * step))
    return np.stack(columns, axis=-1)


def _hessian(setting, loss, point, data, step=1e-4):
    """Central differences of the mean score transported back, in frame coordinates.

    Error step^2 times a third derivative of the score of size 10: under 1e-6.
    """
    geometry = setting.geometry
    columns = []
    for axis in np.eye(geometry.dim):
        sides = []
        for sign in (1, -1):
            end = geometry.exp(sign * step * geometry.lift(axis, point), point)
            score = loss.score(geometry, end, data).mean(axis=0)
            sides.append(geometry.coordinates(geometry.transport(score, end, point), point))
        columns.append((sides[0] - sides[1]) / (2 * step))
    return np.array(columns)


@pytest.fixture
def gradient():
    return _gradient


@pytest.fixture
def hessian():
    return _hessian
