"""Coverage and length of intervals of regressions by losses of one's own.

Usage: python docs/study/own_losses.py --repetitions 200
       python docs/study/own_losses.py --models quantile --jobs 2

The losses are written as docs/extending.md teaches, share nothing with the regressions of the
package and state no bending length; the estimator is `PrivateMEstimator` with eight rounds and a
region of radius 3. Laws of the features, coefficients and the columns of the table are those of
regressions.py, and the oracle is that of these losses, with the same mechanism. The quantile is
that at 0.7, by the check loss made smooth over half a unit to both sides.

Compiled scores say what `score` does, and make a fit to 115,000 people a matter of a second.
"""

import math
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
from geomstats.geometry.euclidean import Euclidean
from problems import run_cells
from regressions import (
    HEAD,
    POPULATION,
    TASK,
    fit_again,
    line,
    parser_of_cells,
    people,
)

from geomstats_ldp import PrivateMEstimator
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses import Loss, register_loss, score_into
from geomstats_ldp.twins import compile_for_twin, jitable

#: Bound of the features, the constant of the intercept in front of them, and the bound of both.
BOUND, CONSTANT = 1.5 * math.sqrt(3), 1.5
LONGEST = math.hypot(BOUND, CONSTANT)


class OwnRegression(Loss):
    """A loss of rows, which start with the constant of the intercept, and targets."""

    #: Smallest and largest target.
    targets = (-6.0, 6.0)

    def check_space(self, geometry):
        """Refuse all but Euclidean space."""
        if geometry.name != "Euclidean":
            raise ProtocolError(f"loss {self.name!r} needs Euclidean space; got {geometry.name}")

    def data_shape(self, geometry):
        """A row and its target."""
        return (geometry.dim + 1,)

    def clip(self, geometry, data):
        """Put rows and targets to their bounds."""
        rows, targets = np.clip(data[..., :-1], -1e100, 1e100), data[..., -1:]
        rows = rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True) / LONGEST, 1.0)
        return np.concatenate([rows, np.clip(targets, *self.targets)], axis=-1)

    def score(self, geometry, point, data):
        """Slope times the row."""
        rows = data[..., :-1]
        return self.slope(rows @ point, data[..., -1])[..., None] * rows


class LogisticTwin(NamedTuple):
    """Selects the compiled score of `OwnLogistic`; some number has to be in it."""

    nothing: float


@register_loss
class OwnLogistic(OwnRegression):
    """Logistic loss."""

    name = "own_logistic"
    targets = (0.0, 1.0)

    def value(self, geometry, point, data):
        """Minus the log-likelihood."""
        predictor = data[..., :-1] @ point
        return np.logaddexp(0.0, predictor) - data[..., -1] * predictor

    def slope(self, predictor, target):
        """Probability less the target."""
        return (1 + np.tanh(predictor / 2)) / 2 - target

    def score_bound(self, geometry, query_region):
        """Slopes are at most one."""
        return LONGEST

    def hessian_bound(self, geometry, query_region):
        """Second derivatives are at most a quarter."""
        return LONGEST**2 / 4

    def twin(self):
        """Select the compiled score."""
        return LogisticTwin(0.0)


class ResidualTwin(NamedTuple):
    """Selects the compiled score of a loss of the residual."""

    unit: float
    shift: float
    low: float
    high: float


class ResidualLoss(OwnRegression):
    """Loss whose slope is linear in the residual, and put into a range."""

    #: Slope ``residual / unit + shift``, and its range.
    unit, shift, low, high = 1.0, 0.0, -1.0, 1.0

    def value(self, geometry, point, data):
        """A parabola with tangents at both ends."""
        whole = (data[..., :-1] @ point - data[..., -1]) / self.unit + self.shift
        inner = np.clip(whole, self.low, self.high)
        return self.unit * inner * (whole - inner / 2)

    def slope(self, predictor, target):
        """Derivative in the predictor."""
        return np.clip((predictor - target) / self.unit + self.shift, self.low, self.high)

    def score_bound(self, geometry, query_region):
        """Largest slope times the longest row."""
        return LONGEST * max(-self.low, self.high)

    def hessian_bound(self, geometry, query_region):
        """Largest second derivative times the square of the longest row."""
        return LONGEST**2 / self.unit

    def twin(self):
        """Select the compiled score."""
        return ResidualTwin(self.unit, self.shift, self.low, self.high)


