"""Direction cycles, radii and gains against section S.3 of the paper."""

import math

import numpy as np
import pytest

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.protocol import GainRule, RadiusRule
from geomstats_ldp.schedules import (
    Schedule,
    check_direction_cycle,
    check_gain_exponent,
    check_radius_exponent,
    coordinate_cycle,
    gain,
    gain_offset,
    query_radius,
    round_radius,
)


def schedule(dim=2, **changes):
    values = {
        "directions": coordinate_cycle(dim),
        "radius_maximum": 0.24,
        "radius_scale": 0.5,
        "radius_exponent": 0.27,
        "gain_constant": 0.8,
        "gain_offset": 3.0,
        "gain_exponent": 0.6,
        "step_cap": 0.85,
        "preconditioner": np.eye(dim),
        "pairs_per_round": 1,
    }
    return Schedule(**(values | changes))


# ------------------------------------------------------------------------ directions


def test_coordinate_cycle_is_in_the_order_of_the_paper():
    np.testing.assert_array_equal(coordinate_cycle(2), [[1, 0], [-1, 0], [0, 1], [0, -1]])


@pytest.mark.parametrize("dim", [1, 2, 3, 9])
def test_coordinate_cycle_is_a_tight_frame(dim):
    cycle = check_direction_cycle(coordinate_cycle(dim), dim)
    assert cycle.shape == (2 * dim, dim)
    np.testing.assert_array_equal(cycle.sum(axis=0), 0.0)
    np.testing.assert_array_equal(cycle.T @ cycle, 2 * np.eye(dim))


def polygon(n):
    angles = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def simplex(dim):
    """Vertices of the regular simplex: the centred coordinate vectors of R^(dim + 1)."""
    centred = np.eye(dim + 1) - 1 / (dim + 1)
    left, values, _ = np.linalg.svd(centred)
    vertices = (left * values)[:, :dim]
    return vertices / np.linalg.norm(vertices, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("directions", "dim"),
    [(polygon(3), 2), (polygon(5), 2), (simplex(3), 3), (simplex(5), 5), ([[1], [-1]], 1)],
)
def test_other_tight_frames_with_zero_sum_pass(directions, dim):
    np.testing.assert_array_equal(check_direction_cycle(directions, dim), directions)


@pytest.mark.parametrize(
    ("directions", "match"),
    [
        (np.eye(2), r"zero sum \(no\)"),
        ([[1, 0], [-1, 0]], r"second moment I/2 \(no\)"),
        (np.concatenate([coordinate_cycle(2), [[1, 0], [-1, 0]]]), r"second moment I/2 \(no\)"),
        (2 * coordinate_cycle(2), r"unit rows \(no\)"),
        # zero sum and isotropic, but of unequal lengths: only the rows show it
        ([[1.2, 0], [-1.2, 0], [0, 0.4], [0, -0.4]], r"unit rows \(no\)"),
        (coordinate_cycle(3), "shape"),
        ([1.0, -1.0], "shape"),
        (np.zeros((0, 2)), "one row at least; got none"),
        (np.full((4, 2), np.nan), "must be finite"),
    ],
)
def test_other_cycles_are_refused(directions, match):
    with pytest.raises(ProtocolError, match=match):
        check_direction_cycle(directions, 2)


# ------------------------------------------------------------------------ radii and gains


@pytest.mark.parametrize(("dim", "scale", "r"), [(2, 0.60, 3.5), (3, 0.60, 3.5), (2, 0.45, 4.5)])
def test_radius_is_that_of_the_paper(dim, scale, r):
    clock = schedule(dim, radius_maximum=scale * 0.40, radius_scale=scale * r * 2**-0.27)
    radii = [query_radius(clock, pair) for pair in range(40_000)]
    expected = []
    for k in range(1, 40_001):
        cycle = math.ceil(k / (2 * dim))
        expected.append(scale * min(0.40, r * (2 * cycle) ** -0.27))
    np.testing.assert_allclose(radii, expected, rtol=1e-14)  # two powers, four roundings
    assert radii[0] == scale * 0.40 > radii[-1]  # both branches were seen


