r"""Accuracy of collections in rounds, with late and missing answers, beside that of pairs.

Usage: python docs/study/rounds.py --epsilon 8 4 2 1 --repetitions 500 --pairs
       python docs/study/rounds.py --answers missing late
       python docs/study/rounds.py --problems H2 PCA4 --rounds 2 3 4 5 6 8 10 12 --epsilon 4 \
           --answers all late --picture docs/study/how_many_rounds.png

Answers: "all" come in their round; of "missing" 30% never come; of "late" 20% never come and 30%
come one round later. Who that is does not depend on the data.

A problem is a model with a target 0.6 from the initial point, or a design of the paper (A to F).
Each line says how a method did on one of them over independent repetitions:

* error: root mean square distance from the target, over that of the oracle on the same draws. The
  oracle asks everybody who answered at the target itself and multiplies their mean message by the
  inverse of the population Hessian;
* coverage of the nominal 95% region;
* axis: median of its longest semi-axis over that with the population matrices at the number of
  answers received.

Monte Carlo standard errors are in brackets. Repetition i of a problem has the same data and noise
whatever the method, epsilon and number of rounds.
"""

import argparse
import warnings
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from problems import (
    ANSWERS,
    LEVEL,
    PROBLEMS,
    collections,
    relative_error,
    run_cells,
    share_error,
)

from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.inference import WaldRegion, estimate_round_sandwich, estimate_sandwich
from geomstats_ldp.replication.commands.arguments import repetitions

#: Repetitions of one task.
_TASK = 50


def region_of(server):
    """Wald region of a collection."""
    protocol = server.protocol
    if protocol.rounds is None:
        point, sandwich = server.state.average, estimate_sandwich(server.state, protocol)
    else:
        point, sandwich = server.estimate(), estimate_round_sandwich(server.fit(), protocol)
    geometry, covariance = protocol.geometry, sandwich.covariance
    return WaldRegion(geometry, point, covariance, LEVEL, protocol.working_region)


def run_some(name, epsilon, n, n_rounds, answers, seed, repetitions):
    """Square errors, those of the oracle, coverage and relative axes, shape [n_repetitions, 4]."""
    rows = []
    for one in collections(name, epsilon, n, n_rounds, answers, seed, repetitions):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            region = region_of(one.server)
        rows.append(
            [
                region.geometry.dist(region.center, one.problem.target) ** 2,
                one.oracle @ one.oracle,
                region.contains(one.problem.target),
                region.semi_axis_lengths[0] / one.axis,
            ]
        )
    return np.array(rows, dtype=float)


def summary(rows):
    """Relative error, coverage, relative axis, and the standard errors of the first two."""
    squares, oracle, covered, axes = rows.T
    error, error_se = relative_error(squares, oracle)
    coverage = covered.mean()
    return {
        "error": error,
        "error_se": error_se,
        "coverage": coverage,
        "coverage_se": share_error(coverage, len(rows)),
        "axis": np.median(axes),
    }


def _cells(options):
    """Problem, epsilon, n, rounds (None for pairs), answers; pairs wait for all answers."""
    plans = list(product(options.rounds, options.answers))
    plans += [(None, "all")] * options.pairs
    return [
        (*cell, *plan)
        for *cell, plan in product(options.problems, options.epsilon, options.n, plans)
    ]


def draw(cells, rows):
    """Error, coverage and axis against the number of rounds, by problem and answers."""
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    lines = {}
    for (name, _, _, n_rounds, answers), row in zip(cells, rows):
        if n_rounds is not None:
            lines.setdefault((name, answers), []).append((n_rounds, row))
    shades = plt.get_cmap("viridis")(np.linspace(0, 0.8, len(lines)))
    for shade, marker, ((name, answers), points) in zip(shades, "osD^v<>p", lines.items()):
        n_rounds = [point[0] for point in points]
        style = {"color": shade, "marker": marker, "ms": 4, "label": f"{name}, {answers} answers"}
        for panel, column in zip(panels, ("error", "coverage", "axis")):
            values = [point[1][column] for point in points]
            errors = [2 * point[1].get(f"{column}_se", 0.0) for point in points]
            panel.errorbar(n_rounds, values, errors, lw=1.2, elinewidth=0.8, **style)
    titles = (
        "error over the oracle's",
        "coverage of 95% regions",
        "longest axis over the oracle's",
    )
    for panel, title, level in zip(panels, titles, (1, LEVEL, 1)):
        panel.axhline(level, color="0.6", lw=0.8, zorder=0)
        panel.set(xlabel="rounds", title=title)
    panels[0].legend(frameon=False, fontsize="small")
    return figure


def main():
    """Print a line for each problem, epsilon, number of participants and plan."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=[*PROBLEMS])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[8.0, 4.0, 2.0, 1.0])
    parser.add_argument("--n", nargs="+", type=int, default=[8000])
    parser.add_argument("--rounds", nargs="+", type=int, default=[8])
    parser.add_argument("--answers", nargs="+", choices=ANSWERS, default=["all"])
    parser.add_argument("--pairs", action="store_true", help="pairs as well")
    parser.add_argument("--repetitions", type=repetitions, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--picture", help="file for a picture against the number of rounds")
    options = parser.parse_args()
    cells, rows = _cells(options), []
    print("problem  epsilon      n  plan       answers  error          coverage       axis")
    for (name, epsilon, n, n_rounds, answers), row in zip(
        cells, map(summary, run_cells(run_some, cells, options, _TASK))
    ):
        rows.append(row)
        plan = "pairs" if n_rounds is None else f"{n_rounds} rounds"
        print(
            f"{name:<7} {epsilon:>8g} {n:>6}  {plan:<9}  {answers:<7}"
            f"  {row['error']:.3f} ({row['error_se']:.3f})"
            f"  {row['coverage']:.3f} ({row['coverage_se']:.3f})  {row['axis']:.3f}",
            flush=True,
        )
    if options.picture:
        draw(cells, rows).savefig(options.picture, dpi=130)


if __name__ == "__main__":
    main()
