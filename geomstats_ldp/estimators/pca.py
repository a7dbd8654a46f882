"""Private leading principal direction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from geomstats_ldp.estimators.base import BasePrivateEstimator
from geomstats_ldp.estimators.documentation import shared_docstring
from geomstats_ldp.estimators.rows import unquoted
from geomstats_ldp.estimators.tuning import Tuning
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import sphere_of_width, unit_vector
from geomstats_ldp.losses import PCALoss
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.protocol.checks import check_preconditioner
from geomstats_ldp.validation import finite_array


@shared_docstring
class PrivatePCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BasePrivateEstimator):
    r"""Leading principal direction from one private message per participant.

    The target is the leading eigenvector of :math:`E[y y^T]` for rows y clipped to norm
    `norm_bound`: the second moment about the origin, so that centring and scaling are public steps
    taken beforehand. It is estimated on the unit sphere by averaged Riemannian stochastic gradient
    descent over symmetric query pairs, and comes with a Wald confidence region.

    Parameters
    ----------
    norm_bound : float, default=1.0
        Public bound B on the norm of a row, in the units of the data. Longer rows are scaled back
        to it by the participant, so the guarantee holds for any data.
    {privacy}
    initial_point : array-like, shape [n_features], optional
        Public first guess and centre of the working region; it also fixes the sign. It is scaled
        to unit length. Default (1, ..., 1).
    region_radius : float, default=1.0
        Angle in radians about `initial_point` within which the direction is sought; together with
        the query radius it must stay under pi/2.
    {run}

    Attributes
    ----------
    estimate_ : array, shape [n_features]
        Leading direction, a unit vector.
    components_ : array, shape [1, n_features]
        The same, in the shape of scikit-learn's PCA.
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
    _retraction = "projection"

    def __init__(
        self,
        norm_bound: float = 1.0,
        epsilon: float = 1.0,
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
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            initial_point=initial_point,
            region_radius=region_radius,
            n_participants=n_participants,
            n_rounds=n_rounds,
            tuning=tuning,
            verbose=verbose,
            random_state=random_state,
        )
        self.norm_bound = norm_bound

    # ---------------------------------------------------------------- protocol

    def _make_space(self, width):
        return sphere_of_width(width)

    def _make_center(self, space):
        return unit_vector(self.initial_point, space.dim + 1)

    def _loss_names(self):
        return (PCALoss.name,)

    def _make_loss(self, space, center):
        return PCALoss(norm_bound=self.norm_bound)

    def _check_query_region(self, query_region):
        if not query_region.radius < math.pi / 2:
            raise ProtocolError(
                "region_radius plus the query radius must stay under pi/2, where u and -u cannot "
                f"be told apart; got {query_region.radius:.4g} in all"
            )

    def _make_preconditioner(self, preconditioner, geometry):
        if preconditioner is None:
            return np.eye(geometry.dim)
        matrix = finite_array("preconditioner", preconditioner, (geometry.dim + 1,) * 2)
        return check_preconditioner(geometry.basis @ matrix @ geometry.basis.T, geometry.dim)

    # ---------------------------------------------------------------- scikit-learn

    @property
    def components_(self) -> np.ndarray:
        """Leading direction as a row, shape [1, n_features]."""
        check_is_fitted(self, "server_")
        return self.estimate_[None, :]

    @property
    def _n_features_out(self):
        return 1

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Projection of each row on the leading direction.

        Parameters
        ----------
        X : array-like, shape [n, n_features]
            Rows are not clipped.

        Returns
        -------
        projection : array, shape [n]
        """
        check_is_fitted(self, "server_")
        return unquoted("X", validate_data, self, X, dtype=np.float64, reset=False) @ self.estimate_

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Projection of each row on the leading direction, as a column.

        Parameters
        ----------
        X : array-like, shape [n, n_features]
            Rows are not clipped.

        Returns
        -------
        projection : array, shape [n, 1]
        """
        return self.predict(X)[:, None]

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Minus the mean loss: half the mean square of the rows' projections.

        Rows are not clipped, so that a search over `norm_bound` compares one loss.

        Parameters
        ----------
        X : array-like, shape [n, n_features]
        y : None
            Ignored.

        Returns
        -------
        score : float
        """
        check_is_fitted(self, "server_")
        X = unquoted("X", validate_data, self, X, dtype=np.float64, reset=False)
        return -self._mean_loss(X)