@pytest.mark.parametrize("directions", [coordinate_cycle(2), polygon(3)])
def test_radius_is_constant_in_a_cycle_and_shrinks_between(directions):
    clock = schedule(directions=directions, radius_maximum=10.0)
    size = len(directions)
    radii = np.array([query_radius(clock, pair) for pair in range(50 * size)]).reshape(-1, size)
    assert np.all(radii == radii[:, :1])
    assert np.all(np.diff(radii[:, 0]) < 0)


def test_zero_exponent_fixes_the_radius():
    rule = RadiusRule.fixed(0.14)
    clock = schedule(
        radius_maximum=rule.maximum, radius_scale=rule.scale, radius_exponent=rule.exponent
    )
    assert {query_radius(clock, pair) for pair in (0, 3, 4, 10**6)} == {0.14}


def test_gain_is_that_of_the_paper():
    clock = schedule()
    for k in (1, 2, 17, 10_000):
        assert gain(clock, 2, 2 * k) == pytest.approx(2 * 0.8 * (2 * k + 3.0) ** -0.6, rel=1e-14)
    # an ordinary participant is half a pair, a round of three pairs is three pairs
    assert gain(clock, 1, 101) == pytest.approx(0.8 * 104.0**-0.6, rel=1e-14)
    assert gain(clock, 6, 60) == pytest.approx(3 * gain(clock, 2, 60), rel=1e-14)


@pytest.mark.parametrize("sigma", [1.3, 2.4, 8.4])
@pytest.mark.parametrize(("dim", "cap", "constant"), [(2, 0.85, 0.8), (3, 1.6, 1.0)])
def test_gain_offset_is_that_of_the_paper(sigma, dim, cap, constant):
    expected = max(0.0, (2 * constant * sigma * math.sqrt(dim / 2) / cap) ** (1 / 0.60) - 2)
    assert gain_offset(constant, 0.6, sigma, dim, cap) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("n_answers", [1, 2, 6])
def test_offset_puts_the_first_noise_at_the_cap(n_answers):
    noise, dim, cap = 20.0, 3, 0.5
    offset = gain_offset(0.8, 0.6, noise, dim, cap, n_answers)
    clock = schedule(dim, gain_offset=offset)
    first = gain(clock, n_answers, n_answers) * noise * math.sqrt(dim / n_answers)
    assert first == pytest.approx(cap, rel=1e-12)  # a power and its inverse
    assert gain_offset(0.8, 0.6, 1e-6, dim, cap, n_answers) == 0.0


@pytest.mark.parametrize("exponent", [0.25, 0.5, 0.2, 0.6, -0.3, 1.0, np.nan, np.inf])
def test_radius_exponents_out_of_range_are_refused(exponent):
    with pytest.raises(ProtocolError, match="radius_exponent"):
        check_radius_exponent(exponent)
    with pytest.raises(ProtocolError, match="radius_exponent"):
        RadiusRule(0.3, 0.5, exponent)


@pytest.mark.parametrize("exponent", [0.0, 0.27, np.nextafter(0.25, 1), np.nextafter(0.5, 0)])
def test_radius_exponents_in_range_pass(exponent):
    assert check_radius_exponent(exponent) == exponent


@pytest.mark.parametrize("exponent", [0.5, 1.0, 0.4, 1.2, 0.0, np.nan])
def test_gain_exponents_out_of_range_are_refused(exponent):
    with pytest.raises(ProtocolError, match="gain_exponent"):
        check_gain_exponent(exponent)
    with pytest.raises(ProtocolError, match="gain_exponent"):
        GainRule(0.5, 10.0, exponent, 0.5)


@pytest.mark.parametrize("exponent", [0.6, np.nextafter(0.5, 1), np.nextafter(1, 0)])
def test_gain_exponents_in_range_pass(exponent):
    assert check_gain_exponent(exponent) == exponent


def test_wide_rounds_take_turns_with_close_ones():
    rule = RadiusRule(0.3, 0.3, 0.0, n_wide=3)
    assert [round_radius(rule, number) for number in range(8)] == [0.3, 0, 0.3, 0, 0.3, 0, 0, 0]
    assert RadiusRule(**rule.to_spec()) == rule
    assert "n_wide" not in RadiusRule.fixed(0.3).to_spec()
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ProtocolError, match="n_wide"):
            RadiusRule(0.3, 0.3, 0.0, n_wide=wrong)
