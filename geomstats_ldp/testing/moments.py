"""The claims of a loss that scores are linear in a moment, and that one query tells the target."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.score_regression.moments import (
    MOMENTS,
    charted,
    design_matrices,
    hessian_basis,
)
from geomstats_ldp.testing.cases import require, require_close, require_result

#: Spaces of the moments, in words.
_SPACES = {
    "first": "the sphere",
    "second": "the sphere and the Grassmannian",
    "quadratic": "flat spaces",
    "covariance": "affine-invariant SPD matrices",
}


def check_moment(case):
    """Scores of each datum are those of one moment, and one query tells the target, as stated."""
    _check_single_query(case)
    moment, geometry = case.loss.moment(case.geometry), case.geometry
    require(moment in MOMENTS, f"moment: expected one of {MOMENTS}; got {moment!r}")
    if moment is None:
        return
    on_its_space = {
        "first": geometry.name == "Hypersphere",
        "second": geometry.name in ("Hypersphere", "Grassmannian"),
        "quadratic": geometry.is_flat,
        "covariance": geometry.name == "SPDAffineInvariant",
    }[moment]
    require(on_its_space, f"moment: expected None off {_SPACES[moment]}; got {moment!r}")
    n_points = 2 * (geometry.dim + 3)
    points = case._points_around(case.region.center, np.linspace(0.1, 1.0, n_points) * case.radius)
    scores = np.stack([case.score(point, case.clipped) for point in points])
    values, fitted = (_covariances if moment == "covariance" else _regressed)(case, points, scores)
    what = f"scores that are linear in a {moment} moment, moment"
    require_close(values, fitted, 1e-9 * max(1.0, case.score_bound), what)


def _covariances(case, points, scores):
    """What each query says of y y^T for every datum, and the same for the first query."""
    values = points[:, None] - 2 * scores
    return values, np.broadcast_to(values[:1], values.shape)


def _regressed(case, points, scores):
    """Scores carried to the centre, and their fit by the design of the moment."""
    geometry, moment = case.geometry, case.loss.moment(case.geometry)
    center = case.region.center
    coords, maps, frames = charted(geometry, None, points, center)
    basis = hessian_basis(geometry, moment)
    design = design_matrices(moment, geometry, points, center, coords, maps, frames, basis)
    scores = np.stack([geometry.coordinates(row, point) for row, point in zip(scores, points)])
    rows, values = design.reshape(-1, design.shape[2]), np.einsum("qij,qnj->qin", maps, scores)
    values = values.reshape(len(rows), -1)
    return values, rows @ np.linalg.lstsq(rows, values, rcond=None)[0]


def _check_single_query(case):
    """A single query is a point of the space, and what it tells there is the target."""
    loss, geometry = case.loss, case.geometry
    query = loss.single_query(geometry)
    if query is None:
        return
    require_result(lambda: geometry.check_point(query, "point"), "single_query")
    known = loss.target_hessian(geometry, case.region)
    is_determined = loss.moment(geometry) == "covariance" or (
        loss.moment(geometry) == "quadratic" and known is not None and 0 < known.low == known.high
    )
    require(
        is_determined,
        "single_query: expected None unless moment is 'covariance', or 'quadratic' with the "
        f"target_hessian known; got moment {loss.moment(geometry)!r} and {known}",
    )
