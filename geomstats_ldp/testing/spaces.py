"""What every space promises: inverse maps, isometric transport, an orthonormal frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from geomstats_ldp.geometry import Geometry
from geomstats_ldp.geometry.spaces import space_from_spec, space_to_spec
from geomstats_ldp.testing.cases import (
    Case,
    require,
    require_at_most,
    require_close,
    require_equal,
    require_refused,
    through_json,
)

_TOLERANCE = 1e-9


@dataclass(eq=False)
class SpaceCase(Case):
    """A geomstats space that the package knows, and the ball it is examined in.

    Parameters
    ----------
    space : geomstats manifold
    center : array-like, shape [*point_shape]
    radius : float, default=0.5
        Geodesic radius, under half the injectivity radius.
    retraction : str, default="exponential"
    seed : int, default=0
    """

    space: Any
    center: Any
    radius: float = 0.5
    retraction: str = "exponential"
    seed: int = 0

    def __str__(self):
        return f"{self.geometry.name} {self.geometry.shape} {self.retraction}"

    def checks(self) -> list[Callable]:
        """Checks of a space."""
        return list(_CHECKS)

    @cached_property
    def geometry(self) -> Geometry:
        """Geometry with its frame at the centre."""
        return Geometry(self.space, self.center, retraction=self.retraction)

    @cached_property
    def coords(self) -> np.ndarray:
        """Coordinates of length at most the radius, shape [8, dim]."""
        coords = np.random.default_rng(self.seed).normal(size=(8, self.geometry.dim))
        lengths = np.linspace(0.1, 1.0, 8) * self.radius
        return coords * (lengths / np.linalg.norm(coords, axis=1))[:, None]

    @cached_property
    def points(self) -> np.ndarray:
        """Points at those coordinates from the centre."""
        geometry = self.geometry
        return np.stack([self._move(c, geometry.reference) for c in self.coords])

    def _move(self, coords, point):
        """Point at frame coordinates from another."""
        return self.geometry.exp(self.geometry.lift(coords, point), point)


def check_frame(case):
    """`lift` and `coordinates` are inverse and isometric, and lifted vectors are tangent."""
    geometry = case.geometry
    for point in case.points:
        vectors = np.stack([geometry.lift(c, point) for c in case.coords])
        require_close(
            geometry.coordinates(vectors, point), case.coords, _TOLERANCE, "coordinates of lift"
        )
        lengths = geometry.norm(vectors, point)
        require_close(lengths, np.linalg.norm(case.coords, axis=1), _TOLERANCE, "norm of lift")
        tangent = geometry.to_tangent(vectors, point)
        require_close(tangent, vectors, _TOLERANCE * np.abs(vectors).max(), "tangent part of lift")


def check_exp_and_log(case):
    """The logarithm undoes the exponential, whose points are on the manifold."""
    geometry = case.geometry
    for point in case.points:
        for coords in case.coords:
            vector = geometry.lift(coords, point)
            end = geometry.exp(vector, point)
            geometry.check_point(end)
            back = geometry.coordinates(geometry.log(end, point), point)
            require_close(back, coords, 1e-7, "coordinates of log of exp")
            distance = np.linalg.norm(coords)
            require_close(geometry.dist(point, end), distance, 1e-7, "distance covered by exp")
            require_close(geometry.dist(end, point), distance, 1e-7, "distance the other way")


def check_transport(case):
    """Transport is an isometry, is undone on the way back, and carries velocity along."""
    geometry = case.geometry
    for point, end in zip(case.points, case.points[::-1]):
        vectors = np.stack([geometry.lift(c, point) for c in case.coords])
        moved = geometry.transport(vectors, point, end)
        back = geometry.coordinates(geometry.transport(moved, end, point), point)
        require_close(back, case.coords, 1e-8, "transport there and back")
        gram = geometry.coordinates(moved, end)
        expected = case.coords @ case.coords.T
        require_close(gram @ gram.T, expected, 1e-8, "inner products after transport")
        velocity = geometry.transport(geometry.log(end, point), point, end)
        arriving = geometry.coordinates(-geometry.log(point, end), end)
        require_close(geometry.coordinates(velocity, end), arriving, 1e-7, "velocity on arrival")


def check_retraction(case):
    """The retraction agrees with the exponential to second order, and has its inverse."""
    geometry = case.geometry
    for point in case.points[:3]:
        gaps = []
        for step in (1e-2, 5e-3):
            vector = geometry.lift(step * case.coords[-1] / case.radius, point)
            retracted = geometry.retract(vector, point)
            gaps.append(np.abs(retracted - geometry.exp(vector, point)).max())
            undone = geometry.coordinates(geometry.inverse_retract(retracted, point), point)
            expected = geometry.coordinates(vector, point)
            require_close(undone, expected, 1e-8, "inverse of the retraction")
        # A third of the step cubed bounds the gap of the projection on the unit sphere.
        scale = max(1.0, float(np.abs(point).max()))
        require_at_most(gaps[1], 1e-6 * scale, "gap of the retraction at a step of 0.005")


def check_record(case):
    """The record is plain JSON and gives the same space."""
    record = space_to_spec(case.space)
    copy = space_from_spec(through_json(record))
    require_equal(space_to_spec(copy), record, "record of the space from its record")
    other = Geometry(copy, case.center, retraction=case.retraction)
    require_close(other.basis, case.geometry.basis, 1e-12, "frame of the space from its record")


def check_refusals(case):
    """Points of another shape, or not finite, are refused; retractions it lacks are."""
    geometry, point = case.geometry, case.points[0]
    for bad in (np.full_like(point, np.nan), np.full_like(point, np.inf), point[..., :-1]):
        require_refused(f"point {bad}", geometry.check_point, bad)
    unknown = case.space, case.center, None, "no such"
    require_refused("an unknown retraction", Geometry, *unknown)
    low, high = geometry.curvature
    require(low <= high, f"curvature: expected lower and upper bound; got {(low, high)}")
    inside = 2 * case.radius < geometry.injectivity_radius
    require(inside, f"radius: expected under half the injectivity radius; got {case.radius}")


_CHECKS = (
    check_frame,
    check_exp_and_log,
    check_transport,
    check_retraction,
    check_record,
    check_refusals,
)
