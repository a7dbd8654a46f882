r"""Coverage where curvature is weak: Wald regions, when they warn, and score regions.

Usage: python docs/study/weak_curvature.py --repetitions 400
       python docs/study/weak_curvature.py --problems gap3 heavy6 --epsilon 8 4 --n 2000 8000

Each line is one law, epsilon, number of people and plan; `problems.py` says what the laws are.

* error: root mean square distance from the target, over that of the oracle on the same draws;
* wald: coverage of the nominal 95% region, and the median of its longest semi-axis over that with
  the population matrices;
* warned: share of the repetitions in which the Wald region gives a `WeakCurvatureWarning`;
* score: coverage of the score region, the share of them that are open, and the median axis;
* rule: coverage of what the warning leads to, the Wald region unless it warned, else the score
  region, and the median axis of the Wald regions that did not warn.

Monte Carlo standard errors are in brackets. A cell that fails is marked: coverage of the rule
outside .92 to .98 by more than two of its standard errors, or, where less than half of the regions
warned, an axis over 1.25 (1.4 at epsilon 1 or from dimension 15 on) or an error over 1.2.
"""

import argparse
import warnings
from itertools import product

import numpy as np
from problems import (
    LEVEL,
    PROBLEMS,
    WEAK,
    collections,
    relative_error,
    run_cells,
    share_error,
)
from rounds import region_of

from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.inference import (
    ScoreRegion,
    chart_of_scores,
    estimate_round_sandwich,
    estimate_sandwich,
    predict_from_differences,
    predict_pair_scores,
    weak_curvature,
)
from geomstats_ldp.inference.prediction import LARGEST_ERROR
from geomstats_ldp.replication.commands.arguments import repetitions

#: Epsilons of each law beside 8, 4, 2 and 1.
_FURTHER = {"gap3": [np.inf], "heavy6": [np.inf]}

#: Numbers of people.
_SIZES = (2000, 8000, 32000)

#: Repetitions of one task.
_TASK = 25

COLUMNS = ("square", "oracle", "wald", "wald_axis", "error", "score", "is_open", "score_axis")


def run_some(name, epsilon, n, n_rounds, seed, repetitions):
    """What `measured` says of each collection, shape [n_repetitions, 8]."""
    return measured(collections(name, epsilon, n, n_rounds, "all", seed, repetitions))


def measured(repetitions):
    """What `COLUMNS` names, shape [n_repetitions, 8]; error is that of the weakest direction."""
    rows = []
    for one in repetitions:
        server, protocol, target = one.server, one.server.protocol, one.problem.target
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            wald = region_of(server)
            if protocol.rounds is None:
                prediction = predict_pair_scores(server.state, protocol)
                of_wald = predict_from_differences(server.state, protocol)
                sandwich = estimate_sandwich(server.state, protocol)
            else:
                prediction = of_wald = server.predict_scores()
                sandwich = estimate_round_sandwich(server.fit(), protocol)
            place = chart_of_scores(protocol), wald.center, prediction, LEVEL
            score = ScoreRegion(*place, protocol.working_region)
        error, _ = weak_curvature(of_wald, sandwich.hessian, protocol.inference)
        rows.append(
            [
                wald.geometry.dist(wald.center, target) ** 2,
                one.oracle @ one.oracle,
                wald.contains(target),
                wald.semi_axis_lengths[0] / one.axis,
                error,
                score.contains(target),
                score.is_open,
                score.semi_axis_lengths[0] / one.axis,
            ]
        )
    return np.array(rows, dtype=float)


def summary(rows, threshold=LARGEST_ERROR):
    """Numbers of a line."""
    columns = dict(zip(COLUMNS, rows.T))
    error, error_se = relative_error(columns["square"], columns["oracle"])
    warned = columns["error"] > threshold
    rule = np.where(warned, columns["score"], columns["wald"])
    quiet = columns["wald_axis"][~warned]
    return {
        "error": error,
        "error_se": error_se,
        "wald": columns["wald"].mean(),
        "wald_axis": np.median(columns["wald_axis"]),
        "warned": warned.mean(),
        "score": columns["score"].mean(),
        "is_open": columns["is_open"].mean(),
        "score_axis": np.median(columns["score_axis"]),
        "rule": rule.mean(),
        "rule_se": share_error(rule.mean(), len(rule)),
        "quiet_axis": np.median(quiet) if len(quiet) else np.nan,
    }


def failures(row, epsilon, dim):
    """What a cell does not reach, as words."""
    slack, found = 2 * row["rule_se"], []
    if not 0.92 - slack <= row["rule"] <= 0.98 + slack:
        found.append("coverage")
    if row["warned"] < 0.5:
        if row["quiet_axis"] > (1.4 if epsilon <= 1 or dim >= 15 else 1.25):
            found.append("axis")
        if row["error"] > 1.2 + 2 * row["error_se"]:
            found.append("error")
    return found


def _cells(options):
    for name in options.problems:
        epsilons = options.epsilon or [*_FURTHER.get(name, []), 8.0, 4.0, 2.0, 1.0]
        plans = [{"rounds": options.rounds, "pairs": None}[plan] for plan in options.plans]
        yield from ((name, *cell) for cell in product(epsilons, options.n, plans))


def line(cell, rows, dim):
    """Row of the table, in the columns of `HEAD`."""
    name, epsilon, n, n_rounds = cell
    row, plan = summary(rows), "pairs" if n_rounds is None else f"{n_rounds} rounds"
    parts = (
        f"{name} | {epsilon:g} | {n} | {plan} | {row['error']:.2f} ({row['error_se']:.2f})",
        f"{row['wald']:.3f}, {row['wald_axis']:.2f} | {row['warned']:.2f}",
        f"{row['score']:.3f}, {row['is_open']:.2f}, {row['score_axis']:.2f}",
        f"{row['rule']:.3f} ({row['rule_se']:.3f}), {row['quiet_axis']:.2f}",
        ", ".join(failures(row, epsilon, dim)),
    )
    return f"| {' | '.join(parts)} |"


HEAD = """\
| law | epsilon | n | plan | error | wald | warned | score, open, axis | rule | fails |
| --- | ---: | ---: | --- | --- | --- | ---: | --- | --- | --- |"""


def main():
    """Print a line for each cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=[*WEAK, *PROBLEMS], default=[*WEAK])
    parser.add_argument("--epsilon", nargs="+", type=float, help="default 8 4 2 1, and more")
    parser.add_argument("--n", nargs="+", type=int, default=[*_SIZES])
    parser.add_argument("--plans", nargs="+", choices=("rounds", "pairs"), default=["rounds"])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--repetitions", type=repetitions, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--archive", help="file for the numbers of all repetitions")
    options = parser.parse_args()
    cells, kept = list(_cells(options)), {}
    dims = {name: (PROBLEMS | WEAK)[name]().geometry.dim for name in options.problems}
    print(HEAD)
    for cell, rows in zip(cells, run_cells(run_some, cells, options, _TASK)):
        print(line(cell, rows, dims[cell[0]]), flush=True)
        kept["{} {:g} {} {}".format(*cell)] = rows
        if options.archive:
            np.savez_compressed(options.archive, **kept)


if __name__ == "__main__":
    main()
