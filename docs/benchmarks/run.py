"""Time the engines beside numpy's noise and beside what one would write instead; print one table.

    python docs/benchmarks/run.py            # a few minutes, most of them compilation
    python docs/benchmarks/run.py --quick    # tiny sizes, to see that it runs

Times are processor time of one thread, medians over repetitions in one run, in nanoseconds per
participant. Ratios are to numpy's time for the normals that one participant's noise is made of.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
import tracemalloc
import warnings
from contextlib import contextmanager
from pathlib import Path

import geomstats
import numba
import numpy as np
import sklearn
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.learning.incremental_frechet_mean import IncrementalFrechetMean
from joblib import cpu_count, parallel_config
from sklearn.decomposition import IncrementalPCA
from threadpoolctl import threadpool_limits

from geomstats_ldp import PrivatePCA
from geomstats_ldp.emulation import emulate
from geomstats_ldp.emulation_in_rounds import emulate_in_rounds
from geomstats_ldp.geometry import Geometry, geodesic_ball, region_of_queries
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import FrechetLoss, PCALoss, PseudoHuberLoss, VonMisesFisherLoss
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import GainRule, RadiusRule, make_protocol
from geomstats_ldp.protocol.rounds import RoundPlan, round_sizes
from geomstats_ldp.replication.study.methods import Cell
from geomstats_ldp.replication.study.runner import open_study, run_study
from geomstats_ldp.server import RoundServer, Server

MECHANISMS = ("gaussian", "privunit", "l2_ball")

#: Cases of the table of rounds.
IN_ROUNDS = ("S2, von Mises-Fisher", "R3, Frechet", "H2, Frechet")


def median_times(functions, repetitions, clock=time.process_time):
    """Median time of each call, after one that does not count; the calls take turns."""
    times = [[_time(function, clock) for function in functions] for _ in range(repetitions + 1)]
    return np.median(times[1:], axis=0)


def median_time(function, repetitions):
    """Median processor time of a call, after one that does not count."""
    return float(median_times([function], repetitions)[0])


def _time(function, clock=time.process_time):
    start = clock()
    function()
    return clock() - start


def frechet(space, center):
    """Space, loss and centre of an intrinsic mean."""
    return space, FrechetLoss(center=center, data_radius=1.0), center


def cases():
    """Space, loss and centre by name."""
    spd = {
        f"SPD({n}) {word}, Frechet": frechet(space_from_spec({"name": name, "n": n}), np.eye(n))
        for word, name in (("affine", "SPDAffineInvariant"), ("log-Euclidean", "SPDLogEuclidean"))
        for n in (2, 3)
    }
    pole, apex = np.eye(3)[2], np.eye(3)[0]
    huber = PseudoHuberLoss(center=apex, data_radius=1.0, scale=0.5)
    return {
        "S2, von Mises-Fisher": (Hypersphere(2), VonMisesFisherLoss(kappa=2.0), pole),
        "S3, PCA": (Hypersphere(3), PCALoss(norm_bound=2.0), np.full(4, 0.5)),
        "H2, Frechet": frechet(Hyperboloid(2), apex),
        "H2, pseudo-Huber": (Hyperboloid(2), huber, apex),
        "R3, Frechet": frechet(Euclidean(3), np.zeros(3)),
        **spd,
    }


def planned(space, loss, center, mechanism, n, n_rounds=None):
    """Protocol of n participants about a centre, in pairs or in rounds."""
    geometry = Geometry(space, center)
    region = geodesic_ball(geometry.reference, 0.5)
    bound = loss.score_bound(geometry, region_of_queries(geometry, region, 0.2))
    delta = 1e-6 if mechanism == "gaussian" else 0.0
    randomiser = make_mechanism(mechanism, epsilon=2.0, delta=delta, dim=geometry.dim, bound=bound)
    radius = RadiusRule(0.2, 0.5, 0.27)
    plan = {"gain": GainRule(0.5, 10.0, 0.6, 0.5)}
    if n_rounds is not None:
        plan = {"gain": None, "rounds": RoundPlan(n_rounds, round_sizes(n, n_rounds, 1))}
    return make_protocol(
        geometry, loss, randomiser, region, radius=radius, n_participants=n, **plan
    )


def data_about(geometry, n):
    """Points at a distance of about 0.4 from the reference, most of them inside the ball."""
    coords = 0.4 * np.random.default_rng(0).normal(size=(n, geometry.dim))
    return geometry.exp(geometry.lift(coords, geometry.reference), geometry.reference)


def engine_rows(case, mechanism, n, n_slow, repetitions):
    """One line of the first table."""
    protocol = planned(*case, mechanism, n)
    data, dim = data_about(protocol.geometry, n), protocol.geometry.dim
    first = _time(lambda: emulate(Server(protocol), data, 0))
    calls = (
        lambda: emulate(Server(protocol), data, 0),
        lambda: np.random.default_rng(0).standard_normal((n, dim)),
    )
    compiled, normals = median_times(calls, repetitions) / n
    slow_protocol = planned(*case, mechanism, n_slow)
    slow = (
        median_time(
            lambda: emulate(Server(slow_protocol, "geomstats"), data[:n_slow], 0),
            min(repetitions, 3),
        )
        / n_slow
    )
    return compiled, normals, slow, first


def round_rows(case, mechanism, n, repetitions):
    """Seconds of pairs, of rounds and of normals a row; wall seconds of rounds by threads."""
    pairs, rounds = planned(*case, mechanism, n), planned(*case, mechanism, n, n_rounds=8)
    data, dim = data_about(pairs.geometry, n), pairs.geometry.dim

    def emulate_rounds(n_threads):
        with threads(n_threads):
            emulate_in_rounds(RoundServer(rounds), data, 0)

    times = median_times(
        (
            lambda: emulate(Server(pairs), data, 0),
            lambda: emulate_rounds(1),
            lambda: np.random.default_rng(0).standard_normal((n, dim)),
        ),
        repetitions,
    )
    calls = [lambda: emulate_rounds(1), lambda: emulate_rounds(cpu_count())]
    return (*times / n, *median_times(calls, repetitions, time.perf_counter))


@contextmanager
def threads(number):
    """Let joblib, and so rounds, see so many cores."""
    name = "LOKY_MAX_CPU_COUNT"
    before = os.environ.get(name)
    os.environ[name] = str(number)
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


def numpy_loop(data, rng):
    """What one would write first: stochastic gradient of the mean direction, without pairs."""
    x, average = data[0].copy(), data[0].copy()
    for k, y in enumerate(data, start=1):
        score = -(y - (x @ y) * x) + rng.normal(size=3)
        x = x - 0.5 * (k + 10) ** -0.6 * score
        x /= np.linalg.norm(x)
        average += (x - average) / k
    return average / np.linalg.norm(average)


def exp_log_loop(space, data):
    """Recursive Frechet mean through geomstats calls."""
    mean = data[0]
    for k, y in enumerate(data[1:], start=2):
        mean = space.metric.exp(space.metric.log(y, mean) / k, mean)
    return mean


def partial_fits(data, batch):
    """IncrementalPCA fed in batches."""
    pca = IncrementalPCA(n_components=1)
    for start in range(0, len(data) - batch + 1, batch):
        pca.partial_fit(data[start : start + batch])


def alternatives(n, repetitions):
    """Seconds per row of other tools; none of them is private or gives a region."""
    rng = np.random.default_rng(0)
    sphere, plane = data_about(Geometry(Hypersphere(2), [0, 0, 1.0]), n), Hyperboloid(2)
    points = data_about(Geometry(plane, [1.0, 0, 0]), n)
    X = rng.normal(size=(n, 4))
    tasks = {
        "numpy loop, S2 mean direction with noise": lambda: numpy_loop(sphere, rng),
        "geomstats exp/log loop, S2": lambda: exp_log_loop(Hypersphere(2), sphere),
        "geomstats exp/log loop, H2": lambda: exp_log_loop(plane, points),
        "geomstats IncrementalFrechetMean, S2": lambda: IncrementalFrechetMean(Hypersphere(2)).fit(
            sphere
        ),
        "scikit-learn IncrementalPCA, batches of 1": lambda: partial_fits(X, 1),
        "scikit-learn IncrementalPCA, batches of 100": lambda: partial_fits(X, 100),
    }
    return {name: median_time(task, repetitions) / n for name, task in tasks.items()}


def make_pca():
    """Estimator of the two tables of memory."""
    return PrivatePCA(norm_bound=4.0, epsilon=4.0, initial_point=np.eye(10)[0], random_state=0)


def wide_rows(n, seed=0):
    """Rows of ten numbers."""
    return np.random.default_rng(seed).normal(size=(n, 10)) * np.linspace(1.0, 0.2, 10)


def traced(function):
    """Seconds of a call and the peak of what it allocates, in megabytes."""
    tracemalloc.start()
    seconds = _time(function)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return seconds, peak


def fit_rows(sizes):
    """Seconds and peak megabytes of `PrivatePCA.fit` beside its data, by number of rows."""
    tables = [wide_rows(n) for n in sizes]
    calls = [lambda X=X: make_pca().fit(X) for X in tables]
    seconds = median_times(calls, 3)
    return [(n, s, traced(call)[1]) for n, s, call in zip(sizes, seconds, calls)]


def block_rows(sizes, n_rounds=None, block=100_000):
    """Seconds and peak megabytes of `PrivatePCA.fit_blocks`, its data included."""
    make_pca().set_params(n_rounds=n_rounds).fit(wide_rows(1000))  # compiles
    for n in sizes:
        blocks = (wide_rows(min(block, n - start), start) for start in range(0, n, block))
        pca = make_pca().set_params(n_rounds=n_rounds)
        yield (n, *traced(lambda pca=pca, blocks=blocks, n=n: pca.fit_blocks(blocks, n)))


def repetition_seconds(n, repetitions):
    """Wall seconds of a cell of the simulation study on all cores, workers being up."""
    times = []
    with parallel_config(n_jobs=-1), tempfile.TemporaryDirectory() as folder:
        for seed in range(2):
            store = open_study(Path(folder) / str(seed), [n], repetitions, seed)
            start = time.perf_counter()
            run_study([Cell("A", "gaussian", 8.0)], store, progress=False)
            times.append(time.perf_counter() - start)
    return times[-1]


def main(arguments=None):
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes and one case")
    parser.add_argument("--only", metavar="TEXT", default="", help="cases whose name has this")
    parser.add_argument("--rounds", action="store_true", help="nothing but the table of rounds")
    options = parser.parse_args(arguments)
    quick = options.quick
    warnings.simplefilter("ignore")
    n, n_slow, repetitions = (200, 20, 1) if quick else (50_000, 300, 7)
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}, "
        f"geomstats {geomstats.__version__}, scikit-learn {sklearn.__version__}, "
        f"{platform.machine()}\n"
    )
    chosen = {name: case for name, case in cases().items() if options.only in name}
    if options.rounds:
        round_table(chosen, quick)
        sizes = (1000,) if quick else (1_000_000, 10_000_000, 100_000_000)
        memory_table("fit_blocks in eight rounds", "peak", block_rows(sizes, n_rounds=8))
        return
    print(
        "| space and loss | mechanism | compiled, ns | normals, ns | ratio "
        "| geomstats, ns | times faster | first call, s |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, case in list(chosen.items())[: 1 if quick else None]:
        for mechanism in MECHANISMS[:2] if quick else MECHANISMS:
            compiled, normals, slow, first = engine_rows(case, mechanism, n, n_slow, repetitions)
            print(
                f"| {name} | {mechanism} | {compiled * 1e9:.0f} | {normals * 1e9:.0f} "
                f"| {compiled / normals:.1f} | {slow * 1e9:.0f} | {slow / compiled:.0f} "
                f"| {first:.1f} |",
                flush=True,
            )
    round_table(chosen, quick)
    print("\n| instead | ns a row |\n| --- | ---: |")
    for name, seconds in alternatives(100 if quick else 3000, min(repetitions, 3)).items():
        print(f"| {name} | {seconds * 1e9:.0f} |", flush=True)
    memory_tables(quick)
    n, repetitions = (200, 3) if quick else (32_000, 500)
    seconds = repetition_seconds(n, repetitions)
    print(f"\n{repetitions} repetitions of design A, n = {n}, {cpu_count()} cores: {seconds:.1f} s")


def round_table(chosen, quick):
    """Print times of collections in eight rounds beside those of pairs.

    Closing eight rounds takes 20 ms on one thread, however many have answered: of few people's
    time that is much.
    """
    n, repetitions = (200, 1) if quick else (4_000_000, 5)
    print(
        "\n| space and loss | mechanism | pairs, ns | rounds, ns | normals, ns | pairs, ratio "
        f"| rounds, ratio | wall, {cpu_count()} threads faster |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in [name for name in IN_ROUNDS if name in chosen][: 1 if quick else None]:
        for mechanism in MECHANISMS[:2]:
            pairs, rounds, normals, one, all_ = round_rows(chosen[name], mechanism, n, repetitions)
            print(
                f"| {name} | {mechanism} | {pairs * 1e9:.0f} | {rounds * 1e9:.0f} "
                f"| {normals * 1e9:.0f} | {pairs / normals:.1f} | {rounds / normals:.1f} "
                f"| {one / all_:.2f} |",
                flush=True,
            )


def memory_tables(quick):
    """Print time and memory of many rows."""
    sizes = (1000,) if quick else (100_000, 1_000_000, 10_000_000)
    memory_table("fit", "peak beside the data", fit_rows(sizes[:2]))
    memory_table("fit_blocks", "peak", block_rows(sizes[-2:]))


def memory_table(method, peak, rows):
    """Print seconds and megabytes by number of rows."""
    print(f"\n| PrivatePCA.{method}, rows of 10 | seconds | {peak}, MB |\n| ---: | ---: | ---: |")
    for n, seconds, megabytes in rows:
        print(f"| {n} | {seconds:.2f} | {megabytes:.0f} |", flush=True)


if __name__ == "__main__":
    # Waiting threads of the linear algebra spin, and would be counted with the one that works.
    with threadpool_limits(limits=1):
        main()
