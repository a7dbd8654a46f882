"""What every loss states, and the operation by which the recursion reaches it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from numba.extending import register_jitable

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.twins import compile_by_default, operation
from geomstats_ldp.validation import finite_array


class TargetHessian(NamedTuple):
    """What is publicly known of the population Hessian at the target, whatever the data.

    Attributes
    ----------
    low, high : float
        Bounds on its eigenvalues.
    is_isotropic : bool
        Whether it is a multiple of the identity.
    nearby_sd : float
        Standard deviation of an entry at the iterates, which wander about the target, where this
        matters: the region then goes by what the iterates see.
    """

    low: float
    high: float
    is_isotropic: bool = False
    nearby_sd: float = 0.0


class Loss(ABC):
    """A loss on a manifold whose score is bounded because data are clipped to public bounds.

    A datum reaches a loss on the participant's side only. It is clipped first, whatever it is, so
    that the score bound, and with it the privacy guarantee, holds for any finite datum. All
    methods take the `Geometry` they act on, so that a loss is a plain record of public numbers.
    """

    name: ClassVar[str]

    #: Whether `clip` moves data to bounds, and the target with them; scaling to unit length does
    #: not.
    clips: ClassVar[bool] = True

    #: Moment of the data in which scores are linear, whatever the query: "first" for scores
    #: -P_q y on the unit sphere, up to a factor, "second" for -P_q y y^T q, None for no moment.
    moment: ClassVar[str | None] = None

    @abstractmethod
    def check_space(self, geometry):
        """Raise ProtocolError unless the loss is defined on this `Geometry`."""

    @abstractmethod
    def data_shape(self, geometry):
        """Shape of one datum."""

    def check_data(self, geometry, data):
        """Return data as a float array, or raise ValueError naming what is wrong with it."""
        return finite_array("datum", data, (..., *self.data_shape(geometry)), ValueError)

    @abstractmethod
    def clip(self, geometry, data):
        """Bring data, shape [..., *data_shape], inside the public bounds."""

    @abstractmethod
    def value(self, geometry, point, data):
        """Loss of each clipped datum at `point`, shape [...]."""

    @abstractmethod
    def score(self, geometry, point, data):
        """Riemannian gradient at `point` for each clipped datum, shape [..., *point_shape]."""

    @abstractmethod
    def score_bound(self, geometry, query_region):
        """Public bound G on the norm of the score for queries in the region."""

    @abstractmethod
    def hessian_bound(self, geometry, query_region):
        """Public upper bound L_H on the eigenvalues of the population Hessian there."""

    def target_hessian(self, geometry, region):
        """`TargetHessian` if more than L_H is known whatever the data, else None.

        The target is the minimiser of the population loss over the working region. Such public
        knowledge steadies confidence regions: ``InferenceRule.hessian_range``, or
        ``prior_hessian`` if a `nearby_sd` is stated.
        """
        return None

    def typical_hessian(self, geometry, region):
        """Size of the eigenvalues to expect of the population Hessian, if better known than L_H.

        It sets the default gain and radius only. Default the lower bound of `target_hessian`.
        """
        known = self.target_hessian(geometry, region)
        return known.low if known is not None and known.low > 0 else None

    @property
    def bending_length(self):
        """Distance over which the score bends of its own accord; infinite if it does not."""
        return math.inf

    @abstractmethod
    def to_spec(self):
        """Plain record from which `loss_from_spec` rebuilds the loss."""

    def twin(self):
        """Record that selects the compiled score, or None if the loss has none."""
        return None

    def __eq__(self, other):
        return type(self) is type(other) and self.to_spec() == other.to_spec()

    def __hash__(self):
        return hash((type(self), repr(sorted(self.to_spec().items()))))

    def __repr__(self):
        spec = self.to_spec()
        arguments = ", ".join(f"{key}={value!r}" for key, value in spec.items() if key != "name")
        return f"{type(self).__name__}({arguments})"


@operation
def score_into(loss, geometry, point, datum, out):
    """Write the score of one clipped datum at `point`; compiled for losses that have a twin."""
    out[...] = loss.score(geometry, point, datum)


@register_jitable
def _score_coords(loss, geometry, point, datum, vector, out):
    score_into(loss, geometry, point, datum, vector)
    dispatch.coordinates(geometry, vector, point, out)


@operation
def score_coords(loss, geometry, point, datum, vector, out):
    """Write the score in frame coordinates at `point`; `vector`, a tangent vector, is scratch."""
    _score_coords(loss, geometry, point, datum, vector, out)


compile_by_default(score_coords, _score_coords)
