"""Accuracy of private covariance matrices, beside an oracle who asks at the target itself.

Usage: python docs/study/covariances.py --epsilon inf 16 8 4 2 1 --n 8000 32000 128000

Laws: "normal" has the covariance [[.8, .3], [.3, .4]] and the bound 2.5; "student" turns three
independent coordinates of Student's t with 5 degrees of freedom and standard deviations .9, .6, .4,
and has the bound 3.

Each line says how the estimator did over independent repetitions:

* coverage of the nominal 95% region;
* bias: length of the mean error, relative to the target, in units of its own Monte Carlo standard
  error: about 1.7 (dimension 3) or 2.4 (dimension 6) without a bias;
* error: root mean square affine-invariant distance from the target, over that of the oracle by its
  covariance. The oracle's noise is calibrated at the target, and she knows the Hessian, I / 2;
* axis: median of the longest semi-axis over that of the oracle.

Monte Carlo standard errors are in brackets. Repetition i has the same data whatever epsilon is.
"""

import argparse
import itertools
import math
import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy import stats

from geomstats_ldp import PrivateSPDCovariance
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.geometry import GeodesicBall, Geometry
from geomstats_ldp.losses import SPDLikelihoodLoss
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.replication.commands.arguments import repetitions

TURN = np.linalg.qr([[2.0, 1.0, 0.0], [1.0, -2.0, 1.0], [1.0, 0.0, 3.0]])[0]


def normal(rng, n):
    """Rows of a bivariate normal law."""
    return rng.multivariate_normal([0, 0], [[0.8, 0.3], [0.3, 0.4]], size=n, method="cholesky")


def student(rng, n):
    """Turned coordinates with heavy tails."""
    return rng.standard_t(5, size=(n, 3)) / math.sqrt(5 / 3) * [0.9, 0.6, 0.4] @ TURN.T


#: Rows from which a target is computed.
_N_BLOCKS, _BLOCK = 100, 500_000

LAWS = {"normal": (normal, 2.5), "student": (student, 3.0)}


class Law:
    """A law, its bound, and the target by a large sample."""

    def __init__(self, name):
        self.draw, self.bound = LAWS[name]
        rng, self.target = np.random.default_rng(1), 0.0
        loss = SPDLikelihoodLoss(norm_bound=self.bound)
        for _ in range(_N_BLOCKS):
            rows = loss.clip(None, self.draw(rng, _BLOCK))
            self.target = self.target + rows.T @ rows / (_N_BLOCKS * _BLOCK)
        space = PrivateSPDCovariance(self.bound).start(len(self.target)).protocol_.geometry.space
        self.geometry = Geometry(space, self.target)
        scores = loss.score(self.geometry, self.target, rows)
        self.score_covariance = np.cov(self.geometry.coordinates(scores, self.target).T)
        self.score_bound = loss.score_bound(self.geometry, GeodesicBall(self.target, 0.0))

    def oracle(self, mechanism, epsilon):
        """Covariance of the oracle's estimate, times n."""
        dim = self.geometry.dim
        noise = make_mechanism(mechanism, epsilon=epsilon, dim=dim, bound=self.score_bound)
        return 4 * (self.score_covariance + noise.noise_variance * np.eye(dim))


def repetition(law, epsilon, n, n_rounds, mechanism, seed):
    """Error in coordinates at the target, whether it was covered, and the longest axis."""
    rows = law.draw(np.random.default_rng([seed, n]), n)
    model = PrivateSPDCovariance(
        law.bound, epsilon, mechanism=mechanism, n_rounds=n_rounds, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        region = model.fit(rows).confidence_region(0.95)
    geometry = law.geometry
    error = geometry.coordinates(geometry.log(model.estimate_, law.target), law.target)
    linear = geometry.coordinates(model.estimate_ - law.target, law.target)
    return error, linear, bool(region.contains(law.target)), region.semi_axis_lengths[0]


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--laws", nargs="+", default=list(LAWS), choices=list(LAWS))
    parser.add_argument("--epsilon", nargs="+", type=float, default=[8.0])
    parser.add_argument("--n", nargs="+", type=int, default=[8000])
    parser.add_argument("--n-rounds", type=int)
    parser.add_argument("--mechanism", default="privunit")
    parser.add_argument("--repetitions", type=repetitions, default=400)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    print("law      epsilon       n  coverage        bias  error          axis")
    for name in options.laws:
        law = Law(name)
        for epsilon, n in itertools.product(options.epsilon, options.n):
            task = delayed(repetition)
            rest = options.n_rounds, options.mechanism
            runs = Parallel(options.jobs)(
                task(law, epsilon, n, *rest, seed) for seed in range(options.repetitions)
            )
            line = summary(law, runs, epsilon, n, options.mechanism)
            print(f"{name:8} {epsilon:7g} {n:7d}  {line}", flush=True)


def summary(law, runs, epsilon, n, mechanism):
    """One line of the table."""
    errors, linear, covered, axes = map(np.array, zip(*runs))
    repetitions, dim = errors.shape
    oracle = law.oracle(mechanism, epsilon) / n
    squares = np.sum(errors**2, axis=1)
    error = math.sqrt(squares.mean() / np.trace(oracle))
    spread = error * squares.std() / squares.mean() / 2 / math.sqrt(repetitions)
    share = covered.mean()
    share_error = math.sqrt(max(share * (1 - share), 0.01) / repetitions)
    standard = linear.std(axis=0) / math.sqrt(repetitions)
    bias = np.linalg.norm(linear.mean(axis=0) / standard)
    longest = math.sqrt(stats.chi2.ppf(0.95, dim) * np.linalg.eigvalsh(oracle)[-1])
    return (
        f"{share:.3f} ({share_error:.3f})  {bias:4.1f}  {error:.3f} ({spread:.3f})  "
        f"{np.median(axes) / longest:.2f}"
    )


if __name__ == "__main__":
    main()
