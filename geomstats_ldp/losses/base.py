"""What every loss states."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.geometry.regions import WorkingRegion
from geomstats_ldp.losses.moment_bounds import check_moment_bound
from geomstats_ldp.losses.target_hessian import TargetHessian
from geomstats_ldp.serialization import plain_record
from geomstats_ldp.validation import finite_array


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

    #: Whether rounds on flat spaces may ask for the curvature of the loss along public directions,
    #: which a device finds by differences of the score. A loss whose Hessian is close to a multiple
    #: of the identity, whatever the data, is better asked for scores alone.
    asks_curvature: ClassVar[bool] = True

    @abstractmethod
    def check_space(self, geometry: Geometry) -> None:
        """Refuse a space on which the loss is not defined.

        Parameters
        ----------
        geometry : Geometry

        Raises
        ------
        ProtocolError
            If the loss is not defined there.
        """

    @abstractmethod
    def data_shape(self, geometry: Geometry) -> tuple[int, ...]:
        """Shape of one datum.

        Parameters
        ----------
        geometry : Geometry

        Returns
        -------
        shape : tuple of int
        """

    def check_data(self, geometry: Geometry, data: ArrayLike) -> np.ndarray:
        """Refuse data that the loss cannot take.

        Parameters
        ----------
        geometry : Geometry
        data : array-like, shape [..., *data_shape]

        Returns
        -------
        data : array, shape [..., *data_shape]
            As floats.

        Raises
        ------
        ValueError
            If the shape is another, or an entry is not finite.
        """
        return finite_array("datum", data, (..., *self.data_shape(geometry)), ValueError)

    @abstractmethod
    def clip(self, geometry: Geometry, data: np.ndarray) -> np.ndarray:
        """Bring data inside the public bounds.

        Parameters
        ----------
        geometry : Geometry
        data : array, shape [..., *data_shape]
            Any data that `check_data` accepts.

        Returns
        -------
        clipped : array, shape [..., *data_shape]
        """

    def clipping_change(
        self, geometry: Geometry, center: np.ndarray, data: np.ndarray, clipped: np.ndarray
    ) -> np.ndarray:
        """Sum of the changes of the scores of data that clipping makes.

        Parameters
        ----------
        geometry : Geometry
        center : array, shape [*point_shape]
            Point at which the scores are taken.
        data, clipped : array, shape [n, *data_shape]
            Before and after `clip`.

        Returns
        -------
        change : array, shape [dim]
            Frame coordinates; infinite where the score of data outside the bounds cannot be
            computed.
        """
        try:
            with np.errstate(all="ignore"):
                scores = [self.score(geometry, center, rows) for rows in (data, clipped)]
                change = geometry.coordinates(scores[0] - scores[1], center).sum(axis=0)
        except ValueError:
            return np.full(geometry.dim, np.inf)
        return np.where(np.isfinite(change), change, np.inf)

    def score_change_bound(
        self, geometry: Geometry, point: np.ndarray, moment_bound: tuple[float, float]
    ) -> np.ndarray:
        """Bound on how much clipping changes the mean score, whatever the law of the data.

        Parameters
        ----------
        geometry : Geometry
        point : array, shape [*point_shape]
            Where the scores are taken.
        moment_bound : pair of float
            (q, M): the mean q-th power of the length of a datum is at most M. The length is what
            the loss clips, a norm or the distance from a public centre.

        Returns
        -------
        change : array, shape [dim, dim]
            Matrix A: the mean score of the data as they are is that of clipped data plus A w for
            some w of length at most one, in frame coordinates at `point`.

        Raises
        ------
        ProtocolError
            If the moment does not bound the change. So it is, by default, for all losses that clip.
        """
        check_moment_bound(moment_bound)
        if not self.clips:
            return np.zeros((geometry.dim, geometry.dim))
        raise ProtocolError(
            f"moment_bound must be None for loss {self.name!r} on {geometry.name}: a moment of the "
            f"data does not bound what clipping does to its scores; got {moment_bound!r}"
        )

    @abstractmethod
    def value(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Loss of each datum at a point.

        Parameters
        ----------
        geometry : Geometry
        point : array, shape [*point_shape]
        data : array, shape [..., *data_shape]
            Clipped data, or data as they are: `score` of an estimator compares bounds by these.

        Returns
        -------
        value : array, shape [...]
        """

    @abstractmethod
    def score(self, geometry: Geometry, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Riemannian gradient of the loss of each datum at a point.

        Parameters
        ----------
        geometry : Geometry
        point : array, shape [*point_shape]
        data : array, shape [..., *data_shape]
            Clipped data.

        Returns
        -------
        score : array, shape [..., *point_shape]
            Tangent vectors at `point`.
        """

    @abstractmethod
    def score_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Bound on the norm of the score, on which the privacy guarantee rests.

        Parameters
        ----------
        geometry : Geometry
        query_region : GeodesicBall, LogBox or SpectralBand
            Where the queries lie.

        Returns
        -------
        bound : float
            At least the norm of the score, G of the paper, at any query of the region for any
            clipped datum.

        Raises
        ------
        ProtocolError
            If there is no such bound on the region.
        """

    @abstractmethod
    def hessian_bound(self, geometry: Geometry, query_region: WorkingRegion) -> float:
        """Bound on the eigenvalues of the population Hessian.

        Parameters
        ----------
        geometry : Geometry
        query_region : GeodesicBall, LogBox or SpectralBand
            Where the queries lie.

        Returns
        -------
        bound : float
            At least every eigenvalue, L_H of the paper, at any query of the region.

        Raises
        ------
        ProtocolError
            If there is no such bound on the region.
        """

    def target_hessian(self, geometry: Geometry, region: WorkingRegion) -> TargetHessian | None:
        """What is publicly known of the Hessian at the target beyond `hessian_bound`.

        The target is the minimiser of the population loss over the working region. Such public
        knowledge steadies confidence regions: ``InferenceRule.hessian_range``, or
        ``prior_hessian`` if a `nearby_sd` is stated.

        Parameters
        ----------
        geometry : Geometry
        region : GeodesicBall, LogBox or SpectralBand
            The working region.

        Returns
        -------
        known : TargetHessian or None
            None, the default, if nothing more is known whatever the data.
        """
        return None

    def typical_hessian(self, geometry: Geometry, region: WorkingRegion) -> float | None:
        """Size of the eigenvalues to expect of the population Hessian.

        It sets the default gain and radius only.

        Parameters
        ----------
        geometry : Geometry
        region : GeodesicBall, LogBox or SpectralBand
            The working region.

        Returns
        -------
        size : float or None
            By default the lower bound of `target_hessian`; None takes `hessian_bound`.
        """
        known = self.target_hessian(geometry, region)
        return known.low if known is not None and known.low > 0 else None

    def moment(self, geometry: Geometry) -> str | None:
        """Moment of the data in which scores are linear, whatever the query.

        Mean scores are then known exactly, however far from the target people are asked:
        regressions have no curvature bias, and bounds on how far they may reach are not needed.

        Parameters
        ----------
        geometry : Geometry

        Returns
        -------
        moment : str or None
            "first" for scores -P_q y on the unit sphere, up to a factor, "second" for
            -P_q y y^T q there, or -(Q y y^T (I - Q) + (I - Q) y y^T Q) / 2 for the projection Q of
            a Grassmannian, up to a factor; "quadratic" on flat spaces for losses that are quadratic
            along every geodesic, with scores A (q - c) in which matrix A and point c belong to
            the datum; "covariance" for (q - y y^T) / 2 on SPD matrices with the affine-invariant
            metric. None, the default, for no moment.
        """
        return None

    def single_query(self, geometry: Geometry) -> np.ndarray | None:
        """Public point at which one question to everybody tells the target.

        There is one where the mean score at a point determines the target: with the moment
        "covariance", and with "quadratic" where `target_hessian` leaves nothing open. Scores are
        then bounded at this point only, so it should be where they are shortest.

        Parameters
        ----------
        geometry : Geometry

        Returns
        -------
        point : array, shape [*point_shape], or None
            None, the default, asks around estimates.
        """
        return None

    @property
    def bending_length(self) -> float:
        """Distance over which a nonlinear score changes its slope; infinite for other scores."""
        return math.inf

    def third_derivative(self, geometry: Geometry) -> float:
        r"""Typical size of a coordinate of the mean third derivative of the population loss.

        Queries at distance h in d orthogonal directions :math:`\pm v_j` have a mean score that is
        off by :math:`h^2 t / 2` with :math:`t = d^{-1} \sum_j \nabla^3 F(v_j, v_j, \cdot)`. Where
        its size is known, collections in rounds estimate t with the rest, pulled to zero by this
        standard deviation, and ask from farther away, the first rounds most.

        Parameters
        ----------
        geometry : Geometry

        Returns
        -------
        size : float
            0, the default, takes t for zero.
        """
        return 0.0

    def saturation(self, geometry: Geometry) -> float:
        """Typical rate c at which scores saturate away from the target.

        Mean scores at distance h to both sides differ by 2 h / (1 + c h^2) times the Hessian, up to
        the fourth order. Where c is known, collections in rounds learn the Hessian from a few wide
        rounds, and the gradient from the others, which ask at their centre.

        Parameters
        ----------
        geometry : Geometry

        Returns
        -------
        rate : float
            In inverse squares of tangent length; 0, the default, where it is not known.
        """
        return 0.0

    def to_spec(self) -> dict[str, Any]:
        """Plain record from which `loss_from_spec` rebuilds the loss.

        Returns
        -------
        spec : dict
            The name and, by default, each parameter of the constructor with the attribute that is
            called like it.
        """
        parameters = inspect.signature(type(self)).parameters
        return plain_record(self.name, {name: getattr(self, name) for name in parameters})

    def twin(self) -> tuple | None:
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
