r"""How often a region ever misses the target while a collection is watched.

Usage: python docs/study/anytime.py --repetitions 400

Each repetition looks at one collection again and again, from 1,000 to 100,000 people: one of pairs
at 60 numbers spread evenly on the logarithmic scale, one in rounds after each of 30 rounds. Each
line says in which share of the repetitions a 95% region missed the target at one look at least:
the Wald region of one look, and anytime regions that are narrowest at 1,000, 10,000 and 100,000
people. The last column is the miss of the Wald region at the last look alone. "brownian" stands for
what a problem of this dimension would give if the estimate were a mean of normal vectors
with known covariance. Monte Carlo standard errors are in brackets.
"""

import argparse
import warnings

import numpy as np
from problems import LEVEL, PROBLEMS, Crowd, _streams, run_cells, share_error
from rounds import region_of

from geomstats_ldp.emulation import emulate
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.inference import AnyLook, OneLook
from geomstats_ldp.replication.commands.arguments import repetitions
from geomstats_ldp.server import RoundServer, Server

FEWEST, MOST = 1000, 100_000
N_LOOKS, N_ROUNDS = 60, 30
NARROWEST = (1000, 10_000, 100_000)

#: Repetitions of one task.
_TASK = 10


def statistic(server, target):
    """Wald statistic of the target at this moment."""
    return float(region_of(server).statistic(target))


def looks_at_pairs(problem, protocol, data, seed):
    """Numbers of participants and statistics of a collection in pairs."""
    server, streams, looks = Server(protocol), _streams(seed), []
    ends = 2 * np.round(np.geomspace(FEWEST, MOST, N_LOOKS) / 2).astype(int)
    for start, end in zip([0, *ends], ends):
        emulate(server, data[start:end], streams)
        looks.append((end, statistic(server, problem.target)))
    return looks


def looks_at_rounds(problem, protocol, data, seed):
    """The same after each round from the fewest participants on."""
    server, crowd, start, looks = RoundServer(protocol), Crowd(protocol), 0, []
    variates = protocol.mechanism.draw(len(data), _streams(seed))
    for number, size in enumerate(protocol.rounds.sizes):
        rows = slice(start, start + size)
        crowd.add_answers(server, number, data[rows], variates[rows])
        server.close_round()
        start += size
        if start >= FEWEST:
            looks.append((start, statistic(server, problem.target)))
    return looks


def looks_at_brownian(dim, rng):
    """The same for means of normal vectors."""
    ends = np.round(np.geomspace(FEWEST, MOST, N_LOOKS)).astype(int)
    steps = rng.normal(size=(N_LOOKS, dim)) * np.sqrt(np.diff(ends, prepend=0))[:, None]
    return list(zip(ends, np.sum(np.cumsum(steps, axis=0) ** 2, axis=1) / ends))


def run_some(name, plan, epsilon, seed, repetitions):
    """Whether a region ever missed: of one look, anytime ones, and of the last look alone."""
    problem = PROBLEMS[name]()
    n_rounds = N_ROUNDS if plan == "rounds" else None
    protocol = problem.make_protocol(epsilon, MOST, n_rounds)
    look = looks_at_rounds if plan == "rounds" else looks_at_pairs
    dim, rows = problem.geometry.dim, []
    for repetition in repetitions:
        place = ([*PROBLEMS].index(name), repetition)
        seeds = [np.random.SeedSequence(seed, spawn_key=(*place, i)) for i in range(2)]
        if plan == "brownian":
            looks = looks_at_brownian(dim, np.random.default_rng(seeds[0]))
        else:
            data, _ = problem.draw(np.random.default_rng(seeds[0]), MOST)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LDPWarning)
                looks = look(problem, protocol, data, seeds[1])
        once = [value > OneLook().quantile(LEVEL, dim) for _, value in looks]
        ever = [
            any(value > AnyLook(int(n), m).quantile(LEVEL, dim) for n, value in looks)
            for m in NARROWEST
        ]
        rows.append([any(once), *ever, once[-1]])
    return np.array(rows, dtype=float)


def main():
    """Run the cells and print their lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=["vMF-S2", "H5"], choices=PROBLEMS)
    parser.add_argument("--plans", nargs="+", default=["pairs", "rounds", "brownian"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[8.0, 2.0])
    parser.add_argument("--repetitions", type=repetitions, default=400)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cells = [
        (name, plan, epsilon)
        for name in options.problems
        for plan in options.plans
        for epsilon in (options.epsilon if plan != "brownian" else [np.inf])
    ]
    titles = ["one look", *(f"anytime, {m:,}" for m in NARROWEST), "last look alone"]
    print("| law | plan | epsilon | " + " | ".join(titles) + " |")
    print("| --- | --- | ---: |" + " ---: |" * len(titles))
    for cell, rows in zip(cells, run_cells(run_some, cells, options, _TASK)):
        shares = [f"{s:.3f} ({share_error(s, len(rows)):.3f})" for s in rows.mean(axis=0)]
        print(f"| {cell[0]} | {cell[1]} | {cell[2]:g} | " + " | ".join(shares) + " |", flush=True)


if __name__ == "__main__":
    main()
