"""What every private estimator shares: from public parameters to a protocol."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator

from geomstats_ldp.defaults import (
    default_gain,
    default_radius,
    largest_radius,
)
from geomstats_ldp.estimators.collecting import Collecting
from geomstats_ldp.estimators.inferring import Inferring
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, geodesic_ball, region_of_queries
from geomstats_ldp.geometry.regions import check_region
from geomstats_ldp.inference.sandwich import steady_guard_strength
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import GainRule, InferenceRule, RadiusRule, make_protocol
from geomstats_ldp.protocol.checks import check_count, check_preconditioner


class BasePrivateEstimator(Collecting, Inferring, BaseEstimator):
    """Base of the estimators; subclasses name the space, its centre and the loss.

    Attributes
    ----------
    protocol_ : Protocol
        Everything public about the collection.
    server_ : Server
        State of the collection.
    """

    def __init__(
        self,
        *,
        epsilon,
        delta,
        mechanism,
        initial_point,
        region_radius,
        preconditioner,
        retraction,
        n_participants,
        pairs_per_round,
        hessian,
        hessian_prior,
        radius,
        gain,
        inference,
        engine,
        keep_transcript,
        verbose,
        random_state,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.initial_point = initial_point
        self.region_radius = region_radius
        self.preconditioner = preconditioner
        self.retraction = retraction
        self.n_participants = n_participants
        self.pairs_per_round = pairs_per_round
        self.hessian = hessian
        self.hessian_prior = hessian_prior
        self.radius = radius
        self.gain = gain
        self.inference = inference
        self.engine = engine
        self.keep_transcript = keep_transcript
        self.verbose = verbose
        self.random_state = random_state

    @abstractmethod
    def _make_space(self, width):
        """The geomstats space that the protocol computes on, for data of the given width."""

    @abstractmethod
    def _make_center(self, space):
        """Initial point and reference of the frame, by default the centre of the region."""

    @abstractmethod
    def _make_loss(self, space, center):
        """The loss."""

    def _make_region(self, geometry):
        """Working region."""
        return geodesic_ball(geometry.reference, self.region_radius)

    def _check_query_region(self, query_region):
        """Raise ProtocolError if the model makes no sense on so large a region."""

    def _make_preconditioner(self, geometry):
        """Matrix of the preconditioner in the frame at the centre."""
        return check_preconditioner(self.preconditioner, geometry.dim)

    def _make_protocol(self, width, n_participants):
        self._check_rules()
        space = self._make_space(width)
        geometry = Geometry(space, self._make_center(space), retraction=self.retraction)
        region = self._make_region(geometry)
        check_region(geometry, region, 0.0)
        loss = self._make_loss(space, geometry.reference)
        loss.check_space(geometry)
        planned = self.n_participants if self.n_participants is not None else n_participants
        length = bending_length(geometry, region, loss)
        radius = self.radius or self._default_radius(geometry, region, loss, length, planned)
        query_region = region_of_queries(geometry, region, radius.maximum)
        self._check_query_region(query_region)
        mechanism = self._make_mechanism(geometry, loss, query_region)
        preconditioner = self._make_preconditioner(geometry)
        inference = self._make_inference(geometry, loss, region)
        gain = self.gain or default_gain(
            mechanism,
            loss.hessian_bound(geometry, query_region),
            length,
            region.radius,
            preconditioner,
            planned,
            self.pairs_per_round,
            hessian=self._gain_hessian(geometry, loss, region, inference, preconditioner),
        )
        return make_protocol(
            space,
            loss,
            mechanism,
            region,
            radius=radius,
            gain=gain,
            inference=inference,
            retraction=self.retraction,
            reference=geometry.reference,
            initial_point=geometry.reference,
            preconditioner=preconditioner,
            pairs_per_round=self.pairs_per_round,
            n_participants=n_participants,
        )

    def _check_rules(self):
        check_count("pairs_per_round", self.pairs_per_round)
        if self.n_participants is not None:
            check_count("n_participants", self.n_participants)
        rules = {"radius": RadiusRule, "gain": GainRule, "inference": InferenceRule}
        for name, kind in rules.items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise ProtocolError(f"{name} must be a {kind.__name__} or None; got {value!r}")

    def _make_inference(self, geometry, loss, region):
        changes = {} if self.hessian is None else {"hessian": self.hessian}
        if self.hessian is None and self.inference is None:
            changes = _known_hessian(loss.target_hessian(geometry, region), geometry.dim)
        if self.hessian_prior is not None:
            matrix, sd = _check_prior(self.hessian_prior)
            changes |= {"prior_hessian": matrix, "prior_sd": sd}
            if self.inference is None:
                changes["guard"] = steady_guard_strength(geometry.dim)
        inference = replace(self.inference or InferenceRule(), **changes)
        inference.check_dimension(geometry.dim)
        return inference

    def _gain_hessian(self, geometry, loss, region, inference, preconditioner):
        """Typical eigenvalue of the Hessian for the gain, that of a prior of the user's if any."""
        if self.hessian_prior is None:
            return loss.typical_hessian(geometry, region)
        # The gain counts eigenvalues of PH in units of the largest of P.
        mean = np.trace(preconditioner @ np.array(inference.prior_hessian)) / geometry.dim
        typical = float(mean / np.linalg.eigvalsh(preconditioner)[-1])
        return typical if typical > 0 else loss.typical_hessian(geometry, region)

    def _make_mechanism(self, geometry, loss, query_region):
        return make_mechanism(
            self.mechanism,
            epsilon=self.epsilon,
            delta=self.delta,
            dim=geometry.dim,
            bound=loss.score_bound(geometry, query_region),
        )

    def _default_radius(self, geometry, region, loss, length, planned):
        # The bounds depend on how far queries reach, which the radius decides: the largest
        # radius there can be gives bounds that hold for the one that is chosen.
        known = loss.target_hessian(geometry, region)
        maximum = largest_radius(length, known is not None and known.low == known.high)
        widest = region_of_queries(geometry, region, maximum)
        mechanism = self._make_mechanism(geometry, loss, widest)
        bound = loss.hessian_bound(geometry, widest)
        hessian = loss.typical_hessian(geometry, region)
        return default_radius(
            mechanism, bound, length, maximum, planned, hessian, loss.bending_length
        )


def _check_prior(prior):
    if not isinstance(prior, (tuple, list)) or len(prior) != 2:
        raise ProtocolError(
            f"hessian_prior must be a tuple (matrix, standard deviation); got {prior!r}"
        )
    return prior


def _known_hessian(known, dim):
    """Inference rules that make use of a `TargetHessian`."""
    if known is None:
        return {}
    if known.nearby_sd > 0:
        middle = (known.low + known.high) / 2 * np.eye(dim)
        return {"prior_hessian": tuple(map(tuple, middle)), "prior_sd": known.nearby_sd}
    rules = {"hessian_range": (known.low, known.high)}
    return rules | ({"hessian": "isotropic"} if known.is_isotropic else {})


def bending_length(geometry, region, loss):
    """Scale over which scores bend: that of the region, of curvature or of the loss."""
    largest = max(abs(bound) for bound in geometry.curvature)
    # Where no bound is known, curvature of order one is the natural scale.
    curvature = (1.0 / math.sqrt(largest) if np.isfinite(largest) else 1.0) if largest else math.inf
    return min(region.in_radius, curvature, loss.bending_length)
