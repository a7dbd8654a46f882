r"""Coverage and length of intervals of private regressions, beside those of an oracle.

Usage: python docs/study/regressions.py --repetitions 200
       python docs/study/regressions.py --models logistic --n 115000 --jobs 2

Rows are drawn from a population of 200,000 that is made once: correlated normal features, with
neighbours at 0.6, or "close" at 0.9, or correlated features of which one is a rare indicator and
one has a long tail, clipped to the bound;
the target is what the estimator would find among the whole population. The oracle
asks everybody at the target and knows the Hessian there, with the same mechanism: its covariance is
H^-1 (Sigma + tau^2 I) H^-1 / n.

* error: root mean square error of the coefficients, over the oracle's in theory;
* joint: coverage of the nominal 95% Wald region of all coefficients;
* each: smallest and largest coverage of the interval of one coefficient;
* width: smallest and largest median length of an interval, over the oracle's;
* warned: share of the repetitions in which the region gives a `WeakCurvatureWarning`;
* score: coverage of the score region, and the share of these that are open.

Plans: eight rounds, and pairs. Monte Carlo standard errors are in brackets.
"""

import argparse
import math
import warnings
from functools import partial
from itertools import product

import numpy as np
from problems import run_cells, share_error
from scipy import stats

from geomstats_ldp import (
    PrivateHuberRegression,
    PrivateLinearRegression,
    PrivateLogisticRegression,
)
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.inference.prediction import LARGEST_ERROR, weak_curvature
from geomstats_ldp.losses import loss_of
from geomstats_ldp.replication.commands.arguments import repetitions

LEVEL = 0.95
QUANTILE = stats.norm.ppf((1 + LEVEL) / 2)

#: People of the population, and repetitions of one task.
POPULATION, TASK = 200_000, 10

#: Intercept and coefficients.
TRUTH = np.array([-0.5, 0.8, -0.5, 0.3])

#: Estimators by model, without a privacy level.
MODELS = {
    "logistic": lambda bound: PrivateLogisticRegression(bound, classes=(0, 1)),
    "huber": lambda bound: PrivateHuberRegression(1.5, bound),
    "linear": lambda bound: PrivateLinearRegression(bound, target_bound=6.0),
}

#: Parameters of the estimators by plan.
PLANS = {
    "rounds": {"n_rounds": 8},
    "pairs": {},
}


def normal_features(rng, between=0.6):
    """Three normal features, neighbours with a given correlation."""
    correlation = between ** np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    return rng.normal(size=(POPULATION, 3)) @ np.linalg.cholesky(correlation).T


def mixed_features(rng):
    """A feature with a long tail, an indicator of one in five, and a mixture of both with noise."""
    tail = rng.exponential(size=POPULATION) - 1
    rare = (rng.uniform(size=POPULATION) < 0.2) * 1.0
    return np.column_stack([tail, rare, 0.5 * tail + 0.5 * rare + rng.normal(size=POPULATION)])


def independent_features(rng):
    """Three independent normal features."""
    return rng.normal(size=(POPULATION, 3))


FEATURES = {
    "normal": normal_features,
    "close": partial(normal_features, between=0.9),
    "mixed": mixed_features,
    "independent": independent_features,
}


def people(model, features, bound):
    """Clipped rows and the targets of everybody."""
    rng = np.random.default_rng(11)
    rows = FEATURES[features](rng)
    rows *= np.minimum(1, bound / np.linalg.norm(rows, axis=1))[:, None]
    predictor = TRUTH[0] + rows @ TRUTH[1:]
    if model == "logistic":
        return rows, (rng.uniform(size=POPULATION) < 1 / (1 + np.exp(-predictor))) * 1.0
    return rows, np.clip(predictor + rng.standard_t(3, size=POPULATION), -6.0, 6.0)


class Population:
    """People, the coefficients that the estimator would find among them all, and the oracle."""

    def __init__(self, model, features, epsilon, n, plan):
        bound = 1.5 * math.sqrt(3)
        rows, targets = people(model, features, bound)
        self.rows, self.targets = rows, targets
        self.estimator = MODELS[model](bound).set_params(
            epsilon=epsilon, n_participants=n, **PLANS[plan]
        )
        protocol = self.estimator.start(3).protocol_
        loss, data = loss_of(protocol), np.column_stack([rows, targets])
        point, z = np.zeros(4), loss._rows(data)
        for _ in range(30):
            scores = loss.score(protocol.geometry, point, data)
            hessian = self._hessian(model, loss, z, z @ point - targets, point)
            point = point - np.linalg.solve(hessian, scores.mean(axis=0))
        noise = protocol.mechanism.noise_variance * np.eye(4)
        inverse = np.linalg.inv(hessian)
        scale = np.diag([loss.intercept, 1, 1, 1])
        covariance = scale @ inverse @ (np.cov(scores.T) + noise) @ inverse @ scale / n
        self.target, self.covariance = scale @ point, covariance

    @staticmethod
    def _hessian(model, loss, z, residual, point):
        if model == "logistic":
            probability = 1 / (1 + np.exp(-z @ point))
            weight = probability * (1 - probability)
        elif model == "huber":
            weight = (np.abs(residual) < loss.scale) * 1.0
        else:
            weight = np.ones(len(z))
        return (z * weight[:, None]).T @ z / len(z)

    def draw(self, rng, n):
        """Rows and targets of n people."""
        places = rng.integers(POPULATION, size=n)
        return self.rows[places], self.targets[places]

    def standard_errors(self, estimator):
        """Those that the table of the estimator prints."""
        return estimator.summary(LEVEL).standard_error


