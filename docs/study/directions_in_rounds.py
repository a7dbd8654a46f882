r"""What directions that follow the messages are worth in rounds, beside wider queries.

Usage: python docs/study/directions_in_rounds.py --repetitions 100
       python docs/study/directions_in_rounds.py --problems gap3 --epsilon 8 --cycles even wider

Each line is one law, epsilon, number of people and choice of the queries; `problems.py` says what
the laws are, and repetition i has the same data and noise whatever the choice:

* even: the coordinate cycle at the default radius, which is what the package asks;
* wider: the same at 1.25 times the radius;
* following: from the second round on, directions whose second moment is three quarters one that
  follows the Hessian estimated so far and one quarter the even one, as in `followed`;
* known: the same, told the true Hessian.

Columns: root mean square distance from the target, over that of the oracle on the same draws;
coverage of the nominal 95% Wald region, and the median of its longest semi-axis over that with
the population matrices; median relative error of the Hessian in its weakest direction; coverage of
the score region, the share of them that are open, and the median axis.
"""

import argparse
import math
from itertools import product

import numpy as np
from problems import PROBLEMS, WEAK, collections, run_cells
from weak_curvature import measured, summary

from geomstats_ldp.replication.commands.arguments import repetitions
from geomstats_ldp.schedules import round_radius
from geomstats_ldp.server import RoundServer

#: Share of the directions that follows the Hessian: their Gram matrix is a quarter of the even
#: one at least.
SHARE = 0.75

#: How much wider "wider" asks.
WIDER = 1.25

CYCLES = ("even", "wider", "following", "known")

_TASK = 25


def followed(hessian):
    """Second moment of directions by which all eigenvalues have the same relative error.

    Asked with the share p of its people along an eigenvector, a round tells the eigenvalue with a
    variance in proportion to 1 / p: relative errors are equal for p in proportion to its inverse
    square.
    """
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    sizes = np.abs(values)
    wanted = np.maximum(sizes, sizes.mean() / 10) ** -2.0
    shares = (1 - SHARE) / len(values) + SHARE * wanted / wanted.sum()
    return (vectors * shares) @ vectors.T


def directions_of(moment):
    """Unit vectors v_1, -v_1, ..., -v_d with a given second moment, which has trace one.

    The columns of a root of the moment, times d, have squares that are one on average; turning the
    shortest and the longest in their plane makes one of them one (Schur and Horn).
    """
    dim = len(moment)
    values, vectors = np.linalg.eigh(dim * moment)
    columns = (vectors * np.sqrt(values)).T
    for _ in range(dim - 1):
        squares = np.sum(columns**2, axis=1)
        i, j = np.argmin(squares), np.argmax(squares)
        if squares[j] - squares[i] < 1e-12:
            break
        mixed, over = columns[i] @ columns[j], squares[j] - 1
        slope = (math.sqrt(mixed**2 + over * (1 - squares[i])) - mixed) / over
        turn = np.array([[1, slope], [-slope, 1]]) / math.hypot(1, slope)
        columns[[i, j]] = turn @ columns[[i, j]]
    return np.stack([columns, -columns], axis=1).reshape(2 * dim, dim)


class ChoosingServer(RoundServer):
    """A prototype: a server of rounds that puts other query points in place of the protocol's."""

    def __init__(self, protocol, problem, cycle):
        super().__init__(protocol)
        self._problem, self._cycle = problem, cycle
        self._points[0] = self._chosen(None)

    def _close(self, center=None, stretch=None):
        fit = self.fit()
        super()._close(center, stretch)
        if not self.is_complete:
            self._points[-1] = self._chosen(fit)

    def _chosen(self, fit):
        geometry, center = self.protocol.geometry, self.state.centers[-1]
        directions = np.array(self.protocol.directions)
        if self._cycle in ("following", "known") and fit is not None:
            hessian = fit.raw_hessian if self._cycle == "following" else self._true_hessian(center)
            directions = directions_of(followed(hessian))
        radius = round_radius(self.protocol.radius, self.round)
        offsets = (WIDER if self._cycle == "wider" else 1.0) * radius * directions
        return geometry.retract(geometry.lift(offsets, center), center)

    def _true_hessian(self, center):
        """Hessian at the target, carried to a centre."""
        geometry, target = self.protocol.geometry, self._problem.target
        frame = geometry.lift(np.eye(geometry.dim), target)
        carried = geometry.transport(frame, target, center)
        turn = geometry.coordinates(carried, center)
        return turn.T @ self._problem.hessian @ turn


def run_some(name, epsilon, n, cycle, seed, repetitions):
    """What `measured` says of each collection, shape [n_repetitions, 8]."""

    def make_server(protocol, problem):
        return ChoosingServer(protocol, problem, cycle)

    return measured(collections(name, epsilon, n, 8, "all", seed, repetitions, make_server))


def main():
    """Print a line for each cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    laws = [*WEAK, *PROBLEMS]
    parser.add_argument("--problems", nargs="+", choices=laws, default=["gap3", "gap4", "heavy6"])
    parser.add_argument("--epsilon", nargs="+", type=float, default=[8.0, 4.0, 2.0, 1.0])
    parser.add_argument("--n", nargs="+", type=int, default=[8000, 32000])
    parser.add_argument("--cycles", nargs="+", choices=CYCLES, default=[*CYCLES])
    parser.add_argument("--repetitions", type=repetitions, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    cells = list(product(options.problems, options.epsilon, options.n, options.cycles))
    print("| law | epsilon | n | directions | error | wald | Hessian | score, open, axis |")
    print("| --- | ---: | ---: | --- | --- | --- | ---: | --- |")
    for cell, rows in zip(cells, run_cells(run_some, cells, options, _TASK)):
        row = summary(rows)
        parts = (
            "{} | {:g} | {} | {}".format(*cell),
            f"{row['error']:.2f} ({row['error_se']:.2f})",
            f"{row['wald']:.2f}, {row['wald_axis']:.2f} | {np.median(rows[:, 4]):.2f}",
            f"{row['score']:.2f}, {row['is_open']:.2f}, {row['score_axis']:.2f}",
        )
        print(f"| {' | '.join(parts)} |", flush=True)


if __name__ == "__main__":
    main()
