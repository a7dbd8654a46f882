"""Estimators on regions other than the ball about the initial point."""

import numpy as np
import pytest
from geomstats.geometry.hyperbolic import Hyperbolic
from geomstats.geometry.spd_matrices import (
    SPDAffineMetric,
    SPDLogEuclideanMetric,
    SPDMatrices,
)

from geomstats_ldp import PrivateFrechetMean, Tuning
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import geodesic_ball, log_box, spectral_band

# Runs are short, and say so; what they say is tested where it is the point.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.SafeguardWarning")


def spd(metric_class, n=2):
    space = SPDMatrices(n, equip=False)
    space.equip_with_metric(metric_class)
    return space


def spd_data(n, seed):
    rng = np.random.default_rng(seed)
    logs = rng.normal(scale=0.3, size=(n, 2, 2))
    values, vectors = np.linalg.eigh((logs + np.swapaxes(logs, 1, 2)) / 2)
    return (vectors * np.exp(values)[:, None]) @ np.swapaxes(vectors, 1, 2)


def ball_data(n, seed):
    return np.random.default_rng(seed).normal(0.1, 0.1, size=(n, 2))


CASES = {
    "ball": lambda holds: (
        Hyperbolic(dim=2, coords_type="ball"),
        geodesic_ball([0.1, 0.1], 0.3, holds_queries=holds),
        ball_data(60, seed=0),
    ),
    "box": lambda holds: (
        spd(SPDLogEuclideanMetric),
        log_box(np.eye(2), [0.3, 0.2, 0.3], holds_queries=holds),
        spd_data(60, seed=1),
    ),
    "band": lambda holds: (
        spd(SPDAffineMetric),
        spectral_band(2, 0.7, 1.4, holds_queries=holds),
        spd_data(60, seed=2),
    ),
}


def collect(estimator, data):
    """Answer query by query; return the query points."""
    estimator.start(n_features=data.shape[1])
    participant, points = estimator.participant(), []
    rows = iter(data)
    while queries := estimator.queries():
        for query in queries:
            points.append(query.point)
            estimator.partial_fit(participant.respond(query, next(rows)))
    return np.stack(points)


@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_queries_stay_where_the_region_says(name, holds):
    space, region, data = CASES[name](holds)
    estimator = PrivateFrechetMean(
        space,
        epsilon=1.0,
        n_participants=60,
        tuning=Tuning(working_region=region, engine="geomstats"),
        random_state=0,
    )
    points = collect(estimator, data)
    protocol = estimator.protocol_
    inner, radius = protocol.working_region, protocol.radius.maximum
    assert inner.contains(protocol.geometry, points, slack=1e-9).all() == holds
    assert inner.widened(radius).contains(protocol.geometry, points, slack=1e-9).all()
    assert estimator.diagnostics_["n_projected_updates"] > 0


@pytest.mark.slow  # compiles the recursion for three regions
@pytest.mark.parametrize("name", CASES)
def test_engines_agree_on_every_region(name):
    space, region, data = CASES[name](True)
    fits = [
        PrivateFrechetMean(
            space,
            epsilon=2.0,
            tuning=Tuning(working_region=region, engine=engine),
            random_state=0,
        ).fit(data)
        for engine in ("compiled", "geomstats")
    ]
    assert fits[0].diagnostics_["n_projected_updates"] > 0
    for ours, theirs in zip(fits[0].server_.state.sums, fits[1].server_.state.sums):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
    np.testing.assert_allclose(fits[0].estimate_, fits[1].estimate_, atol=1e-9)
    np.testing.assert_array_equal(*(fit.server_.state.safeguards for fit in fits))


def test_region_in_poincare_coordinates_is_that_of_the_hyperboloid():
    disc, center = Hyperbolic(dim=2, coords_type="ball"), np.array([0.2, -0.1])
    data = ball_data(200, seed=3)
    by_region = PrivateFrechetMean(
        disc,
        tuning=Tuning(working_region=geodesic_ball(center, 0.7), engine="geomstats"),
        random_state=0,
    ).fit(data)
    by_radius = PrivateFrechetMean(
        disc,
        initial_point=center,
        region_radius=0.7,
        tuning=Tuning(engine="geomstats"),
        random_state=0,
    ).fit(data)
    assert by_region.protocol_ == by_radius.protocol_
    np.testing.assert_array_equal(by_region.estimate_, by_radius.estimate_)


def test_bounds_of_a_region_that_holds_the_queries_are_tighter():
    space, region, _ = CASES["ball"](False)
    wide = (
        PrivateFrechetMean(space, tuning=Tuning(working_region=region))
        .start(n_features=2)
        .protocol_
    )
    tight = (
        PrivateFrechetMean(space, tuning=Tuning(working_region=region._replace(holds_queries=True)))
        .start(n_features=2)
        .protocol_
    )
    assert tight.mechanism.bound == pytest.approx(0.3 + 1.0)
    assert wide.mechanism.bound > tight.mechanism.bound


def test_something_else_than_a_region_is_refused():
    with pytest.raises(ProtocolError, match=r"working_region must be a GeodesicBall, .*got 0\.3"):
        PrivateFrechetMean(tuning=Tuning(working_region=0.3), initial_point=[0.0, 0.0]).start()


def test_initial_point_without_room_for_queries_is_refused():
    region = geodesic_ball([0.0, 0.0], 0.5, holds_queries=True)
    with pytest.raises(ProtocolError, match="initial_point must lie in the working region"):
        PrivateFrechetMean(tuning=Tuning(working_region=region), initial_point=[0.49, 0.0]).start()
