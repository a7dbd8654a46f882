"""Losses of regressions: data are rows (x, y), and the parameter the coefficients."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.losses.base import Loss
from geomstats_ldp.losses.clipping import clip_to_norm
from geomstats_ldp.losses.scoring import score_into
from geomstats_ldp.twins import compile_for_twin, jitable
from geomstats_ldp.validation import check_non_negative, check_scale

#: Targets are put under this, so that the square of a residual is a number.
_LARGEST_TARGET = 1e100

#: Distance over which a score changes its slope, as the change of the predictor of a row at the
#: bound, in logits and relative to the scale of Huber's loss.
_LOGIT_BENDING, _HUBER_BENDING = 6.5, 9.0

#: Third derivative of the logistic loss at most, and the typical mean relative to it.
_STEEPEST, _TYPICAL_SHARE = 1 / (6 * math.sqrt(3)), 1 / 8

#: The probability falls short of its tangent by b^2 / 12 where its logit is b to both sides of
#: zero, and typically by a half of that: beyond, it bends less.
_SHORTFALL, _TYPICAL_SHORTFALL = 1 / 12, 1 / 2

#: Typical mean third derivative of Huber's loss, for residuals that are not quite symmetric.
_TYPICAL_SKEW = 1 / 120


class RegressionLoss(Loss):
    r"""Loss :math:`\ell(z^\top \theta, y)` of a linear predictor, on Euclidean space.

    A datum is a row (x, y). Features x are clipped to norm `feature_bound`; z is x, or (s, x) with
    the public constant s = `intercept` in front, so that s times the first coordinate of the
    parameter is the intercept. The score :math:`\ell'(z^\top \theta, y) z` is as long as the
    derivative times :math:`|z| \le (s^2 + B^2)^{1/2}`, and the Hessian :math:`\ell'' z z^\top` has
    eigenvalues up to :math:`\ell'' (s^2 + B^2)`.

    Parameters
    ----------
    feature_bound : float
        Public bound B on the Euclidean norm of the features.
    intercept : float
        Constant s of the intercept, in the units of a feature; 0 for no intercept. A good choice
        is the size of one feature of a row at the bound, B over the root of their number.
    """

    #: Largest second derivative of the loss in the predictor.
    _curvature: ClassVar[float] = 1.0

    def __init__(self, *, feature_bound: float, intercept: float):
        self.feature_bound = check_scale("feature_bound", feature_bound)
        self.intercept = check_non_negative("intercept", intercept)

    @property
    def row_bound(self) -> float:
        """Bound on the norm of z."""
        return math.hypot(self.intercept, self.feature_bound)

    def check_space(self, geometry: Geometry) -> None:
        """Euclidean space, with room for a feature."""
        if geometry.name != "Euclidean":
            raise ProtocolError(f"loss {self.name!r} needs Euclidean space; got {geometry.name}")
        if geometry.dim < self._n_constants + 1:
            raise ProtocolError(
                f"loss {self.name!r} needs dimension {self._n_constants + 1} at least, one for "
                f"each coefficient; got {geometry.dim}"
            )

    def data_shape(self, geometry: Geometry) -> tuple[int, ...]:
        """Features and the target."""
        return (geometry.dim - self._n_constants + 1,)

    @property
    def _n_constants(self):
        return int(self.intercept > 0)

    def clip(self, geometry: Geometry, data: np.ndarray) -> np.ndarray:
        """Scale features back to their bound, and put the target between its own."""
        features = clip_to_norm(data[..., :-1], self.feature_bound)
        return np.concatenate([features, np.clip(data[..., -1:], *self._target_range)], axis=-1)

    @property
    @abstractmethod
    def _target_range(self):
        """Smallest and largest target."""

    @abstractmethod
    def _value_of(self, predictor, target):
        """Loss of predictors and targets, shape [...]."""

    @abstractmethod
    def _slope(self, predictor, target):
        """Derivative in the predictor, shape [...]."""

    def value(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Loss of each datum, shape [...]; see `Loss.value`."""
        return self._value_of(self._rows(data) @ point, data[..., -1])

    def score(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Gradient, shape [..., dim]; see `Loss.score`."""
        rows = self._rows(data)
        return self._slope(rows @ point, data[..., -1])[..., None] * rows

    def _rows(self, data):
        constant = np.full((*data.shape[:-1], self._n_constants), self.intercept)
        return np.concatenate([constant, data[..., :-1]], axis=-1)

    def hessian_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Largest second derivative times s^2 + B^2."""
        return self._curvature * self.row_bound**2


class LinearTwin(NamedTuple):
    """Selects the compiled score of `LinearRegressionLoss`."""

    intercept: float


class LogisticTwin(NamedTuple):
    """Selects the compiled score of `LogisticRegressionLoss`."""

    intercept: float


class HuberTwin(NamedTuple):
    """Selects the compiled score of `HuberRegressionLoss`."""

    intercept: float
    scale: float


class LinearRegressionLoss(RegressionLoss):
    r"""Half the squared residual :math:`(z^\top \theta - y)^2 / 2`.

    Scores are linear in the moments :math:`E z z^\top` and :math:`E z y`, so that collections in
    rounds are exact. They are bounded on bounded queries only: by
    :math:`|z| (|z| \, |\theta| + C)`.

    Parameters
    ----------
    feature_bound, intercept : float
        See `RegressionLoss`.
    target_bound : float
        Public bound C on the absolute target, to which it is clipped.
    """

    name = "linear_regression"

    def __init__(self, *, feature_bound: float, intercept: float, target_bound: float):
        super().__init__(feature_bound=feature_bound, intercept=intercept)
        self.target_bound = check_scale("target_bound", target_bound)

    @property
    def _target_range(self):
        return -self.target_bound, self.target_bound

    def _value_of(self, predictor, target):
        return (predictor - target) ** 2 / 2

    def _slope(self, predictor, target):
        return predictor - target

    def score_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Bound of z times the largest residual on the region."""
        longest = float(np.linalg.norm(query_region.center)) + query_region.radius
        return self.row_bound * (self.row_bound * longest + self.target_bound)

    def moment(self, geometry: Geometry) -> str | None:
        """The loss is quadratic."""
        return "quadratic"

    def twin(self) -> tuple | None:
        """Select the compiled score."""
        return LinearTwin(self.intercept)


class LogisticRegressionLoss(RegressionLoss):
    r"""Logistic loss :math:`\log(1 + e^{z^\top \theta}) - y z^\top \theta` of a target y in [0, 1].

    The score :math:`(p - y) z`, p the probability of 1, is no longer than :math:`|z|` anywhere.

    Parameters
    ----------
    feature_bound, intercept : float
        See `RegressionLoss`.
    """

    name = "logistic_regression"
    _curvature = 0.25

    @property
    def _target_range(self):
        return 0.0, 1.0

    def _value_of(self, predictor, target):
        return np.logaddexp(0.0, predictor) - target * predictor

    def _slope(self, predictor, target):
        return (1 + np.tanh(predictor / 2)) / 2 - target

    def score_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Bound of z."""
        return self.row_bound

    @property
    def bending_length(self) -> float:
        """Distance that moves the predictor of a row at the bound by 6.5."""
        return _LOGIT_BENDING / self.row_bound

    def third_derivative(self, geometry: Geometry) -> float:
        r"""A share of the bound :math:`|z|^3 / (6 \sqrt 3)`, over the number of directions."""
        return _TYPICAL_SHARE * _STEEPEST * self.row_bound**3 / geometry.dim

    def saturation(self, geometry: Geometry) -> float:
        r"""A share of :math:`(z^\top v)^2 / 12`, a square that is :math:`|z|^2 / d` on average."""
        return _TYPICAL_SHORTFALL * _SHORTFALL * self.row_bound**2 / geometry.dim

    def twin(self) -> tuple | None:
        """Select the compiled score."""
        return LogisticTwin(self.intercept)


class HuberRegressionLoss(RegressionLoss):
    r"""Huber's loss of the residual: a square up to `scale`, and linear beyond.

    The score, the residual put into [-scale, scale] times z, is no longer than `scale` times
    :math:`|z|`, whatever the target.

    Parameters
    ----------
    feature_bound, intercept : float
        See `RegressionLoss`.
    scale : float
        Residual beyond which the loss is linear, in the units of the target.
    """

    name = "huber_regression"

    def __init__(self, *, feature_bound: float, intercept: float, scale: float):
        super().__init__(feature_bound=feature_bound, intercept=intercept)
        self.scale = check_scale("scale", scale)

    @property
    def _target_range(self):
        return -_LARGEST_TARGET, _LARGEST_TARGET

    def _value_of(self, predictor, target):
        size = np.abs(predictor - target)
        inner = np.minimum(size, self.scale)
        return inner**2 / 2 + self.scale * (size - inner)

    def _slope(self, predictor, target):
        return np.clip(predictor - target, -self.scale, self.scale)

    def score_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Bound of z times `scale`."""
        return self.row_bound * self.scale

    @property
    def bending_length(self) -> float:
        """Distance that moves the predictor of a row at the bound by nine times `scale`."""
        return _HUBER_BENDING * self.scale / self.row_bound

    def third_derivative(self, geometry: Geometry) -> float:
        r"""A share of :math:`|z|^3 / \text{scale}`, over the number of directions.

        The third derivative is :math:`|z|^3` times the difference of the densities of the residual
        at the two kinks, which vanishes for symmetric residuals.
        """
        return _TYPICAL_SKEW * self.row_bound**3 / self.scale / geometry.dim

    def twin(self) -> tuple | None:
        """Select the compiled score."""
        return HuberTwin(self.intercept, self.scale)


@jitable
def _predictor(twin, point, datum):
    n_features = datum.shape[0] - 1
    first = point.shape[0] - n_features
    total = twin.intercept * point[0] if first == 1 else 0.0
    for i in range(n_features):
        total += datum[i] * point[first + i]
    return total


@jitable
def _write_score(twin, slope, datum, out):
    n_features = datum.shape[0] - 1
    first = out.shape[0] - n_features
    if first == 1:
        out[0] = slope * twin.intercept
    for i in range(n_features):
        out[first + i] = slope * datum[i]


@jitable
def _linear_score(twin, geometry, point, datum, out):
    _write_score(twin, _predictor(twin, point, datum) - datum[-1], datum, out)


@jitable
def _logistic_score(twin, geometry, point, datum, out):
    slope = (1 + math.tanh(_predictor(twin, point, datum) / 2)) / 2 - datum[-1]
    _write_score(twin, slope, datum, out)


@jitable
def _huber_score(twin, geometry, point, datum, out):
    residual = _predictor(twin, point, datum) - datum[-1]
    _write_score(twin, min(max(residual, -twin.scale), twin.scale), datum, out)


compile_for_twin(score_into, LinearTwin, _linear_score)
compile_for_twin(score_into, LogisticTwin, _logistic_score)
compile_for_twin(score_into, HuberTwin, _huber_score)
