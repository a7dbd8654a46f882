"""Private covariance matrix, on the cone of symmetric positive definite matrices."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.utils.validation import check_is_fitted, validate_data

from geomstats_ldp.estimators.base import BasePrivateEstimator
from geomstats_ldp.estimators.documentation import shared_docstring
from geomstats_ldp.estimators.rows import unquoted
from geomstats_ldp.estimators.tuning import Tuning
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import SPDLikelihoodLoss
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.validation import check_scale, finite_array

#: Share of Gaussian rows that the default initial point expects to be within the bound.
_WITHIN_BOUND = 0.99


@shared_docstring
class PrivateSPDCovariance(BasePrivateEstimator):
    r"""Covariance matrix of centred vectors from one private message per participant.

    The target is the second moment :math:`E[y y^T]` of rows y clipped to norm `norm_bound`: about
    the origin, so that centring and scaling are public steps taken beforehand. It is estimated
    with the Gaussian quasi-likelihood (section S.1.5 of the paper) on symmetric positive definite
    matrices with the affine-invariant metric, in which errors are relative.

    Parameters
    ----------
    norm_bound : float, default=1.0
        Public bound B on the norm of a row, in the units of the data. Longer rows are scaled back
        to it by the participant, so the guarantee holds for any data.
    {privacy}
    initial_point : array-like, shape [n_features, n_features], optional
        Public first guess and centre of the working region. Default the multiple of the identity
        of which a Gaussian row is longer than `norm_bound` once in a hundred times,
        :math:`B^2 / \chi^2_{m, 0.99}`.
    region_radius : float, default=3.0
        Affine-invariant distance about `initial_point` within which the matrix is sought: the
        root of the sum of squared logarithms of their relative eigenvalues.
    {run}

    Attributes
    ----------
    estimate_, covariance_matrix_ : array, shape [n_features, n_features]
        The estimated matrix under its two names. `covariance_` is that of the estimate.
    precision_ : array, shape [n_features, n_features]
        Its inverse.
    {fitted}

    Notes
    -----
    Everybody is asked at one public point q, :math:`B^2 / \max(m, 2)` times the identity, in one
    round unless `n_rounds` says otherwise. The score there is :math:`(q - y y^T) / 2`, so that q
    less twice the mean message is an estimate without bias, and scores need a bound at q only. If
    noise makes it indefinite, or moves it out of the working region, it is put back there, with a
    warning. A `tuning` that is about pairs (`radius`, `gain`, `preconditioner`, `pairs_per_round`)
    or names how the Hessian is estimated asks around estimates instead, which is biased and needs
    a score bound that grows like the exponential of `region_radius`.

    Data are vectors, but messages are symmetric matrices, tangent vectors of the cone. Arrays of
    them, shape [n, n_features, n_features], are no rows like those of `fit`, which is what
    scikit-learn means by `partial_fit`; so the method exists only where messages are expected:
    after `start` or `load_state`, or with an `initial_point`.

    As in `sklearn.covariance.EmpiricalCovariance`, a covariance does not predict a row; it weighs
    it (`mahalanobis`, `score`).

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import PrivateSPDCovariance
    >>> target = np.array([[0.8, 0.3], [0.3, 0.4]])
    >>> X = np.random.default_rng(0).multivariate_normal(np.zeros(2), target, size=8000)
    >>> model = PrivateSPDCovariance(norm_bound=2.5, epsilon=8.0, random_state=0).fit(X)
    >>> clipped = X * np.minimum(1.0, 2.5 / np.linalg.norm(X, axis=1))[:, None]
    >>> bool(model.confidence_region().contains(clipped.T @ clipped / len(X)))
    True
    >>> model.functional(np.linalg.eigvalsh).interval(0.95).shape
    (2, 2)
    """

    _losses = (SPDLikelihoodLoss,)
    _rows_and_messages = "matrices where fit takes vectors"

    norm_bound: float

    def __init__(
        self,
        norm_bound: float = 1.0,
        epsilon: float | dict[str, float] = 1.0,
        delta: float = 0.0,
        mechanism: str = "privunit",
        *,
        initial_point: ArrayLike | None = None,
        region_radius: float = 3.0,
        n_participants: int | None = None,
        n_rounds: int | None = None,
        tuning: Tuning | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ):
        self._keep(locals())

    # ---------------------------------------------------------------- protocol

    def _known_shape(self):
        shape = self._shape_of_initial_point(("n", "n"))
        return None if shape is None else shape[:1]

    def _make_space(self, width):
        return space_from_spec({"name": "SPDAffineInvariant", "n": width})

    def _make_center(self, space):
        if self.initial_point is not None:
            return finite_array("initial_point", self.initial_point, space.shape)
        size = space.shape[0]
        bound = check_scale("norm_bound", self.norm_bound)
        return bound**2 / stats.chi2.ppf(_WITHIN_BOUND, size) * np.eye(size)

    def _make_loss(self, space, center):
        return SPDLikelihoodLoss(norm_bound=self.norm_bound)

    # ---------------------------------------------------------------- scikit-learn

    @property
    def covariance_matrix_(self) -> np.ndarray:
        """The estimate, shape [n_features, n_features]."""
        return self.estimate_

    @property
    def precision_(self) -> np.ndarray:
        """Inverse of the estimate, shape [n_features, n_features]."""
        inverse = np.linalg.inv(self.covariance_matrix_)
        return (inverse + inverse.T) / 2

    def mahalanobis(self, X: ArrayLike) -> np.ndarray:
        """Squared Mahalanobis distance of each row from the origin.

        Parameters
        ----------
        X : array-like, shape [n, n_features]
            Rows are not clipped.

        Returns
        -------
        squared_distance : array, shape [n]
        """
        check_is_fitted(self, "server_")
        rows = unquoted("X", validate_data, self, X, dtype=np.float64, reset=False)
        return np.einsum("ni,ij,nj->n", rows, self.precision_, rows)
