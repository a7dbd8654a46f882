"""The paper's constants do what they are for: bounds that hold, first steps under their cap."""

import itertools
import math

import numpy as np
import pytest

from geomstats_ldp.replication.study import methods
from geomstats_ldp.replication.study.designs import EPSILONS, load_design
from geomstats_ldp.replication.study.methods import Cell
from geomstats_ldp.replication.study.tuning import design_mechanism, design_protocol
from geomstats_ldp.schedules import gain, query_radius

NAMES = "ABCDEF"


@pytest.fixture(scope="module")
def designs():
    return {name: load_design(name) for name in NAMES}


def paper_protocol(design, epsilon):
    return design_protocol(design, "gaussian", epsilon, 4000)


@pytest.mark.parametrize("name", NAMES)
def test_radii_fall_where_scores_bend_and_stay_where_they_are_linear(designs, name):
    schedule = paper_protocol(designs[name], 4.0).schedule
    n_directions = len(schedule.directions)
    for cycle in (0, 1, 2, 3999):
        first, last = (
            query_radius(schedule, cycle * n_directions + k) for k in (0, n_directions - 1)
        )
        assert first == last, "all directions of a cycle are asked alike"
    early, late, latest = (query_radius(schedule, c * n_directions) for c in (0, 3999, 7999))
    if name in "CF":
        assert early == latest
    else:
        assert early > late and latest / late == pytest.approx(2**-0.27)


def queries_of(protocol, n=25):
    """Points of the region of queries, as far as its edge or corners, shape [n, *point_shape]."""
    rng, geometry, region = np.random.default_rng(0), protocol.geometry, protocol.query_region
    center = np.array(region.center)
    coords = rng.normal(size=(n, geometry.dim))
    coords *= region.radius / np.linalg.norm(coords, axis=1, keepdims=True)
    points = geometry.exp(geometry.lift(coords, center), center)
    inside = geometry.exp(geometry.lift(rng.uniform(size=(n, 1)) * coords, center), center)
    points = np.concatenate([points, inside])
    if hasattr(region, "half_widths"):
        corners = np.array(list(itertools.product(*((-w, w) for w in region.half_widths))))
        corners = geometry.exp(geometry.lift(corners, center), center)
        points = np.concatenate([points, corners])
    return points[region.contains(geometry, points, slack=1e-9)]


def hessians_at(geometry, loss, point, data, step=1e-5):
    """Hessians of the loss of each datum in the frame, by differences of scores carried there."""
    columns = []
    for axis in geometry.lift(np.eye(geometry.dim), point):
        ends = [geometry.exp(sign * step * axis, point) for sign in (1, -1)]
        scores = [
            geometry.transport(
                loss.score(geometry, end, data),
                np.broadcast_to(end, (len(data), *end.shape)),
                np.broadcast_to(point, (len(data), *point.shape)),
            )
            for end in ends
        ]
        columns.append(geometry.coordinates((scores[0] - scores[1]) / (2 * step), point))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("name", NAMES)
def test_stated_bounds_hold_at_every_query_and_are_not_far_out(designs, name):
    """Noise is calibrated to that of scores; that of Hessians bounds the steps."""
    design = designs[name]
    protocol, geometry = paper_protocol(design, 4.0), design.geometry
    data, longest, largest = np.asarray(design.law.support), 0.0, 0.0
    for point in queries_of(protocol):
        scores = geometry.coordinates(design.loss.score(geometry, point, data), point)
        hessians = hessians_at(geometry, design.loss, point, data)
        longest = max(longest, np.linalg.norm(scores, axis=1).max())
        largest = max(largest, np.linalg.norm(hessians, 2, axis=(1, 2)).max())
    assert 0.9 * design.score_bound < longest < design.score_bound * (1 + 1e-9)
    assert 0.75 * protocol.hessian_bound < largest < protocol.hessian_bound * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", NAMES)