def run_some(model, features, epsilon, n, plan, seed, repetitions):
    """One row for each repetition; the columns are named in `line`."""
    return fit_again(Population(model, features, epsilon, n, plan), n, seed, repetitions)


def fit_again(population, n, seed, repetitions):
    """One row for each repetition with a population; the columns are named in `line`."""
    rows = []
    ideal = np.sqrt(np.diag(population.covariance))
    for repetition in repetitions:
        rng = np.random.default_rng([seed, repetition])
        estimator = population.estimator.set_params(random_state=int(rng.integers(2**31)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            estimator.fit(*population.draw(rng, n))
            wald = estimator.confidence_region(LEVEL)
            score = estimator.confidence_region(LEVEL, kind="score")
            errors = population.standard_errors(estimator)
        sandwich, rule = estimator._sandwich(), estimator.protocol_.inference
        weakness, _ = weak_curvature(estimator._prediction(), sandwich.hessian, rule)
        error = estimator.estimate_ - population.target
        rows.append(
            [
                error @ error / np.trace(population.covariance),
                wald.contains(population.target),
                weakness > LARGEST_ERROR,
                score.contains(population.target),
                score.is_open,
                *(np.abs(error) <= QUANTILE * errors),
                *(errors / ideal),
                *(error / ideal),
            ]
        )
    return np.array(rows, dtype=float)


def line(cell, rows):
    """Row of the table, in the columns of `HEAD`."""
    model, features, epsilon, n, plan = cell
    square, joint, warned, score, is_open = rows[:, :5].T
    parts = (
        f"{model} | {features} | {epsilon:g} | {n} | {plan}",
        of_intervals(square, joint, rows[:, 5:]),
        f"{warned.mean():.2f} | {score.mean():.3f}, {is_open.mean():.2f}",
    )
    return f"| {' | '.join(parts)} |"


def of_intervals(square, joint, coefficients):
    """Columns from error to bias.

    Parameters
    ----------
    square : array, shape [n_repetitions]
        Square errors over those of the oracle.
    joint : array, shape [n_repetitions]
        Whether the joint region holds the target.
    coefficients : array, shape [n_repetitions, 3 * dim]
        Whether each interval holds it, their lengths and the errors, over those of the oracle.
    """
    each, widths, shift = np.split(coefficients, 3, axis=1)
    error = math.sqrt(square.mean())
    spread = error / 2 * square.std(ddof=1) / square.mean() / math.sqrt(len(square))
    each, widths = each.mean(axis=0), np.median(widths, axis=0)
    parts = (
        f"{error:.2f} ({spread:.2f})",
        f"{joint.mean():.3f} ({share_error(joint.mean(), len(joint)):.3f})",
        f"{each.min():.3f} to {each.max():.3f} | {widths.min():.2f} to {widths.max():.2f}",
        f"{np.abs(shift.mean(axis=0)).max():.2f}",
    )
    return " | ".join(parts)


HEAD = """\
| model | features | epsilon | n | plan | error | joint | each | width | bias | warned | score |
| --- | --- | ---: | ---: | --- | --- | --- | --- | --- | --- | ---: | --- |"""


def parser_of_cells(description, models=MODELS):
    """Parser of the options that choose cells and repetitions."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--models", nargs="+", choices=[*models], default=[*models])
    parser.add_argument("--features", nargs="+", choices=[*FEATURES], default=["normal", "mixed"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[3.0])
    parser.add_argument("--n", nargs="+", type=int, default=[115_000])
    parser.add_argument("--repetitions", type=repetitions, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    return parser


def main():
    """Print a line for each cell."""
    parser = parser_of_cells(__doc__.splitlines()[0])
    parser.add_argument("--plans", nargs="+", choices=[*PLANS], default=["rounds"])
    options = parser.parse_args()
    cells = [*product(options.models, options.features, options.epsilon, options.n, options.plans)]
    print(HEAD)
    for cell, rows in zip(cells, run_cells(run_some, cells, options, TASK)):
        print(line(cell, rows), flush=True)


if __name__ == "__main__":
    main()
