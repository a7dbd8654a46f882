"""What directions that follow the messages would be worth where curvature is weak.

Usage: python docs/study/adaptive_directions.py

One eigenvalue of the Hessian is 0.3, the others are 1. The even cycle of directions learns all
columns of the Hessian alike. The adaptive one spends half of the pairs so, and the other half along
the eigenvectors of what the first half says, in proportion to one over the squared eigenvalue, but
for a floor: with that, the Gram matrix of the offsets is at least three quarters of the even one in
each direction. This is the limit of large numbers: the regression has normal errors with the
inverse of its Gram matrix, and they are independent of the estimate (Lemma 2 of the theory page).

Columns: standard error of the Hessian in its weak direction under the even cycle, over its size;
coverage of the nominal 95% Wald and score regions; medians of their semi-axes in the weak
direction over the one with the true Hessian, "inf" where a score region has no end.
"""

import argparse

import numpy as np
from scipy import stats

from geomstats_ldp.replication.commands.arguments import repetitions

WEAK, N_PARTICIPANTS, LEVEL = 0.3, 8000, 0.95


def noisy(rng, hessian, gram):
    """Slope of a regression whose offsets have a Gram matrix, in units of the noise."""
    root = np.linalg.inv(np.linalg.cholesky(gram)).T
    return hessian + rng.normal(size=hessian.shape) @ root.T


def learnt(rng, hessian, gram, is_adaptive):
    """Slope and Gram matrix at the end of all pairs."""
    if not is_adaptive:
        return noisy(rng, hessian, gram), gram
    dim, half = len(hessian), gram / 2
    first = noisy(rng, hessian, half)
    values, vectors = np.linalg.eigh((first + first.T) / 2)
    wanted = np.maximum(np.abs(values), np.abs(values).mean() / 10) ** -2.0
    shares = 0.5 / dim + 0.5 * wanted / wanted.sum()
    rest = dim * (vectors * shares) @ vectors.T @ half
    second = noisy(rng, hessian, (rest + rest.T) / 2)
    total = half + rest
    return (first @ half + second @ rest) @ np.linalg.inv(total), total


def run(dim, error, is_adaptive, repetitions, seed=0):
    """Coverage and median weak semi-axis of both regions."""
    rng, bound = np.random.default_rng(seed), stats.chi2.ppf(LEVEL, dim)
    hessian = np.diag([WEAK] + [1.0] * (dim - 1))
    gram = np.eye(dim) / (error * WEAK) ** 2
    outcomes = []
    for _ in range(repetitions):
        slope, total = learnt(rng, hessian, gram, is_adaptive)
        slope, inverse = (slope + slope.T) / 2, np.linalg.inv(total)
        values, vectors = np.linalg.eigh(slope)
        values = np.maximum(values, np.abs(values).mean() / 2 * N_PARTICIPANTS**-0.25)
        floored = (vectors * values) @ vectors.T
        away = np.linalg.solve(hessian, rng.normal(size=dim))
        wald = np.sum((floored @ away) ** 2)
        score = np.sum((slope @ away) ** 2) / (1 + away @ inverse @ away)
        left = np.sum(slope[:, 0] ** 2) - bound * inverse[0, 0]
        ends = WEAK / np.linalg.norm(floored[:, 0]), WEAK / np.sqrt(left) if left > 0 else np.inf
        outcomes.append([wald <= bound, score <= bound, *ends])
    outcomes = np.array(outcomes)
    return [*outcomes[:, :2].mean(axis=0), *np.median(outcomes[:, 2:], axis=0)]


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=repetitions, default=4000)
    options = parser.parse_args()
    print("| dimension | error | cycle | Wald covers | semi-axis | score covers | semi-axis |")
    print("| ---: | ---: | --- | ---: | ---: | ---: | ---: |")
    for dim in (2, 5, 10):
        for error in (0.1, 0.2, 0.3):
            for is_adaptive in (False, True):
                wald, score, *axes = run(dim, error, is_adaptive, options.repetitions)
                cycle = "adaptive" if is_adaptive else "even"
                print(
                    f"| {dim} | {error} | {cycle} | {wald:.3f} | {axes[0]:.2f} "
                    f"| {score:.3f} | {axes[1]:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
