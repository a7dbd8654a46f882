r"""How often comparisons of groups reject, by how far apart the groups are.

Usage: python docs/study/comparing.py --repetitions 400

Groups of 2,000 people differ in spread and in epsilon, so that their covariances are unequal. The
first groups are at angle zero, the last at a multiple of the standard error of its difference from
the first. Each line says in which share of the repetitions the hypothesis of equal parameters is
rejected at level 0.05, and which share of 95% regions of the difference contains the true one. The
last column is the power by the non-central chi-squared law with the mean of the covariances that
the groups state. Monte Carlo standard errors are in brackets.
"""

import argparse
import math
import warnings

import numpy as np
from problems import run_cells, share_error
from scipy import stats

from geomstats_ldp import PrivatePCA, PrivateVMFLocation, compare
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.replication.commands.arguments import repetitions

N, LEVEL = 2000, 0.05
CENTER = np.array([1.0, 0.0, 0.0])
EPSILONS, SPREADS = (8.0, 4.0, 8.0), (0.3, 0.5, 0.4)
PUBLIC = {"initial_point": [1.0, 0.3, 0.2]}

#: Repetitions of one task.
_TASK = 400


def turned(rows, angle):
    """Rows turned by an angle in the plane of the first two coordinates."""
    cosine, sine = math.cos(angle), math.sin(angle)
    return rows @ np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def directions(rng, place, angle):
    """A group of directions."""
    rows = CENTER + SPREADS[place] * rng.normal(size=(N, 3))
    model = PrivateVMFLocation(epsilon=EPSILONS[place], random_state=rng, **PUBLIC)
    return model.fit(turned(rows, angle))


def axes(rng, place, angle):
    """A group of vectors that vary along an axis."""
    rows = rng.normal(size=(N, 3)) * [0.9, SPREADS[place], 0.3]
    model = PrivatePCA(norm_bound=2.0, epsilon=EPSILONS[place], random_state=rng, **PUBLIC)
    return model.fit(turned(rows, angle))


KINDS = {"directions": directions, "axes": axes}


def population(kind, n_groups, seed):
    """Geometry, and the mean covariance of each group over collections at angle zero."""
    rng = np.random.default_rng([seed, 1])
    fits = [[KINDS[kind](rng, place, 0.0) for _ in range(20)] for place in range(n_groups)]
    covariances = [np.mean([fit.covariance_ for fit in group], axis=0) for group in fits]
    return fits[0][0].protocol_.geometry, np.array(covariances)


def shift_by(geometry, angle):
    """Frame coordinates, at the parameter of the first group, of that of a turned one."""
    return geometry.coordinates(geometry.log(turned(CENTER, angle), CENTER), CENTER)


def power_of(covariances, shift):
    """Power with known covariances, if the last group is shifted."""
    shifts = np.zeros((len(covariances), 2))
    shifts[-1] = shift
    weights = np.linalg.inv(covariances)
    mean = np.linalg.solve(weights.sum(axis=0), weights[-1] @ shift)
    noncentral = np.einsum("gi,gij,gj->", shifts - mean, weights, shifts - mean)
    degrees = 2 * (len(covariances) - 1)
    return stats.ncx2.sf(stats.chi2.isf(LEVEL, degrees), degrees, noncentral + 1e-12)


def run_some(kind, n_groups, multiple, seed, repetitions):
    """Whether each repetition rejects and covers, and the power by theory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        geometry, covariances = population(kind, n_groups, seed)
        unit = shift_by(geometry, 1e-3) / 1e-3
        angle = multiple * math.sqrt(unit @ (covariances[0] + covariances[-1]) @ unit)
        shift, rows = shift_by(geometry, angle), []
        for repetition in repetitions:
            rng = np.random.default_rng([seed, 2, repetition])
            angles = [0.0] * (n_groups - 1) + [angle]
            fits = [KINDS[kind](rng, place, turn) for place, turn in enumerate(angles)]
            comparison = compare(*fits)
            covered = comparison.difference(1 - LEVEL, second=n_groups - 1).contains(shift)
            rows.append([comparison.pvalue <= LEVEL, covered, power_of(covariances, shift)])
    return np.array(rows, dtype=float)


def main():
    """Run the cells and print their lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=repetitions, default=400)
    parser.add_argument("--multiples", nargs="+", type=float, default=[0.0, 3.0])
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cells = [(kind, k, m) for kind in KINDS for k in (2, 3) for m in options.multiples]
    print(
        "| groups of | groups | apart, in standard errors | rejected | covered | power by theory |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for (kind, n_groups, multiple), rows in zip(cells, run_cells(run_some, cells, options, _TASK)):
        rejected, covered, power = rows.mean(axis=0)
        shares = [f"{s:.3f} ({share_error(s, len(rows)):.3f})" for s in (rejected, covered)]
        line = (kind, n_groups, f"{multiple:g}", *shares, f"{power:.3f}")
        print("| " + " | ".join(map(str, line)) + " |", flush=True)


if __name__ == "__main__":
    main()
