"""Estimators of a location: any space, any loss of the package, one point as the answer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from geomstats_ldp.estimators.base import BasePrivateEstimator
from geomstats_ldp.estimators.documentation import shared_docstring
from geomstats_ldp.estimators.tuning import Tuning
from geomstats_ldp.geometry import UserCoordinates, origin_of
from geomstats_ldp.losses import check_registered
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.validation import finite_array


class LocationEstimator(BasePrivateEstimator):
    """Base of the estimators whose parameter is a point of the space the data live on."""

    # ---------------------------------------------------------------- protocol

    def _user_space(self, width):
        """The space whose coordinates the user speaks."""
        return self.space

    def _known_shape(self):
        return super()._known_shape() if self.space is None else tuple(self.space.shape)

    def _user_coordinates(self, width):
        return UserCoordinates(self._user_space(width))

    def _make_space(self, width):
        return self._user_coordinates(width).internal_space

    def _make_center(self, space):
        if self.initial_point is None:
            return origin_of(space)
        coordinates = self._user_coordinates(space.dim)
        point = finite_array("initial_point", self.initial_point, tuple(coordinates.space.shape))
        return coordinates.to_internal(point, "initial_point")

    def _coordinates_name(self, width):
        return self._user_coordinates(width).name

    def _to_internal(self, X):
        return self._user_coordinates(X.shape[-1]).to_internal(X)

    # ---------------------------------------------------------------- scikit-learn

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The fitted point for every row: the best constant prediction under the loss.

        Parameters
        ----------
        X : array-like, shape [n, *data_shape]

        Returns
        -------
        points : array, shape [n, *point_shape]
        """
        check_is_fitted(self, "server_")
        rows = self._check_rows(X, reset=False)
        return np.broadcast_to(self.estimate_, (len(rows), *np.shape(self.estimate_))).copy()


@shared_docstring
class PrivateMEstimator(LocationEstimator):
    """Minimiser of the mean of a loss on a manifold, from one private message per participant.

    The general estimator: name a space and a loss. `PrivateFrechetMean`, `PrivateVMFLocation` and
    `PrivatePCA` are the same with the loss chosen.

    Parameters
    ----------
    space : geomstats manifold
    loss : Loss
        One of `geomstats_ldp.losses`, or of a class given to `register_loss`. Its own public
        points, such as the centre of a ball of data, are in the coordinates the package computes
        in.
    {privacy}
    initial_point : array-like, shape [*point_shape], optional
        Public first guess and centre of the working region. Default the origin of the space,
        where it has one.
    region_radius : float, default=1.0
        Geodesic radius about `initial_point` within which the parameter is sought.
    {run}

    Attributes
    ----------
    estimate_ : array, shape [*point_shape]
        The fitted point.
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats.geometry.hyperbolic import Hyperbolic
    >>> from geomstats_ldp import PrivateMEstimator
    >>> from geomstats_ldp.losses import FrechetLoss
    >>> disc = Hyperbolic(dim=2, coords_type="ball")
    >>> loss = FrechetLoss(center=[1.0, 0.0, 0.0], data_radius=1.0)  # on the hyperboloid
    >>> X = np.random.default_rng(0).normal([0.2, -0.1], 0.1, size=(4000, 2))
    >>> model = PrivateMEstimator(disc, loss, epsilon=4.0, n_rounds=8, random_state=0).fit(X)
    >>> bool(model.confidence_region().contains(X.mean(axis=0)))
    True
    """

    space: Any
    loss: Any

    def __init__(
        self,
        space: Any,
        loss: Any,
        epsilon: float | dict[str, float] = 1.0,
        delta: float = 0.0,
        mechanism: str = "privunit",
        *,
        initial_point: ArrayLike | None = None,
        region_radius: float = 1.0,
        n_participants: int | None = None,
        n_rounds: int | None = None,
        tuning: Tuning | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ):
        self._keep(locals())

    @property
    def _losses(self):
        return (self.loss,)

    def _make_loss(self, space, center):
        return check_registered(self.loss)

    def _check_known_shape(self, name, rows):
        """Leave rows to the loss: data need not be points of the space."""
