"""The bound that follows from a histogram of norms."""

import numpy as np
import pytest

from geomstats_ldp.exceptions import ArgumentTypeError, ProtocolError
from geomstats_ldp.scouting import best_norm_bound

LENGTHS = np.geomspace(0.01, 100.0, 81)


def shares_of(norms):
    """Shares of norms in bins with these lengths in the middle."""
    places = np.round((np.log(norms) - np.log(LENGTHS[0])) / np.log(LENGTHS[1] / LENGTHS[0]))
    return np.bincount(places.astype(int).clip(0, 80), minlength=81) / len(norms)


def test_rows_of_one_length_are_kept_and_the_bound_is_that_of_the_tolerance():
    shares = np.zeros(81)
    shares[40] = 1.0  # at 1
    for noise, width in ((0.1, 3), (5.0, 10)):
        bound = best_norm_bound(LENGTHS, shares, noise, width)
        data = 1 / (width * (width + 2))
        # Beyond the rows only noise grows: data + v B^4 / 4 = 1.21 (data + v / 4).
        exact = ((1.21 * (data + noise / 4) - data) * 4 / noise) ** 0.25
        assert bound <= exact and bound == pytest.approx(exact, rel=0.02)


def test_the_bound_has_the_unit_of_the_data_and_needs_no_normalised_shares():
    rng = np.random.default_rng(0)
    shares = shares_of(np.exp(rng.normal(size=10_000)))
    bound = best_norm_bound(LENGTHS, shares, 1.0, 4)
    assert best_norm_bound(1000 * LENGTHS, 7 * shares, 1.0, 4) == pytest.approx(1000 * bound)


@pytest.mark.parametrize("noise", [0.3, 5.0])
def test_the_region_is_a_tenth_larger_than_that_of_rows_of_one_length(noise):
    norms = np.linalg.norm(np.random.default_rng(0).normal(size=(40_000, 4)), axis=1)

    def size(bound):  # of the region, from the norms themselves
        clipped = np.minimum(norms, bound)
        return np.sqrt(np.mean(clipped**4) / 24 + noise * bound**4 / 4) / np.mean(clipped**2)

    bound = best_norm_bound(LENGTHS, shares_of(norms), noise, 4)
    assert size(bound) / size(0.01) == pytest.approx(1.1, abs=0.01)


def test_less_noise_keeps_more_rows_as_they_are():
    norms = np.linalg.norm(np.random.default_rng(0).normal(size=(20_000, 4)), axis=1)
    bounds = [best_norm_bound(LENGTHS, shares_of(norms), noise, 4) for noise in (0.0, 0.3, 5.0)]
    assert bounds[0] > bounds[1] > bounds[2]


@pytest.mark.parametrize(("place", "way"), [(0, "below"), (80, "above")])
def test_norms_out_of_range_are_told_of(place, way):
    shares = np.full(81, 0.4 / 80)
    shares[place] = 0.6
    with pytest.raises(ProtocolError, match=f"norms must lie between .* more than half are {way}"):
        best_norm_bound(LENGTHS, shares, 1.0, 3)


@pytest.mark.parametrize(
    "arguments",
    [
        (LENGTHS, -np.ones(81), 1.0, 3),
        (LENGTHS, np.ones(80), 1.0, 3),
        (LENGTHS, np.ones(81), -1.0, 3),
        (LENGTHS, np.ones(81), 1.0, 0),
    ],
)
def test_arguments_are_checked(arguments):
    with pytest.raises((ProtocolError, ArgumentTypeError)):
        best_norm_bound(*arguments)
