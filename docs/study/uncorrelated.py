r"""Regressions whose first people tell how the features are correlated, beside those without.

Usage: python docs/study/uncorrelated.py --repetitions 100
       python docs/study/uncorrelated.py --models huber --share 0.05 --jobs 2

People, targets and the oracle are those of `regressions.py`. That oracle asks about the features as
they are, and intervals may be shorter than its own. A share of the people tell the second moment S
of their features under the same epsilon. The features of all others are multiplied by
:math:`S^{-1/2}` and clipped to the bound `--bound`; their coefficients are multiplied by
:math:`S^{-1/2}` as well, which gives those of the features as they are.

* error: root mean square error of the coefficients, over the oracle's in theory;
* joint: coverage of the nominal 95% Wald region of all coefficients, of the target *without* the
  second clipping;
* each, width, bias: as in `regressions.py`;
* warned: share of the repetitions in which the region gives a `WeakCurvatureWarning`;
* clipped: share of the people whose features are shortened by the second bound.

Monte Carlo standard errors are in brackets.
"""

import warnings
from functools import partial
from itertools import product

import numpy as np
from problems import run_cells
from regressions import (
    LEVEL,
    MODELS,
    QUANTILE,
    TASK,
    Population,
    of_intervals,
    parser_of_cells,
)

from geomstats_ldp import PrivateSPDCovariance
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.inference.prediction import LARGEST_ERROR, weak_curvature


def uncorrelating(features, norm_bound, epsilon, random_state):
    """Inverse root of the private second moment of features, shape [n_features, n_features]."""
    moment = PrivateSPDCovariance(norm_bound, epsilon=epsilon, random_state=random_state)
    values, vectors = np.linalg.eigh(moment.fit(features).covariance_matrix_)
    return vectors / np.sqrt(values) @ vectors.T


def run_some(model, features, epsilon, n, share, bound, seed, repetitions):
    """One row for each repetition; the columns are named in `line`."""
    population, rows = Population(model, features, epsilon, n, "rounds"), []
    ideal, n_first = np.sqrt(np.diag(population.covariance)), int(share * n)
    for repetition in repetitions:
        rng = np.random.default_rng([seed, repetition])
        seeds = [int(number) for number in rng.integers(2**31, size=2)]
        people, responses = population.draw(rng, n)
        estimator = MODELS[model](bound).set_params(epsilon=epsilon, random_state=seeds[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            norm_bound = population.estimator.feature_bound
            change = uncorrelating(people[:n_first], norm_bound, epsilon, seeds[0])
            mapped = people[n_first:] @ change
            estimator.fit(mapped, responses[n_first:])
            back = np.eye(4)
            back[1:, 1:] = change
            wald = estimator.confidence_region(LEVEL)
            values = estimator.functional(partial(np.matmul, back))
        sandwich, rule = estimator._sandwich(), estimator.protocol_.inference
        weakness, _ = weak_curvature(estimator._prediction(), sandwich.hessian, rule)
        error = values.estimate - population.target
        rows.append(
            [
                error @ error / np.trace(population.covariance),
                wald.contains(np.linalg.solve(back, population.target)),
                weakness > LARGEST_ERROR,
                np.mean(np.linalg.norm(mapped, axis=1) > bound),
                *(np.abs(error) <= QUANTILE * values.standard_error),
                *(values.standard_error / ideal),
                *(error / ideal),
            ]
        )
    return np.array(rows, dtype=float)


def line(cell, rows):
    """Row of the table, in the columns of `HEAD`."""
    model, features, epsilon, n, *_ = cell
    square, joint, warned, clipped = rows[:, :4].T
    parts = (
        f"{model} | {features} | {epsilon:g} | {n}",
        of_intervals(square, joint, rows[:, 4:]),
        f"{warned.mean():.2f} | {clipped.mean():.3f}",
    )
    return f"| {' | '.join(parts)} |"


HEAD = """\
| model | features | epsilon | n | error | joint | each | width | bias | warned | clipped |
| --- | --- | ---: | ---: | --- | --- | --- | --- | ---: | ---: | ---: |"""


def main():
    """Print a line for each cell."""
    parser = parser_of_cells(__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=0.1)
    parser.add_argument("--bound", type=float, default=3.0)
    options = parser.parse_args()
    plans = [options.share], [options.bound]
    cells = [*product(options.models, options.features, options.epsilon, options.n, *plans)]
    print(HEAD)
    for cell, rows in zip(cells, run_cells(run_some, cells, options, TASK)):
        print(line(cell, rows), flush=True)


if __name__ == "__main__":
    main()
