"""Constants of section S.3 and 5.1, typed again from the paper, and formulas by hand."""

import math

import numpy as np
import pytest

from geomstats_ldp.replication.study import methods
from geomstats_ldp.replication.study.designs import EPSILONS, load_design
from geomstats_ldp.replication.study.methods import Cell
from geomstats_ldp.replication.study.tuning import design_mechanism, design_protocol
from geomstats_ldp.schedules import gain, query_radius

#: s, r, C, L_H, guard with and without privacy, cap of the guard.
NONLINEAR = {
    "A": (0.60, 3.5, 0.8, 6.25, 0.0, 0.0, 0.35),
    "B": (0.60, 3.5, 1.0, 5.6, 0.0, 0.0, 0.35),
    "D": (0.45, 3.5, 0.8, 1.4 / math.tanh(1.4), 0.5, 0.0, 0.35),
    "E": (0.60, 4.5, 0.8, 1.0, 1.5, 2.5, 0.50),
}
#: Fixed radius, then as above.
AFFINE = {
    "C": (0.14, 0.8, 1.25, 0.2, 0.2, 0.35),
    "F": (0.30, 1.0, 0.6, 0.4, 0.4, 0.35),
}
CAPS = {
    "A": (0.85, 0.85, 0.85, 0.85, 0.85),
    "B": (1.35, 1.60, 1.35, 1.35, 1.35),
    "C": (0.75, 0.75, 0.75, 0.75, 0.75),
    "D": (0.85, 0.85, 0.85, 0.85, 0.85),
    "E": (1.00, 1.00, 2.00, 1.50, 2.00),
    "F": (0.85, 0.85, 0.10, 0.20, 0.40),
}
DIM = {"A": 2, "B": 3, "C": 3, "D": 2, "E": 2, "F": 3}
BASELINE_GAIN = {"A": 0.18, "B": 0.24, "C": 0.60, "D": 0.75, "E": 0.75, "F": 1.00}
BASELINE_BOUND = {"A": 5, "B": 5.6, "C": 1, "D": 1.4 / math.tanh(1.4), "E": 1, "F": 0.6}


@pytest.fixture(scope="module")
def designs():
    return {name: load_design(name) for name in CAPS}


@pytest.mark.parametrize("name", NONLINEAR)
def test_shrinking_radii(designs, name):
    scale, rate, *_ = NONLINEAR[name]
    schedule = design_protocol(designs[name], "gaussian", 4.0, 4000).schedule
    n_directions = 2 * DIM[name]
    for cycle in (1, 2, 3, 1000, 4000):
        expected = scale * min(0.40, rate * (2 * cycle) ** -0.27)
        for pair in ((cycle - 1) * n_directions, cycle * n_directions - 1):
            assert math.isclose(query_radius(schedule, pair), expected)
    # Both branches of the minimum are met.
    assert query_radius(schedule, 0) == 0.4 * scale
    assert query_radius(schedule, 4000 * n_directions) < 0.4 * scale


