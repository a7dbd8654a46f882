"""Private mean direction."""

from __future__ import annotations

from numpy.typing import ArrayLike

from geomstats_ldp.estimators.documentation import shared_docstring
from geomstats_ldp.estimators.frechet import PrivateFrechetMean
from geomstats_ldp.estimators.location import LocationEstimator
from geomstats_ldp.estimators.scouting import Scouting
from geomstats_ldp.estimators.tuning import Tuning
from geomstats_ldp.geometry import sphere_of_width, unit_vector
from geomstats_ldp.losses import VonMisesFisherLoss
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.scouting.histogram import LOWEST


@shared_docstring
class PrivateVMFLocation(Scouting, LocationEstimator):
    r"""Mean direction from one private message per participant.

    The target is :math:`E[Y] / |E[Y]|`, the location of a von Mises-Fisher law with known
    concentration and the mean direction of any other law on the sphere.

    Parameters
    ----------
    kappa : float, default=1.0
        Concentration in the loss :math:`-\kappa \mu^T y`. It bounds the score and scales the
        Hessian; the target does not depend on it, nor does the region.
    {privacy}
    initial_point : array-like, shape [n_features], or "scout", optional
        Public first guess and centre of the working region, scaled to unit length. Default
        (1, ..., 1). With "scout" a first share of the participants gives a rough estimate.
    region_radius : float, default=1.0
        Angle in radians about `initial_point` within which the direction is sought.
    {run}

    Attributes
    ----------
    estimate_ : array, shape [n_features]
        Mean direction, a unit vector.
    scouted_ : Scouted
        Of `fit` with a parameter that is "scout": what scouts were asked, how many there were, and
        the parameters that they found.
    {fitted}

    Notes
    -----
    Rows are directions: the participant scales them to unit length. A zero row has no direction
    and its score is zero.

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

    _losses = (VonMisesFisherLoss,)
    _min_features = 2
    _retraction = "projection"
    _scoutable = ("initial_point",)
    space = None

    kappa: float

    def __init__(
        self,
        kappa: float = 1.0,
        epsilon: float | dict[str, float] = 1.0,
        delta: float = 0.0,
        mechanism: str = "privunit",
        *,
        initial_point: ArrayLike | str | None = None,
        region_radius: float = 1.0,
        n_participants: int | None = None,
        n_rounds: int | None = None,
        tuning: Tuning | None = None,
        verbose: bool = False,
        random_state: Seed = None,
    ):
        self._keep(locals())

    def _user_space(self, width):
        return sphere_of_width(width)

    def _make_center(self, space):
        return unit_vector(self.initial_point, space.dim + 1)

    def _make_loss(self, space, center):
        return VonMisesFisherLoss(kappa=self.kappa)

    def _start_protocol(self, width):
        # Rows of one length, whose mean has the direction that is sought.
        mean = PrivateFrechetMean(
            data_radius=LOWEST,
            region_radius=LOWEST,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
            n_rounds=1,
        )
        return mean._make_protocol(width, None)
