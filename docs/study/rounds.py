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
import math
import warnings
from functools import partial
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.spd_matrices import SPDMatrices
from joblib import Parallel, delayed
from scipy import stats

from geomstats_ldp import PrivateFrechetMean, PrivatePCA, PrivateVMFLocation, emulation_in_rounds
from geomstats_ldp.emulation import emulate
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.inference import WaldRegion, estimate_round_sandwich, estimate_sandwich
from geomstats_ldp.losses import loss_of
from geomstats_ldp.losses.rows import clip_data
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.participant import participant_scratch
from geomstats_ldp.replication.study.designs import FiniteLaw, load_design
from geomstats_ldp.replication.study.oracle import population_covariance, population_hessian
from geomstats_ldp.replication.study.tuning import design_protocol
from geomstats_ldp.server import RoundServer, Server

LEVEL = 0.95

#: Distance of the target from the initial point of the models.
START = 0.6

#: Repetitions of one task.
_TASK = 50

# ---------------------------------------------------------------- problems


class Problem:
    """A law of the data whose target is known.

    Parameters
    ----------
    make_protocol : callable
        From epsilon, n_participants and n_rounds.
    target : array, shape [*point_shape]
    support : array, shape [n_values, *data_shape]
    probabilities : array, shape [n_values]
    """

    def __init__(self, make_protocol, target, support, probabilities):
        self.make_protocol, self.target = make_protocol, target
        protocol = make_protocol(8.0, 1000, 8)
        self.geometry, self.loss = protocol.geometry, loss_of(protocol)
        support = clip_data(self.loss, self.geometry, np.asarray(support, dtype=float))
        self.law, self._places = FiniteLaw(support, probabilities), np.arange(len(support))
        self.scores = self.geometry.coordinates(
            self.loss.score(self.geometry, target, support), target
        )
        self.hessian = population_hessian(self)

    def draw(self, rng, n):
        """Data of n people, and their scores at the target."""
        places = FiniteLaw(self._places, self.law.probabilities).draw(rng, n)
        return self.law.support[places], self.scores[places]

    def longest_axis(self, mechanism):
        """Longest semi-axis with the population matrices, for one participant."""
        inverse = np.linalg.inv(self.hessian)
        covariance = inverse @ population_covariance(self, mechanism) @ inverse.T
        return math.sqrt(stats.chi2.ppf(LEVEL, len(inverse)) * np.linalg.eigvalsh(covariance)[-1])


def _aside(dim, length):
    v = np.random.default_rng(dim).normal(size=dim)
    return length * v / np.linalg.norm(v)


def _move(geometry, point, coords):
    return geometry.exp(geometry.lift(coords, point), point)


def _of_estimator(estimator, target, support):
    def make_protocol(epsilon, n_participants, n_rounds):
        estimator.set_params(epsilon=epsilon, n_participants=n_participants, n_rounds=n_rounds)
        return estimator.start().protocol_

    return Problem(make_protocol, target, support, np.full(len(support), 1 / len(support)))


def _frechet(space, center):
    """Mean of 600 points within 0.6 of the target, symmetric about it."""
    estimator = PrivateFrechetMean(space, data_radius=1.5, region_radius=1.0, initial_point=center)
    geometry = estimator.start().protocol_.geometry
    target = _move(geometry, geometry.reference, _aside(geometry.dim, START))
    rng = np.random.default_rng(1)
    spread = rng.normal(size=(300, geometry.dim)) * np.linspace(1.5, 0.5, geometry.dim)
    spread *= 0.6 * np.sqrt(rng.uniform(size=(300, 1))) / np.linalg.norm(spread, axis=1)[:, None]
    support = _move(geometry, target, np.concatenate([spread, -spread]))
    return _of_estimator(estimator, target, support)


def _directions(dim):
    """Mean direction of 800 points, symmetric about the target, 0.5 from it in each direction."""
    center = np.eye(dim + 1)[0]
    estimator = PrivateVMFLocation(kappa=1.0, region_radius=1.0, initial_point=center)
    geometry = estimator.start().protocol_.geometry
    target = _move(geometry, center, _aside(dim, START))
    spread = 0.5 * np.random.default_rng(2).normal(size=(400, dim))
    support = _move(geometry, target, np.concatenate([spread, -spread]))
    return _of_estimator(estimator, target, support)


def _principal(eigenvalues, norm_bound):
    """Leading direction of 6000 normal vectors."""
    rng, dim = np.random.default_rng(3), len(eigenvalues)
    turn = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    support = rng.normal(size=(6000, dim)) * np.sqrt(eigenvalues) @ turn.T
    lengths = np.linalg.norm(support, axis=1, keepdims=True)
    clipped = support * np.minimum(1, norm_bound / lengths)
    target = np.linalg.eigh(clipped.T @ clipped)[1][:, -1]
    aside = rng.normal(size=dim)
    aside -= aside @ target * target
    center = math.cos(START) * target + math.sin(START) * aside / np.linalg.norm(aside)
    return _of_estimator(PrivatePCA(norm_bound=norm_bound, initial_point=center), target, support)


def _design(name):
    design = load_design(name)

    def make_protocol(epsilon, n_participants, n_rounds):
        return design_protocol(
            design, "privunit", epsilon, n_participants, tuning="default", n_rounds=n_rounds
        )

    law = design.law
    return Problem(make_protocol, design.target, law.support, law.probabilities)


