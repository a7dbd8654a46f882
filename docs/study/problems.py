"""Laws of the data whose target is known, and collections among people who follow them.

A problem is a model with a target at some distance from the initial point, or a design of the paper
(A to F). Repetition i of a problem has the same data and noise whatever the method, epsilon and
number of rounds. The oracle asks everybody who answered at the target itself and multiplies their
mean message by the inverse of the population Hessian.

Answers: "all" come in their round; of "missing" 30% never come; of "late" 20% never come and 30%
come one round later. Who that is does not depend on the data.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.product_manifold import ProductManifold
from geomstats.geometry.spd_matrices import SPDMatrices
from joblib import Parallel, delayed
from scipy import stats

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivatePCA,
    PrivateVMFLocation,
    emulation_in_rounds,
)
from geomstats_ldp.emulation import emulate
from geomstats_ldp.losses import loss_of
from geomstats_ldp.losses.rows import clip_data
from geomstats_ldp.losses.scoring import frame_scores
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.planning.oracle import population_covariance, population_hessian
from geomstats_ldp.replication.study.designs import FiniteLaw, load_design
from geomstats_ldp.replication.study.tuning import design_protocol
from geomstats_ldp.server import RoundServer, Server

LEVEL = 0.95

#: Distance of the target from the initial point of the models.
START = 0.6

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

# ---------------------------------------------------------------- weak curvature


def _turned(rng, eigenvalues, size):
    turn = np.linalg.qr(rng.normal(size=(len(eigenvalues),) * 2))[0]
    return rng.normal(size=(size, len(eigenvalues))) * np.sqrt(eigenvalues) @ turn.T


def _leading(eigenvalues, norm_bound, start, degrees=None):
    """Leading direction of 6000 normal vectors, or of ones with the tails of Student's t."""
    rng = np.random.default_rng(4)
    support = _turned(rng, eigenvalues, 6000)
    if degrees is not None:
        support /= np.sqrt(rng.chisquare(degrees, size=(6000, 1)) / degrees)
    lengths = np.linalg.norm(support, axis=1, keepdims=True)
    clipped = support * np.minimum(1, norm_bound / lengths)
    target = np.linalg.eigh(clipped.T @ clipped)[1][:, -1]
    aside = rng.normal(size=len(eigenvalues))
    aside -= aside @ target * target
    center = math.cos(start) * target + math.sin(start) * aside / np.linalg.norm(aside)
    return _of_estimator(PrivatePCA(norm_bound=norm_bound, initial_point=center), target, support)


def _minimiser(protocol, support):
    """Point at which the mean score of equally likely data vanishes, by Newton's method."""
    geometry, loss, point = protocol.geometry, loss_of(protocol), np.array(protocol.initial_point)
    support = clip_data(loss, geometry, support)
    for _ in range(50):
        score = loss.score(geometry, point, support).mean(axis=0)
        point = geometry.exp(-0.7 * score, point)
    return point


def _skewed(space, center, data_radius, offset):
    """Mean of 600 points with a long tail on one side."""
    estimator = PrivateFrechetMean(
        space, data_radius=data_radius, region_radius=1.0, initial_point=center
    )
    protocol = estimator.set_params(epsilon=1.0).start().protocol_
    geometry, rng = protocol.geometry, np.random.default_rng(7)
    coords = 0.4 * rng.normal(size=(600, geometry.dim))
    coords[:, 0] += rng.exponential(0.7, size=600) - 0.7 + offset
    support = _move(geometry, geometry.reference, coords)
    return _of_estimator(estimator, _minimiser(protocol, support), support)


def _geodesic():
    """Mean of data at distance 1.5 on both sides of one geodesic: Hessians of two sizes."""
    estimator = PrivateFrechetMean(
        Hyperboloid(2), data_radius=2.2, region_radius=1.0, initial_point=np.eye(3)[0]
    )
    geometry = estimator.set_params(epsilon=1.0).start().protocol_.geometry
    target = _move(geometry, geometry.reference, _aside(2, 0.3))
    support = _move(geometry, target, np.array([[1.5, 0.0], [-1.5, 0.0]]))
    return _of_estimator(estimator, target, support)


#: Problems whose Hessian is small, or hardly known, next to its public bound.
WEAK = {
    "gap3": partial(_leading, (1.0, 0.8, 0.2), 2.5, math.pi / 6),
    "gap4": partial(_leading, (1.0, 0.75, 0.4, 0.2), 2.5, 0.4),
    "heavy6": partial(_leading, (1.0, 0.7, 0.5, 0.3, 0.2, 0.1), 3.0, 0.5, degrees=4),
    "spike20": partial(_leading, (3.0, *[0.3] * 19), 3.0, 0.5),
    "skew-H3": partial(_skewed, Hyperboloid(3), np.eye(4)[0], 2.5, 0.3),
    "line-H2": _geodesic,
    "vMF-S4": partial(_directions, 4),
    "S2xR2": partial(
        _skewed,
        ProductManifold([Hypersphere(2), Euclidean(2)]),
        np.array([0.0, 0.0, 1.0, 0.0, 0.0]),
        1.5,
        0.2,
    ),
}

# ---------------------------------------------------------------- one collection in rounds

