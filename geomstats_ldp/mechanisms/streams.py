"""Randomness of simulations and of direct samplers: two generators, passed explicitly."""

from __future__ import annotations

from typing import NamedTuple, Union

import numpy as np

from geomstats_ldp.validation import check_integer

#: What may be a `random_state`, as in scikit-learn, with generators of numpy besides.
Seed = Union[None, int, np.random.Generator, np.random.RandomState]


class Streams(NamedTuple):
    """Two generators, so that drawing in blocks of any size gives the same rows.

    Attributes
    ----------
    uniform, normal : numpy Generator
        Each draws from one law only.
    """

    uniform: np.random.Generator
    normal: np.random.Generator


def make_streams(random_state: Seed | np.random.SeedSequence | Streams = None) -> Streams:
    """Make the pair of generators that feeds `Mechanism.draw`.

    Parameters
    ----------
    random_state : None, int, SeedSequence, Generator, RandomState or Streams
        None takes entropy from the operating system and is the only choice that protects anybody:
        whoever knows a seed can undo the noise, so seeds are for simulation. A ``Generator`` or
        ``RandomState`` is advanced by one 128-bit seed. ``Streams`` are passed through.

    Returns
    -------
    streams : Streams
        A generator of uniforms and an independent generator of normals.
    """
    if isinstance(random_state, Streams):
        return random_state
    uniform, normal = seed_sequence(random_state).spawn(2)
    return Streams(np.random.default_rng(uniform), np.random.default_rng(normal))


def seed_sequence(random_state: Seed | np.random.SeedSequence = None) -> np.random.SeedSequence:
    """Make what `make_streams` makes generators of, which costs less to pass on.

    Parameters
    ----------
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    seed : SeedSequence
    """
    if random_state is None:
        return np.random.SeedSequence()
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.Generator):
        words = random_state.integers(0, 2**32, size=4, dtype=np.uint32)
        return np.random.SeedSequence(words.tolist())
    if isinstance(random_state, np.random.RandomState):
        words = random_state.randint(0, 2**32, size=4, dtype=np.uint32)
        return np.random.SeedSequence(words.tolist())
    return np.random.SeedSequence(check_integer("random_state", random_state, 0))