@pytest.mark.parametrize("name", AFFINE)
def test_fixed_radii(designs, name):
    schedule = design_protocol(designs[name], "gaussian", 4.0, 4000).schedule
    assert {query_radius(schedule, pair) for pair in (0, 100, 15999)} == {AFFINE[name][0]}


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", CAPS)
def test_gains_caps_bounds_and_guards(designs, name, epsilon):
    design, dim = designs[name], DIM[name]
    protocol = design_protocol(design, "gaussian", epsilon, 4000)
    constants = (NONLINEAR | AFFINE)[name]
    constant, bound, guard, guard_nonprivate, guard_cap = constants[-5:]
    cap = CAPS[name][EPSILONS.index(epsilon)]
    sigma = math.sqrt(protocol.mechanism.noise_variance)
    assert (sigma == 0) == math.isinf(epsilon)
    offset = max(0.0, (2 * constant * sigma * math.sqrt(dim / 2) / cap) ** (1 / 0.60) - 2)
    for k in (1, 10, 2000):
        expected = 2 * constant * (2 * k + offset) ** -0.60
        assert math.isclose(gain(protocol.schedule, 2, 2 * k), expected)
    if offset > 0:
        # What the offset is for: the noise of the first pair moves by the cap.
        first = gain(protocol.schedule, 2, 2)
        assert math.isclose(first * sigma * math.sqrt(dim / 2), cap)
    assert protocol.gain.step_cap == cap
    assert math.isclose(protocol.hessian_bound, bound)
    rule = protocol.inference
    assert rule.guard == (guard_nonprivate if math.isinf(epsilon) else guard)
    assert (rule.guard_cap, rule.guard_power) == (guard_cap, 1.0)
    assert (rule.hessian, rule.ridge, rule.hessian_floor, rule.covariance_floor) == (
        "raw",
        0.1,
        0.5,
        0.1,
    )
    assert not rule.horizon
    assert protocol.dim == dim and protocol.pairs_per_round == 1
    assert np.allclose(protocol.initial_point, design.initial_point)
    assert np.array_equal(protocol.schedule.preconditioner, np.eye(dim))
    cycle = [sign * row for row in np.eye(dim) for sign in (1, -1)]
    assert np.array_equal(protocol.schedule.directions, cycle)
    retraction = "projection" if name in "AB" else "exponential"
    assert protocol.retraction == retraction


@pytest.mark.parametrize("name", "AB")
def test_queries_of_a_and_b_are_normalised(designs, name):
    geometry = design_protocol(designs[name], "gaussian", 4.0, 4000).geometry
    point, radius = designs[name].initial_point, 0.24
    step = geometry.lift(radius * np.eye(geometry.dim)[0], point)
    query = geometry.retract(step, point)
    assert np.allclose(query, (point + step) / np.linalg.norm(point + step))
    assert math.isclose(geometry.dist(query, point), math.atan(radius))


@pytest.mark.parametrize("name", CAPS)
def test_noise_is_calibrated_to_the_stated_bound(designs, name):
    bound = {
        "A": 5.0,
        "B": 2.8,
        "C": math.hypot(0.88, 0.5, 0.5),
        "D": 1.4,
        "E": 0.45,
        "F": 1 + math.sqrt(2.5),
    }[name]
    for mechanism, delta in (("gaussian", 1e-6), ("privunit", 0.0), ("l2_ball", 0.0)):
        randomiser = design_mechanism(designs[name], mechanism, 2.0)
        assert math.isclose(randomiser.bound, bound)
        assert (randomiser.epsilon, randomiser.delta) == (2.0, delta)
    assert design_mechanism(designs[name], "gaussian", math.inf).noise_variance == 0


@pytest.mark.parametrize("epsilon", [math.inf, 8.0, 4.0, 1.0])
@pytest.mark.parametrize("name", CAPS)
def test_baselines_have_the_gains_bounds_and_radii_of_the_paper(
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
    assert same == protocol and math.isclose(protocol.hessian_bound, BASELINE_BOUND[name])
    constant, cap = BASELINE_GAIN[name], CAPS[name][EPSILONS.index(epsilon)]
    sigma = math.sqrt(protocol.mechanism.noise_variance)
    offset = max(0.0, (constant * sigma / cap) ** (1 / 0.60) - 1)
    reduced = constant if sigma == 0 else min(constant, cap / sigma)
    for rule, expected in [
        (trajectory, (constant, offset)),
        (half_sample, (constant, offset) if name == "F" else (reduced, 0.0)),
    ]:
        assert np.allclose((rule.constant, rule.offset), expected, rtol=1e-12)
        assert rule.exponent == 0.60 and math.isinf(rule.step_cap)
    scale = 0.85 if name in "DE" else 0.65
    exponent = 0.15 if (name, epsilon) == ("E", math.inf) else 0.025
    assert math.isclose(radius.at(32000), scale * 32000**-exponent)


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
