r"""What a symmetric error of the Hessian leaves of score regions, in the limit of normal errors.

Usage: python docs/study/symmetric_errors.py

Two tables. In units of the error of the score at the pivot the score at the target is z + E w, with
z standard normal in d dimensions, w the way from the pivot, and E symmetric with variance v on and
v / 2 off the diagonal; t = v |w|^2.

* Level: how often a region of nominal level 95% holds the target: with all of V = v I, with the
  share of it that symmetric errors need, and with the whole covariance (1 + t / 2) I + t e e^T / 2,
  e along w. "Follows" is the mean square of z along e, one where the way does not depend on z.
  Centres of rounds follow the noise, which makes it more.
* Open: the Hessian is the identity with an error of standard deviation s on the diagonal. Mean
  numbers of eigenvectors of the estimate along which the region has no end, with all of V and with
  the share, and along which the best test of level 5% does not tell the Hessian from zero; and the
  share of *fixed* directions along which any region that always covers has no end at least.
"""

import argparse
from itertools import product

import numpy as np
from scipy import stats

from geomstats_ldp.replication.commands.arguments import repetitions
from geomstats_ldp.score_regression.instruments import quantile_of_squares

LEVEL = 0.95


def share_of(dim):
    """Share of V that a region of symmetric errors counts."""
    weights = np.append(np.full(dim - 1, 0.5), 1.0)
    return quantile_of_squares(weights, 1 - LEVEL) / stats.chi2.ppf(LEVEL, dim)


def levels(dim, follows, t, n, rng):
    """How often the three regions hold the target."""
    z, other = rng.normal(size=(2, n, dim))
    tied = np.sqrt(max(follows - 1, 0) / (dim - 1))
    way = tied * z + np.sqrt(1 - tied**2) * other
    along = np.sum(z * way, axis=1) / np.linalg.norm(way, axis=1)
    # The part of z across the way, and that of E w along and across it.
    across = np.sqrt(np.maximum(np.sum(z**2, axis=1) - along**2, 0))
    along += np.sqrt(t) * rng.normal(size=n)
    noise = np.sqrt(t / 2) * rng.normal(size=n)
    rest = t / 2 * rng.chisquare(dim - 2, size=n) if dim > 2 else 0
    across = (across + noise) ** 2 + rest
    quantile, total = stats.chi2.ppf(LEVEL, dim), along**2 + across
    return [
        np.mean(total <= quantile * (1 + t)),
        np.mean(total <= quantile * (1 + share_of(dim) * t)),
        np.mean(along**2 / (1 + t) + across / (1 + t / 2) <= quantile),
    ]


def open_directions(dim, error, n, rng):
    """Mean numbers of eigenvectors along which regions have no end, in the order of the table."""
    quantile = stats.chi2.ppf(LEVEL, dim)
    limits = np.sqrt([quantile, share_of(dim) * quantile])
    noise = error * rng.normal(size=(n, dim, dim))
    values = np.linalg.eigvalsh(np.eye(dim) + (noise + np.swapaxes(noise, 1, 2)) / 2)
    numbers = [np.mean(np.sum(np.abs(values) <= limit * error, axis=1)) for limit in limits]
    # One-sided: Hessians at a minimum are not negative.
    return [*numbers, np.mean(np.sum(values <= stats.norm.ppf(LEVEL) * error, axis=1))]


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=repetitions, default=100_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    print("| d | share | follows | t | V | share of V | whole covariance |")
    print("| ---: | ---: | ---: | ---: | --- | --- | --- |")
    for dim, follows, t in product((5, 10, 19), (1, 3, 6), (0.3, 3)):
        if follows < dim:
            found = " | ".join(
                f"{x:.3f}" for x in levels(dim, follows, t, options.repetitions, rng)
            )
            print(f"| {dim} | {share_of(dim):.2f} | {follows} | {t} | {found} |", flush=True)
    print("\n| d | s | V | share of V | best test | fixed |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for dim, error in product((5, 19), (0.05, 0.1, 0.13, 0.2, 0.32, 0.5)):
        numbers = open_directions(dim, error, options.repetitions // 100, rng)
        found = " | ".join(f"{x:.1f}" for x in numbers)
        fixed = stats.norm.cdf(stats.norm.ppf(LEVEL) - 1 / error)
        print(f"| {dim} | {error} | {found} | {fixed:.2g} |", flush=True)


if __name__ == "__main__":
    main()