@register_loss
class OwnHuber(ResidualLoss):
    """Huber's loss."""

    name = "own_huber"
    low, high = -1.5, 1.5


@register_loss
class OwnQuantile(ResidualLoss):
    """Check loss at 0.7, with a slope that goes from -0.7 to 0.3 over one unit."""

    name = "own_quantile"
    shift, low, high = -0.2, -0.7, 0.3


@jitable
def _predictor(point, datum):
    total = 0.0
    for i in range(len(point)):
        total += datum[i] * point[i]
    return total


@jitable
def _logistic_score(twin, geometry, point, datum, out):
    slope = (1 + math.tanh(_predictor(point, datum) / 2)) / 2 - datum[-1]
    for i in range(len(out)):
        out[i] = slope * datum[i]


@jitable
def _residual_score(twin, geometry, point, datum, out):
    slope = (_predictor(point, datum) - datum[-1]) / twin.unit + twin.shift
    slope = min(max(slope, twin.low), twin.high)
    for i in range(len(out)):
        out[i] = slope * datum[i]


compile_for_twin(score_into, LogisticTwin, _logistic_score)
compile_for_twin(score_into, ResidualTwin, _residual_score)

LOSSES = {"logistic": OwnLogistic, "huber": OwnHuber, "quantile": OwnQuantile}


class Population:
    """People, the coefficients that the estimator would find among them all, and the oracle."""

    def __init__(self, model, features, epsilon, n):
        rows, targets = people(model, features, BOUND)
        constant = np.full(POPULATION, CONSTANT)
        self.data = np.column_stack([constant, rows, targets])
        self.estimator = PrivateMEstimator(
            Euclidean(4),
            LOSSES[model](),
            epsilon=epsilon,
            region_radius=3.0,
            n_participants=n,
            n_rounds=8,
        )
        protocol = self.estimator.start().protocol_
        loss, geometry, point = self.estimator.loss, protocol.geometry, np.zeros(4)
        scores = partial(loss.score, geometry, data=self.data)
        for _ in range(30):
            mean = scores(point).mean(axis=0)
            ends = ((scores(point + h), scores(point - h)) for h in 1e-3 * np.eye(4))
            hessian = np.stack([np.subtract(*pair).mean(axis=0) for pair in ends]) / 2e-3
            hessian = (hessian + hessian.T) / 2
            point = point - np.linalg.solve(hessian, mean)
        noise = protocol.mechanism.noise_variance * np.eye(4)
        inverse = np.linalg.inv(hessian)
        self.target = point
        self.covariance = inverse @ (np.cov(scores(point).T) + noise) @ inverse / n

    def draw(self, rng, n):
        """Data of n people."""
        return (self.data[rng.integers(POPULATION, size=n)],)

    def standard_errors(self, estimator):
        """Those of the coefficients."""
        return estimator.functional(lambda point: point).standard_error


def run_some(model, features, epsilon, n, seed, repetitions):
    """One row for each repetition, with the columns of `regressions.run_some`."""
    return fit_again(Population(model, features, epsilon, n), n, seed, repetitions)


def main():
    """Print a line for each cell."""
    parser = parser_of_cells(__doc__.splitlines()[0], LOSSES)
    options = parser.parse_args()
    cells = [*product(options.models, options.features, options.epsilon, options.n)]
    print(HEAD)
    for cell, rows in zip(cells, run_cells(run_some, cells, options, TASK)):
        print(line((*cell, "own"), rows), flush=True)


if __name__ == "__main__":
    main()
