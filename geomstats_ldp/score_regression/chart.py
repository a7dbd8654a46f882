"""Answers in the chart at a centre: the rows of the regression, and what they say."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.score_regression.moments import (
    charted,
    design_matrices,
    third_derivative_design,
    unsaturated,
)


class Chart:
    """Query points that were answered, in the chart at a centre.

    Parameters
    ----------
    protocol : Protocol
    answers : Answers
    center : array, shape [*point_shape]
    basis : array, shape [n_basis, dim, dim]
        Of the Hessians that the regression chooses among.
    fixed : array, shape [dim, dim]
        Part of the Hessian that is publicly known.
    twin : NamedTuple or None
        Twin of the geometry, for the compiled engine.

    Attributes
    ----------
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

    def __init__(self, protocol, answers, center, basis, fixed, twin):
        geometry, points = protocol.geometry, answers.points
        self.center, self.basis, self.fixed = center, basis, fixed
        coords, self.maps, self.frames = charted(geometry, twin, points, center)
        self.coords = unsaturated(protocol, answers, center, coords, twin)
        place = points, center, self.coords, self.maps, self.frames, basis
        self.design = design_matrices(protocol.rounds.moment, geometry, *place)
        self.bend = third_derivative_design(protocol, answers.rounds)
        self.means = np.einsum("nij,nj->ni", self.maps, answers.means) - self.coords @ fixed
        self.scatter = self.maps @ answers.scatter @ np.swapaxes(self.maps, 1, 2)
