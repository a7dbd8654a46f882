"""Estimators of a location: any space, any loss of the package, one point as the answer."""

from __future__ import annotations

import numpy as np
from geomstats.geometry.euclidean import Euclidean
from geomstats.geometry.hypersphere import Hypersphere
from sklearn.utils.validation import check_is_fitted

from geomstats_ldp.estimators.base import BasePrivateEstimator
from geomstats_ldp.estimators.documentation import shared_docstring
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import UserCoordinates, guard_space, unit_vector
from geomstats_ldp.losses import (
    FrechetLoss,
    PseudoHuberLoss,
    VonMisesFisherLoss,
    loss_from_spec,
)

_FRECHET_LOSSES = ("squared", "pseudo_huber")


class LocationEstimator(BasePrivateEstimator):
    """Base of the estimators whose parameter is a point of the space the data live on."""

    # ---------------------------------------------------------------- protocol

    def _user_space(self, width):
        """The space whose coordinates the user speaks."""
        return self.space

    def _known_width(self):
        if self.space is not None:
            return self.space.shape[0]
        return None if self.initial_point is None else np.shape(self.initial_point)[0]

    def _make_space(self, width):
        return self._coordinates(width).internal_space

    def _make_center(self, space):
        if self.initial_point is None:
            return guard_space(space).origin()
        point = np.array(self.initial_point, dtype=float)
        shape = self._user_space(space.dim).shape
        if point.shape != tuple(shape):
            raise ProtocolError(f"initial_point must have shape {shape}; got {point.shape}")
        return self._to_internal(point)

    def _coordinates(self, width=None):
        return UserCoordinates(self._user_space(self.n_features_in_ if width is None else width))

    def _to_internal(self, X):
        return self._coordinates(X.shape[-1]).to_internal(X)

    def _from_internal(self, points):
        return self._coordinates(points.shape[-1]).from_internal(points)

    def _width(self):
        shape = self.protocol_.geometry.shape
        return shape[0] if self.space is None else self.space.shape[0]

    # ---------------------------------------------------------------- scikit-learn

    def predict(self, X):
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

    def score(self, X, y=None):
        """Minus the mean loss of the clipped rows at the estimate.

        Parameters
        ----------
        X : array-like, shape [n, *data_shape]
        y : None
            Ignored.

        Returns
        -------
        score : float
        """
        check_is_fitted(self, "server_")
        geometry, loss = self.protocol_.geometry, loss_from_spec(self.protocol_.loss)
        rows = loss.check_data(geometry, self._to_internal(self._check_rows(X, reset=False)))
        point = self.server_.state.average
        return float(-np.mean(loss.value(geometry, point, loss.clip(geometry, rows))))


@shared_docstring
class PrivateMEstimator(LocationEstimator):
    """Minimiser of the mean of a loss on a manifold, from one private message per participant.

    The general estimator: name a space and a loss. `PrivateFrechetMean`, `PrivateVMFLocation` and
    `PrivatePCA` are the same with the loss chosen.

    Parameters
    ----------
    space : geomstats manifold
    loss : Loss
        One of `geomstats_ldp.losses`, or a subclass of `Loss`. Its own public points, such as the
        centre of a ball of data, are in the coordinates the package computes in.
    {privacy}
    initial_point : array-like, shape [*point_shape], optional
        Public first guess and centre of the working region. Default the origin of the space,
        where it has one.
    region_radius : float, default=1.0
        Geodesic radius about `initial_point` within which the parameter is sought.
    preconditioner : array-like, shape [dim, dim], optional
        Public symmetric positive definite map of the update, in the frame at `initial_point`.
        Default the identity.
    retraction : str, default="exponential"
        How queries, updates and the region move; "projection" is available on the sphere.
    {run}

    Attributes
    ----------
    estimate_ : array, shape [*point_shape]
        The fitted point.
    {fitted}
    """

    def __init__(
        self,
        space,
        loss,
        epsilon=1.0,
        delta=0.0,
        mechanism="privunit",
        *,
        initial_point=None,
        region_radius=1.0,
        preconditioner=None,
        retraction="exponential",
        n_participants=None,
        pairs_per_round=1,
        hessian=None,
        hessian_prior=None,
        radius=None,
        gain=None,
        inference=None,
        engine="auto",
        keep_transcript=False,
        verbose=False,
        random_state=None,
    ):
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            initial_point=initial_point,
            region_radius=region_radius,
            preconditioner=preconditioner,
            retraction=retraction,
            n_participants=n_participants,
            pairs_per_round=pairs_per_round,
            hessian=hessian,
            hessian_prior=hessian_prior,
            radius=radius,
            gain=gain,
            inference=inference,
            engine=engine,
            keep_transcript=keep_transcript,
            verbose=verbose,
            random_state=random_state,
        )
        self.space = space
        self.loss = loss

    def _make_loss(self, space, center):
        return self.loss


