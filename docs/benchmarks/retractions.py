"""What a cheaper retraction could save at most: the share of the exponential map in a fit in pairs.

Usage: python docs/benchmarks/retractions.py

A participant in pairs costs one and a half exponential maps: a pair two for its queries and one for
the update. Times are of the processor.
"""

import time

import numpy as np
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.spd_matrices import SPDMatrices
from numba import njit

from geomstats_ldp import PrivateFrechetMean
from geomstats_ldp.geometry import dispatch

N_PARTICIPANTS, N_MAPS, TRIES = 100_000, 100_000, 3

SPACES = {
    "H2": (Hyperboloid(2), np.eye(3)[0]),
    "SPD3": (SPDMatrices(3), np.eye(3)),
}


@njit
def map_often(twin, vector, point, out, n):
    """Compute the exponential map n times."""
    for _ in range(n):
        dispatch.exp(twin, vector, point, out)


def shortest(run, *arguments):
    """Seconds of processor time of the fastest of a few tries."""
    times = []
    for _ in range(TRIES):
        start = time.process_time()
        run(*arguments)
        times.append(time.process_time() - start)
    return min(times)


def main():
    """Print a line for each space."""
    rng = np.random.default_rng(0)
    for name, (space, center) in SPACES.items():
        mean = PrivateFrechetMean(space, data_radius=1.0, initial_point=center, random_state=0)
        geometry = mean.start().protocol_.geometry
        base = np.broadcast_to(center, (N_PARTICIPANTS, *center.shape))
        coords = 0.2 * rng.normal(size=(N_PARTICIPANTS, geometry.dim))
        rows = geometry.exp(geometry.lift(coords, base), base)
        mean.fit(rows[:100])
        fit = shortest(mean.fit, rows) / N_PARTICIPANTS
        point, twin, out = rows[0].copy(), geometry.twin(), np.empty(center.shape)
        vector = geometry.lift(np.full(geometry.dim, 0.1), point)
        map_often(twin, vector, point, out, 1)
        one = shortest(map_often, twin, vector, point, out, N_MAPS) / N_MAPS
        print(
            f"{name}: {1e9 * fit:.0f} ns a participant, {1e9 * one:.0f} ns an exponential map, "
            f"at most {1.5 * one / fit:.0%} to save"
        )


if __name__ == "__main__":
    main()
