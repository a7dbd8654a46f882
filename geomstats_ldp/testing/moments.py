"""The claim of a loss that its scores are linear in a moment of the data."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.score_regression.moments import (
    MOMENTS,
    charted,
    design_matrices,
    symmetric_basis,
)
from geomstats_ldp.testing.cases import require, require_close


def check_moment(case):
    """Scores of each datum are those of one first or second moment, where the loss says so."""
    moment, geometry, dim = case.loss.moment, case.geometry, case.geometry.dim
    require(moment in MOMENTS, f"moment: expected one of {MOMENTS}; got {moment!r}")
    if moment is None:
        return
    on_sphere = geometry.shape == (dim + 1,)
    require(on_sphere, f"moment: expected None off the sphere; got {moment!r}")
    center = case.region.center
    points = case._points_around(center, np.linspace(0.1, 1.0, 2 * (dim + 3)) * case.radius)
    coords, maps, frames = charted(geometry, None, points, center)
    basis = symmetric_basis(dim, moment == "first")
    design = design_matrices(moment, geometry, points, center, coords, maps, frames, basis)
    scores = np.stack(
        [geometry.coordinates(case.score(point, case.clipped), point) for point in points]
    )
    rows, values = design.reshape(-1, design.shape[2]), np.einsum("qij,qnj->qin", maps, scores)
    values = values.reshape(len(rows), -1)
    fitted = rows @ np.linalg.lstsq(rows, values, rcond=None)[0]
    what = f"scores that are linear in a {moment} moment, moment"
    require_close(values, fitted, 1e-9 * max(1.0, case.score_bound), what)
