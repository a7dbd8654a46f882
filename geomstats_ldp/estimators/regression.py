"""Private linear and Huber regression."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from geomstats_ldp.estimators.coefficients import PrivateRegression
from geomstats_ldp.estimators.documentation import shared_docstring
from geomstats_ldp.estimators.tuning import Tuning
from geomstats_ldp.losses import HuberRegressionLoss, LinearRegressionLoss
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.validation import check_scale

#: Default radius of the working region, relative to the bound of the target.
_WIDEST_TARGET = 2.0


class Regressor(RegressorMixin, PrivateRegression):
    """Base of the regressions of a number."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a few rows with much noise
        return tags

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the features, shape [n_features]."""
        return self._slopes

    @property
    def intercept_(self) -> float:
        """Intercept, 0 if there is none."""
        return self._offset

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predicted targets.

        Parameters
        ----------
        X : array-like, shape [n, n_features]
            Rows are not clipped.

        Returns
        -------
        prediction : array, shape [n]
        """
        return self._predictor(X)


@shared_docstring
class PrivateLinearRegression(Regressor):
    r"""Least squares from one private message per participant.

    The target minimises :math:`E (a + x^\top b - y)^2` over the intercept a and the coefficients
    b, for features x clipped to norm `feature_bound` and targets y clipped to `target_bound`.

    Parameters
    ----------
    {features}
    target_bound : float, default=1.0
        Public bound C on the absolute target.
    {privacy}
    fit_intercept : bool, default=True
    {guess}
    region_radius : float, optional
        Distance from `initial_point` within which the coefficients are sought, with the intercept
        in units of :math:`B / \sqrt p`, p the number of features. Default twice the target bound
        over the bound of a row with its constant. Residuals, and so scores, are bounded through
        it: noise grows with it. Rounds ask as far away as it reaches.
    {run}

    Attributes
    ----------
    coef_ : array, shape [n_features]
    intercept_ : float
    estimate_ : array, shape [n_coefficients]
        Both, the intercept first.
    {fitted}

    Notes
    -----
    Scores are as long as the largest residual there can be. `PrivateHuberRegression` bounds the
    residual itself and needs several times less noise; for symmetric errors it has the same
    target.

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import PrivateLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20000, 2))
    >>> y = 0.2 + X @ [0.5, -0.3] + 0.1 * rng.normal(size=20000)
    >>> model = PrivateLinearRegression(feature_bound=1.5, epsilon=8.0, random_state=0).fit(X, y)
    >>> bool(model.confidence_region().contains([0.2, 0.5, -0.3]))
    True
    """

    _losses = (LinearRegressionLoss,)
    _widest = _WIDEST_TARGET

    target_bound: float

    def __init__(
        self,
        feature_bound: float = 1.0,
        target_bound: float = 1.0,
        epsilon: float | dict[str, float] = 1.0,
        delta: float = 0.0,
        mechanism: str = "privunit",
        *,
        fit_intercept: bool = True,
        initial_point: ArrayLike | None = None,
        region_radius: float | None = None,
        n_participants: int | None = None,
        n_rounds: int | None = 8,
        tuning: Tuning | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ):
        self._keep(locals())

    def _make_loss(self, space, center):
        return LinearRegressionLoss(**self._loss_arguments(space), target_bound=self.target_bound)

    def _target_unit(self):
        return check_scale("target_bound", self.target_bound)


@shared_docstring
class PrivateHuberRegression(Regressor):
    r"""Robust regression with Huber's loss from one private message per participant.

    The target minimises :math:`E \rho(a + x^\top b - y)` over the intercept a and the coefficients
    b, for features x clipped to norm `feature_bound`, with :math:`\rho(r) = r^2 / 2` for residuals
    up to `scale` and linear beyond. Targets need no bound.

    Parameters
    ----------
    scale : float, default=1.0
        Residual beyond which the loss is linear, in the units of the target. It is public and
        bounds the scores; 1.35 standard deviations of normal residuals cost 5% efficiency.
    {features}
    {privacy}
    fit_intercept : bool, default=True
    {guess}
    region_radius : float, optional
        Distance from `initial_point` within which the coefficients are sought, with the intercept
        in units of :math:`B / \sqrt p`, p the number of features. Default twenty times `scale` over
        the bound of a row with its constant. It costs no noise.
    {run}

    Attributes
    ----------
    coef_ : array, shape [n_features]
    intercept_ : float
    estimate_ : array, shape [n_coefficients]
        Both, the intercept first.
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import PrivateHuberRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20000, 2))
    >>> y = 0.2 + X @ [0.5, -0.3] + 0.1 * rng.standard_t(2, size=20000)
    >>> model = PrivateHuberRegression(
    ...     scale=0.2, feature_bound=1.5, epsilon=4.0, random_state=0
    ... ).fit(X, y)
    >>> bool(model.confidence_region().contains([0.2, 0.5, -0.3]))
    True
    """

    _losses = (HuberRegressionLoss,)

    scale: float

    def __init__(
        self,
        scale: float = 1.0,
        feature_bound: float = 1.0,
        epsilon: float | dict[str, float] = 1.0,
        delta: float = 0.0,
        mechanism: str = "privunit",
        *,
        fit_intercept: bool = True,
        initial_point: ArrayLike | None = None,
        region_radius: float | None = None,
        n_participants: int | None = None,
        n_rounds: int | None = 8,
        tuning: Tuning | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ):
        self._keep(locals())

    def _make_loss(self, space, center):
        return HuberRegressionLoss(**self._loss_arguments(space), scale=self.scale)

    def _target_unit(self):
        return check_scale("scale", self.scale)
