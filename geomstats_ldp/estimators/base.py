"""What every private estimator shares: from public parameters to a protocol."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from geomstats_ldp.defaults import (
    REFERENCE_PARTICIPANTS,
    default_gain,
    default_radius,
    far_radius,
    first_round_radius,
    largest_radius,
    largest_step,
    wide_and_close_radius,
    widened_radius,
)
from geomstats_ldp.estimators import notices
from geomstats_ldp.estimators.emulating import Emulating
from geomstats_ldp.estimators.inferring import Inferring
from geomstats_ldp.estimators.receiving import Receiving
from geomstats_ldp.estimators.round_plan import make_round_plan
from geomstats_ldp.estimators.tuning import Tuning, check_tuning
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, geodesic_ball, region_of_queries
from geomstats_ldp.geometry.regions import check_region
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.mechanisms.checks import check_epsilon
from geomstats_ldp.protocol import InferenceRule, make_protocol
from geomstats_ldp.protocol.checks import check_preconditioner
from geomstats_ldp.protocol.groups import check_group_names, widest_mechanism
from geomstats_ldp.protocol.queries import all_queries
from geomstats_ldp.protocol.rounds import round_sizes
from geomstats_ldp.protocol.rules import MOST_FEATURES
from geomstats_ldp.score_regression.shrinkage import steady_guard_strength
from geomstats_ldp.validation import check_integer, check_real, check_scale

if TYPE_CHECKING:
    from typing_extensions import Self


class BasePrivateEstimator(Emulating, Receiving, Inferring, BaseEstimator):
    """Base of the estimators; subclasses name the space, its centre and the loss.

    Attributes
    ----------
    protocol_ : Protocol
        Everything public about the collection.
    server_ : Server
        State of the collection.
    """

    #: Retraction unless `tuning` names one.
    _retraction = "exponential"

    #: How the Hessian is estimated unless `tuning` or the loss say.
    _hessian = "shrunk"

    epsilon: float | dict[str, float]
    delta: float
    mechanism: str
    initial_point: ArrayLike | None
    region_radius: float | None
    n_rounds: int | None

    def _keep(self, arguments):
        """Keep the arguments of a constructor as they are, by name, as scikit-learn wants them."""
        for name, value in arguments.items():
            if name != "self":
                setattr(self, name, value)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``tuning__radius`` and the like also while `tuning` is None.

        Parameters
        ----------
        **params

        Returns
        -------
        self : object
        """
        is_nested = any(name.startswith("tuning__") for name in params)
        if is_nested and params.get("tuning", self.tuning) is None:
            params = {**params, "tuning": Tuning()}
        return super().set_params(**params)

    @abstractmethod
    def _make_space(self, width):
        """The geomstats space that the protocol computes on, for data of the given width."""

    @abstractmethod
    def _make_center(self, space):
        """Initial point and reference of the frame, by default the centre of the region."""

    @abstractmethod
    def _make_loss(self, space, center):
        """The loss."""

    def _smoothed(self, loss, planned):
        """The loss, as smooth as a planned number of participants allows."""
        return loss

    def _check_query_region(self, query_region):
        """Raise ProtocolError if the model makes no sense on so large a region."""

    def _make_preconditioner(self, preconditioner, geometry):
        """Matrix of the preconditioner of `tuning` in the frame at the centre."""
        return check_preconditioner(preconditioner, geometry.dim)

    def _make_protocol(self, width, n_participants):
        self._refuse_scouts()
        tuning = check_tuning(self.tuning)
        notices.warn_if_delta_is_large(self.delta)
        if self.n_participants is not None:
            check_integer("n_participants", self.n_participants)
        geometry, region = self._make_geometry(width, tuning)
        planned = self.n_participants if self.n_participants is not None else n_participants
        loss = self._smoothed(self._make_loss(geometry.space, geometry.reference), planned)
        loss.check_space(geometry)
        length = bending_length(geometry, region, loss)
        rounds = self._make_rounds(n_participants, geometry, region, loss, length, tuning)
        known = loss.target_hessian(geometry, region)
        is_far = _asks_far(known, rounds)
        if is_far and tuning.working_region is None and tuning.radius is None:
            region = region._replace(holds_queries=True)
        radius = None
        if rounds is None or rounds.query is None:
            if rounds is not None and planned is None:
                planned = REFERENCE_PARTICIPANTS  # rounds have a fixed radius, not a shrinking one
            radius = tuning.radius or (
                far_radius(region)
                if is_far
                else self._default_radius(geometry, region, loss, known, length, planned, rounds)
            )
        query_region = all_queries(geometry, region, radius, rounds)
        self._check_query_region(query_region)
        mechanisms = self._make_mechanisms(geometry, loss, query_region)
        mechanism = widest_mechanism(mechanisms)
        preconditioner = self._make_preconditioner(tuning.preconditioner, geometry)
        moment = moment_of_pairs(loss, geometry) if rounds is None else None
        # Where all eigenvalues are told to the same relative error, none is drawn to the others.
        asks_curvature = rounds is not None and rounds.curvature_rounds is not None
        hessian = "raw" if asks_curvature else self._hessian
        inference = complete_rule(tuning.inference, known, geometry.dim, hessian, moment)
        gain = None
        if rounds is None:
            gain = tuning.gain or default_gain(
                mechanism,
                loss.hessian_bound(geometry, query_region),
                length,
                largest_step(region.radius, curvature_length(geometry)),
                preconditioner,
                planned,
                tuning.pairs_per_round,
                hessian=prior_scale(tuning.inference, preconditioner)
                or loss.typical_hessian(geometry, region),
            )
        return make_protocol(
            geometry,
            loss,
            mechanisms,
            region,
            radius=radius,
            gain=gain,
            inference=inference,
            initial_point=geometry.reference,
            directions=tuning.directions,
            preconditioner=preconditioner,
            pairs_per_round=tuning.pairs_per_round,
            n_participants=n_participants,
            rounds=rounds,
            coordinates=self._coordinates_name(width),
        )

    def _coordinates_name(self, width):
        """Name of the coordinates of the data, None for those of the protocol."""
        return None

    def _make_rounds(self, n_participants, geometry, region, loss, length, tuning):
        """Plan of the rounds, None for pairs."""
        widest = partial(self._make_mechanisms, geometry, loss, region)
        return make_round_plan(
            self.n_rounds, n_participants, geometry, loss, length, tuning, widest
        )

    def _make_geometry(self, width, tuning):
        """Geometry with its reference at the initial point, and the working region."""
        space, region = self._make_space(width), tuning.working_region
        if region is not None:
            region = region._replace(center=self._center_to_internal(region.center, space))
        name = "initial_point"
        if region is not None and self.initial_point is None:
            name, center = "center of working_region", region.center
        else:
            center = self._make_center(space)
        retraction = tuning.retraction or self._retraction
        try:
            geometry = Geometry(space, center, retraction=retraction)
        except ProtocolError as error:  # there it is called by what it is for
            raise type(error)(str(error).replace("reference", name)) from None
        if region is None:
            radius = check_scale("region_radius", self._region_radius(space))
            region = geodesic_ball(geometry.reference, radius)
        check_region(geometry, region, 0.0)
        return geometry, region

    def _center_to_internal(self, center, space):
        """Centre of a working region in the coordinates that the protocol computes in."""
        return self._to_internal(np.asarray(center))

    def _region_radius(self, space):
        """Radius of the working region, a geodesic distance of the protocol."""
        return self.region_radius

    def _make_mechanisms(self, geometry, loss, query_region):
        """Mechanism of all participants, or those of the groups by name."""
        make = partial(
            make_mechanism,
            self.mechanism,
            delta=self.delta,
            dim=geometry.dim,
            bound=loss.score_bound(geometry, query_region),
        )
        if not isinstance(self.epsilon, dict):
            return make(epsilon=self.epsilon)
        check_group_names("epsilon", self.epsilon)
        return {
            group: make(epsilon=check_epsilon(epsilon, f"epsilon of group {group!r}"))
            for group, epsilon in self.epsilon.items()
        }

    def _default_radius(self, geometry, region, loss, known, length, planned, rounds):
        # The bounds depend on how far queries reach, which the radius decides: the largest
        # radius there can be gives bounds that hold for the one that is chosen.
        maximum = largest_radius(length, known is not None and known.low == known.high)
        widest = region_of_queries(geometry, region, maximum)
        mechanism = widest_mechanism(self._make_mechanisms(geometry, loss, widest))
        if rounds is not None and rounds.curvature_rounds is not None:
            bends = rounds.third_derivative, rounds.saturation
            n_first = (rounds.sizes or round_sizes(planned, rounds.n_rounds, 1))[0]
            return first_round_radius(mechanism, length, *bends, n_first)
        bound = loss.hessian_bound(geometry, widest)
        if rounds is not None and rounds.saturation > 0:
            return wide_and_close_radius(
                mechanism, bound, length, rounds.saturation, planned, rounds.n_rounds
            )
        hessian = loss.typical_hessian(geometry, region)
        has_length = math.isfinite(min(curvature_length(geometry), loss.bending_length))
        bends = has_length or hessian is not None
        bend = 0.0 if rounds is None else rounds.third_derivative
        loss_length = math.inf if bend > 0 else loss.bending_length
        rule = default_radius(
            mechanism, bound, length, maximum, planned, hessian, loss_length, bends
        )
        return widened_radius(rule, length, mechanism, bend, planned) if bend > 0 else rule


