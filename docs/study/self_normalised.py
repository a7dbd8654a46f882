r"""Private SGD with self-normalised intervals beside private regressions.

Usage: python docs/study/self_normalised.py --repetitions 50

The designs are in the manner of those the method was published with: features that are independent
normals, coefficients evenly spaced, gains 0.5 t^-0.505 from zero. Each method asks the same people,
with noise of its own; "gaussian" has delta = 1e-6, as in the published method, "privunit" none.
Rows are clipped to the bound, and the target is that of the clipped population.

* error: root mean square error of the coefficients;
* coverage: smallest and largest coverage of the nominal 95% interval of a coefficient;
* length: mean over coefficients of the median length of an interval;
* seconds: median processor time of a fit with its intervals, after compilation.
"""

import argparse
import time
import warnings
from itertools import product

import numpy as np
from problems import run_cells
from regressions import LEVEL, MODELS, Population

from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.replication.baselines import SelfNormalisedSGD
from geomstats_ldp.replication.commands.arguments import repetitions

METHODS = ("SGD gaussian", "SGD privunit", "rounds gaussian", "rounds privunit")

#: Repetitions of one task.
TASK = 10


def fitted(method, population, seed, rows, targets):
    """Estimate and intervals of the coefficients, the intercept first."""
    kind, mechanism = method.split()
    delta = 1e-6 if mechanism == "gaussian" else 0.0
    estimator = population.estimator.set_params(mechanism=mechanism, delta=delta, random_state=seed)
    if kind == "rounds":
        table = estimator.fit(rows, targets).summary(LEVEL)
        return table.estimate, table.interval
    protocol = estimator.start(rows.shape[1]).protocol_
    data = np.column_stack([rows, targets])
    sgd = SelfNormalisedSGD(protocol, random_state=seed).fit(data)
    scale = np.array([protocol.loss_spec["intercept"], *np.ones(rows.shape[1])])
    return scale * sgd.estimate_, scale[:, None] * sgd.interval(LEVEL)


def run_some(model, features, epsilon, n, method, seed, repetitions):
    """Rows of squared error, four coverages, four lengths and the seconds."""
    population, rows = Population(model, features, epsilon, n, "rounds"), []
    for repetition in repetitions:
        people = population.draw(np.random.default_rng([seed, repetition]), n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            if not rows:
                fitted(method, population, 0, *people)  # which compiles
            began = time.process_time()
            estimate, interval = fitted(method, population, repetition, *people)
            seconds = time.process_time() - began
        low, high = interval.T
        error = estimate - population.target
        covered = (low <= population.target) & (population.target <= high)
        rows.append([error @ error, *covered, *(high - low), seconds])
    return np.array(rows, dtype=float)


def line(cell, rows):
    """Row of the table, in the columns of `HEAD`."""
    model, features, epsilon, n, method = cell
    error, covered = np.sqrt(rows[:, 0].mean()), rows[:, 1:5].mean(axis=0)
    length, seconds = np.median(rows[:, 5:9], axis=0).mean(), np.median(rows[:, 9])
    return (
        f"| {model} | {features} | {epsilon:g} | {n} | {method} | {error:.3f} "
        f"| {covered.min():.2f} to {covered.max():.2f} | {length:.3f} | {seconds:.2f} |"
    )


HEAD = """\
| model | features | epsilon | n | method | error | coverage | length | seconds |
| --- | --- | ---: | ---: | --- | ---: | --- | ---: | ---: |"""


def main():
    """Print a line for each cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=[*MODELS], default=["logistic", "huber"])
    parser.add_argument("--features", nargs="+", default=["independent", "normal"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[3.0])
    parser.add_argument("--n", nargs="+", type=int, default=[100_000])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--repetitions", type=repetitions, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    cells = [*product(options.models, options.features, options.epsilon, options.n)]
    cells = [(*cell, method) for cell in cells for method in options.methods]
    print(HEAD)
    for cell, rows in zip(cells, run_cells(run_some, cells, options, TASK)):
        print(line(cell, rows), flush=True)


if __name__ == "__main__":
    main()
