"""What every loss promises: a score that is a gradient, public bounds that hold, safe clipping."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from geomstats_ldp.geometry import GeodesicBall, Geometry, geodesic_ball
from geomstats_ldp.losses import loss_from_spec, score_into
from geomstats_ldp.losses.radial import RadialLoss
from geomstats_ldp.losses.scoring import frame_scores
from geomstats_ldp.testing.cases import (
    Case,
    ConformanceError,
    equal_copies,
    require,
    require_at_most,
    require_close,
    require_equal,
    require_refused,
    require_result,
    require_same_arrays,
    through_json,
)
from geomstats_ldp.testing.derivatives import central_difference, derivatives_along_frame
from geomstats_ldp.testing.hessians import (
    check_curvature,
    check_hessian_bound,
    check_target_hessian,
)
from geomstats_ldp.testing.moments import check_moment
from geomstats_ldp.testing.search import largest_score

#: Room for rounding in a bound.
_ROUNDING = 1e-10


@dataclass(eq=False)
class LossCase(Case):
    """A loss, the region it is examined on, and raw data.

    Parameters
    ----------
    loss : Loss
        Of a registered class.
    space : geomstats manifold
    center : array-like, shape [*point_shape]
        Centre of the region of queries.
    radius : float, default=0.4
        Geodesic radius of that region.
    data : array-like, shape [n, *data_shape], optional
        Raw data. By default vectors of lengths 1e-3 to 1e3, and points around the centre where
        data are points of the space; what `Loss.check_data` refuses is left out.
    seed : int, default=0
        Of the random queries and data.
    """

    loss: Any
    space: Any
    center: Any
    radius: float = 0.4
    data: Any = None
    seed: int = 0

    def __str__(self):
        return f"{self.loss.name} on {self.geometry.name} {self.geometry.shape}"

    def checks(self) -> list[Callable]:
        """Checks of a loss; those of a transform and of a twin where there is one."""
        has_twin = self.loss.twin() is not None and self.geometry.twin() is not None
        transform = [check_transform] if isinstance(self.loss, RadialLoss) else []
        return [*_CHECKS, *transform, *[check_twin] * has_twin]

    # ---------------------------------------------------------------- what is examined

    @cached_property
    def geometry(self) -> Geometry:
        """Geometry with its frame at the centre."""
        return Geometry(self.space, self.center)

    @cached_property
    def region(self) -> GeodesicBall:
        """Region of the queries."""
        return geodesic_ball(self.geometry.reference, self.radius)

    @cached_property
    def score_bound(self) -> float:
        """The bound G that the loss states."""
        return float(self.loss.score_bound(self.geometry, self.region))

    @cached_property
    def hessian_bound(self) -> float:
        """The bound L_H that the loss states."""
        return float(self.loss.hessian_bound(self.geometry, self.region))

    @cached_property
    def queries(self) -> np.ndarray:
        """The centre, a point inside and points at the edge, shape [5, *point_shape]."""
        return self._points_around(self.region.center, self.radius * np.array([0, 0.5, 1, 1, 1]))

    @cached_property
    def raw(self) -> np.ndarray:
        """Raw data, shape [n, *data_shape]."""
        if self.data is not None:
            return self.loss.check_data(self.geometry, self.data)
        shape = self.loss.data_shape(self.geometry)
        vectors = np.random.default_rng(self.seed).normal(size=(24, *shape))
        lengths = np.linalg.norm(vectors.reshape(24, -1), axis=1) / np.geomspace(1e-3, 1e3, 24)
        rows = list(vectors / lengths.reshape(-1, *[1] * len(shape)))
        if tuple(shape) == self.geometry.shape:
            reach = min(4 * self.radius, 0.9 * self.geometry.injectivity_radius)
            rows += list(self._points_around(self.region.center, np.linspace(0, reach, 24)))
        kept = [row for row in rows if self._accepts(row)]
        require(kept, f"check_data: expected some of {len(rows)} rows to pass; pass data= instead")
        return np.stack(kept)

    @cached_property
    def clipped(self) -> np.ndarray:
        """The raw data inside the public bounds."""
        return self.loss.clip(self.geometry, self.raw.copy())

    @cached_property
    def data_are_points(self) -> bool:
        """Whether data lie on the manifold."""
        geometry = self.geometry
        return self.raw.shape[1:] == geometry.shape and all(
            geometry.is_on(y, 1e-6) for y in self.raw
        )

    def _accepts(self, row):
        """Whether the loss takes this row for a datum."""
        try:
            self.loss.clip(self.geometry, self.loss.check_data(self.geometry, row))
        except ValueError:
            return False
        return True

    def _points_around(self, center, lengths):
        """Points in random directions at the given distances from a centre."""
        coords = np.random.default_rng(self.seed).normal(size=(len(lengths), self.geometry.dim))
        coords *= (np.asarray(lengths) / np.linalg.norm(coords, axis=1))[:, None]
        return np.stack([self.geometry.exp(self.geometry.lift(c, center), center) for c in coords])

    def score(self, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Scores of clipped data.

        Parameters
        ----------
        point : array, shape [*point_shape]
        data : array, shape [n, *data_shape]

        Returns
        -------
        score : array, shape [n, *point_shape]
        """
        return np.asarray(self.loss.score(self.geometry, point, data), dtype=float)

    def norms(self, point: np.ndarray, data: np.ndarray) -> np.ndarray:
        """Riemannian norms of the scores of clipped data; see `score`."""
        return self.geometry.norm(self.score(point, data), point)


