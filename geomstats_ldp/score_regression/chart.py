"""Answers in the chart at a centre: the rows of the regression, and what they say."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geomstats_ldp.score_regression.moments import (
    charted,
    design_matrices,
    third_derivative_design,
    unsaturated,
)


class Chart(NamedTuple):
    """Query points that were answered, in the chart at a centre.

    Attributes
    ----------
    center : array, shape [*point_shape]
    basis : array, shape [n_basis, dim, dim]
        Of the Hessians that the regression chooses among.
    fixed : array, shape [dim, dim]
        Part of the Hessian that is publicly known.
    coords, maps, frames
        From `charted`, with the coordinates `unsaturated`.
    design : array, shape [n, dim, dim + n_basis]
        From `design_matrices`.
    bend : array, shape [n, dim, n_bends]
        From `third_derivative_design`.
    means : array, shape [n, dim]
        Mean messages, less what the fixed part makes of the place.
    scatter : array, shape [n, dim, dim]
        Sums of squares of the messages about their means.
    """

    center: np.ndarray
    basis: np.ndarray
    fixed: np.ndarray
    coords: np.ndarray
    maps: np.ndarray
    frames: np.ndarray
    design: np.ndarray
    bend: np.ndarray
    means: np.ndarray
    scatter: np.ndarray


def chart_at(protocol, answers, center, basis, fixed, twin):
    """`Chart` of `Answers`; `twin` is that of the geometry for the compiled engine, or None."""
    geometry, moment, points = protocol.geometry, protocol.rounds.moment, answers.points
    coords, maps, frames = charted(geometry, twin, points, center)
    coords = unsaturated(protocol, answers, center, coords, twin)
    return Chart(
        center,
        basis,
        fixed,
        coords,
        maps,
        frames,
        design=design_matrices(moment, geometry, points, center, coords, maps, frames, basis),
        bend=third_derivative_design(protocol, answers.rounds),
        means=np.einsum("nij,nj->ni", maps, answers.means) - coords @ fixed,
        scatter=maps @ answers.scatter @ np.swapaxes(maps, 1, 2),
    )
