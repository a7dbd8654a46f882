"""Coverage of private Fréchet means with default settings, on spaces of several dimensions.

Usage: python docs/study/spaces.py H5 --n 8000 --repetitions 400

The target is at distance 0.3 from the initial point, in a working region of radius 0.6 and a ball
of data of radius 1. The data are drawn from 400 points within 0.5 of the target, symmetric about
it, so that it is their mean. The oracle knows the population Hessian and the score covariance.
"""

import argparse
import math
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.spd_matrices import SPDMatrices
from geomstats.geometry.special_orthogonal import SpecialOrthogonal

from geomstats_ldp import PrivateFrechetMean, replicate
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.losses import loss_of
from geomstats_ldp.planning.oracle import oracle_semi_axes
from geomstats_ldp.replication.commands.arguments import repetitions
from geomstats_ldp.replication.study.designs import FiniteLaw

SPACES = {
    "S2": lambda: (Hypersphere(2), np.eye(3)[2]),
    "S9": lambda: (Hypersphere(9), np.eye(10)[9]),
    "H2": lambda: (Hyperboloid(2), np.eye(3)[0]),
    "H5": lambda: (Hyperboloid(5), np.eye(6)[0]),
    "SPD3": lambda: (SPDMatrices(3), np.eye(3)),
    "SO3": lambda: (SpecialOrthogonal(3), np.eye(3)),
}

#: Mechanism, epsilon and delta of the columns.
SETTINGS = (
    ("privunit", 8.0, 0.0),
    ("privunit", 2.0, 0.0),
    ("privunit", 1.0, 0.0),
    ("gaussian", 8.0, 1e-6),
)


def make_mean(name, setting):
    """An estimator with the defaults of the package."""
    space, center = SPACES[name]()
    mechanism, epsilon, delta = setting
    return PrivateFrechetMean(
        space,
        data_radius=1.0,
        region_radius=0.6,
        initial_point=center,
        mechanism=mechanism,
        epsilon=epsilon,
        delta=delta,
    )


def make_law(geometry):
    """Target and law of the data, the same whatever the mechanism."""
    rng = np.random.default_rng(1)
    aside, spread = rng.normal(size=geometry.dim), rng.normal(size=(200, geometry.dim))
    target = geometry.exp(
        geometry.lift(0.3 * aside / np.linalg.norm(aside), geometry.reference), geometry.reference
    )
    spread *= np.linspace(1.5, 0.5, geometry.dim)
    spread *= 0.5 * np.sqrt(rng.uniform(size=(200, 1))) / np.linalg.norm(spread, axis=1)[:, None]
    coords = np.concatenate([spread, -spread])
    return target, FiniteLaw(geometry.exp(geometry.lift(coords, target), target), [1 / 400] * 400)


def run_once(name, setting, n, seed):
    """Whether the region covers, and its longest semi-axis."""
    data, noise = seed.spawn(2)
    mean = make_mean(name, setting)
    geometry = mean.start().protocol_.geometry
    target, law = make_law(geometry)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        mean.set_params(random_state=np.random.default_rng(noise))
        region = mean.fit(law.draw(np.random.default_rng(data), n)).confidence_region(0.95)
        return region.contains(target), region.semi_axis_lengths[0]


def oracle_semi_axis(name, setting, n):
    """Longest semi-axis with the population matrices."""
    protocol = make_mean(name, setting).set_params(n_participants=n).start().protocol_
    target, law = make_law(protocol.geometry)
    loss = loss_of(protocol)
    design = SimpleNamespace(geometry=protocol.geometry, target=target, law=law, loss=loss)
    return oracle_semi_axes(design, protocol.mechanism, n)[0]


def main():
    """Print a line for each mechanism and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("space", choices=SPACES)
    parser.add_argument("--n", type=int, default=8000)
    parser.add_argument("--repetitions", type=repetitions, default=400)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args()
    for setting in SETTINGS:
        task = partial(run_once, options.space, setting, options.n)
        runs = replicate(task, options.repetitions, options.seed, n_jobs=-1)
        covered, lengths = np.transpose(list(runs))
        coverage = covered.mean()
        error = math.sqrt(coverage * (1 - coverage) / options.repetitions)
        ratio = np.median(lengths) / oracle_semi_axis(options.space, setting, options.n)
        mechanism, epsilon, _ = setting
        print(
            f"{options.space:5s} n={options.n} {mechanism:9s} epsilon={epsilon:g} "
            f"coverage {coverage:.3f} ({error:.3f}), semi-axis {ratio:.2f} times the oracle's",
            flush=True,
        )


if __name__ == "__main__":
    main()
