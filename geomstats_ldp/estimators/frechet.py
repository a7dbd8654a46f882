"""Private intrinsic means and robust centres."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from geomstats_ldp.defaults import default_smoothing
from geomstats_ldp.estimators.documentation import shared_docstring
from geomstats_ldp.estimators.location import LocationEstimator
from geomstats_ldp.estimators.tuning import Tuning
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.losses import FrechetLoss, PseudoHuberLoss, loss_of
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.validation import check_choice, check_scale

_FRECHET_LOSSES = ("squared", "pseudo_huber", "median")


@shared_docstring
class PrivateFrechetMean(LocationEstimator):
    r"""Intrinsic mean, or a robust centre, from one private message per participant.

    The target minimises :math:`E\,\psi(d(x, Y)^2 / 2)`: the Fréchet mean with psi the identity,
    the pseudo-Huber centre with :math:`\psi(t) = \rho^2 (\sqrt{1 + 2t/\rho^2} - 1)`. In Euclidean
    space the first is the mean, on SPD matrices with the log-Euclidean metric the log-Euclidean
    mean. With loss="median" it is the geometric median, the minimiser of :math:`E\,d(x, Y)`, up to
    the bias of a pseudo-Huber loss with a small scale.

    Parameters
    ----------
    space : geomstats manifold, optional
        Space of the data, in any of its coordinates. Default Euclidean space.
    loss : {"squared", "pseudo_huber", "median"}, default="squared"
    scale : float, optional
        Scale rho of the pseudo-Huber loss, a distance; it bounds the score. For the median it is
        the smoothing, and moves the target by about
        :math:`H^{-1} E\,u \{1 - (1 + \rho^2 / d^2)^{-1/2}\}`, u the direction of a datum, d its
        distance and H the Hessian of :math:`E\,d`, of order rho^2 for smooth densities. Default
        ``data_radius / 4 / n ** (1 / 3)`` with n the planned number of participants, 5000 if none
        is planned: the bias vanishes faster than the standard error.
    data_radius : float, default=1.0
        Public radius about `initial_point` within which data are taken as they are. Data farther
        out are moved to its edge by the participant, so the guarantee holds for any data.
    {privacy}
    initial_point : array-like, shape [*point_shape], optional
        Public first guess and centre of the working region and of the data. Default the origin of
        the space, where it has one.
    region_radius : float, default=1.0
        Geodesic radius about `initial_point` within which the centre is sought.
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
    >>> mean = PrivateFrechetMean(disc, epsilon=4.0, n_rounds=8, random_state=0).fit(X)
    >>> bool(mean.confidence_region().contains(X.mean(axis=0)))
    True
    """

    _losses = (FrechetLoss, PseudoHuberLoss)

    space: Any
    loss: Any
    scale: float | None
    data_radius: float

    def __init__(
        self,
        space: Any = None,
        loss: Any = "squared",
        scale: float | None = None,
        data_radius: float = 1.0,
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

    def _user_space(self, width):
        known = {"name": "Euclidean", "dim": width}
        return space_from_spec(known) if self.space is None else self.space

    def _smoothed(self, loss, planned):
        if self.loss != "median" or self.scale is not None:
            return loss
        common = {"center": loss.center, "data_radius": loss.data_radius}
        return PseudoHuberLoss(**common, scale=default_smoothing(loss.data_radius, planned))

    def _mean_loss(self, rows):
        """For the median in units of distance: a search over bounds compares different scales."""
        mean = super()._mean_loss(rows)
        return mean / loss_of(self.protocol_).scale if self.loss == "median" else mean

    def _make_loss(self, space, center):
        common = {"center": center, "data_radius": self.data_radius}
        scale, kind = self.scale, check_choice("loss", self.loss, _FRECHET_LOSSES)
        if kind == "squared":
            if scale is not None:
                raise ProtocolError(
                    "scale belongs to loss='pseudo_huber' and 'median'; got loss='squared'"
                )
            return FrechetLoss(**common)
        if scale is None:
            if kind == "pseudo_huber":
                raise ProtocolError("scale must be given for loss='pseudo_huber'; got None")
            scale = default_smoothing(check_scale("data_radius", self.data_radius))
        return PseudoHuberLoss(**common, scale=scale)
