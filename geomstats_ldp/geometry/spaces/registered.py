"""Any other geomstats space with exponential, logarithm and parallel transport.

A protocol holds the name under which the space was registered, never code; every process that
rebuilds the protocol registers the space first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry.geometry import Geometry
from geomstats_ldp.registry import Registry
from geomstats_ldp.validation import check_real, check_shape, real_array

#: Relative error that exponential, logarithm and transport may have where they are probed.
_ROUNDING = 1e-6

#: Displacement of a probe, and number of directions, in which no coordinate is left out.
_STEP = 0.2

#: Entries from here on have squares that overflow.
_LARGEST = 1e154
_N_DIRECTIONS = 2


class _Registration(NamedTuple):
    factory: Callable
    space: object
    curvature: tuple
    injectivity_radius: float


def _facts(registration):
    """What two registrations of one name must agree on."""
    space = registration.space
    return {
        "type": type(space).__name__,
        "metric": type(space.metric).__name__,
        "shape": list(space.shape),
        "curvature": list(registration.curvature),
        "injectivity_radius": registration.injectivity_radius,
    }


_REGISTERED = Registry("space", _facts)


class RegisteredSpace:
    """Handle of a registered space, which copies and pickles by name.

    It has the attributes of the geomstats space that its factory built.

    Parameters
    ----------
    name : str
        Name given to `register_space`.

    Raises
    ------
    ProtocolError
        If no space of that name is registered in this process.
    """

    def __init__(self, name: str):
        self._space = _REGISTERED.find(name).space
        self.name = name

    def __getattr__(self, attribute):
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return getattr(self._space, attribute)

    def __reduce__(self):
        return RegisteredSpace, (self.name,)

    def __deepcopy__(self, memo):
        return RegisteredSpace(self.name)

    def __eq__(self, other):
        return type(other) is RegisteredSpace and other.name == self.name

    def __hash__(self):
        return hash(self.name)

    def __repr__(self):
        return f"RegisteredSpace({self.name!r})"


def register_space(
    name: str,
    factory: Callable[[], Any],
    *,
    curvature: tuple[float, float] = (-math.inf, math.inf),
    injectivity_radius: float = math.inf,
) -> RegisteredSpace:
    """Make a geomstats space known by name, so that protocols on it can be rebuilt.

    Every process that rebuilds such a protocol, a participant's device for one, has to register
    the space first: a record holds the name and the two bounds, never the code.

    Parameters
    ----------
    name : str
        The name must mean the same space everywhere.
    factory : callable
        Returns the geomstats space, equipped with a metric that has `inner_product`, `exp`, `log`
        and `parallel_transport`. They are probed at the reference point of each `Geometry`.
    curvature : tuple (float, float)
        Lower and upper bound on the sectional curvature. A squared or transformed distance needs
        the lower one, for its Hessian bound.
    injectivity_radius : float
        Distance within which every pair of points has one minimising geodesic. Working regions
        and data stay within it, and score bounds rest on it: privacy needs it to be right.

    Returns
    -------
    space : RegisteredSpace
        To be passed wherever the package takes a space.

    Raises
    ------
    ProtocolError
        If the name is taken by another factory, or what the factory returns is no geomstats space
        with a metric, or a bound makes no sense.

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats.geometry.matrices import Matrices
    >>> from geomstats_ldp import PrivateFrechetMean, register_space
    >>> space = register_space("2x2 matrices", lambda: Matrices(2, 2), curvature=(0.0, 0.0))
    >>> X = np.random.default_rng(0).normal(0.1, 0.2, size=(60, 2, 2))
    >>> mean = PrivateFrechetMean(space, initial_point=np.zeros((2, 2)), epsilon=8.0).fit(X)
    >>> mean.protocol_.space_spec["registered"]
    '2x2 matrices'
    """
    bounds = real_array("curvature", curvature)
    check_shape("curvature", bounds, (2,))
    low, high = bounds.tolist()
    if not low <= high:
        raise ProtocolError(f"curvature must be (lower, upper) bounds; got {curvature!r}")
    radius = check_real("injectivity_radius", injectivity_radius, "positive", lambda r: r > 0)
    space = factory()
    for attribute in ("dim", "shape", "metric", "belongs", "to_tangent"):
        if not hasattr(space, attribute):
            raise ProtocolError(
                f"factory of {name!r} must return a geomstats space with a metric; "
                f"{type(space).__name__} has no {attribute}"
            )
    _REGISTERED.add(name, _Registration(factory, space, (low, high), radius))
    return RegisteredSpace(name)


class RegisteredGeometry(Geometry):
    """A registered space: geomstats called one point at a time, and probed before use."""

    name = "Registered"

    def __init__(self, space, reference=None, basis=None, retraction="exponential"):
        super().__init__(space, reference, basis, retraction)
        self._probe_about_reference()

    def _prepare(self, reference):
        registration = _REGISTERED.find(self.space.name)
        self.registered = self.space.name
        self.curvature = registration.curvature
        self.injectivity_radius = registration.injectivity_radius
        self.facts = _facts(registration)
        self._is_cone = self._has_no_length(reference)

    @classmethod
    def accepts(cls, space):
        """What `register_space` returned."""
        return type(space) is RegisteredSpace

    @classmethod
    def to_spec(cls, space):
        """Plain record, for JSON: name and bounds."""
        return {"name": cls.name, "registered": space.name, **_facts(_REGISTERED.find(space.name))}

    @classmethod
    def from_spec(cls, spec):
        """Look the space up, and see that it is what the record says."""
        facts = {key: value for key, value in spec.items() if key not in ("name", "registered")}
        known = _facts(_REGISTERED.find(spec["registered"]))
        if facts != known:
            raise ProtocolError(
                f"space {spec['registered']!r} is registered as {known}; the record says {facts}"
            )
        return RegisteredSpace(spec["registered"])

    # ---------------------------------------------------------------- calls, row by row

    def _by_rows(self, function, *arrays, shape=None):
        """Broadcast points and vectors against each other and call a function on each row.

        Not every method of geomstats broadcasts; single points they all take.
        """
        shape = self.shape if shape is None else shape
        batches = [np.shape(array)[: np.ndim(array) - len(self.shape)] for array in arrays]
        batch = np.broadcast_shapes(*batches)
        rows = [
            np.broadcast_to(array, (*batch, *self.shape)).reshape(-1, *self.shape)
            for array in arrays
        ]
        values = [np.reshape(np.real(function(*row)), shape) for row in zip(*rows)]
        return np.array(values, dtype=float).reshape((*batch, *shape))

    def is_on(self, points, rtol):
        """Whether geomstats says so: to `rtol` in the unit of the point if the space has none.

        A cone is closed under changes of the unit, as SPD matrices are. Any other space has a
        length of its own, and equations taken to be quadratic.
        """

        def belongs(point):
            largest = float(np.max(np.abs(point)))
            if self._is_cone:
                return np.all(self.space.belongs(point / (largest or 1.0), atol=rtol))
            # Nothing can be said of a point whose square overflows.
            return largest < _LARGEST and np.all(
                self.space.belongs(point, atol=rtol * max(1.0, largest**2))
            )

        return self._by_rows(belongs, points, shape=()) > 0

    def _has_no_length(self, reference):
        """Whether multiples of a point stay on the space, those of a tangent vector at zero."""
        point = reference
        if not np.any(reference):
            noise = np.random.default_rng(0).normal(size=self.shape)
            point = self.space.to_tangent(noise, reference)
        point = np.asarray(point) / (np.max(np.abs(point)) or 1.0)
        return all(np.all(self.space.belongs(k * point, atol=_ROUNDING)) for k in (0.5, 1.0, 2.0))

    def to_tangent(self, vector, base_point):
        """Projection onto the tangent space."""
        return self._by_rows(self.space.to_tangent, vector, base_point)

    def inner(self, tangent_vec_a, tangent_vec_b, base_point):
        """Riemannian inner product."""
        product = self.space.metric.inner_product
        return self._by_rows(product, tangent_vec_a, tangent_vec_b, base_point, shape=())[()]

    def exp(self, tangent_vec, base_point):
        """Riemannian exponential."""
        return self._by_rows(self.space.metric.exp, tangent_vec, base_point)

    def log(self, point, base_point):
        """Riemannian logarithm."""
        return self._by_rows(self.space.metric.log, point, base_point)

    def transport(self, tangent_vec, base_point, end_point):
        """Parallel transport along the minimising geodesic from `base_point` to `end_point`."""

        def move(vector, base, end):
            # Some metrics divide by the length of the way.
            if np.array_equal(base, end):
                return vector
            return self.space.metric.parallel_transport(vector, base, end_point=end)

        return self._by_rows(move, tangent_vec, base_point, end_point)

    # ---------------------------------------------------------------- probes

    def _probe_about_reference(self):
        """Probe exponential, logarithm and transport between the reference and points nearby.

        Raises
        ------
        ProtocolError
            Naming the method that is missing or wrong.
        """
        step = min(_STEP, self.injectivity_radius / 4)
        coords = np.random.default_rng(0).normal(size=(_N_DIRECTIONS, self.dim))
        coords *= step / np.linalg.norm(coords, axis=1, keepdims=True)
        for vector in np.tensordot(coords, self.basis, axes=1):
            self._probe(vector, step)

    def _probe(self, vector, step):
        reference, basis = self.reference, self.basis
        point = self._call("exp", vector, reference)
        if not self.is_on(point, _ROUNDING):
            self._refuse("exp", "must stay on the space", np.inf)
        self._compare("log", "must invert exp", self._call("log", point, reference), vector)
        back = self._call("log", reference, point)
        frame = self._call("transport", basis, reference, point)
        gram = [[self.inner(a, b, point) for b in frame] for a in frame]
        what = "must be an isometry along geodesics"
        self._compare("parallel_transport", what, gram, np.eye(self.dim))
        velocity = self._call("transport", vector, reference, point)
        what = "must keep the velocity of geodesics"
        self._compare("parallel_transport", what, velocity / step, -back / step)
        what = "must be undone by the transport back"
        self._compare(
            "parallel_transport", what, self._call("transport", frame, point, reference), basis
        )

    def _call(self, method, *arguments):
        name = "parallel_transport" if method == "transport" else method
        try:
            return getattr(self, method)(*arguments)
        except (NotImplementedError, AttributeError) as error:
            raise ProtocolError(
                f"space {self.registered!r} needs {name}, which the metric "
                f"{self.facts['metric']} of geomstats does not have: "
                f"{type(error).__name__} {error}"
            ) from error

    def _compare(self, method, what, actual, expected):
        error = np.max(np.abs(np.subtract(actual, expected)))
        scale = np.max(np.abs(expected))
        if not error <= _ROUNDING * scale:
            self._refuse(method, what, error / scale)

    def _refuse(self, method, what, error):
        raise ProtocolError(
            f"{method} of the metric {self.facts['metric']} {what} to be used on "
            f"{self.registered!r}; next to the reference it is off by {error:.3g}, relatively"
        )
