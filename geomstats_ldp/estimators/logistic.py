"""Private logistic regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y

from geomstats_ldp.estimators.coefficients import PrivateRegression
from geomstats_ldp.estimators.documentation import shared_docstring
from geomstats_ldp.estimators.rows import unquoted
from geomstats_ldp.estimators.tuning import Tuning
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses import LogisticRegressionLoss
from geomstats_ldp.mechanisms.streams import Seed

if TYPE_CHECKING:
    from typing_extensions import Self


@shared_docstring
class PrivateLogisticRegression(ClassifierMixin, PrivateRegression):
    r"""Logistic regression of two classes from one private message per participant.

    The target minimises the mean logistic loss over the intercept a and the coefficients b, for
    features x clipped to norm `feature_bound`: the model is
    :math:`P(y = 1 | x) = 1 / (1 + e^{-a - x^\top b})`. There is no penalty.

    Parameters
    ----------
    {features}
    {privacy}
    fit_intercept : bool, default=True
    classes : array-like, shape [2], optional
        The two labels, public; the second is the one whose probability the model is of. Default
        those that `fit` is given in its emulation, and (0, 1) where nothing is fitted.
    {guess}
    region_radius : float, optional
        Distance from `initial_point` within which the coefficients are sought, with the intercept
        in units of :math:`B / \sqrt p`, p the number of features. Default twenty over the bound of
        a row with its constant. It costs no noise.
    {run}

    Attributes
    ----------
    classes_ : array, shape [2]
    coef_ : array, shape [1, n_features]
    intercept_ : array, shape [1]
    estimate_ : array, shape [n_coefficients]
        Both, the intercept first.
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import PrivateLogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(20000, 2))
    >>> y = rng.uniform(size=20000) < 1 / (1 + np.exp(-0.5 - X @ [2.0, -1.0]))
    >>> model = PrivateLogisticRegression(feature_bound=1.5, epsilon=8.0, random_state=0).fit(X, y)
    >>> bool(model.confidence_region().contains([0.5, 2.0, -1.0]))
    True
    """

    _losses = (LogisticRegressionLoss,)
    classes: ArrayLike | None

    def __init__(
        self,
        feature_bound: float = 1.0,
        epsilon: float | dict[str, float] = 1.0,
        delta: float = 0.0,
        mechanism: str = "privunit",
        *,
        fit_intercept: bool = True,
        classes: ArrayLike | None = None,
        initial_point: ArrayLike | None = None,
        region_radius: float | None = None,
        n_participants: int | None = None,
        n_rounds: int | None = 8,
        tuning: Tuning | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ):
        self._keep(locals())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # a few rows with much noise
        return tags

    def _make_loss(self, space, center):
        return LogisticRegressionLoss(**self._loss_arguments(space))

    def _target_unit(self):
        return 1.0

    def _public_classes(self):
        """The labels of the parameter, None if it leaves them open."""
        if self.classes is None:
            return None
        classes = np.asarray(self.classes)
        if classes.shape != (2,) or classes[0] == classes[1]:
            raise ProtocolError(f"classes must be two different labels; got {self.classes!r}")
        return classes

    def _rows(self, X, y):
        X, y = unquoted("X", check_X_y, X, y, estimator=self, dtype=np.float64)
        if self.classes is None:
            check_classification_targets(y)
        classes = self._classes_of(y)
        return np.column_stack([X, y == classes[1]])

    def _classes_of(self, y):
        found, classes = np.unique(y), self._public_classes()
        if classes is None:
            if len(found) > 2:
                raise ValueError(
                    "Only binary classification is supported. The type of the target is multiclass."
                )
            if len(found) < 2:
                raise ValueError("y must hold two classes; got one class")
            classes = found
        elif not np.isin(found, classes).all():
            raise ValueError(f"y must hold the classes {classes.tolist()} only")
        return classes

    def _adopt(self, server, planned_by_fit=False):
        super()._adopt(server, planned_by_fit)
        classes = self._public_classes()
        self.classes_ = np.array([0, 1]) if classes is None else classes

    def fit(self, X: ArrayLike, y: Any = None, groups: ArrayLike | None = None) -> Self:
        """Emulate one participant per row and its class; see `PrivateLinearRegression.fit`."""
        super().fit(X, y, groups)
        self.classes_ = self._classes_of(np.asarray(y))
        return self

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the features, shape [1, n_features]."""
        return self._slopes[None]

    @property
    def intercept_(self) -> np.ndarray:
        """Intercept, shape [1]; 0 if there is none."""
        return np.array([self._offset])

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Log odds of the second class.

        Parameters
        ----------
        X : array-like, shape [n, n_features]
            Rows are not clipped.

        Returns
        -------
        log_odds : array, shape [n]
        """
        return self._predictor(X)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of the two classes.

        Parameters
        ----------
        X : array-like, shape [n, n_features]
            Rows are not clipped.

        Returns
        -------
        probabilities : array, shape [n, 2]
        """
        second = (1 + np.tanh(self.decision_function(X) / 2)) / 2
        return np.column_stack([1 - second, second])

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The more probable class of each row.

        Parameters
        ----------
        X : array-like, shape [n, n_features]
            Rows are not clipped.

        Returns
        -------
        labels : array, shape [n]
        """
        is_second = self.decision_function(X) > 0
        return self.classes_[is_second.astype(int)]
