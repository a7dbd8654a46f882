"""Private leading principal direction, or subspace of several components."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from geomstats_ldp.estimators.base import BasePrivateEstimator
from geomstats_ldp.estimators.documentation import shared_docstring
from geomstats_ldp.estimators.rows import unquoted
from geomstats_ldp.estimators.scouting import Scouting
from geomstats_ldp.estimators.spd_covariance import PrivateSPDCovariance
from geomstats_ldp.estimators.tuning import Tuning
from geomstats_ldp.estimators.variances import ComponentVariances
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import projection_on, sphere_of_width, unit_vector
from geomstats_ldp.geometry.registry import space_from_spec
from geomstats_ldp.losses import PCALoss, SubspaceLoss
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.protocol.checks import check_preconditioner
from geomstats_ldp.scouting.histogram import LOWEST
from geomstats_ldp.validation import check_integer, check_scale, finite_array


@shared_docstring
class PrivatePCA(
    Scouting,
    ComponentVariances,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BasePrivateEstimator,
):
    r"""Leading principal components from one private message per participant.

    The target is the leading eigenvector of :math:`E[y y^T]` for rows y clipped to norm
    `norm_bound`, or the span of the k leading ones: the second moment about the origin, so that
    centring and scaling are public steps taken beforehand. One component is estimated on the unit
    sphere, a subspace of several on the Grassmannian, by averaged Riemannian stochastic gradient
    descent over symmetric query pairs or by regression in rounds, with a confidence region.

    Parameters
    ----------
    norm_bound : float or "scout", default=1.0
        Public bound B on the norm of a row, in the units of the data. Longer rows are scaled back
        to it by the participant, so the guarantee holds for any data. With "scout" a first share of
        the participants answers a private histogram of norms, from which it follows.
    {privacy}
    initial_point : array-like, shape [n_features] or [n_components, n_features], or "scout"
        Public first guess and centre of the working region; it also fixes the sign of one
        component. It is scaled to unit length. Default (1, ..., 1). Several components take
        independent rows that span the guess, and have no default. With "scout" a first share of the
        participants gives a rough estimate, one component with its largest entry positive.
    region_radius : float, default=1.0
        Angle in radians about `initial_point` within which the direction is sought, or root of the
        sum of squared principal angles to the subspace; together with the query radius it must
        stay under pi/2.
    n_components : int, default=1
        Dimension k of the subspace, less than the number of features.
    known_moment : pair of array-like, shapes [n_features, n_features] and [m, m], optional
        Second moment of rows clipped to `norm_bound` that other people have told, as scouts do, and
        the covariance of its error in the m = n_features (n_features + 1) / 2 coordinates of
        symmetric matrices: the entries on and below the diagonal, row by row, those off the
        diagonal times root two. It enters the estimate of one component in rounds beside the
        messages.
    {run}

    Attributes
    ----------
    estimate_ : array, shape [n_features] or [n_features, n_features]
        Leading direction, a unit vector; of several components the projection on their span.
    components_ : array, shape [n_components, n_features]
        Orthonormal basis of the span, in the shape of scikit-learn's PCA: largest variance first,
        and several each with the largest entry positive.
    explained_variance_, explained_variance_ratio_ : array, shape [n_components]
        Of collections in rounds, after `fit_variance`; see `explained_variance` for intervals.
    total_variance_ : SmoothFunctional
        Mean squared length of a clipped row, after `fit_variance`.
    scouted_ : Scouted
        Of `fit` with a parameter that is "scout": what scouts were asked, how many there were, and
        the parameters that they found.
    {fitted}

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import PrivatePCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 3)) * 0.3 + rng.normal(size=(4000, 1)) * [0.5, 0.6, 0.4]
    >>> pca = PrivatePCA(norm_bound=2.0, epsilon=4.0, random_state=0).fit(X)
    >>> pca.n_participants_
    4000
    >>> region = pca.confidence_region(level=0.95)
    >>> bool(region.contains(pca.estimate_)), region.is_informative
    (True, True)
    """

    _min_features = 2
    _scoutable = ("norm_bound", "initial_point")

    known_moment: tuple[ArrayLike, ArrayLike] | None

    def __init__(
        self,
        norm_bound: float | str = 1.0,
        epsilon: float | dict[str, float] = 1.0,
        delta: float = 0.0,
        mechanism: str = "privunit",
        *,
        initial_point: ArrayLike | str | None = None,
        region_radius: float = 1.0,
        n_components: int = 1,
        known_moment: tuple[ArrayLike, ArrayLike] | None = None,
        n_participants: int | None = None,
        n_rounds: int | None = None,
        tuning: Tuning | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ):
        self._keep(locals())

    # ---------------------------------------------------------------- protocol

    @property
    def _is_direction(self):
        return check_integer("n_components", self.n_components) == 1

    @property
    def _retraction(self):
        return "projection" if self._is_direction else "exponential"

    @property
    def _unit_of_radius(self):
        """A principal angle of one radian is this long in the Frobenius metric of projections."""
        return 1.0 if self._is_direction else math.sqrt(2.0)

    def _region_radius(self, space):
        return check_scale("region_radius", self.region_radius) * self._unit_of_radius

    def _known_shape(self):
        if self._is_direction or self.initial_point is None or "initial_point" in self._sought():
            return super()._known_shape()
        return self._shape_of_initial_point((self.n_components, "n"))[1:]

    def _make_space(self, width):
        if self._is_direction:
            return sphere_of_width(width)
        check_integer("n_components", self.n_components, 1, width - 1)
        return space_from_spec({"name": "Grassmannian", "n": width, "p": self.n_components})

    def _make_center(self, space):
        if self._is_direction:
            return unit_vector(self.initial_point, space.dim + 1)
        if self.initial_point is None:
            raise ProtocolError(
                f"initial_point must be given for n_components={self.n_components}: independent "
                "rows that span a public first guess of the subspace; got None"
            )
        return projection_on(self.initial_point, "initial_point")

    @property
    def _losses(self):
        return (PCALoss if self._is_direction else SubspaceLoss,)

    def _make_loss(self, space, center):
        return self._losses[0](norm_bound=self.norm_bound)

    def _check_query_region(self, query_region):
        if not query_region.radius < math.pi / 2 * self._unit_of_radius:
            raise ProtocolError(
                "region_radius plus the query radius must stay under pi/2, where u and -u cannot "
                f"be told apart; got {query_region.radius / self._unit_of_radius:.4g} in all"
            )

    def _make_preconditioner(self, preconditioner, geometry):
        if not self._is_direction:
            return super()._make_preconditioner(preconditioner, geometry)
        if preconditioner is None:
            return np.eye(geometry.dim)
        matrix = finite_array("preconditioner", preconditioner, (geometry.dim + 1,) * 2)
        return check_preconditioner(geometry.basis @ matrix @ geometry.basis.T, geometry.dim)

    def _n_directions(self):
        return self.n_components

    def _make_rounds(self, *arguments):
        rounds = super()._make_rounds(*arguments)
        if self.known_moment is None:
            return rounds
        if rounds is None or not self._is_direction:
            raise ProtocolError(
                "known_moment must be None for pairs and for several components: it enters the "
                "estimate of one component in rounds"
            )
        try:
            matrix, covariance = self.known_moment
        except (TypeError, ValueError):
            raise ProtocolError("known_moment must be a matrix and its covariance") from None
        return replace(rounds, known_moment=matrix, known_covariance=covariance)

    def _start_tells_moment(self):
        return "norm_bound" not in self._sought() and self._is_direction and bool(self.n_rounds)

    def _start_protocol(self, width):
        # Under the smallest bound all rows have one length: their second moment needs no bound.
        covariance = PrivateSPDCovariance(
            norm_bound=self.norm_bound if self._start_tells_moment() else LOWEST,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
            n_rounds=1,
        )
        return covariance._make_protocol(width, None)

    # ---------------------------------------------------------------- scikit-learn

    @property
    def components_(self) -> np.ndarray:
        """Leading directions as rows, shape [n_components, n_features].

        Warns
        -----
        TiedComponentsWarning
            If eigenvalues in a subspace, or at its edge, cannot be told apart in a collection in
            rounds. Pairs tell the order, and not how sure it is.
        """
        check_is_fitted(self, "server_")
        if self._is_direction:
            return self.estimate_[None, :]
        return self._ordered_components()

    @property
    def _n_features_out(self):
        return self.n_components

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Projection of each row on the leading direction, or on each of the components.

        Parameters
        ----------
        X : array-like, shape [n, n_features]
            Rows are not clipped.

        Returns
        -------
        projection : array, shape [n] or [n, n_components]
        """
        check_is_fitted(self, "server_")
        X = unquoted("X", validate_data, self, X, dtype=np.float64, reset=False)
        return X @ (self.estimate_ if self._is_direction else self.components_.T)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Projection of each row on the components, as columns.

        Parameters
        ----------
        X : array-like, shape [n, n_features]
            Rows are not clipped.

        Returns
        -------
        projection : array, shape [n, n_components]
        """
        projection = self.predict(X)
        return projection[:, None] if self._is_direction else projection

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Rows with given projections on the components, in their span.

        Parameters
        ----------
        X : array-like, shape [n, n_components]

        Returns
        -------
        rows : array, shape [n, n_features]

        Raises
        ------
        ProtocolError
            If the shape is wrong, or an entry is not finite.
        """
        check_is_fitted(self, "server_")
        return finite_array("X", X, ("n", self._n_features_out)) @ self.components_
