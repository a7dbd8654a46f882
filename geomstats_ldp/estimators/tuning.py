"""Settings of an estimator beyond what every user chooses."""

from __future__ import annotations

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import GeodesicBall, LogBox, SpectralBand
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.protocol import GainRule, InferenceRule, RadiusRule
from geomstats_ldp.validation import check_bool, check_integer

_KINDS = {
    "working_region": (GeodesicBall, LogBox, SpectralBand),
    "radius": (RadiusRule,),
    "gain": (GainRule,),
    "inference": (InferenceRule,),
}


class Tuning(BaseEstimator):
    """Settings that replace the defaults of an estimator; every one of them may be left out.

    The defaults come from public numbers and need no tuning. An estimator takes this record as its
    parameter `tuning`, and scikit-learn reaches the fields through it: ``tuning__radius`` is a
    parameter of the estimator for `set_params` and for a grid search, also while `tuning` is None.

    Parameters
    ----------
    working_region : GeodesicBall, LogBox or SpectralBand, optional
        Region within which the parameter is sought, made by a function of
        `geomstats_ldp.geometry`, with its centre in the coordinates of the data. It takes the
        place of the ball of radius `region_radius`, and its centre is the default of
        `initial_point`.
    preconditioner : array-like, shape [dim, dim], optional
        Public symmetric positive definite map of the update, in the frame at `initial_point`;
        `PrivatePCA` takes a matrix on the ambient space, shape [n_features, n_features], and uses
        its block tangent at `initial_point`. The inverse of an earlier estimate of the Hessian is
        best. Default the identity.
    retraction : {"exponential", "projection"}, optional
        How queries, updates and the region move along the manifold. "projection" normalises, and
        is available on the sphere only; it is the default of `PrivatePCA` and
        `PrivateVMFLocation`. Default "exponential" elsewhere.
    directions : array-like, shape [n_directions, dim], optional
        Cycle of unit directions in which queries lie off the iterate, in the frame at
        `initial_point`: a tight frame with zero sum, so that all columns of the Hessian are learnt
        alike. Default e_1, -e_1, ..., e_d, -e_d. The shorter it is, the sooner a region.
    pairs_per_round : int, default=1
        Query pairs that are asked at the same iterate, and so can be answered at the same time.
    radius : RadiusRule, optional
        Distance of the queries from the iterate.
    gain : GainRule, optional
        Step sizes of the recursion.
    inference : InferenceRule, optional
        How the Hessian and the covariance are estimated. Fields that are None are filled with what
        the loss knows of its Hessian.
    engine : {"auto", "compiled", "geomstats"}, default="auto"
        Whether the recursion runs compiled or calls geomstats; the results agree. "auto" compiles
        where space and loss have closed forms.
    keep_transcript : bool, default=False
        Keep every message, for `transcript_`.

    Examples
    --------
    >>> from geomstats_ldp import PrivatePCA, Tuning
    >>> pca = PrivatePCA(tuning=Tuning(keep_transcript=True))
    >>> pca.set_params(tuning__pairs_per_round=5).tuning
    Tuning(keep_transcript=True, pairs_per_round=5)
    """

    def __init__(
        self,
        *,
        working_region: WorkingRegion | None = None,
        preconditioner: ArrayLike | None = None,
        retraction: str | None = None,
        directions: ArrayLike | None = None,
        pairs_per_round: int = 1,
        radius: RadiusRule | None = None,
        gain: GainRule | None = None,
        inference: InferenceRule | None = None,
        engine: str = "auto",
        keep_transcript: bool = False,
    ):
        self.working_region = working_region
        self.preconditioner = preconditioner
        self.retraction = retraction
        self.directions = directions
        self.pairs_per_round = pairs_per_round
        self.radius = radius
        self.gain = gain
        self.inference = inference
        self.engine = engine
        self.keep_transcript = keep_transcript


def check_tuning(tuning):
    """Return a `Tuning`, the default one for None.

    Raises
    ------
    ProtocolError
        Naming a field of the wrong type. What depends on the space is checked with the protocol.
    """
    tuning = Tuning() if tuning is None else tuning
    if not isinstance(tuning, Tuning):
        raise ProtocolError(f"tuning must be a Tuning or None; got {tuning!r}")
    check_integer("pairs_per_round", tuning.pairs_per_round)
    check_bool("keep_transcript", tuning.keep_transcript)
    for name, kinds in _KINDS.items():
        value = getattr(tuning, name)
        if value is not None and not isinstance(value, kinds):
            allowed = ", ".join(kind.__name__ for kind in kinds)
            raise ProtocolError(f"{name} must be a {allowed} or None; got {value!r}")
    return tuning