def check_space_is_accepted(case):
    """`check_space` takes the space of the case."""
    require_result(lambda: case.loss.check_space(case.geometry), f"check_space of {case}")


def check_bounds_are_public_numbers(case):
    """Both bounds are positive and finite, and a smaller region has no larger ones."""
    half = case.region._replace(radius=case.radius / 2)
    for name in ("score_bound", "hessian_bound"):
        whole = getattr(case, name)
        require(0 < whole < np.inf, f"{name}: expected a positive finite number; got {whole}")
        inner = getattr(case.loss, name)(case.geometry, half)
        require_at_most(inner, whole * (1 + _ROUNDING), f"{name} of the region of half the radius")


def check_score_is_the_gradient(case):
    """The score is the derivative of the value along geodesics, to 1e-6."""
    geometry, loss = case.geometry, case.loss
    for point in case.queries:
        value = np.asarray(loss.value(geometry, point, case.clipped))
        require_equal(value.shape, case.clipped.shape[:1], "shape of value")
        expected = derivatives_along_frame(
            geometry, point, lambda end: loss.value(geometry, end, case.clipped)
        )
        actual = geometry.coordinates(case.score(point, case.clipped), point)
        tolerance = 1e-6 * max(1.0, case.score_bound)
        require_close(actual, expected, tolerance, "score against the derivative of value")


def check_score_is_tangent(case):
    """The score lies in the tangent space of the query."""
    for point in case.queries:
        score = case.score(point, case.clipped)
        tangent = case.geometry.to_tangent(score, point)
        tolerance = 1e-10 * max(1.0, np.abs(score).max())
        require_close(score, tangent, tolerance, "score against its tangent part")


def check_score_is_vectorised(case):
    """The score of a datum is a row of the score of many; no data, no scores."""
    point, out = case.queries[2], np.empty(case.geometry.shape)
    scores = case.score(point, case.clipped)
    for datum, score in zip(case.clipped, scores):
        score_into(case.loss, case.geometry, point, datum, out)
        tolerance = 1e-12 * max(1.0, case.score_bound)
        require_close(out, score, tolerance, "score of one datum against its row")
    empty = case.score(point, case.clipped[:0])
    require_equal(empty.shape, (0, *case.geometry.shape), "shape of the score of no data")


def check_score_bound(case):
    """No score is longer than the bound: random data, and a search for the worst."""
    limit = case.score_bound * (1 + _ROUNDING)
    for point in case.queries:
        require_at_most(case.norms(point, case.clipped), limit, "norm of the score")
    worst, point, datum = largest_score(case)
    require(
        worst <= limit,
        f"norm of the score: expected at most score_bound = {case.score_bound:.10g}; "
        f"got {worst:.10g} at the query {point.tolist()} for the datum {datum.tolist()}",
    )


def check_score_bound_on_adversarial_data(case):
    """Zero, tiny and huge data are refused with ValueError, or clipped so that the bound holds."""
    geometry, loss = case.geometry, case.loss
    for name, datum in _adversarial(case):
        with np.errstate(all="ignore"):
            try:
                clipped = loss.clip(geometry, loss.check_data(geometry, datum))
            except ValueError:
                continue
            except ArithmeticError as error:
                raise ConformanceError(
                    f"a {name} datum: expected ValueError, or a clipped datum; got {error!r}"
                ) from error
            norms = np.array([case.norms(point, clipped) for point in case.queries])
        limit = case.score_bound * (1 + _ROUNDING)
        require_at_most(norms, limit, f"norm of the score of a {name} datum")


