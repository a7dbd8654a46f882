"""Gains and radii of the baselines against the formulas of the paper."""

import math

import numpy as np
import pytest

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.replication.baselines import ProbeRadius, offset_gain, reduced_gain


def gain_of(rule, i):
    return rule.constant * (i + rule.offset) ** -rule.exponent


@pytest.mark.parametrize(("constant", "noise", "step"), [(0.18, 40.0, 0.85), (1.0, 9.3, 0.1)])
def test_offset_makes_the_first_noise_step_equal_to_the_bound(constant, noise, step):
    rule = offset_gain(constant, noise, step)
    assert math.isclose(gain_of(rule, 1) * noise, step, rel_tol=1e-12)
    assert rule.offset == pytest.approx((constant * noise / step) ** (1 / 0.6) - 1, rel=1e-12)
    assert (rule.constant, rule.exponent, rule.step_cap) == (constant, 0.6, math.inf)


@pytest.mark.parametrize("noise", [0.0, 1e-9, 0.1])
def test_little_noise_changes_nothing(noise):
    assert offset_gain(0.6, noise, 0.75).offset == 0.0
    assert reduced_gain(0.6, noise, 0.75) == offset_gain(0.6, noise, 0.75)


def test_reduced_gain_has_no_offset():
    rule = reduced_gain(0.6, 10.0, 0.75)
    assert (rule.constant, rule.offset, rule.exponent, rule.step_cap) == (0.075, 0.0, 0.6, math.inf)


@pytest.mark.parametrize("make", [offset_gain, reduced_gain])
@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((0.0, 1.0, 0.5), "gain constant"),
        ((np.nan, 1.0, 0.5), "gain constant"),
        ((0.5, -1.0, 0.5), "noise_scale"),
        ((0.5, np.inf, 0.5), "noise_scale"),
        ((0.5, 1.0, 0.0), "noise_step"),
        ((0.5, 1.0, np.nan), "noise_step"),
    ],
)
def test_gains_name_what_is_out_of_range(make, arguments, match):
    with pytest.raises(ProtocolError, match=match):
        make(*arguments)


def test_an_uncapped_gain_passes_through_json(pca_protocol):
    protocol = pca_protocol(gain=offset_gain(0.5, 3.0, 0.8))
    copy = Protocol.from_json(protocol.to_json())
    assert copy == protocol
    assert copy.gain.step_cap == math.inf


def test_probe_radius_shrinks_with_the_number_of_participants():
    assert ProbeRadius(0.65, 0.025).at(32000) == pytest.approx(0.65 * 32000**-0.025, rel=1e-15)
    assert ProbeRadius(0.65).at(32000) == 0.65


@pytest.mark.parametrize(("scale", "exponent"), [(0.0, 0.1), (np.inf, 0.1), (0.5, 0.5), (0.5, -1)])
def test_probe_radius_refuses_what_tells_nothing(scale, exponent):
    with pytest.raises(ProtocolError, match="probe radius"):
        ProbeRadius(scale, exponent)
