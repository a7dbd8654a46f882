r"""How often regions of a principal subspace and intervals of its angles and variances cover.

Usage: python docs/study/components.py --repetitions 400

Rows are normal with the standard deviations of a design, clipped to a bound. Each line gives the
coverage of the 95% Wald region of the subspace, in which share of the repetitions it came with a
warning of weak curvature, the coverage of the score region, that of the intervals of both principal
angles to a fixed plane, and, in rounds, of the excess variances and of the shares of variance
(whose total is asked of a further quarter of people), each component by itself; then the median
largest semi-axis of the Wald region over that of the oracle, whose covariance is known, and the
root mean squared distance over what the oracle's covariance predicts. Monte Carlo standard errors
are in brackets; those of intervals take the two components of a repetition for one.
"""

import argparse
import warnings
from typing import NamedTuple

import numpy as np
from problems import LEVEL, run_cells, share_error
from scipy import stats

from geomstats_ldp import PrivatePCA
from geomstats_ldp.exceptions import LDPWarning, WeakCurvatureWarning
from geomstats_ldp.geometry import principal_angles
from geomstats_ldp.replication.commands.arguments import repetitions

#: Repetitions of one task, and rows from which population quantities are computed.
_TASK, _POPULATION = 20, 400_000


class Design(NamedTuple):
    """Standard deviations of the columns, the bound of a row, and the public guess."""

    scales: tuple
    norm_bound: float
    guess: tuple


DESIGNS = {
    "even": Design((1.0, 0.9, 0.3, 0.3), 2.5, ((1, 0.2, 0, 0.1), (0, 1, 0.2, 0))),
    "uneven": Design((1.2, 0.7, 0.3, 0.2), 2.5, ((1, 0.2, 0, 0.1), (0, 1, 0.2, 0))),
    "five": Design((1.0, 0.8, 0.3, 0.2, 0.1), 2.5, ((1, 0, 0.2, 0, 0.1), (0, 1, 0, 0.2, 0))),
}


def draw(design, n, rng):
    """Rows of a design."""
    return rng.normal(size=(n, len(design.scales))) * design.scales


def clipped(design, rows):
    """Rows after clipping."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * np.minimum(1.0, design.norm_bound / lengths)


def plane(width):
    """The fixed plane that angles are taken to, at about 20 and 40 degrees from the target."""
    return np.eye(2, width) + np.diag([0.35, 0.8]) @ np.eye(2, width, 2)


def model(design, epsilon, n_rounds, seed):
    """The estimator of a design."""
    return PrivatePCA(
        norm_bound=design.norm_bound,
        epsilon=epsilon,
        n_components=2,
        initial_point=design.guess,
        n_rounds=n_rounds,
        random_state=seed,
    )


def oracle(design, epsilon, n):
    """Covariance of the best estimate, from the law and the mechanism."""
    start = model(design, epsilon, None, None).set_params(n_participants=n).start()
    protocol, rows = start.protocol_, clipped(design, draw(design, _POPULATION, _population()))
    target = np.diag([1.0, 1.0, *[0.0] * (len(design.scales) - 2)])
    axes = protocol.geometry.lift(np.eye(protocol.dim), target)
    inside, outside = rows @ target, rows @ (np.eye(len(target)) - target)
    scores = -np.einsum("na,iab,nb->ni", inside, axes, outside)
    moment = rows.T @ rows / len(rows) @ (2 * target - np.eye(len(target)))
    hessian = np.einsum("iab,jbc,ca->ij", axes, axes, moment)
    covariance = scores.T @ scores / len(rows)
    covariance = covariance + protocol.mechanism.noise_variance * np.eye(protocol.dim)
    inverse = np.linalg.inv((hessian + hessian.T) / 2)
    return inverse @ covariance @ inverse / n


def _population():
    return np.random.default_rng(12345)


def run_some(name, epsilon, n, n_rounds, seed, repetitions):
    """Region covers, was warned of, score region, angles, excess, share; semi-axis, distance."""
    design, lines = DESIGNS[name], []
    width = len(design.scales)
    target, fixed = np.diag([1.0, 1.0, *[0.0] * (width - 2)]), plane(width)
    values = np.diag(np.cov(clipped(design, draw(design, _POPULATION, _population())).T))
    truths = {
        "angles": principal_angles(fixed)(target),
        "excess": values[:2] - values[2:].mean(),
        "ratio": values[:2] / values.sum(),
    }
    for repetition in repetitions:
        place = np.random.SeedSequence(seed, spawn_key=([*DESIGNS].index(name), repetition))
        data, noise = place.spawn(2)
        rows = draw(design, n + n // 4, np.random.default_rng(data))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LDPWarning)
            pca = model(design, epsilon, n_rounds, noise.generate_state(1)[0]).fit(rows[:n])
            region = pca.confidence_region(LEVEL)
            is_weak = any(one.category is WeakCurvatureWarning for one in caught)
            score_region = pca.confidence_region(LEVEL, kind="score")
            found = {"angles": pca.functional(principal_angles(fixed))}
            if n_rounds is not None:
                found["excess"] = pca.excess_variance()
                found["ratio"] = pca.fit_variance(rows[n:]).explained_variance_ratio()
        line = [region.contains(target), is_weak, score_region.contains(target)]
        for what, truth in truths.items():
            interval = found[what].interval(LEVEL) if what in found else np.full((2, 2), np.nan)
            inside = (interval[:, 0] <= truth) & (truth <= interval[:, 1])
            line.append(np.where(np.isnan(interval[:, 0]), np.nan, inside).mean())
        line += [region.semi_axis_lengths[0], region.geometry.dist(pca.estimate_, target) ** 2]
        lines.append(line)
    return np.array(lines, dtype=float)


def main():
    """Run the cells and print their lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS), choices=DESIGNS)
    parser.add_argument("--epsilon", nargs="+", type=float, default=[8.0, 4.0])
    parser.add_argument("--n", nargs="+", type=int, default=[8000, 32_000])
    parser.add_argument("--repetitions", type=repetitions, default=400)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cells = [
        (name, epsilon, n, n_rounds)
        for name in options.designs
        for epsilon in options.epsilon
        for n in options.n
        for n_rounds in (8, None)
    ]
    titles = (
        "law|epsilon|n|plan|region|warned|score region|angles|excess|share|semi-axis|error".split(
            "|"
        )
    )
    print("| " + " | ".join(titles) + " |")
    print("| --- | ---: | ---: | --- |" + " ---: |" * 8)
    for cell, lines in zip(cells, run_cells(run_some, cells, options, _TASK)):
        name, epsilon, n, n_rounds = cell
        best = oracle(DESIGNS[name], epsilon, n)
        quantile = stats.chi2.ppf(LEVEL, len(best))
        axis = np.sqrt(quantile * np.linalg.eigvalsh(best)[-1])
        shares = [
            "" if np.isnan(share) else f"{share:.3f} ({share_error(share, len(lines)):.3f})"
            for share in lines[:, :6].mean(axis=0)
        ]
        sizes = np.median(lines[:, 6]) / axis, np.sqrt(lines[:, 7].mean() / np.trace(best))
        plan = "pairs" if n_rounds is None else f"{n_rounds} rounds"
        texts = [name, f"{epsilon:g}", f"{n:,}", plan, *shares, *(f"{s:.2f}" for s in sizes)]
        print("| " + " | ".join(texts) + " |", flush=True)


if __name__ == "__main__":
    main()
