"""Coverage of private geometric medians, and the bias that smoothing and offsets leave.

Usage: python docs/study/medians.py --repetitions 200
       python docs/study/medians.py --designs groups --n 64000 --jobs 2

People are drawn from a population of 200,000, clipped to a ball of radius 4. The target is its
geometric median by Weiszfeld's iteration, without smoothing. The oracle asks everybody at the
target and knows the Hessian there, with the same mechanism.

* error: root mean square error, over the oracle's in theory;
* cover: coverage of the nominal 95% region;
* axis: median of its largest semi-axis, over the oracle's;
* bias: length of the mean error, over the oracle's root mean square error.

Monte Carlo standard errors are in brackets.
"""

import argparse
import math
import warnings
from itertools import product

import numpy as np
from problems import run_cells, share_error
from scipy import stats

from geomstats_ldp import PrivateFrechetMean
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.losses import loss_of
from geomstats_ldp.replication.commands.arguments import repetitions

LEVEL = 0.95

#: People of the population, repetitions of one task, and the radius of the data.
POPULATION, TASK, RADIUS = 200_000, 10, 4.0

#: Half-width of the window for the density at the median on the line.
WINDOW = 0.05


def skewed(rng, dim):
    """An exponential coordinate, and normal ones."""
    rows = rng.normal(size=(POPULATION, dim))
    rows[:, 0] = rng.exponential(size=POPULATION) - math.log(2)
    return rows


def groups(rng, dim):
    """A group of one in five, two and a half units from the rest."""
    is_far = rng.uniform(size=(POPULATION, 1)) < 0.2
    rows = np.where(is_far, 0.3, 0.5) * rng.normal(size=(POPULATION, dim))
    rows[:, :1] += 2.5 * is_far
    return rows


DESIGNS = {"skewed": skewed, "groups": groups}


def weiszfeld(rows):
    """Geometric median of rows."""
    median = np.median(rows, axis=0)
    for _ in range(200):
        weights = 1 / np.maximum(np.linalg.norm(rows - median, axis=1), 1e-12)
        median = weights @ rows / weights.sum()
    return median


class Population:
    """People, their geometric median, and the covariance of the oracle."""

    def __init__(self, design, dim, epsilon, n, n_rounds):
        rows = DESIGNS[design](np.random.default_rng(11), dim)
        rows *= np.minimum(1, RADIUS / np.linalg.norm(rows, axis=1))[:, None]
        self.rows, self.target = rows, weiszfeld(rows)
        self.estimator = PrivateFrechetMean(
            loss="median",
            data_radius=RADIUS,
            region_radius=2.0,
            epsilon=epsilon,
            n_participants=n,
            n_rounds=n_rounds,
        )
        protocol = self.estimator.start(dim).protocol_
        distances = np.linalg.norm(rows - self.target, axis=1)
        signs = (rows - self.target) / distances[:, None]
        hessian = np.mean(1 / distances) * np.eye(dim) - (signs.T / distances) @ signs / len(rows)
        if dim == 1:  # twice the density
            hessian = np.array([[np.mean(distances < WINDOW) / WINDOW]])
        noise = protocol.mechanism.noise_variance / loss_of(protocol).scale ** 2
        inverse = np.linalg.inv(hessian)
        self.covariance = (
            inverse @ (signs.T @ signs / len(rows) + noise * np.eye(dim)) @ inverse / n
        )


def run_some(design, dim, epsilon, n, n_rounds, seed, repetitions):
    """One row for each repetition: error, coverage and semi-axis, over the oracle's."""
    population = Population(design, dim, epsilon, n, n_rounds)
    spread = math.sqrt(np.trace(population.covariance))
    quantile = stats.chi2.ppf(LEVEL, dim)
    axis = math.sqrt(quantile * np.linalg.eigvalsh(population.covariance)[-1])
    rows = []
    for repetition in repetitions:
        rng = np.random.default_rng([seed, repetition])
        estimator = population.estimator.set_params(random_state=int(rng.integers(2**31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            estimator.fit(population.rows[rng.integers(POPULATION, size=n)])
            region = estimator.confidence_region(LEVEL)
        error = (estimator.estimate_ - population.target) / spread
        covers = region.contains(population.target)
        rows.append([covers, region.largest_radius / axis, *error])
    return np.array(rows, dtype=float)


def line(cell, rows):
    """Row of the table, in the columns of `HEAD`."""
    design, dim, epsilon, n, n_rounds = cell
    covered, error = rows[:, 0].mean(), rows[:, 2:]
    square = (error**2).sum(axis=1)
    size = math.sqrt(square.mean())
    spread = size / 2 * square.std(ddof=1) / square.mean() / math.sqrt(len(rows))
    plan = "pairs" if n_rounds is None else f"{n_rounds} rounds"
    parts = (
        f"{design} | {dim} | {epsilon:g} | {n} | {plan} | {size:.2f} ({spread:.2f})",
        f"{covered:.3f} ({share_error(covered, len(rows)):.3f})",
        f"{np.median(rows[:, 1]):.2f} | {np.linalg.norm(error.mean(axis=0)):.2f}",
    )
    return f"| {' | '.join(parts)} |"


HEAD = """\
| design | d | epsilon | n | plan | error | cover | axis | bias |
| --- | ---: | ---: | ---: | --- | --- | --- | ---: | ---: |"""


def main():
    """Print a line for each cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--designs", nargs="+", choices=[*DESIGNS], default=[*DESIGNS])
    parser.add_argument("--dim", nargs="+", type=int, default=[2])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[4.0, 1.0])
    parser.add_argument("--n", nargs="+", type=int, default=[4000])
    parser.add_argument("--plans", nargs="+", choices=("rounds", "pairs"), default=["pairs"])
    parser.add_argument("--repetitions", type=repetitions, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    plans = [{"rounds": 8, "pairs": None}[plan] for plan in options.plans]
    cells = [*product(options.designs, options.dim, options.epsilon, options.n, plans)]
    print(HEAD)
    for cell, rows in zip(cells, run_cells(run_some, cells, options, TASK)):
        print(line(cell, rows), flush=True)


if __name__ == "__main__":
    main()
