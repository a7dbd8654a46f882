"""What noise on the data does to the target, beside noise on the scores.

Usage: python docs/study/target_shift.py --repetitions 100

Prints two tables. The first has a line for each surrogate channel: the leading term of the shift
for small noise, the computed shift at a noise scale of 0.1 relative to it, and the shift at epsilon
= 8. The second has collections of n people at epsilon 8 and 4: distance of the mean estimate from
the target, root mean square error, and coverage of 95% regions, for the ordinary fit to surrogates
and for tangent scores. With --picture it also draws docs/study/target_shift.png.
"""

import argparse
import math
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from geomstats_ldp import PrivateFrechetMean
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.replication.commands.arguments import repetitions
from geomstats_ldp.replication.target_shift.cases import surrogates
from geomstats_ldp.replication.target_shift.shift import expansion, fit_surrogates, shift

DELTA, EPSILONS, N_PEOPLE = 1e-6, (8.0, 4.0), 32_000

#: Of the second table: pseudo-Huber centre and Fréchet mean in the hyperbolic plane.
SIMULATED = {"D": {}, "E": {"loss": "pseudo_huber", "scale": 0.45}}

COLOUR = "#0b5394"


def print_shifts(cases):
    """A line for each channel."""
    print("| design | what is released | leading term | shift / leading term | shift, epsilon 8 |")
    print("| --- | --- | ---: | ---: | ---: |")
    for case in cases:
        leading = np.linalg.norm(expansion(case))
        ratio = (
            "none" if leading < 1e-6 else f"{np.linalg.norm(shift(case, 0.1)) / leading / 0.01:.3f}"
        )
        moved = np.linalg.norm(shift(case, case.noise_scale(EPSILONS[0], DELTA)))
        print(
            f"| {case.design} | {case.channel} | {leading:.3f} | {ratio} | {moved:.3f} |",
            flush=True,
        )


def tangent_estimator(case, epsilon):
    """Estimator with the privacy of the channel, for the same data and loss."""
    return PrivateFrechetMean(
        case.geometry.space,
        data_radius=case.bound,
        epsilon=epsilon,
        delta=DELTA,
        mechanism="gaussian",
        initial_point=case.center,
        region_radius=0.8,
        n_rounds=8,
        **SIMULATED[case.design],
    )


def collect(case, epsilon, seed):
    """Errors of one collection in coordinates at the target, and whether regions hold it.

    Of the fit to surrogates, then of tangent scores.
    """
    rng, geometry = np.random.default_rng([ord(case.design), seed]), case.geometry
    fit = fit_surrogates(case, case.draw(rng, N_PEOPLE, case.noise_scale(epsilon, DELTA)))
    estimator = tangent_estimator(case, epsilon).set_params(random_state=rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        estimator.fit(case.law.draw(rng, N_PEOPLE))
        region = estimator.confidence_region()
    return [
        (_coordinates(geometry, fit.center, case.target), bool(fit.contains(case.target))),
        (
            _coordinates(geometry, estimator.estimate_, case.target),
            bool(region.contains(case.target)),
        ),
    ]


def _coordinates(geometry, point, center):
    return geometry.coordinates(geometry.log(point, center), center)


def print_collections(cases, repetitions):
    """A line for each design, epsilon and method; the errors of each."""
    print(f"\nn = {N_PEOPLE:,}, {repetitions} repetitions")
    print("| design | epsilon | randomised | off by | expected | error | coverage |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |")
    errors = {}
    for case in cases:
        for epsilon in EPSILONS:
            found = [collect(case, epsilon, seed) for seed in range(repetitions)]
            expected = np.linalg.norm(shift(case, case.noise_scale(epsilon, DELTA)))
            for place, (name, off) in enumerate((("data", expected), ("scores", 0.0))):
                error = np.array([one[place][0] for one in found])
                errors[case.design, epsilon, name] = error
                spread = math.sqrt(np.sum(error.var(axis=0)) / repetitions)
                covered = np.mean([one[place][1] for one in found])
                print(
                    f"| {case.design} | {epsilon:g} | {name} | "
                    f"{np.linalg.norm(error.mean(axis=0)):.4f} ({spread:.4f}) | {off:.4f} | "
                    f"{math.sqrt(np.mean(np.sum(error**2, axis=1))):.4f} | {covered:.2f} |",
                    flush=True,
                )
    return errors


def draw(cases, errors, path):
    """Estimates about the target, and shifts by the scale of the noise."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
    case = next(one for one in cases if one.design == "E")
    scales = np.linspace(0, case.noise_scale(EPSILONS[-1], DELTA), 20)
    moved = np.array([shift(case, scale) for scale in scales])
    left.plot(*moved.T, color="k", lw=1, label="minimiser with noise on data")
    for epsilon in EPSILONS:
        target = shift(case, case.noise_scale(epsilon, DELTA))
        left.annotate(
            f"epsilon {epsilon:g}", target, (0, 14), textcoords="offset points", fontsize=9
        )
    for name, colour in (("data", "k"), ("scores", COLOUR)):
        for epsilon in EPSILONS:
            label = f"estimates, noise on {name}" if epsilon == EPSILONS[0] else None
            left.plot(*errors["E", epsilon, name].T, ".", ms=3, color=colour, label=label)
    left.plot(0, 0, "+", color="white", mew=3, ms=12)
    left.plot(0, 0, "+", color=COLOUR, mew=1.5, ms=10, label="target")
    left.set(xlabel="coordinates at the target: axes 1 (across) and 2 (up)")
    left.set_aspect("equal")
    left.legend(fontsize=8, loc="upper right")
    left.margins(0.12, 0.3)
    left.set_title(f"Robust centres of {N_PEOPLE:,} people")
    scales = np.geomspace(0.03, 1.5, 13)
    styles = iter(("-o", "-s", "-^", "-D"))
    for case in cases:
        coefficient = np.linalg.norm(expansion(case))
        if coefficient < 1e-6 or case.design in "CF":
            continue
        lengths = [np.linalg.norm(shift(case, scale)) for scale in scales]
        [line] = right.plot(
            scales, lengths, next(styles), ms=4, label=f"{case.design}: {case.channel}"
        )
        right.plot(scales, coefficient * scales**2, "--", color=line.get_color(), lw=0.8)
    right.set(
        xscale="log",
        yscale="log",
        ylim=(2e-5, 3),
        xlabel="noise scale",
        ylabel="shift of the target",
    )
    right.legend(fontsize=8, title="dashed: leading term", title_fontsize=8)
    right.set_title("Shift of the target")
    figure.savefig(path, dpi=130)


def main():
    """Print the tables, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=repetitions, default=100)
    parser.add_argument("--picture", action="store_true")
    options = parser.parse_args()
    cases = surrogates()
    print_shifts(cases)
    simulated = [
        case for case in cases if case.design in SIMULATED and np.any(expansion(case) > 1e-6)
    ]
    errors = print_collections(simulated, options.repetitions)
    if options.picture:
        draw(cases, errors, Path(__file__).parent / "target_shift.png")


if __name__ == "__main__":
    main()
