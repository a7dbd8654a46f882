r"""What a study loses if nobody knows the norm bound and the initial point.

Usage: python docs/study/scouting.py --repetitions 200

Laws are elliptical, so that the target is the same under every bound: Gaussian rows, the same over
the root of a chi-squared variate (t with 3 degrees of freedom) and times a lognormal one. Each
repetition turns the law by a random rotation and multiplies it by a random factor between 1 and
1,000. Beside `PrivatePCA` with ``norm_bound="scout", initial_point="scout"`` stand studies of the
same people in 8 rounds that are told the target as their initial point, and a quantile of the norms
as their bound; "told" is the best of these quantiles. Errors are roots of mean squared angles; the
standard error of a ratio is in brackets, by the jackknife over repetitions.
"""

import argparse
import warnings

import numpy as np
from scipy.stats import special_ortho_group

from geomstats_ldp import PrivatePCA, replicate
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.replication.commands.arguments import repetitions

#: Standard deviations along the axes.
LAWS = {
    "guide": [0.95, 0.3, 0.3, 0.3],
    "close": [1.0, 0.92, 0.55],
    "six": [1.41, 1.0, 1.0, 0.7, 0.7, 0.7],
    "ten": [1.73] + [1.0] * 9,
}
TAILS = ("normal", "t3", "lognormal")

#: Shares of rows that are not clipped under the bounds that are told.
SHARES = (0.02, 0.1, 0.3, 0.5, 0.8, 0.97)

#: Rows by which the quantiles of the norms are found.
_MANY = 200_000


def draw(law, tail, rng, n):
    """Rows with their target along the first axis."""
    rows = rng.normal(size=(n, len(LAWS[law]))) * LAWS[law]
    if tail == "t3":
        rows = rows / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    elif tail == "lognormal":
        rows = rows * np.exp(rng.normal(size=(n, 1)))
    return rows


class Repetition:
    """Errors and coverage of one collection by each of the studies."""

    def __init__(self, law, tail, epsilon, n):
        self.law, self.tail, self.epsilon, self.n = law, tail, epsilon, n
        rows = draw(law, tail, np.random.default_rng(0), _MANY)
        self.bounds = np.quantile(np.linalg.norm(rows, axis=1), SHARES)

    def __call__(self, seed):
        """Squared angle, coverage and share of rows kept, of each study."""
        rng = np.random.default_rng(seed)
        dim = len(LAWS[self.law])
        turn, unit = special_ortho_group.rvs(dim, random_state=rng), 1000.0 ** rng.uniform()
        rows, target = unit * draw(self.law, self.tail, rng, self.n) @ turn.T, turn[:, 0]
        studies = [("scout", "scout")] + [(unit * bound, target) for bound in self.bounds]
        results = []
        for bound, start in studies:
            pca = PrivatePCA(
                norm_bound=bound,
                initial_point=start,
                epsilon=self.epsilon,
                n_rounds=8,
                random_state=int(rng.integers(2**31)),
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LDPWarning)
                region = pca.fit(rows).confidence_region()
            signed = target * np.sign(pca.estimate_ @ target)
            angle = np.arccos(min(1.0, float(pca.estimate_ @ signed)))
            kept = np.mean(np.linalg.norm(rows, axis=1) <= loss_bound(pca))
            results.append((angle**2, region.contains(signed), kept))
        return results


def loss_bound(pca):
    """Bound that a fitted study had."""
    return pca.protocol_.loss_spec["norm_bound"]


def ratio_of_roots(first, second):
    """Ratio of root mean squares, and its standard error by the jackknife."""
    n, sums = len(first), (first.sum(), second.sum())
    left_out = np.sqrt((sums[0] - first) / (sums[1] - second))
    return np.sqrt(sums[0] / sums[1]), np.sqrt((n - 1) * np.var(left_out))


def main():
    """Run the cells and print their lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laws", nargs="+", default=[*LAWS], choices=LAWS)
    parser.add_argument("--tails", nargs="+", default=[*TAILS], choices=TAILS)
    parser.add_argument("--epsilon", nargs="+", type=float, default=[2.0, 4.0])
    parser.add_argument("--participants", type=int, default=32_000)
    parser.add_argument("--repetitions", type=repetitions, default=200)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print("| law | tails | epsilon | error over that of the told | coverage | rows kept | told |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for law in options.laws:
        for tail in options.tails:
            for epsilon in options.epsilon:
                task = Repetition(law, tail, epsilon, options.participants)
                done = replicate(task, options.repetitions, options.seed, n_jobs=options.jobs)
                squares, covered, kept = np.moveaxis(np.array(list(done), dtype=float), -1, 0)
                best = 1 + np.argmin(squares[:, 1:].mean(axis=0))
                ratio, error = ratio_of_roots(squares[:, 0], squares[:, best])
                cells = (
                    law,
                    tail,
                    f"{epsilon:g}",
                    f"{ratio:.3f} ({error:.3f})",
                    f"{covered[:, 0].mean():.3f}",
                    f"{kept[:, 0].mean():.0%}",
                    f"{kept[:, best].mean():.0%}",
                )
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
