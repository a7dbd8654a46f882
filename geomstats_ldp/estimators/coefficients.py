"""What private regressions share: rows with a target, an intercept, and a table of coefficients."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

from geomstats_ldp.estimators.base import BasePrivateEstimator
from geomstats_ldp.estimators.rows import unquoted
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.inference import CoefficientTable, SmoothFunctional
from geomstats_ldp.validation import check_bool, check_scale, finite_array

#: Default radius of the working region for a row at the bound: its predictor, in the units in
#: which scores bend.
_WIDEST_PREDICTOR = 20.0


class InterceptFirst:
    """Coordinates (intercept, coefficients) of a parameter whose first entry is scaled.

    Parameters
    ----------
    intercept : float
        Constant s of the loss: the intercept is s times the first entry; 0 for no intercept.
    """

    def __init__(self, intercept: float):
        self.intercept = intercept

    def to_internal(self, points: ArrayLike) -> np.ndarray:
        """Convert points (intercept, coefficients), shape [..., dim]."""
        return self._scaled(points, 1 / self.intercept if self.intercept > 0 else 1.0)

    def from_internal(self, points: ArrayLike) -> np.ndarray:
        """Convert parameters back to (intercept, coefficients), shape [..., dim]."""
        return self._scaled(points, self.intercept if self.intercept > 0 else 1.0)

    @staticmethod
    def _scaled(points, factor):
        points = np.array(points, dtype=float)
        points[..., 0] *= factor
        return points


class PrivateRegression(BasePrivateEstimator):
    """Base of the regressions; subclasses say what the loss is.

    A datum is a row (x, y): the features and the target of one participant.
    """

    #: Correlated features make eigenvalues of different size: the small ones would be shrunk most.
    _hessian = "raw"

    _n_targets = 1

    #: Largest predictor of a row at the bound, relative to `_target_unit`.
    _widest: ClassVar[float] = _WIDEST_PREDICTOR

    feature_bound: float
    fit_intercept: bool

    _rows_and_messages = "messages where fit takes rows and targets"

    # ---------------------------------------------------------------- protocol

    @abstractmethod
    def _target_unit(self):
        """Unit of the predictor for the default of `region_radius`."""

    @property
    def _n_constants(self):
        return int(check_bool("fit_intercept", self.fit_intercept))

    def _known_shape(self):
        """Features and the target."""
        point = self._shape_of_initial_point(("n",))
        if point is None:
            return None
        n_features = point[0] - self._n_constants
        if n_features < 1:
            raise ProtocolError(
                f"initial_point must have shape (n,) and hold {self._entries}; got {point}"
            )
        return (n_features + 1,)

    @property
    def _entries(self):
        """What the entries of `initial_point` are, for errors."""
        each = "a coefficient for each feature"
        return f"the intercept and {each}" if self._n_constants else each

    def _check_known_shape(self, name, rows):
        known = self._known_shape()
        if known is not None and rows.shape[1:] != known:
            raise ProtocolError(
                f"X must have {known[0] - 1} features to fit initial_point, which holds "
                f"{self._entries}; got {rows.shape[1] - 1}"
            )

    def _width(self):
        return self.protocol_.geometry.dim - int(self._constant() > 0)

    def _make_space(self, width):
        return space_from_spec({"name": "Euclidean", "dim": width + self._n_constants})

    def _make_center(self, space):
        if self.initial_point is None:
            return np.zeros(space.shape)
        point = finite_array("initial_point", self.initial_point, space.shape)
        return self._center_to_internal(point, space)

    def _center_to_internal(self, center, space):
        return InterceptFirst(self._scale_of(space.dim)).to_internal(center)

    def _scale_of(self, dim):
        """Constant s of the intercept: the size of one feature of a row at the bound."""
        bound = check_scale("feature_bound", self.feature_bound)
        return bound / math.sqrt(max(dim - 1, 1)) if self._n_constants else 0.0

    def _loss_arguments(self, space):
        return {"feature_bound": self.feature_bound, "intercept": self._scale_of(space.dim)}

    def _region_radius(self, space):
        if self.region_radius is not None:
            return self.region_radius
        return self._widest * self._target_unit() / self._make_loss(space, None).row_bound

    # ---------------------------------------------------------------- coordinates

    def _constant(self):
        """Constant s of the protocol, which a loaded state brings along."""
        return float(self.protocol_.loss_spec["intercept"])

    def _coordinates(self):
        return InterceptFirst(self._constant())

    def _units(self):
        """Derivative of the coefficients along the frame, shape [dim, dim]."""
        return self._coordinates().from_internal(self.protocol_.geometry.basis).T

    @property
    def covariance_(self) -> np.ndarray:
        """Covariance of `estimate_`, the intercept first, shape [n_coefficients, n_coefficients].

        In the units of the coefficients, as of statistics packages; divided by n.
        """
        units = self._units()
        return units @ super().covariance_ @ units.T

    @property
    def hessian_(self) -> np.ndarray:
        """Estimated Hessian of the population loss in the coefficients, the intercept first."""
        return self._by_coefficients(super().hessian_)

    @property
    def score_covariance_(self) -> np.ndarray:
        """Estimated covariance of one released score, the gradient in the coefficients."""
        return self._by_coefficients(super().score_covariance_)

    def _by_coefficients(self, form):
        """A bilinear form of derivatives along the frame, for derivatives in the coefficients."""
        inverse = np.linalg.inv(self._units())
        return inverse.T @ form @ inverse

    # ---------------------------------------------------------------- data

    def _rows(self, X, y):
        X, y = unquoted("X", check_X_y, X, y, estimator=self, dtype=np.float64)
        y = unquoted("y", check_array, y, ensure_2d=False, dtype=np.float64, input_name="y")
        return np.column_stack([X, y])

    def _fit_rows(self, rows):
        return self.fit_blocks([rows], n_participants=len(rows))

    def _replay_rows(self, messages):
        self._require_started()  # messages are no rows of data, whose width would tell
        super()._replay_rows(messages)

    # ---------------------------------------------------------------- answers

    @property
    def _slopes(self):
        """Coefficients of the features, shape [n_features]."""
        return self.estimate_[int(self._constant() > 0) :]

    @property
    def _offset(self):
        """Intercept, 0 if there is none."""
        check_is_fitted(self, "server_")
        return float(self.estimate_[0]) if self._constant() > 0 else 0.0

    def _predictor(self, X):
        check_is_fitted(self, "server_")
        X = unquoted("X", validate_data, self, X, dtype=np.float64, reset=False)
        return X @ self._slopes + self._offset

    def summary(self, level: float = 0.95) -> CoefficientTable:
        """Table of the coefficients as statistics packages print it.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
            Of the intervals, each of which covers on its own.

        Returns
        -------
        table : CoefficientTable
            Prints as a table.

        Raises
        ------
        NotReadyError
            If too few participants have answered for the regression.

        Warns
        -----
        HessianFloorWarning, LostCurvatureWarning, SafeguardWarning, UninformativeRegionWarning,
        WeakCurvatureWarning
        """
        values = cast(SmoothFunctional, self.functional(lambda coefficients: coefficients))
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        names = names or [f"x{i}" for i in range(self.n_features_in_)]
        if self._constant() > 0:
            names = ["intercept", *names]
        return CoefficientTable(
            type(self).__name__, tuple(names), values, level, self.protocol_, self.n_participants_
        )