def moment_of_pairs(loss, geometry):
    """Moment on which score regions of pairs regress, None for none or for one too large."""
    is_small = geometry.name == "Hypersphere" and geometry.shape[0] <= MOST_FEATURES
    return "second" if is_small and loss.moment(geometry) == "second" else None


def complete_rule(rule, known, dim, hessian="shrunk", moment=None):
    """Fill the fields of an inference rule that leave the Hessian to the loss.

    A rule of None leaves everything to it; one that names how the Hessian is estimated leaves
    nothing. `known` is what the loss knows, a `TargetHessian` or None; `hessian`, how the Hessian
    is estimated, and `moment` are for a rule that does not say.

    Raises
    ------
    ProtocolError
        If the prior of the rule has another dimension.
    """
    rule = InferenceRule() if rule is None else rule
    rule.check_dimension(dim)
    changes = {}
    if rule.hessian is None:
        changes = {"hessian": hessian, "moment": moment, **_known_fields(known, dim)}
        if rule.hessian_range is not None or rule.prior_hessian is not None:
            changes.pop("hessian_blocks", None)  # they have bounds of their own
        stated = ("hessian_range", "hessian_blocks", "prior_hessian", "prior_sd", "moment")
        changes |= {name: getattr(rule, name) for name in stated if getattr(rule, name) is not None}
    if rule.prior_hessian is not None and rule.guard is None:
        changes["guard"] = steady_guard_strength(dim)
    return replace(rule, **changes)


