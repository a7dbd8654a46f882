"""Subset selection: the law over all sets, the generator, and what is released."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from geomstats_ldp.exceptions import ArgumentTypeError, ProtocolError
from geomstats_ldp.mechanisms.candidates import philox4x32
from geomstats_ldp.mechanisms.subset_selection import SubsetSelection

CASES = [(0.5, 5), (1.0, 6), (2.0, 9), (4.0, 4)]


def all_sets(mechanism):
    places = itertools.combinations(range(mechanism.dim), mechanism.subset_size)
    sets = np.zeros((math.comb(mechanism.dim, mechanism.subset_size), mechanism.dim))
    for row, chosen in zip(sets, places):
        row[list(chosen)] = 1.0
    return sets


def law(mechanism, category):
    """Probabilities of all sets, by the weights with which candidates are accepted."""
    weights = mechanism.weight(all_sets(mechanism), np.eye(mechanism.dim)[category])
    return weights / weights.sum()


@pytest.mark.parametrize(("epsilon", "k"), CASES)
def test_no_set_tells_more_than_epsilon_and_messages_have_no_bias(epsilon, k):
    mechanism, sets = SubsetSelection(epsilon, k), all_sets(SubsetSelection(epsilon, k))
    laws = np.array([law(mechanism, i) for i in range(k)])
    ratio = laws.max(axis=0) / laws.min(axis=0)
    # The weights keep to a little less than epsilon, which moves no number here by more.
    assert epsilon - 1e-6 < np.log(ratio.max()) <= epsilon
    held = laws @ sets  # probability that the set of i holds j
    np.testing.assert_allclose(np.diag(held), mechanism.own_probability, rtol=1e-6)
    others = held[~np.eye(k, dtype=bool)]
    np.testing.assert_allclose(others, mechanism.other_probability, rtol=1e-6)
    np.testing.assert_allclose(laws @ mechanism.point_vector(sets), np.eye(k), atol=1e-5)


@pytest.mark.parametrize(("epsilon", "k"), [*CASES, (0.1, 80), (8.0, 80)])
def test_the_size_is_the_best_near_the_rule_of_ye_and_barg(epsilon, k):
    size = SubsetSelection(epsilon, k).subset_size
    assert abs(size - k / (math.exp(epsilon) + 1)) < 1 or size == 1


def scalar_set(candidate, k, size):
    """The documented steps, one number at a time in integers of Python."""
    words = []
    for j in range((k + 1) // 2):
        counter = [np.array([x], dtype=np.uint64) for x in (j, 0, 0, 0)]
        key = [np.array([x], dtype=np.uint64) for x in (candidate % 2**32, candidate // 2**32)]
        x = [int(word[0]) for word in philox4x32(counter, key)]
        words += [x[0] * 2**32 + x[1], x[2] * 2**32 + x[3]]
    places = sorted(range(k), key=lambda i: (words[i], i))[:size]
    return [float(i in places) for i in range(k)]


def test_sets_of_candidates_are_the_documented_ones():
    mechanism = SubsetSelection(1.0, 9)
    numbers = [0, 1, 2**32, 2**64 - 1, 0x0123456789ABCDEF]
    expected = [scalar_set(number, 9, mechanism.subset_size) for number in numbers]
    found = mechanism.candidate_points(np.array(numbers, dtype=np.uint64))
    np.testing.assert_array_equal(found, expected)
    # All sets are about as frequent.
    sets = mechanism.candidate_points(np.arange(20_000, dtype=np.uint64))
    _, counts = np.unique(sets, axis=0, return_counts=True)
    assert len(counts) == math.comb(9, mechanism.subset_size)
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.slow
def test_what_is_released_has_the_law_of_the_direct_sampler():
    mechanism, category, n = SubsetSelection(2.0, 5), 3, 4000
    rng = np.random.default_rng(0)
    numbers = [mechanism.release_candidate(np.eye(5)[category]) for _ in range(n)]
    released = mechanism.candidate_points(np.array(numbers, dtype=np.uint64))
    simulated = mechanism.simulate(np.full(n, category), rng)
    every, expected = all_sets(mechanism), law(mechanism, category)
    for sets in (released, simulated):
        counts = [np.sum(np.all(sets == one, axis=1)) for one in every]
        assert stats.chisquare(counts, n * expected).pvalue > 1e-6


def test_frequencies_have_no_bias_and_the_stated_error():
    mechanism, rng = SubsetSelection(1.0, 20), np.random.default_rng(1)
    categories = rng.choice(20, p=np.r_[0.5, 0.3, 0.2, np.zeros(17)], size=40_000)
    found = mechanism.frequencies(mechanism.simulate(categories, rng))
    shares = np.bincount(categories, minlength=20) / len(categories)
    own, other = mechanism.own_probability, mechanism.other_probability
    error = math.sqrt(other * (1 - other) / len(categories)) / (own - other)
    assert found.sum() == pytest.approx(1.0)
    assert np.abs(found - shares)[3:].max() < 4 * error
    assert np.std((found - shares)[3:]) == pytest.approx(error, rel=0.6)


def test_without_privacy_a_set_is_the_datum():
    mechanism = SubsetSelection(math.inf, 6)
    assert mechanism.subset_size == 1
    sets = mechanism.simulate([0, 5, 3], np.random.default_rng(0))
    np.testing.assert_array_equal(sets, np.eye(6)[[0, 5, 3]])
    with pytest.raises(ProtocolError, match="epsilon=inf is not private"):
        mechanism.release_candidate(np.eye(6)[0])


@pytest.mark.parametrize("wrong", [(0.0, 5), (1.0, 1), ("1", 5), (1.0, 2.5), (1.0, None)])
def test_arguments_are_checked(wrong):
    with pytest.raises((ProtocolError, ArgumentTypeError), match=r"epsilon|n_categories"):
        SubsetSelection(*wrong)
