"""No projection leads away from a target inside (condition 1 of docs/theory/safeguards.md)."""

import math

import numpy as np
import pytest
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDLogEuclideanMetric, SPDMatrices
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

from geomstats_ldp.geometry import Geometry, geodesic_ball, log_box, spectral_band
from geomstats_ldp.geometry.regions import project

#: Largest step on curved spaces, and the largest cap of the unit sphere for which it is proved.
STEP_CAP = 0.75
CAP_RADIUS = (2 * math.pi - STEP_CAP) / 4


def spd(metric_class):
    space = SPDMatrices(2, equip=False)
    space.equip_with_metric(metric_class)
    return Geometry(space, np.eye(2))


def ball(geometry, radius):
    return geometry, geodesic_ball(geometry.reference, radius)


REGIONS = {
    "cap": lambda: ball(Geometry(Hypersphere(2), np.eye(3)[0]), CAP_RADIUS),
    "cap in 4 dimensions": lambda: ball(Geometry(Hypersphere(4), np.eye(5)[0]), CAP_RADIUS),
    "hyperbolic ball": lambda: ball(Geometry(Hyperbolic(2), np.array([1.0, 0.0, 0.0])), 1.5),
    "rotations": lambda: ball(Geometry(SpecialOrthogonal(3), np.eye(3)), 1.0),
    "affine-invariant ball": lambda: ball(spd(SPDAffineMetric), 1.5),
    "affine-invariant band": lambda: (spd(SPDAffineMetric), spectral_band(2, 0.4, 2.5)),
    "log-Euclidean band": lambda: (spd(SPDLogEuclideanMetric), spectral_band(2, 0.4, 2.5)),
    "box": lambda: (spd(SPDLogEuclideanMetric), log_box(np.eye(2), [0.3, 0.8, 0.5])),
}


def projected(geometry, region, point):
    out, vectors = np.empty_like(point), np.empty((2, *point.shape))
    outside = project(region, geometry, 0.0, point, vectors, np.empty(geometry.dim), out)
    return out, outside


def move(geometry, rng, point, length):
    coords = rng.normal(size=geometry.dim)
    step = geometry.lift(length * coords / np.linalg.norm(coords), point)
    return geometry.exp(step, point)


def inner_point(geometry, region, rng):
    """A point of the region, often at its edge."""
    return projected(geometry, region, move(geometry, rng, region.center, 2 * rng.random()))[0]


def closer(geometry, region, step, n, seed=0):
    """By how much the projection of points outside brings them nearer to targets inside."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < n:
        target = inner_point(geometry, region, rng)
        point = move(geometry, rng, inner_point(geometry, region, rng), step * rng.random())
        nearest, outside = projected(geometry, region, point)
        if outside:
            found.append(geometry.dist(point, target) - geometry.dist(nearest, target))
    return np.array(found)


@pytest.mark.parametrize("name", REGIONS)
def test_a_projection_never_leads_away_from_a_target_inside(name):
    geometry, region = REGIONS[name]()
    assert np.min(closer(geometry, region, STEP_CAP, 40)) >= -1e-9


def test_steps_beyond_the_condition_can_lead_away():
    geometry, region = ball(Geometry(Hypersphere(2), np.eye(3)[0]), 1.5)
    assert np.min(closer(geometry, region, 1.6, 100)) < -0.01
