r"""How wide regions are beside what was planned from a pilot.

Usage: python docs/study/planning.py --repetitions 100

Each line is a law of the data, of which a pilot of 500 rows is known, and a number of people that
was not emulated: the width that the plan says, with its Monte Carlo standard error in brackets, the
median width of collections among fresh people of the law, with its own, their quotient, that of the
oracle, and that of the width of one emulated collection among the 500 of the pilot, times the root
of 500 / n.
"""

import argparse
import math
import warnings

import numpy as np

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivatePCA,
    PrivateSPDCovariance,
    PrivateVMFLocation,
    plan,
)
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.replication.commands.arguments import repetitions

N_PILOT, SIZES, LOOKED_AT = 500, (500, 1000, 2000, 4000, 16_000), (1000, 4000)

#: A law of rows, and an estimator for it.
LAWS = {
    "direction, epsilon 2": (
        lambda rng, n: [0.6, 0.64, 0.48] + 0.5 * rng.normal(size=(n, 3)),
        PrivateVMFLocation(epsilon=2.0, initial_point=[1.0, 1.0, 1.0], n_rounds=8),
    ),
    "axis, epsilon 4, pairs": (
        lambda rng, n: rng.normal(size=(n, 3)) * [0.2, 0.9, 0.3],
        PrivatePCA(norm_bound=2.0, epsilon=4.0, initial_point=[0.3, 1.0, 0.3]),
    ),
    "axis, small eigengap, epsilon 8": (
        lambda rng, n: rng.standard_t(6, size=(n, 3)) * [0.8, 0.6, 0.3],
        PrivatePCA(norm_bound=2.0, epsilon=8.0, initial_point=[1.0, 0.3, 0.0], n_rounds=8),
    ),
    "mean, epsilon 1": (
        lambda rng, n: rng.exponential(0.4, size=(n, 2)),
        PrivateFrechetMean(data_radius=1.5, epsilon=1.0, n_rounds=1),
    ),
    "covariance, epsilon 8": (
        lambda rng, n: rng.normal(size=(n, 2)) @ [[0.8, 0.3], [0.0, 0.6]],
        PrivateSPDCovariance(norm_bound=2.0, epsilon=8.0),
    ),
}


def widths(estimator, draw, n, seeds):
    """Largest radii of collections among fresh people."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        for seed in seeds:
            rng = np.random.default_rng([1, n, seed])
            estimator.set_params(random_state=rng).fit(draw(rng, n))
            found.append(estimator.confidence_region().largest_radius)
    return np.array(found)


def main():
    """Print a line for each law and number of people."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=repetitions, default=100)
    options = parser.parse_args()
    print("| law | n | planned | collections | planned / | oracle / | pilot / |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (draw, estimator) in LAWS.items():
        pilot = draw(np.random.default_rng(0), N_PILOT)
        planned = plan(estimator, pilot, n=SIZES, n_emulations=20)
        alone = widths(estimator, lambda rng, n: pilot, N_PILOT, [0])[0]  # noqa: B023
        for row in planned.rows:
            if row.n in LOOKED_AT:
                seen = widths(estimator, draw, row.n, range(options.repetitions))
                middle = np.median(seen)
                error = 1.25 * np.std(seen) / math.sqrt(len(seen))
                quotients = (row.width, row.oracle, alone * math.sqrt(N_PILOT / row.n))
                cells = " | ".join(f"{width / middle:.2f}" for width in quotients)
                print(
                    f"| {name} | {row.n:,} | {row.width:.3f} ({row.error:.3f}) | "
                    f"{middle:.3f} ({error:.3f}) | {cells} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
