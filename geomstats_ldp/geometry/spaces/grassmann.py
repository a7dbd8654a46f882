r"""Subspaces as orthogonal projections P with the Frobenius metric.

The compiled closed forms rest on the direct rotation E of one subspace to another (Kato,
"Perturbation theory for linear operators", I.4.6): with :math:`C = (P + Q - I)^2`, whose
eigenvalues are the squared cosines of the principal angles, and V the logarithm of Q at P,

.. math:: E = \{QP + (I - Q)(I - P)\}\,C^{-1/2} = \cos V + \sin V\,(2P - I),\qquad Q = E P E^\top.

Parallel transport from P to Q is :math:`W \mapsto E W E^\top`. Functions of V here are even, and so
functions of V^2, which is positive semidefinite. Arguments named ``out`` are overwritten and must
not share memory with the inputs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from geomstats.geometry.grassmannian import Grassmannian, GrassmannianCanonicalMetric

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.metric_space import SURELY_ON
from geomstats_ldp.geometry.spaces import symmetric_matrices as dense
from geomstats_ldp.geometry.spaces.angular import AngularGeometry
from geomstats_ldp.geometry.spaces.axes import axes_of, transposed, width_of
from geomstats_ldp.twins import jitable

#: Squares of angles under which the series of a quotient is exact to rounding.
_SMALL_SQUARE = 1e-8


class GrassmannGeometry(AngularGeometry):
    """Subspaces as orthogonal projections, with the Frobenius metric |V|^2 = tr(V V).

    In this scale a principal angle of t is a distance of sqrt(2) t, so that the injectivity radius
    is pi / sqrt(2); the pi / 2 that geomstats states is that of the metric without the factor 2.
    The sectional curvature is half that of Wong ("Sectional curvatures of Grassmann manifolds",
    1968): between 0 and 1, and 1/2 for lines and hyperplanes (real projective space).
    """

    name = "Grassmannian"
    space_class = Grassmannian
    metric_class = GrassmannianCanonicalMetric
    sizes = ("n", "p")
    injectivity_radius = np.pi / np.sqrt(2)
    cut_angle = np.pi / 2

    def _prepare(self, reference):
        self.p = int(self.space.p)
        if self.dim == 1:
            self.curvature = (0.0, 0.0)
        else:
            projective = min(self.p, self.shape[0] - self.p) == 1
            self.curvature = (0.5, 0.5) if projective else (0.0, 1.0)

    @classmethod
    def accepts(cls, space):
        """Proper subspaces, as projections."""
        return super().accepts(space) and space.dim > 0

    def is_on(self, points, rtol):
        """Whether matrices are symmetric, idempotent, and of rank p, to `rtol` in each entry."""
        gap = np.maximum(np.abs(points - transposed(points)), np.abs(points @ points - points))
        rank = np.trace(points, axis1=-2, axis2=-1)
        return (gap.max(axis=(-2, -1)) <= rtol) & (np.abs(rank - self.p) < 0.5)

    def settle(self, point):
        """One step P <- 3 P^2 - 2 P^3 towards the nearest projection, which squares the drift."""
        point = (point + transposed(point)) / 2
        squared = point @ point
        settled = 3 * squared - 2 * squared @ point
        return (settled + transposed(settled)) / 2

    def angles(self, point_a, point_b):
        """Principal angles, accurate at both ends."""
        basis = np.linalg.eigh(point_b)[1][..., -self.p :]
        inside = point_a @ basis
        cosines = np.linalg.svd(inside, compute_uv=False)
        sines = np.linalg.svd(basis - inside, compute_uv=False)
        return np.arctan2(sines[..., ::-1], cosines)

    def dist(self, point_a, point_b):
        """sqrt(2) times the length of the principal angles; defined at the cut locus too."""
        return np.sqrt(2) * np.linalg.norm(self.angles(point_a, point_b), axis=-1)

    def twin(self):
        """Select the closed forms below."""
        frame = np.ascontiguousarray(self.basis)
        return GrassmannTwin(
            self.reference, frame, np.zeros((7, *self.shape)), axes_of(self.shape[0])
        )


class GrassmannTwin(NamedTuple):
    """What the compiled functions need to know about the space and its public frame.

    Because of `work`, a twin must not be shared between threads.

    Attributes
    ----------
    reference : array, shape [n, n]
        Where the frame is given.
    frame : array, shape [dim, n, n]
    work : array, shape [7, n, n]
        Scratch.
    axes : tuple of int
        See `axes_of`.
    """

    reference: np.ndarray
    frame: np.ndarray
    work: np.ndarray
    axes: tuple


_closed_form = dispatch.closed_forms(GrassmannTwin, is_small=False)


@jitable
def _squared_cosines(twin, point, base_point):
    """Eigenvalues of C, on the diagonal of `work[0]`, with eigenvectors in `work[1]`."""
    total = twin.work[2]
    for i in range(width_of(twin.axes, point)):
        for j in range(width_of(twin.axes, point)):
            total[i, j] = point[i, j] + base_point[i, j] - (1.0 if i == j else 0.0)
    dense.product(twin.axes, total, total.T, twin.work[0])
    dense.eigen(twin.axes, twin.work[0], twin.work[1])


@jitable
def _rotation(twin, point, base_point, out):
    """Write the direct rotation from `base_point` to `point` to out."""
    n, spectrum = width_of(twin.axes, point), twin.work[0]
    root, factor = twin.work[3], twin.work[4]
    _squared_cosines(twin, point, base_point)
    for i in range(n):
        spectrum[i, i] = 1.0 / math.sqrt(max(spectrum[i, i], 1e-300))
    dense.from_spectrum(twin.axes, twin.work[1], spectrum, twin.work[2], root)
    dense.product(twin.axes, point, base_point, factor)
    for i in range(n):
        for j in range(n):
            unit = 1.0 if i == j else 0.0
            factor[i, j] = 2.0 * factor[i, j] - point[i, j] - base_point[i, j] + unit
    dense.product(twin.axes, factor, root, out)


@_closed_form
def _exp(twin, tangent_vec, base_point, out):
    n, spectrum = width_of(twin.axes, out), twin.work[0]
    vectors, scratch = twin.work[1], twin.work[2]
    even, odd, turned, rotation = twin.work[3], twin.work[4], twin.work[5], twin.work[6]
    # I + V^2 is well conditioned, and has the eigenvectors of V^2.
    dense.product(twin.axes, tangent_vec, tangent_vec.T, spectrum)
    for i in range(n):
        spectrum[i, i] += 1.0
    dense.eigen(twin.axes, spectrum, vectors)
    for i in range(n):
        square = max(spectrum[i, i] - 1.0, 0.0)
        angle = math.sqrt(square)
        spectrum[i, i] = math.cos(angle)
        turned[i, i] = math.sin(angle) / angle if square > _SMALL_SQUARE else 1.0 - square / 6.0
    dense.from_spectrum(twin.axes, vectors, spectrum, scratch, even)
    dense.from_spectrum(twin.axes, vectors, turned, scratch, odd)
    # V (2P - I), then E.
    dense.product(twin.axes, tangent_vec, base_point, turned)
    for i in range(n):
        for j in range(n):
            turned[i, j] = 2.0 * turned[i, j] - tangent_vec[i, j]
    dense.product(twin.axes, odd, turned, rotation)
    for i in range(n):
        for j in range(n):
            rotation[i, j] += even[i, j]
    dense.congruence(twin.axes, rotation, base_point, scratch, even)
    _settle(twin, even, out)


@_closed_form
def _log(twin, point, base_point, out):
    """V = (sin V cos V) (V / sin V cos V); the first is the off-diagonal part of the point."""
    n, spectrum = width_of(twin.axes, out), twin.work[0]
    quotient, off = twin.work[3], twin.work[4]
    _squared_cosines(twin, point, base_point)
    for i in range(n):
        cosine = math.sqrt(max(spectrum[i, i], 1e-300))
        square = max(1.0 - spectrum[i, i], 0.0)
        sine = math.sqrt(square)
        ratio = math.atan2(sine, cosine) / sine if square > _SMALL_SQUARE else 1.0 + square / 6.0
        spectrum[i, i] = ratio / cosine
    dense.from_spectrum(twin.axes, twin.work[1], spectrum, twin.work[2], quotient)
    _to_tangent(twin, point, base_point, off)
    dense.product(twin.axes, off, quotient, out)
    dense.symmetrise(twin.axes, out)


@_closed_form
def _dist(twin, point_a, point_b):
    gap, spectrum, vectors = twin.work[2], twin.work[0], twin.work[1]
    dense.subtract(twin.axes, point_a, point_b, gap)
    dense.product(twin.axes, gap, gap.T, spectrum)
    dense.eigen(twin.axes, spectrum, vectors)
    squared = 0.0
    for i in range(width_of(twin.axes, point_a)):
        sine = min(max(spectrum[i, i], 0.0), 1.0)
        squared += math.atan2(math.sqrt(sine), math.sqrt(1.0 - sine)) ** 2
    return math.sqrt(squared)


@_closed_form
def _transport(twin, tangent_vec, base_point, end_point, out):
    _rotation(twin, end_point, base_point, twin.work[5])
    dense.congruence(twin.axes, twin.work[5], tangent_vec, twin.work[2], out)


@_closed_form
def _to_tangent(twin, vector, base_point, out):
    """PS + SP - 2 PSP, with S the symmetric part of the vector."""
    n, scratch, inner = width_of(twin.axes, out), twin.work[2], twin.work[1]
    for i in range(n):
        for j in range(n):
            inner[i, j] = 0.5 * (vector[i, j] + vector[j, i])
    dense.product(twin.axes, base_point, inner, scratch)
    dense.product(twin.axes, scratch, base_point, out)
    for i in range(n):
        for j in range(n):
            out[i, j] = scratch[i, j] + scratch[j, i] - 2.0 * out[i, j]
    dense.symmetrise(twin.axes, out)


@_closed_form
def _lift(twin, coords, point, out):
    dense.combine(twin.axes, _dim(twin), coords, twin.frame, twin.work[6])
    _transport(twin, twin.work[6], twin.reference, point, out)


@_closed_form
def _coordinates(twin, tangent_vec, point, out):
    _transport(twin, tangent_vec, point, twin.reference, twin.work[6])
    dense.coordinates(twin.axes, _dim(twin), twin.work[6], twin.frame, out)


@_closed_form
def _dim(twin):
    return twin.frame.shape[0]


@_closed_form
def _settle(twin, point, out):
    """One step P <- 3 P^2 - 2 P^3; whether the point was a projection of the rank to rounding."""
    n, squared, trace = width_of(twin.axes, point), twin.work[1], 0.0
    dense.product(twin.axes, point, point, squared)
    dense.product(twin.axes, squared, point, out)
    largest = 0.0
    for i in range(n):
        trace += point[i, i] - twin.reference[i, i]
        for j in range(n):
            gap = abs(squared[i, j] - point[i, j]) + abs(point[i, j] - point[j, i])
            largest = gap if not gap <= largest else largest
            out[i, j] = 3.0 * squared[i, j] - 2.0 * out[i, j]
    dense.symmetrise(twin.axes, out)
    return largest <= SURELY_ON and abs(trace) < 0.5


_closed_form(_exp, "retract")
