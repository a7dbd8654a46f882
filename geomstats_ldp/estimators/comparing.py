"""Comparing groups of people, each with a collection of its own."""

from __future__ import annotations

import math
from numbers import Integral

import numpy as np

from geomstats_ldp.estimators.base import BasePrivateEstimator
from geomstats_ldp.exceptions import (
    ArgumentTypeError,
    NotReadyError,
    ProtocolError,
    SeedWarning,
    warn,
)
from geomstats_ldp.inference import Comparison, Group
from geomstats_ldp.losses import PCALoss

#: Attributes that say what the coordinates of a parameter are about, in words.
_LABELS = {"feature_names_in_": "names of features", "classes_": "classes"}


def compare(
    first: BasePrivateEstimator, second: BasePrivateEstimator, *more: BasePrivateEstimator
) -> Comparison:
    """Compare the parameters of groups: means, directions, axes or covariances.

    Parameters
    ----------
    first, second, *more : estimator
        Fitted on the people of one group each; nobody is in two groups. Their space, coordinates
        and loss, with its public bounds, are the same, and so are the names of features and the
        classes where there are any, so that they estimate the same parameter.
        Mechanisms, epsilon, numbers of people, initial points of directions and axes, and pairs
        or rounds may differ.

    Returns
    -------
    comparison : Comparison
        With the p-value of equality, regions of differences, and intervals of the differences of
        functions.

    Raises
    ------
    ArgumentTypeError
        If an argument is no estimator of this package.
    ProtocolError
        If two groups do not estimate the same parameter, or axes are so far apart or so uncertain
        that their signs cannot be told.
    NotReadyError
        If a group is not fitted, or too few of its participants have answered.

    Warns
    -----
    HessianFloorWarning, SafeguardWarning, UninformativeRegionWarning, WeakCurvatureWarning
        As for the regions of the groups.
    SeedWarning
        If two groups were fitted with the same integer as `random_state`, so that they share
        their noise.

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import PrivateFrechetMean, compare
    >>> rng = np.random.default_rng(0)
    >>> women, men = rng.normal([[[0.1, 0.0]], [[0.3, 0.0]]], 0.2, size=(2, 4000, 2))
    >>> comparison = compare(
    ...     PrivateFrechetMean(epsilon=4.0, random_state=0).fit(women),
    ...     PrivateFrechetMean(epsilon=4.0, random_state=1).fit(men),
    ... )
    >>> bool(comparison.pvalue < 0.01), bool(comparison.difference().contains([0.2, 0.0]))
    (True, True)
    """
    return compare_regions((first, second, *more))[0]


def compare_regions(estimators, free=(), moment_bound=None):
    """Comparison of estimators, and the region of each; raises as `compare`.

    `free` are names of bounds of the loss that may differ, and `moment_bound` is for the regions.
    """
    for place, estimator in enumerate(estimators):
        if not isinstance(estimator, BasePrivateEstimator):
            raise ArgumentTypeError(
                f"argument {place} must be an estimator of this package; got "
                f"{type(estimator).__name__}"
            )
        if not hasattr(estimator, "server_"):
            raise NotReadyError(f"argument {place} must be fitted, or have messages; it is new")
        _check_same(estimators[0], estimator, place, free)
    _warn_of_equal_seeds(estimators)
    regions = [_region_of(one, place, moment_bound) for place, one in enumerate(estimators)]
    groups = [_group_of(*both) for both in zip(estimators, regions)]
    specs = [one.protocol_.loss_spec for one in estimators]
    if specs[0]["name"] == PCALoss.name:
        groups = _aligned(groups)
    if specs[0].get("intercept", 0) > 0:
        units = [spec["intercept"] / specs[0]["intercept"] for spec in specs]
        groups = [_in_unit(group, groups[0], unit) for group, unit in zip(groups, units)]
    return Comparison(groups), regions