def test_the_noise_of_the_first_pair_moves_by_the_cap_at_most(designs, name, epsilon):
    protocol = paper_protocol(designs[name], epsilon)
    sigma = math.sqrt(protocol.mechanism.noise_variance)
    assert (sigma == 0) == math.isinf(epsilon)
    moved = gain(protocol.schedule, 2, 2) * sigma * math.sqrt(protocol.dim / 2)
    if protocol.gain.offset > 0:
        assert moved == pytest.approx(protocol.gain.step_cap, rel=1e-12)
    else:
        assert moved <= protocol.gain.step_cap


@pytest.mark.parametrize("name", "AB")
def test_queries_of_a_and_b_are_normalised(designs, name):
    geometry = design_protocol(designs[name], "gaussian", 4.0, 4000).geometry
    point, radius = designs[name].initial_point, 0.24
    step = geometry.lift(radius * np.eye(geometry.dim)[0], point)
    query = geometry.retract(step, point)
    assert np.allclose(query, (point + step) / np.linalg.norm(point + step))
    assert math.isclose(geometry.dist(query, point), math.atan(radius))


@pytest.mark.parametrize("name", NAMES)
def test_noise_is_calibrated_to_the_stated_bound(designs, name):
    for mechanism, delta in (("gaussian", 1e-6), ("privunit", 0.0), ("l2_ball", 0.0)):
        randomiser = design_mechanism(designs[name], mechanism, 2.0)
        assert randomiser.bound == designs[name].score_bound
        assert (randomiser.epsilon, randomiser.delta) == (2.0, delta)
    assert design_mechanism(designs[name], "gaussian", math.inf).noise_variance == 0


@pytest.mark.parametrize("epsilon", [math.inf, 8.0, 4.0, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_the_noise_of_the_first_step_of_a_baseline_moves_by_the_cap_at_most(
    designs, name, epsilon, monkeypatch
):
    seen = {}

    class Recorder:
        def __init__(self, kind):
            self.kind, self.fits_ = kind, {}

        def __call__(self, protocol, *rules, **options):
            seen[self.kind] = (protocol, *rules)
            return self

        def fit(self, data):
            return self

    monkeypatch.setattr(methods, "SameTrajectoryRegression", Recorder("trajectory"))
    monkeypatch.setattr(methods, "HalfSampleProbes", Recorder("half_sample"))
    for method in ("trajectory", "half_sample"):
        methods.run_cell(Cell(name, "gaussian", epsilon, method), [400], [0], 0)
    protocol, trajectory = seen["trajectory"]
    same, radius, half_sample = seen["half_sample"]
    assert same == protocol
    assert protocol.hessian_bound <= paper_protocol(designs[name], epsilon).hessian_bound
    cap = designs[name].paper.step_caps[epsilon]
    sigma = math.sqrt(protocol.mechanism.noise_variance)
    for rule in (trajectory, half_sample):
        assert rule.constant * (1 + rule.offset) ** -rule.exponent * sigma <= cap * (1 + 1e-12)
    # The trajectory keeps its constant and comes later; the other one takes shorter steps at once.
    if trajectory.offset > 0:
        first = trajectory.constant * (1 + trajectory.offset) ** -trajectory.exponent
        assert first * sigma == pytest.approx(cap)
        assert half_sample == trajectory if name == "F" else half_sample.offset == 0
    assert 0 < radius.at(32_000) < radius.at(1000) < 1


def test_default_tuning_takes_the_same_problem(designs):
    for name in "ADF":
        protocol = design_protocol(designs[name], "privunit", 2.0, 4000, tuning="default")
        paper = design_protocol(designs[name], "privunit", 2.0, 4000)
        assert protocol.space_spec == paper.space_spec and protocol.loss_spec == paper.loss_spec
        assert np.allclose(protocol.initial_point, paper.initial_point)
        assert protocol.inference.hessian != "raw" or protocol.inference.horizon
        assert protocol.gain != paper.gain


def test_unknown_tuning(designs):
    with pytest.raises(ValueError, match=r"tuning must be one of .* got 'mine'"):
        design_protocol(designs["A"], "gaussian", 8.0, 4000, tuning="mine")
