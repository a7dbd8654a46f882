"""Time two commits side by side in one run, and print the ratios of their times.

    python docs/benchmarks/compare.py HEAD~1 HEAD           # minutes, most of them compilation
    python docs/benchmarks/compare.py main HEAD --only SPD  # workloads whose name has this
    python docs/benchmarks/compare.py main .                # . is the working tree as it stands

Each commit is checked out into a folder of its own and served by a process of its own, in the
environment that runs this script. The two take turns at every repetition, so that whatever else the
machine does meets both. Times are processor time. The workloads use public names only; where a
commit does not have one, the line says so and the run goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

REPOSITORY = Path(__file__).parents[2]
N = 50_000


# ------------------------------------------------- what is timed, in the process of one commit


def _rows(n, dim):
    return np.random.default_rng(0).normal(size=(n, dim)) * np.linspace(1.0, 0.3, dim)


def _spd(n, size):
    symmetric = np.random.default_rng(0).normal(size=(n, size, size)) * 0.2
    values, vectors = np.linalg.eigh(symmetric + symmetric.swapaxes(1, 2))
    return np.einsum("nij,nj,nkj->nik", vectors, np.exp(values), vectors)


def _direction(n):
    from geomstats_ldp import PrivateVMFLocation

    X = _rows(n, 3) + [0.0, 0.0, 2.0]
    estimator = PrivateVMFLocation(epsilon=4.0, initial_point=[0.0, 0.0, 1.0], random_state=0)
    return lambda: estimator.fit(X / np.linalg.norm(X, axis=1, keepdims=True))


def _principal(n):
    from geomstats_ldp import PrivatePCA

    X = _rows(n, 10)
    return PrivatePCA(norm_bound=3.0, epsilon=4.0, initial_point=np.eye(10)[0], random_state=0), X


def _fit_principal(n):
    estimator, X = _principal(n)
    return lambda: estimator.fit(X)


def _hyperbolic(n):
    from geomstats.geometry.hyperbolic import Hyperbolic

    from geomstats_ldp import PrivateFrechetMean

    estimator = PrivateFrechetMean(Hyperbolic(2, coords_type="ball"), epsilon=4.0, random_state=0)
    X = 0.2 * _rows(n, 2)
    return lambda: estimator.fit(X / (1.0 + np.linalg.norm(X, axis=1, keepdims=True)))


def _spd_mean(size):
    def prepare(n):
        from geomstats.geometry.spd_matrices import SPDMatrices

        from geomstats_ldp import PrivateFrechetMean

        estimator = PrivateFrechetMean(SPDMatrices(size), epsilon=4.0, random_state=0)
        X = _spd(n, size)
        return lambda: estimator.fit(X)

    return prepare


def _covariance(n):
    from geomstats_ldp import PrivateSPDCovariance

    estimator = PrivateSPDCovariance(
        norm_bound=2.0, epsilon=4.0, initial_point=np.eye(3), random_state=0
    )
    X = _rows(n, 3)
    return lambda: estimator.fit(X)


def _messages(n):
    estimator, X = _principal(min(n, 200))
    estimator = estimator.set_params(n_participants=len(X)).start()
    device = estimator.participant()
    queries = [query for query, _ in zip(estimator.queries(), X)]
    return lambda: [device.respond(query, row) for query, row in zip(queries, X)]


#: By name: from a number of participants to a call without arguments.
WORKLOADS = {
    "fit, mean direction on S2": _direction,
    "fit, principal direction of 10": _fit_principal,
    "fit, Frechet mean on H2": _hyperbolic,
    "fit, Frechet mean of SPD(2)": _spd_mean(2),
    "fit, Frechet mean of SPD(3)": _spd_mean(3),
    "fit, covariance of 3": _covariance,
    "200 messages of a device": _messages,
}


def serve(n):
    """Answer each line of the standard input, the name of a workload, by the seconds of a call."""
    answers, sys.stdout = sys.stdout, sys.stderr
    warnings.simplefilter("ignore")
    calls = {}
    for line in sys.stdin:
        name = line.strip()
        start = time.process_time()
        try:
            if name not in calls:
                calls[name] = WORKLOADS[name](n)
                start = time.process_time()
            calls[name]()
            answer = {"seconds": time.process_time() - start}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), file=answers, flush=True)


# ----------------------------------------------------------------------- the run of the two


@contextmanager
def checked_out(commit, home):
    """Folder that holds a commit; the working tree itself for "."."""
    if commit == ".":
        yield REPOSITORY
        return
    git = ["git", "-C", str(REPOSITORY), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(home), commit], check=True)
    try:
        yield home
    finally:
        subprocess.run([*git, "remove", "--force", str(home)], check=True)


@contextmanager
def served(folder, n):
    """Process that answers for the package in a folder; a function from a workload to its time."""
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    environment = os.environ | one_thread | {"PYTHONPATH": str(folder)}
    where = "import geomstats_ldp; print(geomstats_ldp.__file__)"
    options = {"env": environment, "text": True, "cwd": folder}
    found = subprocess.run(
        [sys.executable, "-c", where], check=True, stdout=subprocess.PIPE, **options
    )
    if not Path(found.stdout.strip()).is_relative_to(folder.resolve()):
        raise SystemExit(f"Python imports {found.stdout.strip()}, not the package in {folder}")
    command = [sys.executable, str(Path(__file__).resolve()), "--serve", str(n)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, **options) as process:

        def ask(name):
            process.stdin.write(name + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        try:
            yield ask
        finally:
            process.stdin.close()


def line(name, one, other, repetitions):
    """Line of the table: first calls, medians and the quartiles of the paired ratios."""
    first = [ask(name) for ask in (one, other)]
    for answer, side in zip(first, ("first", "second")):
        if "error" in answer:
            return f"| {name} | the {side} commit cannot: {answer['error']} |"
    times = np.array([[ask(name)["seconds"] for ask in (one, other)] for _ in range(repetitions)])
    low, middle, high = np.quantile(times[:, 1] / times[:, 0], [0.25, 0.5, 0.75])
    medians = " | ".join(f"{1e3 * seconds:.2f}" for seconds in np.median(times, axis=0))
    starts = " | ".join(f"{answer['seconds']:.1f}" for answer in first)
    return f"| {name} | {medians} | {middle:.2f} | {low:.2f} to {high:.2f} | {starts} |"


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="*", help="two names that git knows, or .")
    parser.add_argument("--only", metavar="TEXT", default="", help="workloads whose name has this")
    parser.add_argument("--repetitions", type=int, default=15, help="default: 15")
    parser.add_argument("--n", type=int, default=N, help=f"participants (default: {N})")
    parser.add_argument("--serve", type=int, metavar="N", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        serve(options.serve)
        return
    if len(options.commits) != 2:
        parser.error(f"two commits are compared; got {len(options.commits)}")
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        asks = [
            stack.enter_context(
                served(stack.enter_context(checked_out(commit, home / side)), options.n)
            )
            for side, commit in zip(("first", "second"), options.commits)
        ]
        first, second = options.commits
        print(f"{first} (first) against {second} (second), n = {options.n}\n")
        print(
            "| workload | first, ms | second, ms | second / first | quartiles "
            "| first call of first, s | of second, s |"
        )
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for name in WORKLOADS:
            if options.only in name:
                print(line(name, *asks, options.repetitions), flush=True)


if __name__ == "__main__":
    main()