@shared_docstring
class PrivateFrechetMean(LocationEstimator):
    r"""Intrinsic mean, or a robust centre, from one private message per participant.

    The target minimises :math:`E\,\psi(d(x, Y)^2 / 2)`: the Fréchet mean with psi the identity,
    the pseudo-Huber centre with :math:`\psi(t) = \rho^2 (\sqrt{1 + 2t/\rho^2} - 1)`. In Euclidean
    space the first is the mean, on SPD matrices with the log-Euclidean metric the log-Euclidean
    mean.

    Parameters
    ----------
    space : geomstats manifold, optional
        Space of the data, in any of its coordinates. Default Euclidean space.
    loss : {"squared", "pseudo_huber"}, default="squared"
    scale : float, optional
        Scale rho of the pseudo-Huber loss, a distance; it bounds the score.
    data_radius : float, default=1.0
        Public radius about `initial_point` within which data are taken as they are. Data farther
        out are moved to its edge by the participant, so the guarantee holds for any data.
    {privacy}
    initial_point : array-like, shape [*point_shape], optional
        Public first guess and centre of the working region and of the data. Default the origin of
        the space, where it has one.
    region_radius : float, default=1.0
        Geodesic radius about `initial_point` within which the centre is sought.
    preconditioner : array-like, shape [dim, dim], optional
        Public symmetric positive definite map of the update, in the frame at `initial_point`.
        Default the identity.
    retraction : str, default="exponential"
        How queries, updates and the region move; "projection" is available on the sphere.
    {run}

    Attributes
    ----------
    estimate_ : array, shape [*point_shape]
        The centre.
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats.geometry.hyperbolic import Hyperbolic
    >>> from geomstats_ldp import PrivateFrechetMean
    >>> disc = Hyperbolic(dim=2, coords_type="ball")
    >>> X = np.random.default_rng(0).normal([0.2, -0.1], 0.1, size=(4000, 2))
    >>> mean = PrivateFrechetMean(disc, epsilon=4.0, random_state=0).fit(X)
    >>> bool(mean.confidence_region().contains(X.mean(axis=0)))
    True
    """

    def __init__(
        self,
        space=None,
        loss="squared",
        scale=None,
        data_radius=1.0,
        epsilon=1.0,
        delta=0.0,
        mechanism="privunit",
        *,
        initial_point=None,
        region_radius=1.0,
        preconditioner=None,
        retraction="exponential",
        n_participants=None,
        pairs_per_round=1,
        hessian=None,
        hessian_prior=None,
        radius=None,
        gain=None,
        inference=None,
        engine="auto",
        keep_transcript=False,
        verbose=False,
        random_state=None,
    ):
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            initial_point=initial_point,
            region_radius=region_radius,
            preconditioner=preconditioner,
            retraction=retraction,
            n_participants=n_participants,
            pairs_per_round=pairs_per_round,
            hessian=hessian,
            hessian_prior=hessian_prior,
            radius=radius,
            gain=gain,
            inference=inference,
            engine=engine,
            keep_transcript=keep_transcript,
            verbose=verbose,
            random_state=random_state,
        )
        self.space = space
        self.loss = loss
        self.scale = scale
        self.data_radius = data_radius

    def _user_space(self, width):
        return Euclidean(dim=width) if self.space is None else self.space

    def _make_loss(self, space, center):
        common = {"center": center, "data_radius": self.data_radius}
        if self.loss == "squared":
            if self.scale is not None:
                raise ProtocolError("scale belongs to loss='pseudo_huber'; got loss='squared'")
            return FrechetLoss(**common)
        if self.loss == "pseudo_huber":
            if self.scale is None:
                raise ProtocolError("scale must be given for loss='pseudo_huber'; got None")
            return PseudoHuberLoss(**common, scale=self.scale)
        raise ProtocolError(f"loss must be one of {_FRECHET_LOSSES}; got {self.loss!r}")


