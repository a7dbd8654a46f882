"""Constants of the Duchi-Jordan-Wainwright mechanism."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from geomstats_ldp.mechanisms import L2Ball, make_streams


@pytest.mark.parametrize("dim", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 8.0, 18.9])
def test_radius_and_variances_match_their_definition(dim, epsilon):
    mechanism = L2Ball(epsilon=epsilon, dim=dim, bound=1.0)
    with mp.workdps(700):
        gamma_ratio = mp.gamma(mp.mpf(dim + 1) / 2) / mp.gamma(mp.mpf(dim) / 2)
        radius = mp.coth(mp.mpf(epsilon) / 2) * mp.sqrt(mp.pi) * gamma_ratio
        floor = radius**2 / dim - 1
        assert abs(mechanism.radius / radius - 1) < 1e-12
        assert abs(mechanism.noise_variance / (radius**2 / dim) - 1) < 1e-12
        assert abs(mechanism.noise_variance_floor / floor - 1) < 1e-11


def test_on_the_line_it_is_randomised_response():
    mechanism = L2Ball(epsilon=1.0, dim=1, bound=2.0)
    released = mechanism.randomise(np.full((20_000, 1), 2.0), 0)
    np.testing.assert_allclose(np.abs(released), 2.0 / math.tanh(0.5), rtol=1e-14)
    kept, p = np.mean(released > 0), math.e / (1 + math.e)
    assert abs(kept - p) < 5 * math.sqrt(p * (1 - p) / 20_000)  # five binomial errors


def test_the_zero_vector_gives_the_uniform_law_of_the_sphere():
    mechanism = L2Ball(epsilon=3.0, dim=3, bound=1.0)
    n = 50_000
    released = mechanism.release(np.zeros(3), mechanism.draw(n, make_streams(1)))
    height = released / mechanism.radius  # coordinates of a uniform point of S^2 are uniform
    assert np.abs(height.mean(axis=0)).max() < 5 / math.sqrt(3 * n)
    assert np.abs((height**2).mean(axis=0) - 1 / 3).max() < 5 * math.sqrt(4 / 45 / n)


def test_messages_are_on_the_sphere():
    mechanism = L2Ball(epsilon=3.0, dim=4, bound=1.0)
    released = mechanism.randomise(np.full((100, 4), 0.2), 0)
    np.testing.assert_allclose(np.linalg.norm(released, axis=-1), mechanism.radius, rtol=1e-14)
    assert np.isfinite(mechanism.log_density(released, np.full(4, 0.2))).all()


def test_the_realised_epsilon_is_the_nominal_one_up_to_the_largest():
    """By exact fractions, at the ends of the ball, where the half is taken for certain."""
    largest = L2Ball.largest_epsilon(3)
    for epsilon in (1.0, 8.0, largest):
        near = L2Ball(epsilon=epsilon, dim=3, bound=1.0).twin().probability
        levels = math.ceil(Fraction(near) * 2**53)
        realised = mp.log(mp.mpf(levels) / (2**53 - levels))
        assert abs(realised / mp.mpf(epsilon) - 1) < 1e-9
    with pytest.raises(ValueError, match=r"at most 18\.95 .* got 36\.75"):
        L2Ball(epsilon=36.75, dim=3, bound=1.0)
