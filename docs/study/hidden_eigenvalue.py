r"""What Wald regions make of a weak eigenvalue that is hidden among many, and when that would show.

Usage: python docs/study/hidden_eigenvalue.py

One eigenvalue of the Hessian is weak, the others are 1. The regression has symmetric normal errors
with a standard deviation s on the diagonal and s / sqrt(2) off it, independent of the score: the
limit of large numbers. Regions are those of rounds: the deviatoric part shrunk, a guard, and no
range of the loss.

* Wald: coverage of the nominal 95% region, and the median of its semi-axis in the weak direction
  over that with the true Hessian.
* warned: share of the runs with a largest relative error (that of the weakest direction) over the
  threshold of the `WeakCurvatureWarning`.
* counted: the same for a rule that counts dimensions. The deviatoric part has m = d (d + 1) / 2 - 1
  coordinates, whose sum of squares bounds their mean square t^2 from above (at 95%, by the
  noncentral chi-squared law); a direction then errs by 1 / (1 / s^2 + 1 / t^2), the posterior
  variance, and by its share of the error of the mean eigenvalue.
* Wald, not counted: coverage of the Wald regions that this rule does not warn of.
* one by one: Wald as above, but with each eigenvalue less what noise has pushed it away from the
  others, in order, and the whole noise charged to the guard; see `apart`.
"""

import argparse
from itertools import product

import numpy as np
from scipy import stats
from sklearn.isotonic import isotonic_regression

from geomstats_ldp.inference.prediction import LARGEST_ERROR
from geomstats_ldp.protocol import InferenceRule
from geomstats_ldp.replication.commands.arguments import repetitions
from geomstats_ldp.score_regression.shrinkage import (
    charged_share,
    clip_eigenvalues,
    guard_of_parts,
    hessian_floor,
    shrink,
)

LEVEL, N_PARTICIPANTS = 0.95, 8000
RULE = InferenceRule(hessian="shrunk")


def spread_bound(square, n_coordinates):
    """Upper 95% bound on a sum of squared means, from that of normal variables of variance one.

    By the normal approximation of noncentral chi-squared.
    """
    excess, twice = square - n_coordinates, stats.norm.ppf(LEVEL) ** 2 * 2
    linear = excess + twice
    inner = linear**2 - excess**2 + twice * n_coordinates
    return max(0.0, linear + np.sqrt(max(inner, 0.0)))


def apart(hessian, variance):
    """Take off eigenvalues, one by one, by how much noise repels them from each other.

    Symmetric noise moves an eigenvalue by variance / (its distance from another) on average, and
    within the noise of each other by less; the order is kept (Stein, Haff; Bun et al., 2016).
    """
    values, vectors = np.linalg.eigh(hessian)
    gaps = values[:, None] - values
    moved = variance * np.sum(gaps / (gaps**2 + variance), axis=1)
    return (vectors * isotonic_regression(values - moved)) @ vectors.T


def wald(hessian, parts, away, weak):
    """Whether the region covers, and its semi-axis in the weak direction over the true one."""
    dim = len(hessian)
    floor = hessian_floor(np.linalg.eigvalsh(hessian), RULE, 2.0, N_PARTICIPANTS)
    usable = clip_eigenvalues(hessian, floor)
    guard = guard_of_parts(*parts, usable, floor, RULE, dim)
    statistic = np.sum((usable @ away) ** 2) / guard
    axis = np.sqrt(guard * np.linalg.inv(usable @ usable)[0, 0]) * weak
    return statistic <= stats.chi2.ppf(LEVEL, dim), axis


def run(dim, weak, error, n_repetitions, seed=0):
    """One row a repetition, in the order of the columns."""
    rng, variance, m = np.random.default_rng(seed), error**2, dim * (dim + 1) // 2 - 1
    true, rows = np.array([weak] + [1.0] * (dim - 1)), []
    for _ in range(n_repetitions):
        noise = error * rng.normal(size=(dim, dim))
        raw, away = np.diag(true) + (noise + noise.T) / 2, rng.normal(size=dim) / true
        shrunk, kept = shrink(raw, m * variance)
        parts = variance, m * variance * charged_share(kept, m)
        largest = error / np.abs(np.linalg.eigvalsh(raw)).min()
        mean = np.trace(raw) / dim
        square = np.sum((raw - mean * np.eye(dim)) ** 2) / variance
        spread = variance * spread_bound(square, m) / m
        counted = np.sqrt(spread * variance / (spread + variance) + variance / dim) / mean
        rows.append(
            [
                *wald(shrunk, parts, away, weak),
                largest > LARGEST_ERROR,
                min(largest, counted) > LARGEST_ERROR,
                *wald(apart(raw, variance), (variance, m * variance), away, weak),
            ]
        )
    return np.array(rows, dtype=float)


def line(dim, weak, error, rows):
    """Row of the table."""
    quiet = rows[rows[:, 3] == 0, 0]
    unseen = f"{quiet.mean():.3f}" if len(quiet) >= 50 else "few"
    axes = np.median(rows[:, [1, 5]], axis=0)
    return (
        f"| {dim} | {weak:g} | {error:g} | {rows[:, 0].mean():.3f}, {axes[0]:.2f} "
        f"| {rows[:, 2].mean():.2f} | {rows[:, 3].mean():.2f} | {unseen} "
        f"| {rows[:, 4].mean():.3f}, {axes[1]:.2f} |"
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=repetitions, default=2000)
    options = parser.parse_args()
    print("| d | weak | s | Wald | warned | counted | Wald, not counted | one by one |")
    print("| ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |")
    for dim, error, weak in product((3, 5, 10, 19), (0.05, 0.12, 0.2), (1.0, 0.6, 0.4, 0.25)):
        print(line(dim, weak, error, run(dim, weak, error, options.repetitions)), flush=True)


if __name__ == "__main__":
    main()
