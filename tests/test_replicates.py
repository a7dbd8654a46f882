"""Repetitions are the same numbers however they are spread over workers."""

import numpy as np
import pytest
from joblib import parallel_config

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.replicates import replicate


def draw(seed):
    return np.random.default_rng(seed).normal(size=3)


def test_repetition_i_draws_from_child_i():
    children = np.random.SeedSequence(5).spawn(4)
    expected = [np.random.default_rng(child).normal(size=3) for child in children]
    np.testing.assert_array_equal(list(replicate(draw, 4, seed=5)), expected)


def test_numbers_do_not_depend_on_workers_or_batches():
    expected = list(replicate(draw, 23, seed=1))
    for options in ({"n_jobs": 2}, {"n_jobs": 2, "backend": "threading"}):
        with parallel_config(**options):
            np.testing.assert_array_equal(list(replicate(draw, 23, seed=1)), expected)
    np.testing.assert_array_equal(list(replicate(draw, 23, seed=1, n_jobs=2)), expected)


def test_the_first_of_many_are_those_of_few():
    few, many = list(replicate(draw, 3, seed=2)), list(replicate(draw, 9, seed=2))
    np.testing.assert_array_equal(few, many[:3])


def test_a_sequence_gives_the_same_children_again():
    root = np.random.SeedSequence(7)
    first = list(replicate(draw, 2, seed=root))
    np.testing.assert_array_equal(list(replicate(draw, 2, seed=root)), first)


@pytest.mark.parametrize("bad", [0, -1, 2.5])
def test_bad_numbers_of_repetitions_are_named(bad):
    with pytest.raises(ProtocolError, match="n_repetitions"):
        replicate(draw, bad, seed=0)
