"""`release_into`: the same numbers one by one, of many and in place, and a cache that survives."""

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest

import geomstats_ldp
from geomstats_ldp.mechanisms import MECHANISMS, make_mechanism, make_streams, release_into
from geomstats_ldp.mechanisms.base import compiled_release

PARAMETERS = {
    "privunit": {"epsilon": 1.0},
    "gaussian": {"epsilon": 1.0, "delta": 1e-5},
    "l2_ball": {"epsilon": 1.0},
    "identity": {"epsilon": math.inf},
}


def build(name, dim=3):
    return make_mechanism(name, dim=dim, bound=1.5, **PARAMETERS[name])


@pytest.mark.parametrize("name", MECHANISMS)
def test_one_by_one_and_in_place_the_same_is_released_to_the_last_bit(name):
    for dim in (1, 2, 5):
        mechanism = build(name, dim)
        vectors = np.random.default_rng(0).normal(size=(200, dim))
        vectors[0], vectors[1] = 0.0, 1e300
        variates = mechanism.draw(200, make_streams(1))
        expected = mechanism.release(vectors, variates)
        out, scratch = np.empty_like(vectors), np.empty(dim + 1)
        for row in range(200):
            release_into(mechanism, vectors[row], variates[row], scratch, out[row])
        np.testing.assert_array_equal(out, expected)
        compiled_release(mechanism.twin(), vectors, variates, vectors)  # in place
        np.testing.assert_array_equal(vectors, expected)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_compiled_release_refuses_non_finite_vectors(name, entry):
    mechanism = build(name)
    vectors = np.array([[0.0, entry, 0.0]])
    variates = mechanism.draw(1, make_streams(1))
    out = np.full((1, 3), -7.0)
    with pytest.raises(ValueError, match="vector must be finite"):
        compiled_release(mechanism.twin(), vectors, variates, out)
    assert (out == -7.0).all()


def test_twins_are_of_one_type_and_of_plain_numbers():
    """What is compiled for one mechanism serves all."""
    twins = [build(name).twin() for name in MECHANISMS]
    assert len({numba.typeof(twin) for twin in twins}) == 1
    assert len({twin.kind for twin in twins}) == len(MECHANISMS)
    for twin in twins:
        assert all(type(value) in (int, float) for value in twin)


class Stranger(NamedTuple):
    dim: int
    bound: float


def test_unknown_records_do_not_compile():
    with pytest.raises(numba.TypingError):
        compiled_release(Stranger(3, 1.0), np.zeros((1, 3)), np.zeros((1, 3)), np.zeros((1, 3)))


CALLER = """
import numba
import numpy as np
from geomstats_ldp.mechanisms import make_mechanism, make_streams, release_into

@numba.njit(cache=True)
def caller(mechanism, vector, variates, scratch, out):
    release_into(mechanism, vector, variates, scratch, out)

mechanism = make_mechanism("privunit", epsilon=1.0, dim=2, bound=1.0)
out = np.empty(2)
variates = mechanism.draw(1, make_streams(0))[0]
caller(mechanism.twin(), np.zeros(2), variates, np.empty(3), out)
assert np.array_equal(out, mechanism.release(np.zeros(2), variates))
print(sum(caller.stats.cache_hits.values()), sum(caller.stats.cache_misses.values()))
"""


@pytest.mark.slow
def test_a_second_process_reuses_the_compiled_caller(tmp_path):
    script = tmp_path / "caller.py"
    script.write_text(CALLER)
    root = str(Path(geomstats_ldp.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    counts = [
        subprocess.run(
            [sys.executable, str(script)],
            env=environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout.split()
        for _ in range(2)
    ]
    assert counts == [["0", "1"], ["1", "0"]]
