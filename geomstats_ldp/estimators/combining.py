"""One estimate from collections with privacy regimes of their own."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.estimators.base import BasePrivateEstimator
from geomstats_ldp.estimators.comparing import compare_regions
from geomstats_ldp.exceptions import ClippingWarning, ProtocolError, warn
from geomstats_ldp.inference import WaldRegion
from geomstats_ldp.inference.calibration import ONE_LOOK, BiasedLook, Calibration

#: Public bounds on the data that leave the parameter what it is where they cut nothing. The
#: constant of an intercept follows the bound of the features, and is only its unit.
_BOUNDS = ("norm_bound", "data_radius", "center", "feature_bound", "target_bound", "intercept")

#: P-value of equality under which the targets of the regimes are said to differ.
_UNLIKELY = 0.01


def combine(
    first: BasePrivateEstimator,
    second: BasePrivateEstimator,
    *more: BasePrivateEstimator,
    level: float = 0.95,
    moment_bound: tuple[float, float] | None = None,
) -> WaldRegion:
    r"""One estimate and region from collections whose privacy regimes differ.

    Each collection has a protocol of its own: epsilon, delta, mechanism, bounds on the data, pairs
    or rounds. A later protocol may be a continuous function of what the earlier collections have
    released, such as a bound or a start, but its size and epsilon must not depend on a test of
    them: the region would cover too little. Each participant agrees to one protocol. The estimate
    weighs those of the collections by the inverses :math:`C_j^{-1}` of their covariances, and its
    covariance is :math:`(\sum_j C_j^{-1})^{-1}` (Theorem S.1 of the paper).

    Parameters
    ----------
    first, second, *more : estimator
        In the order in which they were fitted, on different people. Their space, coordinates and
        loss are the same, but for bounds on the data: `norm_bound`, `data_radius` and its centre,
        `feature_bound`, `target_bound`. A `scale`, of Huber's loss or a median, is no such bound,
        as the target depends on it; give all of them the same.
    level : float in (0, 1), default=0.95
    moment_bound : pair of float, optional
        For the target of data that are not clipped; see `confidence_region`. Without it the target
        is that of clipped data, which has to be the same for all of them.

    Returns
    -------
    region : WaldRegion
        Its centre is the estimate. It is in the frame and the working region of the first.

    Raises
    ------
    ArgumentTypeError
        If an argument is no estimator of this package.
    ProtocolError
        If two collections do not estimate the same parameter or are the same one, the level is
        none, or axes are so far apart or so uncertain that their signs cannot be told.
    NotReadyError
        If one is not fitted, or too few of its participants have answered.

    Warns
    -----
    ClippingWarning
        If the estimates differ by more than chance, as they do where bounds cut data differently.
    HessianFloorWarning, SafeguardWarning, UninformativeRegionWarning, WeakCurvatureWarning
        As for the regions of the collections.
    SeedWarning
        If two were fitted with the same integer as `random_state`.

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import PrivateFrechetMean, combine
    >>> people = np.random.default_rng(0).normal([0.1, 0.0], 0.2, size=(4000, 2))
    >>> wide = PrivateFrechetMean(epsilon=2.0, data_radius=5.0, random_state=0).fit(people[:1000])
    >>> close = PrivateFrechetMean(epsilon=2.0, data_radius=1.0, random_state=1)
    >>> region = combine(wide, close.fit(people[1000:]))
    >>> bool(region.contains([0.1, 0.0]))
    True
    """
    comparison, regions = compare_regions((first, second, *more), _BOUNDS, moment_bound)
    _check_different(comparison.groups)
    if comparison.pvalue < _UNLIKELY and moment_bound is None:
        warn(
            f"the estimates differ by more than chance (p-value {comparison.pvalue:.2g}): the "
            "collections have different targets, as where their bounds on the data cut different "
            "shares of them. A moment_bound makes the region hold for data that are not clipped",
            ClippingWarning,
        )
    point, covariance = comparison.common
    calibration: Calibration = ONE_LOOK
    if moment_bound is not None:
        # The blocks C^(1/2) C_j^(-1/2) side by side have orthonormal rows: squares add up at most.
        total = sum(region.calibration.noncentrality for region in regions)
        calibration = BiasedLook(ONE_LOOK, total)
    place = comparison.groups[0]
    return WaldRegion(
        place.geometry,
        point,
        covariance,
        level,
        place.working_region,
        place.coordinates,
        calibration,
    )


def _check_different(groups):
    """Raise ProtocolError if two of the collections are one: its messages would count twice."""
    for place, group in enumerate(groups):
        for earlier, other in enumerate(groups[:place]):
            pairs = zip((group.point, group.covariance), (other.point, other.covariance))
            if all(np.array_equal(*pair) for pair in pairs):
                raise ProtocolError(
                    f"arguments {earlier} and {place} must be collections from different people; "
                    "they have the same estimate and covariance to the last bit"
                )
