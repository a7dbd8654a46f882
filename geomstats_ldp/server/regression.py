"""Streaming sums of the symmetric-pair regression.

The regression of the half-differences D on the offsets X needs only a few sums over complete
cycles of directions. They are kept per *slot*: slot 0 holds the cycle in progress, slot 1 all
complete cycles, and slot 1 + c the single cycle c = 1, 2, ..., `n_early`. The window at K pairs
omits the first ceil(K^(1/3)) pairs and starts at the next full cycle, so the early slots are what
has to be subtracted, exactly, whenever the region is asked for.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from geomstats_ldp.twins import jitable, jitable_inline

#: Past this many pairs the start of the window stays where it is.
_WINDOW_HORIZON = 10**9

#: Slots of the running sums.
CURRENT, COMPLETE, FIRST_EARLY = 0, 1, 2


class RegressionSums(NamedTuple):
    """Sums over pairs, first index the slot.

    Attributes
    ----------
    n_pairs : array of int, shape [n_slots]
    squared_radius : array, shape [n_slots]
        Sum of h^2.
    d : array, shape [n_slots, dim]
        Sum of D.
    dx : array, shape [n_slots, dim, dim]
        Sum of D X^T.
    dd : array, shape [n_slots, dim, dim]
        Sum of D D^T.
    u : array, shape [n_slots, dim]
        Sum of the pair averages U, in frame coordinates at the iterate of each pair, times the
        weight of the pair; the other sums have no weights.
    """

    n_pairs: np.ndarray
    squared_radius: np.ndarray
    d: np.ndarray
    dx: np.ndarray
    dd: np.ndarray
    u: np.ndarray


def skipped_cycles(n_pairs, n_directions):
    """Cycles before the window: those that touch the first ceil(K^(1/3)) of K pairs."""
    n_pairs = min(int(n_pairs), _WINDOW_HORIZON)
    burn_in = math.ceil(n_pairs ** (1 / 3) - 1e-9)
    return -(-burn_in // n_directions)


def fewest_pairs(n_directions, dim):
    """Pairs from which on the window leaves a residual: more than dim + 1 of whole cycles."""
    cycles = 1
    while True:
        n_pairs = cycles * n_directions
        if n_pairs - skipped_cycles(n_pairs, n_directions) * n_directions > dim + 1:
            return n_pairs
        cycles += 1


def empty_sums(dim, n_directions, n_groups=1):
    """Sums of no pairs at all."""
    n_slots = n_groups * (FIRST_EARLY + skipped_cycles(_WINDOW_HORIZON, n_directions))
    return RegressionSums(
        np.zeros(n_slots, dtype=np.int64),
        np.zeros(n_slots),
        np.zeros((n_slots, dim)),
        np.zeros((n_slots, dim, dim)),
        np.zeros((n_slots, dim, dim)),
        np.zeros((n_slots, dim)),
    )


@jitable_inline
def first_slot(sums, group, n_groups):
    """First slot of a group of participants."""
    return group * (sums.n_pairs.shape[0] // n_groups)


@jitable_inline
def pairs_of_group(sums, group, n_groups):
    """Pairs of a group of participants so far."""
    slot = first_slot(sums, group, n_groups)
    return sums.n_pairs[slot + CURRENT] + sums.n_pairs[slot + COMPLETE]


@jitable_inline
def add_pair(sums, first, dim, average, half_difference, offset, squared_radius):
    """Add one pair to the cycle in progress of the group with the given first slot."""
    current = first + CURRENT
    sums.n_pairs[current] += 1
    sums.squared_radius[current] += squared_radius
    for i in range(dim):
        sums.u[current, i] += average[i]
        sums.d[current, i] += half_difference[i]
        for j in range(dim):
            sums.dx[current, i, j] += half_difference[i] * offset[j]
            sums.dd[current, i, j] += half_difference[i] * half_difference[j]


@jitable
def close_cycle(sums, first, n_groups, cycle):
    """Move the cycle in progress of a group, its number `cycle` from zero, to its complete ones."""
    dim = sums.d.shape[1]
    current, early = first + CURRENT, FIRST_EARLY + cycle
    is_early = early < sums.n_pairs.shape[0] // n_groups
    for target in range(COMPLETE, COMPLETE + 2 if is_early else COMPLETE + 1):
        slot = first + (COMPLETE if target == COMPLETE else early)
        sums.n_pairs[slot] += sums.n_pairs[current]
        sums.squared_radius[slot] += sums.squared_radius[current]
        for i in range(dim):
            sums.u[slot, i] += sums.u[current, i]
            sums.d[slot, i] += sums.d[current, i]
            for j in range(dim):
                sums.dx[slot, i, j] += sums.dx[current, i, j]
                sums.dd[slot, i, j] += sums.dd[current, i, j]
    sums.n_pairs[current] = 0
    sums.squared_radius[current] = 0.0
    for i in range(dim):
        sums.u[current, i] = 0.0
        sums.d[current, i] = 0.0
        for j in range(dim):
            sums.dx[current, i, j] = 0.0
            sums.dd[current, i, j] = 0.0


def windows_of_groups(sums, n_groups, n_directions):
    """Window of each group of participants, a list; see `window`."""
    parts = sums_by_group(sums, n_groups)
    return [window(part, pairs_of_group(part, 0, 1), n_directions) for part in parts]


def sums_by_group(sums, n_groups):
    """Views of the sums of each group of participants, a list."""
    split = (values.reshape(n_groups, -1, *values.shape[1:]) for values in sums)
    return [RegressionSums(*part) for part in zip(*split)]


def window(sums: RegressionSums, n_pairs: int, n_directions: int) -> RegressionSums:
    """Sums over the pairs of the regression window.

    Parameters
    ----------
    sums : RegressionSums
    n_pairs : int
        Pairs received so far.
    n_directions : int

    Returns
    -------
    window : RegressionSums
        Without slots; of no pairs while no full cycle lies in the window.
    """
    last_early = FIRST_EARLY + skipped_cycles(n_pairs, n_directions)
    early = slice(FIRST_EARLY, last_early)
    return RegressionSums(*(values[COMPLETE] - values[early].sum(axis=0) for values in sums))
