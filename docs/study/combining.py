"""What it is worth to change the privacy regime of a study on the way, and to combine its parts.

Usage: python docs/study/combining.py --repetitions 400

A quarter of the people answer while nobody knows a bound on the data; the others answer a protocol
of their own with the bound, and the start, that the first part has shown. Each line says how the
combination did over independent repetitions:

* error: root mean square distance from the target over that of the oracle, who weighs the same two
  estimates by the inverses of their covariances over the repetitions;
* coverage of the nominal 95% region;
* first regime for all: the error of as many people who all answer the first protocol, relative to
  the same oracle.

Monte Carlo standard errors are in brackets.
"""

import argparse
import warnings

import numpy as np
from problems import relative_error, share_error

from geomstats_ldp import PrivateFrechetMean, PrivatePCA, combine
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.replication.commands.arguments import repetitions


def mean_of_points(rng, n):
    """Points about (0.2, -0.1) of which nobody knows more at first than that they are under 5."""
    target = np.array([0.2, -0.1])
    rows = target + [0.3, 0.1] * rng.uniform(-np.sqrt(3), np.sqrt(3), size=(n, 2))

    def estimator(earlier, **options):
        if earlier is None:
            return PrivateFrechetMean(epsilon=2.0, data_radius=5.0, n_rounds=1, **options)
        start = earlier.estimate_
        return PrivateFrechetMean(
            epsilon=4.0, initial_point=start, data_radius=1.0, n_rounds=1, **options
        )

    return rows, target, estimator


def principal_axis(rng, n):
    """Rows with variances (1, .25, .1), of whose norms it is only known that few are over 4."""
    rows = rng.normal(size=(n, 3)) * np.sqrt([1.0, 0.25, 0.1])

    def estimator(earlier, **options):
        if earlier is None:
            return PrivatePCA(
                epsilon=6.0, norm_bound=4.0, initial_point=[1, 0.5, 0.2], n_rounds=5, **options
            )
        start = earlier.estimate_
        return PrivatePCA(epsilon=6.0, norm_bound=2.0, initial_point=start, n_rounds=5, **options)

    return rows, np.array([1.0, 0.0, 0.0]), estimator


LAWS = {"mean": mean_of_points, "axis": principal_axis}


def run(name, n, seed):
    """Errors of both parts, of the combination and of the first regime, and whether it covers."""
    rng = np.random.default_rng(seed)
    rows, target, estimator = LAWS[name](rng, n)
    seeds = iter(rng.integers(2**31, size=3).tolist())
    first = estimator(None, random_state=next(seeds)).fit(rows[: n // 4])
    second = estimator(first, random_state=next(seeds)).fit(rows[n // 4 :])
    alike = estimator(None, random_state=next(seeds)).fit(rows)
    region = combine(first, second)
    points = [first.estimate_, second.estimate_, region.center, alike.estimate_]
    geometry = first.protocol_.geometry
    points = [point * (np.sign(point @ target) if name == "axis" else 1.0) for point in points]
    errors = [geometry.coordinates(geometry.log(point, target), target) for point in points]
    return np.array(errors), region.contains(target) or region.contains(-target)


def main():
    """Run the laws and print their lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", nargs="+", default=list(LAWS), choices=LAWS)
    parser.add_argument("--n", type=int, default=8000)
    parser.add_argument("--repetitions", type=repetitions, default=400)
    options = parser.parse_args()
    print("| law | n | combined: error | coverage | first regime for all: error |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in options.laws:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LDPWarning)
            results = [run(name, options.n, seed) for seed in range(options.repetitions)]
        errors = np.array([result[0] for result in results])
        covered = np.mean([result[1] for result in results])
        precisions = [np.linalg.inv(np.cov(errors[:, part].T)) for part in range(2)]
        oracle = np.full(len(errors), np.trace(np.linalg.inv(sum(precisions))))
        entries = [
            "{:.3f} ({:.3f})".format(*relative_error(np.sum(errors[:, part] ** 2, axis=1), oracle))
            for part in (2, 3)
        ]
        entries.insert(1, f"{covered:.3f} ({share_error(covered, len(errors)):.3f})")
        print(f"| {name} | {options.n:,} | " + " | ".join(entries) + " |", flush=True)


if __name__ == "__main__":
    main()
