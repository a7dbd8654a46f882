"""The one door to geomstats: what the package asks of a space, one object a space.

Exponential, logarithm and parallel transport are those of geomstats wherever they were measured to
be right. Where they are not (nearly coincident or nearly antipodal points, points far out, small
units, large condition numbers), a subclass in `geomstats_ldp.geometry.spaces` has a closed form of
its own beside the call, which the compiled engine uses throughout.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.validation import check_all, finite_array

#: Points this close to the cut locus of another have no usable direction from it.
CUT_MARGIN = 1e-6

#: Relative distance off the manifold within which a point is certainly meant to lie on it.
SURELY_ON = 1e-7


class MetricSpace(ABC):
    """A geomstats space with a metric: points, tangent vectors, geodesics, whatever the frame.

    Every call that the package makes to geomstats passes here, so that known faults are handled in
    one place. A subclass overrides what geomstats gets wrong; the defaults call it as it is.

    Attributes
    ----------
    space : geomstats manifold
    dim : int
    shape : tuple of int
        Of a point.
    """

    name: ClassVar[str]
    #: Classes of geomstats, and the arguments of the first, which are attributes of a space too.
    space_class: ClassVar[type]
    metric_class: ClassVar[type]
    sizes: ClassVar[tuple[str, ...]] = ("dim",)
    space: Any
    dim: int
    shape: tuple[int, ...]
    #: Lower and upper bound on the sectional curvature.
    curvature: tuple[float, float] = (-np.inf, np.inf)
    #: Distance within which every pair of points has one minimising geodesic.
    injectivity_radius: float = np.inf

    @classmethod
    def accepts(cls, space: Any) -> bool:
        """Whether this class handles a space: one of `space_class` with `metric_class`.

        Parameters
        ----------
        space : geomstats manifold

        Returns
        -------
        accepted : bool
        """
        metric = getattr(space, "metric", None)
        return type(space) is cls.space_class and type(metric) is cls.metric_class

    @classmethod
    def to_spec(cls, space: Any) -> dict[str, Any]:
        """Plain record of a space.

        Parameters
        ----------
        space : geomstats manifold

        Returns
        -------
        spec : dict
            From which `from_spec` builds the space again.
        """
        return {"name": cls.name, **{size: int(getattr(space, size)) for size in cls.sizes}}

    @classmethod
    def from_spec(cls, spec: dict[str, Any]) -> Any:
        """Build the geomstats space of a record.

        Parameters
        ----------
        spec : dict
            As `to_spec` makes it.

        Returns
        -------
        space : geomstats manifold
        """
        space = cls.space_class(*(int(spec[size]) for size in cls.sizes), equip=False)
        space.equip_with_metric(cls.metric_class)
        return space

    @classmethod
    def origin(cls, space: Any) -> np.ndarray:
        """Point of the space to start from when none is given; see `origin_of`.

        Raises
        ------
        ProtocolError
            If no point of the space is more natural than others.
        """
        raise ProtocolError(f"initial_point must be given on {cls.name}, which has no origin")

    @property
    def is_flat(self) -> bool:
        """Whether the curvature is known to be zero."""
        return tuple(self.curvature) == (0.0, 0.0)

    # ---------------------------------------------------------------- points and vectors

    @abstractmethod
    def is_on(self, points: np.ndarray, rtol: float) -> np.ndarray:
        """Whether finite arrays lie on the manifold.

        Parameters
        ----------
        points : array, shape [..., *point_shape]
        rtol : float
            Tolerance relative to the size of a point.

        Returns
        -------
        is_on : array of bool, shape [...]
        """

    def settle(self, point: np.ndarray) -> np.ndarray:
        """Remove the drift off the manifold that rounding causes; see `check_point`."""
        return point

    def _finite_point(self, point: ArrayLike, name: str) -> np.ndarray:
        return np.array(finite_array(name, point, self.shape))

    def check_point(self, point: ArrayLike, name: str = "point", rtol: float = 1e-8) -> np.ndarray:
        """Check a point, and project it back onto the manifold to rounding.

        Parameters
        ----------
        point : array-like, shape [*point_shape]
        name : str, default="point"
            What to call it in an error.
        rtol : float, default=1e-8
            See `is_on`.

        Returns
        -------
        point : array, shape [*point_shape]

        Raises
        ------
        ProtocolError
            If the shape is wrong, an entry is not finite, or the point is off the manifold.
        """
        point = self._finite_point(point, name)
        with np.errstate(all="ignore"):
            is_on = self.is_on(point, rtol)
        if not is_on:
            raise ProtocolError(f"{name} must lie on {self.name}; got {point}")
        return self.settle(point)

    def check_points(
        self, points: ArrayLike, name: str = "points", rtol: float = 1e-6
    ) -> np.ndarray:
        """Check an array of points, shape [..., *point_shape]; see `check_point`.

        Raises
        ------
        ProtocolError
            If the shape is wrong, or giving the place of the first point that is not finite or off
            the manifold.
        """
        points = np.array(finite_array(name, points, (..., *self.shape)))
        with np.errstate(all="ignore"):
            is_on = np.asarray(self.is_on(points, rtol), dtype=bool)
        check_all(f"{name} must lie on {self.name}", is_on)
        return points

    def to_tangent(self, vector: np.ndarray, base_point: np.ndarray) -> np.ndarray:
        """Orthogonal projection of an ambient vector onto the tangent space.

        Parameters
        ----------
        vector : array, shape [..., *point_shape]
        base_point : array, shape [..., *point_shape]

        Returns
        -------
        tangent_vec : array, shape [..., *point_shape]
        """
        return self.space.to_tangent(vector, base_point)

    # ---------------------------------------------------------------- metric

    def inner(
        self, tangent_vec_a: np.ndarray, tangent_vec_b: np.ndarray, base_point: np.ndarray
    ) -> np.ndarray:
        """Riemannian inner product.

        Parameters
        ----------
        tangent_vec_a, tangent_vec_b, base_point : array, shape [..., *point_shape]

        Returns
        -------
        inner : array, shape [...]
        """
        return self.space.metric.inner_product(tangent_vec_a, tangent_vec_b, base_point)

    def products(
        self, tangent_vec: np.ndarray, basis: np.ndarray, base_point: np.ndarray
    ) -> np.ndarray:
        """Inner products with each vector of a basis, shape [..., dim]; see `inner`."""
        return np.stack([self.inner(tangent_vec, vector, base_point) for vector in basis], axis=-1)

    def norm(self, tangent_vec: np.ndarray, base_point: np.ndarray) -> np.ndarray:
        """Riemannian norm of a tangent vector; see `inner`."""
        # Scaled first, so that no square of a tiny or huge entry leaves the range of doubles.
        size = np.max(np.abs(tangent_vec), axis=tuple(range(-len(self.shape), 0)), keepdims=True)
        unit = tangent_vec / np.where(size > 0, size, 1.0)
        squared = self.inner(unit, unit, base_point)
        return np.reshape(size, np.shape(size)[: np.ndim(size) - len(self.shape)]) * np.sqrt(
            np.maximum(squared, 0.0)
        )

    def exp(self, tangent_vec: np.ndarray, base_point: np.ndarray) -> np.ndarray:
        """Riemannian exponential.

        Parameters
        ----------
        tangent_vec : array, shape [..., *point_shape]
        base_point : array, shape [..., *point_shape]

        Returns
        -------
        point : array, shape [..., *point_shape]
        """
        return self.settle(self.space.metric.exp(tangent_vec, base_point))

    def log(self, point: np.ndarray, base_point: np.ndarray) -> np.ndarray:
        """Riemannian logarithm.

        Parameters
        ----------
        point : array, shape [..., *point_shape]
        base_point : array, shape [..., *point_shape]

        Returns
        -------
        tangent_vec : array, shape [..., *point_shape]

        Raises
        ------
        CutLocusError
            Where it is undefined.
        """
        return self.space.metric.log(point, base_point)

    def dist(self, point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
        """Geodesic distance.

        Parameters
        ----------
        point_a, point_b : array, shape [..., *point_shape]

        Returns
        -------
        dist : array, shape [...]
        """
        return self.norm(self.log(point_b, point_a), point_a)

    def at_cut_locus(self, point: np.ndarray, base_point: np.ndarray) -> np.ndarray:
        """Whether a point is at the cut locus of another, or too close to it; see `dist`."""
        return self.dist(point, base_point) > self.injectivity_radius - CUT_MARGIN

    def transport(
        self, tangent_vec: np.ndarray, base_point: np.ndarray, end_point: np.ndarray
    ) -> np.ndarray:
        """Parallel transport along the minimising geodesic between two points.

        Parameters
        ----------
        tangent_vec : array, shape [..., *point_shape]
        base_point : array, shape [..., *point_shape]
        end_point : array, shape [..., *point_shape]

        Returns
        -------
        tangent_vec : array, shape [..., *point_shape]
            At `end_point`.
        """
        return self.space.metric.parallel_transport(tangent_vec, base_point, end_point=end_point)

    def _choose(self, trusted, theirs, ours):
        """Results of geomstats where it is trusted, shape [...], and of a closed form elsewhere."""
        if np.all(trusted):
            return theirs()
        if not np.any(trusted):
            return ours()
        with np.errstate(all="ignore"):
            return np.where(trusted[(..., *[None] * len(self.shape))], theirs(), ours())