def _known_fields(known, dim):
    """Fields of an inference rule that make use of a `TargetHessian`."""
    if known is None:
        return {}
    if known.nearby_sd > 0:
        middle = (known.low + known.high) / 2 * np.eye(dim)
        return {"prior_hessian": tuple(map(tuple, middle)), "prior_sd": known.nearby_sd}
    fields = {"hessian_range": (known.low, known.high), "hessian_blocks": known.blocks}
    return fields | ({"hessian": "isotropic"} if known.is_isotropic else {})


def prior_scale(rule, preconditioner):
    """Typical eigenvalue of the Hessian by the prior of a rule, None without a positive one."""
    if rule is None or rule.prior_hessian is None:
        return None
    # The gain counts eigenvalues of PH in units of the largest of P.
    mean = np.trace(preconditioner @ np.array(rule.prior_hessian)) / len(preconditioner)
    scale = float(mean / np.linalg.eigvalsh(preconditioner)[-1])
    return scale if scale > 0 else None


def _asks_far(known, rounds):
    """Whether rounds ask as far away as the region allows, for a Hessian that nobody knows."""
    is_open = known is None or known.low < known.high
    return is_open and rounds is not None and rounds.moment == "quadratic"


def curvature_length(geometry):
    """Radius of curvature: infinite on flat spaces, one where no bound is known."""
    largest = max(abs(bound) for bound in geometry.curvature)
    if largest == 0:
        return math.inf
    return 1.0 / math.sqrt(largest) if np.isfinite(largest) else 1.0


def bending_length(geometry, region, loss):
    """Scale over which scores bend: that of the region, of curvature or of the loss."""
    own = loss.bending_length
    check_real("bending_length", own, "positive", lambda length: length > 0)
    return min(region.in_radius, curvature_length(geometry), own)