def _adversarial(case):
    shape = case.loss.data_shape(case.geometry)
    yield "zero", np.zeros(shape)
    for datum in (case.raw[-1], np.ones(shape), -np.ones(shape)):
        for size in (1e-300, 1e100, 1e200, 1e300):
            yield f"{size:g} times larger", size * datum
    for sign in (1.0, -1.0):
        yield "negated", sign * case.raw[-1]
        if tuple(shape) == case.geometry.shape:
            yield "central or antipodal", sign * case.region.center


def check_clip(case):
    """Clipping is idempotent, acts row by row, and leaves its argument alone."""
    geometry, loss = case.geometry, case.loss
    before = case.raw.copy()
    clipped = np.asarray(loss.clip(geometry, case.raw))
    require_same_arrays(case.raw, before, "data after clip, which must not change them")
    require_equal(clipped.shape, before.shape, "shape of clipped data")
    require(np.isfinite(clipped).all(), f"clip: expected finite data; got {clipped}")
    scale = 1e-10 * np.maximum(1.0, np.abs(clipped))
    require_close(loss.clip(geometry, clipped), clipped, scale, "clipping clipped data")
    alone = np.stack([loss.clip(geometry, row) for row in before])
    require_close(alone, clipped, scale, "clipping one row against clipping all")


def check_record(case):
    """The record is plain JSON; it and a pickle give an equal loss with the same numbers."""
    loss, point = case.loss, case.queries[1]
    copies = equal_copies(
        "loss",
        loss,
        record=lambda: loss_from_spec(through_json(loss.to_spec())),
        pickle=lambda: pickle.loads(pickle.dumps(loss)),
    )
    for source, copy in copies:
        score = copy.score(case.geometry, point, copy.clip(case.geometry, case.raw))
        require_same_arrays(score, case.score(point, case.clipped), f"score from its {source}")
    require(type(loss).__name__ in repr(loss), f"repr: expected the class; got {loss!r}")


def check_refusals(case):
    """Data that are not finite, or of another shape, are refused with ValueError."""
    good, check = case.raw[:3], case.loss.check_data
    for value in (np.nan, np.inf, -np.inf):
        bad = good.copy()
        bad[1].flat[0] = value
        require_refused(f"datum {value}", check, case.geometry, bad)
    for bad in (good[..., :-1], np.float64(1.0)):
        require_refused(f"datum of {bad.shape}", check, case.geometry, bad)
    require_same_arrays(check(case.geometry, good), good, "data that are good")


def check_transform(case):
    """The derivatives of psi that a loss of the distance states are those of psi, to 1e-6.

    The score shows the first of them only, and the second decides whether the bounds hold.
    """
    loss = case.loss
    largest = loss.largest_distance(case.geometry, case.region)
    half_squares = np.linspace(0.05, 1.0, 20) ** 2 * largest**2 / 2
    _require_derivative(loss.psi, loss.psi_prime, half_squares, "psi_prime")
    _require_derivative(loss.psi_prime, loss.psi_second, half_squares, "psi_second")


def _require_derivative(function, derivative, places, what):
    value, actual = (np.broadcast_to(f(places), places.shape) for f in (function, derivative))
    # Steps in proportion to the place, so that none leaves the positive numbers.
    expected = central_difference(lambda step: function(places * (1 + step))) / places
    tolerance = 1e-6 * (np.abs(value) / places + np.abs(expected))
    require_close(actual, expected, tolerance, f"{what} against finite differences")


def check_twin(case):
    """The compiled scores equal the interpreted ones to 1e-12."""
    tolerance = 1e-12 * max(1.0, case.score_bound)
    indices, twin = np.zeros(len(case.clipped), dtype=np.int64), case.geometry.twin()
    for point in case.queries:
        asked = case.loss, case.geometry, point[None], indices, case.clipped
        expected = case.geometry.coordinates(case.score(point, case.clipped), point)
        scores = frame_scores(*asked, twin)
        require_close(scores, expected, tolerance, "compiled score against the interpreted one")


_CHECKS = (
    check_space_is_accepted,
    check_bounds_are_public_numbers,
    check_score_is_the_gradient,
    check_score_is_tangent,
    check_score_is_vectorised,
    check_score_bound,
    check_score_bound_on_adversarial_data,
    check_clip,
    check_hessian_bound,
    check_target_hessian,
    check_curvature,
    check_moment,
    check_record,
    check_refusals,
)
