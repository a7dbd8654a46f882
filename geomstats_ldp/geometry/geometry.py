"""A space with a public frame, in which vectors at different points have coordinates."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.frames import orthonormal_basis
from geomstats_ldp.geometry.metric_space import MetricSpace
from geomstats_ldp.geometry.registry import geometry_class
from geomstats_ldp.validation import check_choice, finite_array


class Geometry(MetricSpace):
    """A geomstats space with a public frame: exponential, logarithm, transport, retraction.

    ``Geometry(space)`` makes an object of the subclass that handles the space. Points and tangent
    vectors are in the shapes of the space and may carry leading batch dimensions.

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

    #: Names of the retractions the space offers.
    retractions: ClassVar[tuple] = ("exponential",)

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

    def _prepare(self, reference):
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

    def retracted_distances(self, coords: np.ndarray, base_point: np.ndarray) -> np.ndarray:
        """Geodesic distance to the retraction of vectors of given frame coordinates.

        Parameters
        ----------
        coords : array, shape [..., dim]
        base_point : array, shape [*point_shape]

        Returns
        -------
        distances : array, shape [...]
        """
        return self.retracted_distance(np.linalg.norm(coords, axis=-1))

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
