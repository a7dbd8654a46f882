"""What a law would give to somebody who knew its population Hessian and score covariance.

A law comes as an object with `geometry`, `loss`, `target`, and `law`, whose `support` holds data of
the given `probabilities`: a design of the study, a problem, or `Population`.
"""

from __future__ import annotations

import numpy as np

from geomstats_ldp.inference.calibration import ONE_LOOK

#: Step of the central differences; their error is of order 1e-8.
_STEP = 1e-4


def population_hessian(design):
    """Hessian of the mean loss at the target, in the public frame, shape [dim, dim]."""
    geometry, target = design.geometry, design.target
    columns = []
    for step in _STEP * np.eye(geometry.dim):
        sides = []
        for coords in (step, -step):
            point = geometry.exp(geometry.lift(coords, target), target)
            score = np.tensordot(design.law.probabilities, _scores(design, point), axes=1)
            sides.append(geometry.coordinates(geometry.transport(score, point, target), target))
        columns.append((sides[0] - sides[1]) / (2 * _STEP))
    return np.stack(columns, axis=-1)


def population_covariance(design, mechanism):
    """Covariance of one released score at the target, shape [dim, dim]."""
    geometry = design.geometry
    coords = geometry.coordinates(_scores(design, design.target), design.target)
    total = np.zeros((geometry.dim, geometry.dim))
    for probability, score in zip(design.law.probabilities, coords):
        total += probability * (np.outer(score, score) + mechanism.noise_covariance(score))
    return total


def oracle_covariance(design, mechanism):
    """Covariance of the estimate times the number of participants, shape [dim, dim]."""
    inverse = np.linalg.inv(population_hessian(design))
    return inverse @ population_covariance(design, mechanism) @ inverse.T


def oracle_semi_axes(design, mechanism, n_participants, level=0.95):
    """Semi-axes of the region with the population matrices, longest first, shape [dim]."""
    covariance = oracle_covariance(design, mechanism) / n_participants
    threshold = ONE_LOOK.quantile(level, len(covariance))
    return np.sqrt(threshold * np.linalg.eigvalsh(covariance)[::-1])


def _scores(design, point):
    data = design.loss.clip(design.geometry, design.law.support)
    return design.loss.score(design.geometry, point, data)