def _check_same(first, other, place, free):
    """Raise ProtocolError unless two collections are about the same parameter."""
    for name in ("space_spec", "coordinates", "loss_spec"):
        wanted, got = getattr(first.protocol_, name), getattr(other.protocol_, name)
        if name == "loss_spec":
            wanted, got = _differing(wanted, got, free)
        if wanted != got:
            raise ProtocolError(
                f"argument {place} must have the {name.replace('_spec', '')} of the first one, so "
                f"that both estimate the same parameter: {wanted}; got {got}"
            )
    for name, meaning in _LABELS.items():
        wanted, got = (_labels(estimator, name) for estimator in (first, other))
        # Messages have no names of features.
        if wanted is not None and got is not None and wanted != got:
            raise ProtocolError(
                f"argument {place} must have the {meaning} of the first one, in its order: "
                f"{wanted}; got {got}"
            )


def _differing(first, other, free):
    """What two losses differ in, but for bounds that may."""
    if first["name"] != other["name"]:
        return first["name"], other["name"]
    names = [name for name in first if first[name] != other[name] and name not in free]
    if "intercept" in free and (first.get("intercept") == 0) != (other.get("intercept") == 0):
        names.append("intercept")
    return tuple({name: one[name] for name in names} for one in (first, other))


def _in_unit(group, first, unit):
    """Estimate of a regression with its intercept in the unit of the first group."""
    scale = np.append(unit, np.ones(len(group.point) - 1))
    covariance = group.covariance * np.outer(scale, scale)
    return group._replace(
        point=group.point * scale, covariance=covariance, coordinates=first.coordinates
    )


def _labels(estimator, name):
    labels = getattr(estimator, name, None)
    return None if labels is None else np.asarray(labels).tolist()


def _warn_of_equal_seeds(estimators):
    """Groups that were emulated with one seed share their noise, and are not independent."""
    seeds = {}
    for place, estimator in enumerate(estimators):
        seed, is_private = estimator.random_state, estimator.protocol_.mechanism.epsilon < math.inf
        if not (estimator._planned_by_fit and is_private and isinstance(seed, Integral)):
            continue
        if seed in seeds:
            warn(
                f"arguments {seeds[seed]} and {place} were fitted with the same random_state="
                f"{seed}: their noise is the same, and regions, which take groups for independent, "
                "do not hold. Give each group another seed, or None",
                SeedWarning,
            )
        seeds.setdefault(int(seed), place)


def _region_of(estimator, place, moment_bound):
    """Region of one group, whose warnings say what there is to say about it."""
    try:
        return estimator.confidence_region(moment_bound=moment_bound)
    except NotReadyError as error:
        raise NotReadyError(f"argument {place}: {error}") from None


def _group_of(estimator, region):
    protocol = estimator.protocol_
    return Group(
        protocol.geometry,
        estimator.server_.estimate(),
        region.covariance,
        protocol.working_region,
        estimator._coordinates(),
    )


def _aligned(groups):
    """Give all axes the sign of the first one.

    Raises
    ------
    ProtocolError
        If a quarter turn is within two standard errors.
    """
    signed = []
    for place, group in enumerate(groups):
        cosine = float(group.point @ groups[0].point)
        spread = [math.sqrt(np.linalg.eigvalsh(one.covariance)[-1]) for one in (groups[0], group)]
        if place > 0 and math.acos(min(abs(cosine), 1.0)) + 2 * math.hypot(*spread) > math.pi / 2:
            raise ProtocolError(
                f"the axis of argument {place} must be clearly less than a quarter turn from the "
                "first one, or its sign cannot be told: they are "
                f"{math.degrees(math.acos(min(abs(cosine), 1.0))):.0f} degrees apart, with a "
                f"standard error of {math.degrees(math.hypot(*spread)):.0f} degrees"
            )
        signed.append(group._replace(sign=1.0 if cosine >= 0 else -1.0))
    return signed
