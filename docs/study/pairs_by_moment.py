r"""Principal directions in pairs: what the exact regression on the second moment changes.

Usage: python docs/study/pairs_by_moment.py --problems gap3 --n 8000 --repetitions 200

Two lines for each law and epsilon, from the same collections:

* differences: the running average, the Wald region of pairs, and the score region that the
  half-differences predict;
* moment: the regression of all messages on the second moment, from its sums: its estimate and Wald
  region with the hedged step, the shrinkage and the guard of rounds, and the score region that it
  predicts.

The columns are those of `weak_curvature.py`, and the median of the largest relative error of the
Hessian; "trace" is the mean trace of the Hessian before it is shrunk, over that of the population.
"""

import argparse
import warnings
from itertools import product
from types import SimpleNamespace

import numpy as np
from problems import LEVEL, PROBLEMS, WEAK, collections, relative_error, run_cells, share_error

from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.inference import (
    ScoreRegion,
    WaldRegion,
    chart_of_scores,
    estimate_round_sandwich,
    estimate_sandwich,
    predict_from_differences,
    predict_pair_scores,
    weakest_direction,
)
from geomstats_ldp.inference.moment_regression import normal_equations
from geomstats_ldp.inference.sandwich import pool_groups
from geomstats_ldp.score_regression.fit import HEDGE
from geomstats_ldp.score_regression.moments import hessian_basis, second_moments
from geomstats_ldp.score_regression.prediction import bounded_by_growth, ratio_along
from geomstats_ldp.score_regression.shrinkage import (
    bounded_hessian,
    charged_share,
    shrink,
)
from geomstats_ldp.server.recursion import N_PARTICIPANTS

#: Repetitions of one task, and charts through which an estimate by the moment is brought.
_TASK, _N_CHARTS = 25, 4

COLUMNS = ("square", "wald", "wald_axis", "score", "is_open", "score_axis", "error", "trace")


def fit_by_moment(state, protocol):
    """What a fit of rounds says of an estimate, from the sums of pairs."""
    covariance, center = pool_groups(state, protocol).of_regression, state.average
    for _ in range(_N_CHARTS):
        fit = _fit_in_chart(state, protocol, covariance, center)
        center = fit.point
    return fit


def _fit_in_chart(state, protocol, covariance, center):
    geometry, dim, rule = protocol.geometry, protocol.dim, protocol.inference
    basis, n = hessian_basis(geometry, "second"), int(state.clock[N_PARTICIPANTS])
    units = second_moments(geometry, center, basis)
    normal, values = normal_equations(state.moments, units)
    spread = np.linalg.inv(normal)
    known = np.zeros((dim, dim))
    least = bounded_by_growth(
        spread @ values, spread, basis, known, spread, ratio_along(protocol, basis)
    )
    noise = spread[dim:, dim:] * np.trace(covariance) / dim
    trace = np.trace(basis, axis1=1, axis2=2) / np.sqrt(dim)
    spherical = trace @ noise @ trace
    deviatoric = np.trace(noise) - spherical
    hessian, kept = shrink(least.slope, deviatoric, hessian_range=rule.hessian_range)
    deviatoric *= charged_share(kept, len(basis) - 1)
    error = spherical + deviatoric
    hessian, bounds = bounded_hessian(hessian, rule, protocol.hessian_bound, n)
    step = hessian @ np.linalg.inv(hessian @ hessian + HEDGE * error / dim * np.eye(dim))
    offset = step @ (least.value + least.slope @ least.pivot)
    point = geometry.exp(geometry.lift(least.pivot - offset, center), center)
    return SimpleNamespace(
        point=point,
        raw_hessian=least.slope,
        score_covariance=covariance,
        hessian=hessian,
        errors=np.array([[spherical, deviatoric]]),
        information=np.linalg.inv(least.covariance),
        offset=offset,
        leftover=hessian @ (offset - step @ hessian @ offset),
        **bounds,
    )


def run_some(name, epsilon, n, seed, repetitions):
    """`COLUMNS` of both regressions and the square error of the oracle, shape [n, 2, 9]."""
    rows = []
    for one in collections(name, epsilon, n, None, "all", seed, repetitions):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            protocol, state = one.server.protocol, one.server.state
            fit = fit_by_moment(state, protocol)
            # The fit of rounds looks at the plan only to see whether it asks once.
            by_moment = estimate_round_sandwich(fit, protocol)
            predicted = predict_from_differences(state, protocol)
            slope = pool_groups(state, protocol).regression.hessian
            rows.append(
                [
                    _row(one, state.average, estimate_sandwich(state, protocol), predicted, slope),
                    _row(
                        one,
                        fit.point,
                        by_moment,
                        predict_pair_scores(state, protocol),
                        fit.raw_hessian,
                    ),
                ]
            )
    return np.array(rows, dtype=float)


def _row(one, point, sandwich, prediction, hessian):
    protocol, target = one.server.protocol, one.problem.target
    geometry, region = protocol.geometry, protocol.working_region
    wald = WaldRegion(geometry, point, sandwich.covariance, LEVEL, region)
    chart = chart_of_scores(protocol)
    score = ScoreRegion(chart, one.server.state.average, prediction, LEVEL, region)
    return [
        geometry.dist(point, target) ** 2,
        wald.contains(target),
        wald.semi_axis_lengths[0] / one.axis,
        score.contains(target),
        score.is_open,
        score.semi_axis_lengths[0] / one.axis,
        weakest_direction(prediction)[0],
        np.trace(hessian) / np.trace(one.problem.hessian),
        one.oracle @ one.oracle,
    ]


def line(cell, name, rows):
    """Row of the table."""
    columns = dict(zip((*COLUMNS, "oracle"), rows.T))
    error, error_se = relative_error(columns["square"], columns["oracle"])
    wald, score = columns["wald"].mean(), columns["score"].mean()
    errors = tuple(share_error(share, len(rows)) for share in (wald, score))
    parts = (
        "{} | {:g} | {}".format(*cell),
        name,
        f"{error:.2f} ({error_se:.2f})",
        f"{wald:.3f} ({errors[0]:.3f}), {np.median(columns['wald_axis']):.2f}",
        f"{score:.3f} ({errors[1]:.3f}), {columns['is_open'].mean():.2f}, "
        f"{np.median(columns['score_axis']):.2f}",
        f"{np.median(columns['error']):.2f}",
        f"{columns['trace'].mean():.2f}",
    )
    return f"| {' | '.join(parts)} |"


HEAD = """\
| law | epsilon | n | regression | error | wald | score, open, axis | Hessian | trace |
| --- | ---: | ---: | --- | --- | --- | --- | ---: | ---: |"""


def main():
    """Print two lines for each cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=[*WEAK, *PROBLEMS], default=["gap3"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[np.inf, 8.0, 4.0, 2.0, 1.0])
    parser.add_argument("--n", nargs="+", type=int, default=[8000])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    cells = list(product(options.problems, options.epsilon, options.n))
    print(HEAD)
    for cell, rows in zip(cells, run_cells(run_some, cells, options, _TASK)):
        for place, name in enumerate(("differences", "moment")):
            print(line(cell, name, rows[:, place]), flush=True)


if __name__ == "__main__":
    main()
