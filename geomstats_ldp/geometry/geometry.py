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
from geomstats_ldp.geometry.frames import orthonormal_basis
from geomstats_ldp.geometry.registry import geometry_class
from geomstats_ldp.validation import check_all, check_choice, finite_array

#: Points this close to the cut locus of another have no usable direction from it.
CUT_MARGIN = 1e-6

#: Relative distance off the manifold within which a point is certainly meant to lie on it.
SURELY_ON = 1e-7


class Geometry(ABC):
    """A geomstats space with a public frame: exponential, logarithm, transport, retraction.

    ``Geometry(space)`` makes an object of the subclass that handles the space. Every call that the
    package makes to geomstats passes here, so that known faults are handled in one place. Points
    and tangent vectors are in the shapes of the space and may carry leading batch dimensions. A
    subclass overrides what geomstats gets wrong; the defaults call geomstats as it is.

    Parameters
    ----------
    space : geomstats manifold
        Space with a metric that has exponential, logarithm and parallel transport.
    reference : array-like, shape [*point_shape], optional
        Public point at which the frame is given. By default the origin of the space, if it has one.
    basis : array-like, shape [dim, *point_shape], optional
        Orthonormal basis of the tangent space at `reference`. By default `basis_at` of it.
    retraction : str, default="exponential"
        Second-order retraction of queries and updates. On the sphere "projection" adds the vector
        in the ambient space and normalises.

    Raises
    ------
    ProtocolError
        If the package does not know the space or the retraction, `reference` is not a point of the
        space, or `basis` is not orthonormal and tangent there.

    Notes
    -----
    The frame `B_x` is the parallel transport of `basis` along the geodesic from `reference` to
    `x`. Because transport is an isometry, coordinates at `x` are inner products at `reference`
    of the vector transported back, which takes one transport instead of `dim`.
    """

    name: ClassVar[str]
    dim: int
    shape: tuple[int, ...]
    #: Names of the retractions the space offers.
    retractions: ClassVar[tuple] = ("exponential",)
    #: Lower and upper bound on the sectional curvature.
    curvature: tuple[float, float] = (-np.inf, np.inf)
    #: Distance within which every pair of points has one minimising geodesic.
    injectivity_radius: float = np.inf

    def __new__(cls, space=None, reference=None, basis=None, retraction="exponential"):  # noqa: D102
        if cls is Geometry:
            cls = geometry_class(space)
        return super().__new__(cls)

    def __init__(
        self,
        space: Any,
        reference: ArrayLike | None = None,
        basis: ArrayLike | None = None,
        retraction: str = "exponential",
    ):
        check_choice("retraction", retraction, self.retractions)
        self.space = space
        self.retraction = retraction
        self.dim = int(space.dim)
        self.shape = tuple(space.shape)
        reference = self.origin(space) if reference is None else reference
        reference = self._finite_point(reference, "reference")
        self._prepare(reference)
        self.reference = self.check_point(reference, "reference")
        basis = self.basis_at(self.reference) if basis is None else basis
        self.basis = self._check_basis(basis)

    def _prepare(self, reference):  # noqa: B027 - most spaces need nothing
        """Set attributes that depend on the space, before the reference point is checked."""

    def _check_basis(self, basis):
        basis = np.array(finite_array("basis", basis, (self.dim, *self.shape)))
        tangent = self.to_tangent(basis, self.reference)
        # Relative to each vector: its entries are as small or large as the unit of the points.
        axes = tuple(range(1, basis.ndim))
        size = np.max(np.abs(basis), axis=axes, keepdims=True)
        gram = self.products(basis, basis, self.reference)
        if not (
            np.allclose(gram, np.eye(self.dim), atol=1e-8)
            and np.all(np.abs(tangent - basis) <= 1e-8 * size)
        ):
            raise ProtocolError("basis must be orthonormal and tangent at the reference point")
        return basis

    # ---------------------------------------------------------------- the space

    @classmethod
    @abstractmethod
    def accepts(cls, space: Any) -> bool:
        """Whether this class handles a space.

        Parameters
        ----------
        space : geomstats manifold

        Returns
        -------
        accepted : bool
            False also if its metric is another.
        """

    @classmethod
    @abstractmethod
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

    @classmethod
    @abstractmethod
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

    # ---------------------------------------------------------------- retraction

    def retract(self, tangent_vec: np.ndarray, base_point: np.ndarray) -> np.ndarray:
        """Public retraction R_x(v); see `exp`."""
        return self.exp(tangent_vec, base_point)

    def inverse_retract(self, point: np.ndarray, base_point: np.ndarray) -> np.ndarray:
        """Inverse of the retraction, NaN where the point is out of its range; see `log`."""
        return self.log(point, base_point)

    def retracted_distance(self, length: ArrayLike) -> np.ndarray:
        """Geodesic distance covered by the retraction of a vector of the given length.

        No more than the injectivity radius, past which a geodesic is no longer the shortest way.

        Parameters
        ----------
        length : array-like, shape [...]

        Returns
        -------
        distance : array, shape [...]
        """
        return np.minimum(length, self.injectivity_radius)

    # ---------------------------------------------------------------- frame

    def basis_at(self, reference: np.ndarray) -> np.ndarray:
        """Orthonormal basis of a tangent space, a deterministic function of the point.

        Parameters
        ----------
        reference : array, shape [*point_shape]

        Returns
        -------
        basis : array, shape [dim, *point_shape]
            By default that of `orthonormal_basis`.
        """
        return orthonormal_basis(self, reference)

    def lift(self, coords: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Tangent vector B_x c of coordinates c in the public frame.

        Parameters
        ----------
        coords : array, shape [..., dim]
        point : array, shape [..., *point_shape]

        Returns
        -------
        tangent_vec : array, shape [..., *point_shape]
            At `point`.
        """
        at_reference = np.tensordot(coords, self.basis, axes=1)
        return self.transport(at_reference, self.reference, point)

    def rounding(self, point: np.ndarray) -> float:
        """Distance by which the last digit of its largest entry moves a point, at most.

        Parameters
        ----------
        point : array, shape [*point_shape]

        Returns
        -------
        distance : float
        """
        frame = self.lift(np.eye(self.dim), point).reshape(self.dim, -1)
        digit = np.finfo(float).eps * np.max(np.abs(point))
        # A tangent vector of length one is no shorter in the ambient space than this.
        return float(digit / np.linalg.svd(frame, compute_uv=False)[-1])

    def coordinates(self, tangent_vec: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Coordinates B_x^{-1} v in the public frame, shape [..., dim]; see `lift`."""
        at_reference = self.transport(tangent_vec, point, self.reference)
        return self.products(at_reference, self.basis, self.reference)

    # ---------------------------------------------------------------- compiled engine

    def twin(self) -> tuple | None:
        """Record that selects the closed forms of this space, or None if it has none."""
        return None