@shared_docstring
class PrivateVMFLocation(LocationEstimator):
    r"""Mean direction from one private message per participant.

    The target is :math:`E[Y] / |E[Y]|`, the location of a von Mises-Fisher law with known
    concentration and the mean direction of any other law on the sphere.

    Parameters
    ----------
    kappa : float, default=1.0
        Concentration in the loss :math:`-\kappa \mu^T y`. It bounds the score and scales the
        Hessian; the target does not depend on it, nor does the region.
    {privacy}
    initial_point : array-like, shape [n_features], optional
        Public first guess and centre of the working region, scaled to unit length. Default
        (1, ..., 1).
    region_radius : float, default=1.0
        Angle in radians about `initial_point` within which the direction is sought.
    preconditioner : array-like, shape [dim, dim], optional
        Public symmetric positive definite map of the update, in the frame at `initial_point`.
        Default the identity.
    retraction : {"projection", "exponential"}, default="projection"
        How queries, updates and the region move along the sphere; "projection" normalises.
    {run}

    Attributes
    ----------
    estimate_ : array, shape [n_features]
        Mean direction, a unit vector.
    {fitted}

    Notes
    -----
    Rows are directions: the participant scales them to unit length. A zero row has no direction
    and pulls nowhere.

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import PrivateVMFLocation
    >>> X = np.random.default_rng(0).normal([1.0, 0.5, 0.0], 0.4, size=(4000, 3))
    >>> location = PrivateVMFLocation(epsilon=4.0, initial_point=[1, 1, 1], random_state=0).fit(X)
    >>> region = location.confidence_region()
    >>> direction = (X / np.linalg.norm(X, axis=1, keepdims=True)).mean(axis=0)
    >>> bool(region.contains(direction / np.linalg.norm(direction)))
    True
    """

    _min_features = 2
    space = None

    def __init__(
        self,
        kappa=1.0,
        epsilon=1.0,
        delta=0.0,
        mechanism="privunit",
        *,
        initial_point=None,
        region_radius=1.0,
        preconditioner=None,
        retraction="projection",
        n_participants=None,
        pairs_per_round=1,
        hessian=None,
        hessian_prior=None,
        radius=None,
        gain=None,
        inference=None,
        engine="auto",
        keep_transcript=False,
        verbose=False,
        random_state=None,
    ):
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            initial_point=initial_point,
            region_radius=region_radius,
            preconditioner=preconditioner,
            retraction=retraction,
            n_participants=n_participants,
            pairs_per_round=pairs_per_round,
            hessian=hessian,
            hessian_prior=hessian_prior,
            radius=radius,
            gain=gain,
            inference=inference,
            engine=engine,
            keep_transcript=keep_transcript,
            verbose=verbose,
            random_state=random_state,
        )
        self.kappa = kappa

    def _user_space(self, width):
        if width < 2:
            raise ProtocolError(f"n_features must be at least 2; got {width}")
        return Hypersphere(dim=width - 1)

    def _make_center(self, space):
        return unit_vector(self.initial_point, space.dim + 1)

    def _make_loss(self, space, center):
        return VonMisesFisherLoss(kappa=self.kappa)
