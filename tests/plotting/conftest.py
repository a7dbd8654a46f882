"""Regions to draw, and what is read from the Axes."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDLogEuclideanMetric, SPDMatrices
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

from geomstats_ldp.geometry import Geometry, UserCoordinates, geodesic_ball
from geomstats_ldp.inference import WaldRegion


def _spd(metric):
    space = SPDMatrices(2, equip=False)
    space.equip_with_metric(metric)
    return space


#: Space, reference and centre in its coordinates.
_PLACES = {
    "circle": (Hypersphere(1), [1.0, 0.0], [0.6, 0.8]),
    "sphere": (Hypersphere(2), [0.0, 0.0, 1.0], np.array([2.0, -1.0, 2.0]) / 3),
    "ball": (Hyperbolic(2, coords_type="ball"), [0.0, 0.0], [0.3, -0.4]),
    "affine": (_spd(SPDAffineMetric), np.eye(2), [[2.0, 0.7], [0.7, 1.0]]),
    "log_euclidean": (_spd(SPDLogEuclideanMetric), np.eye(2), [[2.0, 0.7], [0.7, 1.0]]),
    "plane": (Euclidean(2), [0.0, 0.0], [1.0, 2.0]),
    "space": (Euclidean(3), [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]),
    "line": (Euclidean(1), [0.0], [1.0]),
    "rotations": (SpecialOrthogonal(3), np.eye(3), np.eye(3)),
}


def _make_region(name, scale=0.02, retraction="exponential", level=0.95, space=None, center=None):
    """Region of no special shape; the same one in other coordinates if a space is given."""
    known, reference, usual = _PLACES[name]
    coordinates = UserCoordinates(known)
    geometry = Geometry(
        coordinates.internal_space,
        coordinates.to_internal(np.array(reference)),
        retraction=retraction,
    )
    root = np.random.default_rng(1).normal(size=(geometry.dim, geometry.dim))
    return WaldRegion(
        geometry,
        coordinates.to_internal(np.array(usual if center is None else center)),
        scale * (root @ root.T + 0.3 * np.eye(geometry.dim)),
        level,
        geodesic_ball(geometry.reference, 2.0),
        coordinates=UserCoordinates(known if space is None else space),
    )


def _make_points(region, n=30, spread=0.5):
    """Points about the centre, in the coordinates of the region."""
    coords = np.random.default_rng(2).normal(scale=spread, size=(n, region.dim))
    return region.points_at(coords)


def _curves(ax, label="region"):
    """Vertices of the lines with a label, without gaps, shape [n, 2 or 3]."""
    found = []
    for line in ax.get_lines():
        if line.get_label() == label:
            vertices = np.stack(line.get_data_3d() if ax.name == "3d" else line.get_data(), axis=-1)
            found.append(vertices[np.isfinite(vertices).all(axis=1)])
    return found


@pytest.fixture
def make_region():
    return _make_region


@pytest.fixture
def make_points():
    return _make_points


@pytest.fixture
def curves():
    return _curves


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")
