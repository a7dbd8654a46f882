"""How often a `LostCurvatureWarning` comes, with sharp kinks and with the package's own losses.

Usage: python docs/study/lost_curvature.py --repetitions 40 --seed 5
       python docs/study/lost_curvature.py --models logistic huber linear --features normal mixed

Huber's loss as one's own, with the thresholds 0.1 and 0.3, in regions of radius 1 and 3, or the
estimators of the package, with the people of `regressions`.

* missing: median share of the curvature that answers about it miss by the scores;
* standard error: median of what is said of it;
* warned: share of the repetitions with a warning.
"""

import argparse
import math
import warnings
from itertools import product

import numpy as np
import own_losses
import regressions
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp import PrivateMEstimator
from geomstats_ldp.exceptions import LDPWarning, LostCurvatureWarning
from geomstats_ldp.losses import register_loss


@register_loss
class Sharp(own_losses.ResidualLoss):
    """Huber's loss with threshold 0.1."""

    name = "sharp_0.1"
    low, high = -0.1, 0.1


@register_loss
class LessSharp(own_losses.ResidualLoss):
    """Huber's loss with threshold 0.3."""

    name = "sharp_0.3"
    low, high = -0.3, 0.3


OWN = {
    f"{loss.name}, radius {radius}": (loss, radius)
    for loss, radius in product((Sharp, LessSharp), (1, 3))
}


def case(model, features, epsilon):
    """Estimator, and the arrays of which each person has a row."""
    if model not in OWN:
        bound = 1.5 * math.sqrt(3)
        estimator = regressions.MODELS[model](bound).set_params(epsilon=epsilon, n_rounds=8)
        return estimator, regressions.people(model, features, bound)
    rows, targets = regressions.people("huber", features, own_losses.BOUND)
    constant = np.full(len(rows), own_losses.CONSTANT)
    loss, radius = OWN[model]
    estimator = PrivateMEstimator(
        Euclidean(4), loss(), epsilon=epsilon, region_radius=radius, n_rounds=8
    )
    return estimator, (np.column_stack([constant, rows, targets]),)


def run(estimator, data, n, rng):
    """Share that is missing, its standard error, and whether there was a warning."""
    places = rng.integers(len(data[0]), size=n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LDPWarning)
        estimator.set_params(random_state=int(rng.integers(2**31)))
        estimator.fit(*(one[places] for one in data)).confidence_region()
    is_warned = any(one.category is LostCurvatureWarning for one in caught)
    return (*estimator.server_.curvature_lost(), is_warned)


def main():
    """Print a line for each cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=[*OWN, *regressions.MODELS], default=[*OWN])
    parser.add_argument("--features", nargs="+", default=["normal", "mixed"])
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--n", type=int, default=115_000)
    parser.add_argument("--repetitions", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("| loss | features | missing | standard error | warned |")
    print("| --- | --- | ---: | ---: | ---: |")
    for model, features in product(options.models, options.features):
        estimator, data = case(model, features, options.epsilon)
        rngs = (np.random.default_rng([options.seed, r]) for r in range(options.repetitions))
        found = np.array([run(estimator, data, options.n, rng) for rng in rngs], dtype=float)
        share, error, _ = np.median(found, axis=0)
        line = f"| {model} | {features} | {share:.2f} | {error:.2f} | {found[:, 2].mean():.2f} |"
        print(line, flush=True)


if __name__ == "__main__":
    main()
