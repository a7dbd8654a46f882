"""How far the norm bound that scouts find is from the best one by its own criterion.

Usage: python docs/study/scouted_bounds.py --repetitions 200

Each repetition multiplies the rows by a random factor between 1 and 1,000. The best bound is that
of the same rule for the law itself; a bin is a factor of 1.41. "Size" is that of the region by the
criterion, under the law, over the smallest there is; the rule aims at 1.1.
"""

import argparse

import numpy as np
from scouting import LAWS, TAILS, draw

from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.replication.commands.arguments import repetitions
from geomstats_ldp.scouting import NormHistogram, best_norm_bound
from geomstats_ldp.scouting.device import simulate_norms

#: Rows by which the best bound is found, and fine bins for their norms.
_MANY, _FINE = 20_000, np.geomspace(1e-3, 1e3, 401)


def rows_of(law, tail, rng, n):
    """Rows in one unit; "zeros" are normal and three tenths of them zero."""
    if tail == "zeros":
        return draw(law, "normal", rng, n) * (rng.random((n, 1)) < 0.7)
    return draw(law, tail, rng, n)


def region_size(norms, bounds, noise, width):
    """The size of the region under each bound."""
    clipped = np.minimum(norms, bounds[:, None])
    fourth = np.mean(clipped**4, axis=1) / (width * (width + 2))
    return np.sqrt(fourth + noise * bounds**4 / 4) / np.mean(clipped**2, axis=1)


def cell(law, tail, epsilon, n_scouts, n_repetitions, rng):
    """Bins off, and size of the region, of each repetition."""
    width = len(LAWS[law])
    noise = make_mechanism("privunit", epsilon=epsilon, dim=width - 1, bound=1.0).noise_variance
    norms = np.linalg.norm(rows_of(law, tail, rng, _MANY), axis=1)
    edges = [0.0, *np.sqrt(_FINE[1:] * _FINE[:-1]), np.inf]
    best = best_norm_bound(_FINE, np.histogram(norms, edges)[0], noise, width)
    smallest = region_size(norms, _FINE, noise, width).min()
    histogram = NormHistogram(epsilon)
    bin_width = np.log(histogram.edges[1] / histogram.edges[0])
    found = []
    for _ in range(n_repetitions):
        unit = 1000.0 ** rng.uniform()
        sets = simulate_norms(histogram, unit * rows_of(law, tail, rng, n_scouts), rng)
        shares = histogram.frequencies(sets)
        bound = best_norm_bound(histogram.lengths, shares, noise, width) / unit
        size = region_size(norms, np.array([bound]), noise, width)[0] / smallest
        found.append((np.log(bound / best) / bin_width, size))
    return np.array(found).T


def main():
    """Run the cells and print their lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", nargs="+", default=["guide", "close", "ten"], choices=LAWS)
    parser.add_argument("--tails", nargs="+", default=[*TAILS, "zeros"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[1.0, 2.0, 4.0])
    parser.add_argument("--repetitions", type=repetitions, default=200)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    print("| epsilon | scouts | bins off: median | 90% within | farthest | size: mean | 99% |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for epsilon in options.epsilon:
        enough = NormHistogram(epsilon).n_enough
        for n_scouts in (enough, 2 * enough):
            cells = [
                cell(law, tail, epsilon, n_scouts, options.repetitions, rng)
                for law in options.laws
                for tail in options.tails
            ]
            off, size = np.concatenate(cells, axis=1)
            print(
                f"| {epsilon:g} | {n_scouts} | {np.median(off):.1f} "
                f"| {np.quantile(np.abs(off), 0.9):.1f} | {np.abs(off).max():.1f} "
                f"| {size.mean():.2f} | {np.quantile(size, 0.99):.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
