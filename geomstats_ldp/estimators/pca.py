"""Private leading principal direction."""

from __future__ import annotations

import math

import numpy as np
from geomstats.geometry.hypersphere import Hypersphere
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from geomstats_ldp.defaults import default_gain, default_radius
from geomstats_ldp.estimators.base import BasePrivateEstimator
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import geodesic_ball, guard_space, orthonormal_basis
from geomstats_ldp.losses import PCALoss
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import InferenceRule, make_protocol
from geomstats_ldp.protocol.protocol import check_preconditioner


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
    epsilon : float, default=1.0
        Privacy of each participant's message; ``inf`` for none.
    delta : float, default=0.0
        Zero for the pure mechanisms; in (0, 1) for ``mechanism="gaussian"``.
    mechanism : {"privunit", "gaussian", "l2_ball"}, default="privunit"
        Local randomiser.
    initial_point : array-like, shape [n_features], optional
        Public first guess and centre of the working region; it also fixes the sign. It is scaled
        to unit length. Default (1, ..., 1): a size direction.
    region_radius : float, default=1.0
        Angle in radians about `initial_point` within which the direction is sought; together with
        the query radius it must stay under pi/2.
    preconditioner : array-like, shape [n_features, n_features], optional
        Public symmetric positive definite map of the update, as a matrix on the ambient space of
        which the block tangent at `initial_point` is used. The inverse of an earlier estimate of
        the Hessian is best. Default the identity.
    n_participants : int, optional
        Planned number of participants: it fixes the query radius, and with an odd number the last
        participant gives an ordinary update. `fit` plans for the rows it is given, and uses this
        number, if there is one, for the query radius only.
    pairs_per_round : int, default=1
        Query pairs that share one iterate.
    retraction : {"projection", "exponential"}, default="projection"
        How queries, updates and the region move along the sphere; "projection" normalises.
    radius : RadiusRule, optional
    gain : GainRule, optional
    inference : InferenceRule, optional
        Public rules in place of the defaults, which need no tuning.
    engine : {"auto", "compiled", "geomstats"}, default="auto"
        Whether the recursion runs compiled or calls geomstats; the results agree.
    keep_transcript : bool, default=False
        Keep every message, for `transcript_`.
    verbose : bool, default=False
        Show a progress bar in `fit`.
    random_state : None, int, numpy Generator or RandomState, default=None
        None takes the noise from the operating system, as privacy needs. A seed is for simulation:
        whoever knows it can remove the noise.

    Attributes
    ----------
    estimate_ : array, shape [n_features]
        Leading direction, a unit vector.
    components_ : array, shape [1, n_features]
        The same, in the shape of scikit-learn's PCA.
    covariance_, hessian_, score_covariance_ : array, shape [n_features - 1, n_features - 1]
        In coordinates of the public frame at `estimate_`.
    n_participants_ : int
        Participants whose message has entered the estimate.
    diagnostics_ : dict
        Counts, safeguards and the state of the regression.
    protocol_, server_, transcript_
        The public side of the run.

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

    def __init__(
        self,
        norm_bound=1.0,
        epsilon=1.0,
        delta=0.0,
        mechanism="privunit",
        *,
        initial_point=None,
        region_radius=1.0,
        preconditioner=None,
        n_participants=None,
        pairs_per_round=1,
        retraction="projection",
        radius=None,
        gain=None,
        inference=None,
        engine="auto",
        keep_transcript=False,
        verbose=False,
        random_state=None,
    ):
        self.norm_bound = norm_bound
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.initial_point = initial_point
        self.region_radius = region_radius
        self.preconditioner = preconditioner
        self.n_participants = n_participants
        self.pairs_per_round = pairs_per_round
        self.retraction = retraction
        self.radius = radius
        self.gain = gain
        self.inference = inference
        self.engine = engine
        self.keep_transcript = keep_transcript
        self.verbose = verbose
        self.random_state = random_state

    # ---------------------------------------------------------------- protocol

    def _known_width(self):
        return None if self.initial_point is None else np.size(self.initial_point)

    def _make_protocol(self, n_features, n_participants):
        if n_features < 2:
            raise ProtocolError(f"n_features must be at least 2; got {n_features}")
        space = Hypersphere(dim=n_features - 1)
        loss = PCALoss(norm_bound=self.norm_bound)
        hessian_bound = loss.hessian_bound(None, None)
        mechanism = make_mechanism(
            self.mechanism,
            epsilon=self.epsilon,
            delta=self.delta,
            dim=space.dim,
            bound=loss.score_bound(None, None),
        )
        region = geodesic_ball(self._unit_initial_point(n_features), self.region_radius)
        planned = self.n_participants if self.n_participants is not None else n_participants
        length = min(region.radius, 1.0)
        radius = self.radius or default_radius(mechanism, hessian_bound, length, planned)
        self._check_reach(region.radius, radius.maximum)
        preconditioner = self._tangent_preconditioner(space, region.center)
        gain = self.gain or default_gain(
            mechanism, hessian_bound, length, region.radius, preconditioner, planned
        )
        return make_protocol(
            space,
            loss,
            mechanism,
            region,
            radius=radius,
            gain=gain,
            inference=self.inference or InferenceRule(),
            retraction=self.retraction,
            preconditioner=preconditioner,
            pairs_per_round=self.pairs_per_round,
            n_participants=n_participants,
        )

    def _unit_initial_point(self, n_features):
        point = np.ones(n_features) if self.initial_point is None else self.initial_point
        point = np.array(point, dtype=float)
        if point.shape != (n_features,) or not np.isfinite(point).all() or not point.any():
            raise ProtocolError(
                f"initial_point must be a finite non-zero vector of length {n_features}; "
                f"got {self.initial_point!r}"
            )
        return point / np.linalg.norm(point)

    @staticmethod
    def _check_reach(region_radius, query_radius):
        if not region_radius + query_radius < math.pi / 2:
            raise ProtocolError(
                "region_radius plus the query radius must stay under pi/2, where u and -u cannot "
                f"be told apart; got {region_radius:.4g} + {query_radius:.4g}"
            )

    def _tangent_preconditioner(self, space, center):
        if self.preconditioner is None:
            return np.eye(space.dim)
        matrix = np.array(self.preconditioner, dtype=float)
        if matrix.shape != (space.dim + 1, space.dim + 1):
            raise ProtocolError(
                f"preconditioner must have shape {(space.dim + 1, space.dim + 1)}; "
                f"got {matrix.shape}"
            )
        basis = orthonormal_basis(guard_space(space), center)
        return check_preconditioner(basis @ matrix @ basis.T, space.dim)

    # ---------------------------------------------------------------- scikit-learn

    @property
    def components_(self):
        """Leading direction as a row, shape [1, n_features]."""
        check_is_fitted(self, "server_")
        return self.estimate_[None, :]

    @property
    def _n_features_out(self):
        return 1

    def predict(self, X):
        """Projection of each row on the leading direction, shape [n].

        Parameters
        ----------
        X : array-like, shape [n, n_features]
            Rows are not clipped.
        """
        check_is_fitted(self, "server_")
        return validate_data(self, X, dtype=np.float64, reset=False) @ self.estimate_

    def transform(self, X):
        """Projection of each row on the leading direction, shape [n, 1]."""
        return self.predict(X)[:, None]

    def score(self, X, y=None):
        """Minus the mean loss, half the mean square of the clipped rows' projections.

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
        X = validate_data(self, X, dtype=np.float64, reset=False)
        geometry, loss = self.protocol_.geometry, PCALoss(norm_bound=self.norm_bound)
        return float(-np.mean(loss.value(geometry, self.estimate_, loss.clip(geometry, X))))