ON_TIME, LATE, MISSING = range(3)

#: Shares of people who answer on time, one round late, or never.
ANSWERS = {"all": (1.0, 0.0, 0.0), "missing": (0.7, 0.0, 0.3), "late": (0.5, 0.3, 0.2)}


class Crowd:
    """People who answer for themselves, in compiled code."""

    def __init__(self, protocol):
        self._geometry, self._loss = protocol.geometry, loss_of(protocol)
        self._mechanism = protocol.mechanism

    def add_answers(self, server, number, data, variates):
        """Let people answer the questions of a round, and tell the server."""
        points = server.points(number)
        indices = np.arange(len(data)) % len(points)
        asked = self._loss, self._geometry, points, indices, data
        scores = frame_scores(*asked, self._geometry.twin())
        messages = self._mechanism.release(scores, variates)
        server.add_coords(np.full(len(data), number), indices, messages)


def collect_rounds(server, crowd, data, variates, fates):
    """Let people answer a server of rounds; late answers come one round later."""
    start, waiting = 0, None
    for number, size in enumerate(server.protocol.rounds.sizes):
        rows = np.arange(start, start + size)
        start += size
        now, later = rows[fates[rows] == ON_TIME], rows[fates[rows] == LATE]
        crowd.add_answers(server, number, data[now], variates[now])
        if number > 0:
            crowd.add_answers(server, number - 1, data[waiting], variates[waiting])
        waiting = later
        server.close_round()
    crowd.add_answers(server, number, data[waiting], variates[waiting])


def collect_at_once(protocol, data, streams):
    """Server of a collection in pairs, or in rounds that all answer in time."""
    if protocol.rounds is None:
        server = Server(protocol)
        emulate(server, data, streams)
    else:
        server = RoundServer(protocol)
        emulation_in_rounds.emulate_in_rounds(server, data, streams)
    return server


# ---------------------------------------------------------------- repetitions


class Collected(NamedTuple):
    """One repetition.

    Attributes
    ----------
    problem : Problem
    server : RoundServer or Server
        All answers have come.
    axis : float
        Longest semi-axis of the 95% region with the population matrices.
    oracle : array, shape [dim]
        Error of the oracle.
    """

    problem: Problem
    server: Any
    axis: float
    oracle: np.ndarray


def _default_server(protocol, problem):
    return RoundServer(protocol)


def collections(
    name, epsilon, n, n_rounds, answers, seed, repetitions, make_server=_default_server
):
    """Yield repetitions of a problem; n_rounds None is pairs.

    `make_server` takes the protocol and the problem, and returns a server of rounds.
    """
    problem = (PROBLEMS | WEAK)[name]()
    protocol = problem.make_protocol(epsilon, n, n_rounds)
    is_compiled = problem.geometry.twin() is not None
    crowd = Crowd(protocol) if n_rounds is not None and is_compiled else None
    axis = problem.longest_axis(protocol.mechanism)
    place = [*PROBLEMS, *WEAK].index(name)
    for repetition in repetitions:
        seeds = [
            np.random.SeedSequence(seed, spawn_key=(place, repetition, purpose))
            for purpose in range(3)
        ]
        data, scores = problem.draw(np.random.default_rng(seeds[0]), n)
        variates = protocol.mechanism.draw(n, _streams(seeds[1]))
        fates = np.random.default_rng(seeds[2]).choice(3, size=n, p=ANSWERS[answers])
        if crowd is None:
            server = collect_at_once(protocol, data, _streams(seeds[1]))
        else:
            server = make_server(protocol, problem)
            collect_rounds(server, crowd, data, variates, fates)
        heard = fates != MISSING
        messages = protocol.mechanism.release(scores[heard], variates[heard])
        oracle = np.linalg.solve(problem.hessian, messages.mean(axis=0))
        yield Collected(problem, server, axis / math.sqrt(heard.sum()), oracle)


def _streams(seed):
    """The same streams each time; a sequence of seeds remembers what it has spawned."""
    return make_streams(np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key))


def relative_error(squares, oracle):
    """Root of the mean of square errors over the oracle's, with its Monte Carlo standard error."""
    error = math.sqrt(squares.mean() / oracle.mean())
    spread = np.std(squares / squares.mean() - oracle / oracle.mean(), ddof=1)
    return error, error / 2 * spread / math.sqrt(len(squares))


def share_error(share, n):
    """Monte Carlo standard error of a share of n repetitions."""
    return math.sqrt(share * (1 - share) / n)


def run_cells(run_some, cells, options, size):
    """Yield what `run_some` makes of all repetitions of each cell, in order.

    Parameters
    ----------
    run_some : callable
        Takes the entries of a cell, a seed and some repetitions; returns a row for each of these.
    cells : list of tuple
    options : Namespace
        With the numbers of repetitions and jobs, and the seed.
    size : int
        Repetitions of one task.
    """
    repetitions = range(options.repetitions)
    batches = [repetitions[start : start + size] for start in repetitions[::size]]
    tasks = [delayed(run_some)(*cell, options.seed, batch) for cell in cells for batch in batches]
    done = Parallel(n_jobs=options.jobs, return_as="generator")(tasks)
    for _ in cells:
        yield np.concatenate([next(done) for _ in batches])
