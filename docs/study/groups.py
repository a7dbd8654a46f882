"""What it is worth to ask each group of people at the epsilon that it allows.

Usage: python docs/study/groups.py --n 32000 --repetitions 400

Half of the people allow the epsilon "strict", half "open". Two collections, in rounds or in pairs,
are made of the same data: "groups" asks each half at its own epsilon, "smallest" everybody at the
smaller one.
Each line says how they did over independent repetitions:

* error: root mean square distance from the target over that of the oracle, who asks both halves at
  the target itself with the epsilon of each, and weighs their mean messages by the inverses of the
  population covariances, which she knows as she knows the Hessian;
* coverage of the nominal 95% region.

Monte Carlo standard errors are in brackets.
"""

import argparse
import warnings

import numpy as np
from problems import (
    LEVEL,
    PROBLEMS,
    _streams,
    population_covariance,
    relative_error,
    run_cells,
    share_error,
)

from geomstats_ldp.emulation import emulate
from geomstats_ldp.emulation_in_rounds import emulate_in_rounds
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.inference import WaldRegion, estimate_round_sandwich, estimate_sandwich
from geomstats_ldp.replication.commands.arguments import repetitions
from geomstats_ldp.server import make_server

#: Repetitions of one task.
_TASK = 20


def outcome(problem, server):
    """Squared distance from the target, and whether the region covers it."""
    protocol = server.protocol
    if protocol.rounds is None:
        covariance = estimate_sandwich(server.state, protocol).covariance
    else:
        covariance = estimate_round_sandwich(server.fit(), protocol).covariance
    estimate = server.estimate()
    region = WaldRegion(protocol.geometry, estimate, covariance, LEVEL, protocol.working_region)
    distance = protocol.geometry.dist(estimate, problem.target)
    return float(distance) ** 2, bool(region.contains(problem.target))


def oracle_error(problem, protocol, n):
    """Mean square error of the best weighted mean of messages at the target, half of each group."""
    precisions = [
        np.linalg.inv(population_covariance(problem, mechanism))
        for mechanism in protocol.mechanisms.values()
    ]
    inverse = np.linalg.inv(problem.hessian)
    return float(np.trace(inverse @ np.linalg.inv(n * np.mean(precisions, axis=0)) @ inverse.T))


def run_some(name, strict, wide, n, n_rounds, seed, repetitions):
    """Squared errors and coverage: of groups, of the smallest epsilon, and of the oracle."""
    problem = PROBLEMS[name]()
    protocol = problem.make_protocol({"strict": strict, "open": wide}, n, n_rounds)
    smallest = problem.make_protocol(strict, n, n_rounds)
    collect = emulate if n_rounds is None else emulate_in_rounds
    oracle, rows = oracle_error(problem, protocol, n), []
    for repetition in repetitions:
        place = ([*PROBLEMS].index(name), repetition)
        seeds = [np.random.SeedSequence(seed, spawn_key=(*place, i)) for i in range(3)]
        rng = np.random.default_rng(seeds[0])
        data, _ = problem.draw(rng, n)
        groups = rng.permutation(n) % 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            grouped, alike = make_server(protocol), make_server(smallest)
            collect(grouped, data, _streams(seeds[1]), groups=groups)
            collect(alike, data, _streams(seeds[2]))
        rows.append([*outcome(problem, grouped), *outcome(problem, alike), oracle])
    return np.array(rows, dtype=float)


def main():
    """Run the cells and print their lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=["vMF-S2", "H2"], choices=PROBLEMS)
    parser.add_argument("--strict", type=float, default=1.0)
    parser.add_argument("--open", type=float, default=4.0)
    parser.add_argument("--n", nargs="+", type=int, default=[32_000])
    parser.add_argument("--rounds", nargs="+", type=int, default=[8], help="0 for pairs")
    parser.add_argument("--repetitions", type=repetitions, default=400)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cells = [
        (name, options.strict, options.open, n, n_rounds or None)
        for name in options.problems
        for n in options.n
        for n_rounds in options.rounds
    ]
    print("| law | plan | n | groups: error | coverage | smallest epsilon: error | coverage |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for cell, rows in zip(cells, run_cells(run_some, cells, options, _TASK)):
        entries = []
        for squares, covered in (rows[:, 0:2].T, rows[:, 2:4].T):
            share = covered.mean()
            entries.append("{:.3f} ({:.3f})".format(*relative_error(squares, rows[:, 4])))
            entries.append(f"{share:.3f} ({share_error(share, len(rows)):.3f})")
        plan = "pairs" if cell[4] is None else f"{cell[4]} rounds"
        print(f"| {cell[0]} | {plan} | {cell[3]:,} | " + " | ".join(entries) + " |", flush=True)


if __name__ == "__main__":
    main()