PROBLEMS = {
    "vMF-S2": partial(_directions, 2),
    "vMF-S5": partial(_directions, 5),
    "H2": lambda: _frechet(Hyperboloid(2), np.eye(3)[0]),
    "H5": lambda: _frechet(Hyperboloid(5), np.eye(6)[0]),
    "SPD2": lambda: _frechet(SPDMatrices(2), np.eye(2)),
    "SPD3": lambda: _frechet(SPDMatrices(3), np.eye(3)),
    "PCA4": partial(_principal, (3.0, 1.5, 0.8, 0.3), 3.0),
    **{name: partial(_design, name) for name in "ABCDEF"},
}

# ---------------------------------------------------------------- one collection in rounds

ON_TIME, LATE, MISSING = range(3)

#: Shares of people who answer on time, one round late, or never.
ANSWERS = {"all": (1.0, 0.0, 0.0), "missing": (0.7, 0.0, 0.3), "late": (0.5, 0.3, 0.2)}


class Crowd:
    """People who answer for themselves, in compiled code."""

    def __init__(self, protocol):
        geometry, mechanism = protocol.geometry, protocol.mechanism
        self._parts = geometry.twin(), loss_of(protocol).twin(), mechanism.twin()
        self._scratch = participant_scratch(geometry)
        self._dim = geometry.dim

    def add_answers(self, server, number, data, variates):
        """Let people answer the questions of a round, and tell the server."""
        points, messages = server.points(number), np.empty((len(data), self._dim))
        asked = emulation_in_rounds.Asked(*self._parts, points, 0)
        # By the name of its module, where workers find it compiled.
        answer_rows = emulation_in_rounds._compiled_answer_rows
        answer_rows(asked, data, variates, self._scratch, messages)
        indices = np.arange(len(data)) % len(points)
        server.add_coords(np.full(len(data), number), indices, messages)


def fit_rounds(protocol, crowd, data, variates, fates):
    """Estimate and its covariance by rounds whose late answers come one round later."""
    server, start, waiting = RoundServer(protocol), 0, None
    for number, size in enumerate(protocol.rounds.sizes):
        rows = np.arange(start, start + size)
        start += size
        now, later = rows[fates[rows] == ON_TIME], rows[fates[rows] == LATE]
        crowd.add_answers(server, number, data[now], variates[now])
        if number > 0:
            crowd.add_answers(server, number - 1, data[waiting], variates[waiting])
        waiting = later
        server.close_round()
    crowd.add_answers(server, number, data[waiting], variates[waiting])
    return server.estimate(), estimate_round_sandwich(server.fit(), protocol).covariance


def fit_pairs(protocol, data, streams):
    """Estimate and its covariance by pairs."""
    server = Server(protocol)
    emulate(server, data, streams)
    return server.state.average, estimate_sandwich(server.state, protocol).covariance


# ---------------------------------------------------------------- repetitions


def run_some(name, epsilon, n, n_rounds, answers, seed, repetitions):
    """Square errors, those of the oracle, coverage and relative axes, shape [n_repetitions, 4]."""
    problem = PROBLEMS[name]()
    protocol = problem.make_protocol(epsilon, n, n_rounds)
    crowd = None if n_rounds is None else Crowd(protocol)
    axis = problem.longest_axis(protocol.mechanism)
    place = list(PROBLEMS).index(name)
    rows = []
    for repetition in repetitions:
        seeds = [
            np.random.SeedSequence(seed, spawn_key=(place, repetition, purpose))
            for purpose in range(3)
        ]
        data, scores = problem.draw(np.random.default_rng(seeds[0]), n)
        variates = protocol.mechanism.draw(n, _streams(seeds[1]))
        fates = np.random.default_rng(seeds[2]).choice(3, size=n, p=ANSWERS[answers])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            if n_rounds is None:
                fitted = fit_pairs(protocol, data, _streams(seeds[1]))
            else:
                fitted = fit_rounds(protocol, crowd, data, variates, fates)
            region = WaldRegion(protocol.geometry, *fitted, LEVEL, protocol.working_region)
        heard = fates != MISSING
        messages = protocol.mechanism.release(scores[heard], variates[heard])
        oracle = np.linalg.solve(problem.hessian, messages.mean(axis=0))
        rows.append(
            [
                protocol.geometry.dist(fitted[0], problem.target) ** 2,
                oracle @ oracle,
                region.contains(problem.target),
                region.semi_axis_lengths[0] * math.sqrt(heard.sum()) / axis,
            ]
        )
    return np.array(rows, dtype=float)


def _streams(seed):
    """The same streams each time; a sequence of seeds remembers what it has spawned."""
    return make_streams(np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key))


def summary(rows):
    """Relative error, coverage, relative axis, and the standard errors of the first two."""
    squares, oracle, covered, axes = rows.T
    error = math.sqrt(squares.mean() / oracle.mean())
    spread = np.std(squares / squares.mean() - oracle / oracle.mean(), ddof=1)
    coverage = covered.mean()
    return {
        "error": error,
        "error_se": error / 2 * spread / math.sqrt(len(rows)),
        "coverage": coverage,
        "coverage_se": math.sqrt(coverage * (1 - coverage) / len(rows)),
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


def run_cells(cells, options):
    """Yield the summary of each cell, in order."""
    repetitions = range(options.repetitions)
    batches = [repetitions[start : start + _TASK] for start in repetitions[::_TASK]]
    tasks = [delayed(run_some)(*cell, options.seed, batch) for cell in cells for batch in batches]
    done = Parallel(n_jobs=options.jobs, return_as="generator")(tasks)
    for _ in cells:
        yield summary(np.concatenate([next(done) for _ in batches]))


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
    parser.add_argument("--repetitions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--picture", help="file for a picture against the number of rounds")
    options = parser.parse_args()
    cells, rows = _cells(options), []
    print("problem  epsilon      n  plan       answers  error          coverage       axis")
    for (name, epsilon, n, n_rounds, answers), row in zip(cells, run_cells(cells, options)):
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
