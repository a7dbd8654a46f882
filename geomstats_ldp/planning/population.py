"""A pilot taken for the population: its target, and what clipping did to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses import loss_of
from geomstats_ldp.losses.rows import check_data, clip_data
from geomstats_ldp.planning.oracle import population_hessian

#: Newton steps, and the size of the last one, relative to the radius of the working region.
_MOST_STEPS, _LAST_STEP = 100, 1e-6

#: Longest step relative to the radius of the region, and halvings of a step that leads uphill.
_LONGEST_STEP, _N_HALVINGS = 0.5, 30


class Law(NamedTuple):
    """Data, shape [n, *data_shape], that are equally likely."""

    support: np.ndarray
    probabilities: np.ndarray


@dataclass(frozen=True, eq=False)
class Population:
    """A law of the data, and the minimiser of the mean loss of clipped data.

    Attributes
    ----------
    geometry : Geometry
    loss : Loss
    law : Law
        Of clipped data.
    target : array, shape [*point_shape]
    clipped_share : float
        Share of the pilot outside the public bounds.
    shift : float
        Distance by which clipping moves the target, to first order; infinite where the score of
        data outside the bounds has no value.
    """

    geometry: Any
    loss: Any
    law: Law
    target: np.ndarray
    clipped_share: float
    shift: float


def population_of(protocol, rows):
    """Take rows in the coordinates of a protocol for the population.

    Raises
    ------
    ProtocolError
        If the mean loss has no minimum in the working region.
    """
    geometry, loss = protocol.geometry, loss_of(protocol)
    given = check_data(loss, geometry, rows)
    kept = clip_data(loss, geometry, given)
    law = Law(kept, np.full(len(kept), 1.0 / len(kept)))
    unfinished = Population(geometry, loss, law, protocol.initial_point, 0.0, 0.0)
    target = minimiser(unfinished, protocol.working_region.radius)
    if not np.all(protocol.working_region.contains(geometry, target)):
        raise ProtocolError(
            "pilot must have its target within region_radius of initial_point; it lies outside"
        )
    population = replace(unfinished, target=target)
    axes = tuple(range(1, kept.ndim))
    moved = np.any(~np.isclose(given, kept, rtol=1e-9, atol=0.0), axis=axes) if loss.clips else None
    if moved is None or not moved.any():
        return population
    change = loss.clipping_change(geometry, target, given[moved], kept[moved]) / len(kept)
    with np.errstate(invalid="ignore"):
        shift = float(np.linalg.norm(np.linalg.inv(population_hessian(population)) @ change))
    shift = shift if np.isfinite(shift) else np.inf
    return replace(population, clipped_share=float(np.mean(moved)), shift=shift)


def minimiser(analysis, radius):
    """Minimiser of a mean loss, by Newton's method, downhill; a local one, if one is in reach.

    `analysis` has `geometry`, `loss`, `law` and, to start from, `target`; see `planning.oracle`.
    The `radius` is the size of the region: no step is longer than half of it.
    """
    point = np.array(analysis.target)
    for _ in range(_MOST_STEPS):
        step = _newton_step(replace(analysis, target=point))
        length = float(np.linalg.norm(step))
        step *= min(1.0, _LONGEST_STEP * radius / max(length, 1e-300))
        moved = _downhill(analysis, point, step)
        if moved is None or length < _LAST_STEP * radius:
            break
        point = moved
    return point


def _newton_step(population):
    """Step against the gradient over the sizes of the Hessian's eigenvalues, in coordinates."""
    geometry, point = population.geometry, population.target
    scores = population.loss.score(geometry, point, population.law.support)
    gradient = population.law.probabilities @ geometry.coordinates(scores, point)
    hessian = population_hessian(population)
    values, vectors = np.linalg.eigh((hessian + hessian.T) / 2)
    sizes = np.maximum(np.abs(values), 1e-6 * np.max(np.abs(values)) or 1.0)
    return -vectors @ ((vectors.T @ gradient) / sizes)


def _downhill(population, point, step):
    """First point along a step, halved as often as it takes, with a smaller mean loss; or None."""
    geometry, loss, law = population.geometry, population.loss, population.law
    before = law.probabilities @ loss.value(geometry, point, law.support)
    for _ in range(_N_HALVINGS):
        moved = geometry.exp(geometry.lift(step, point), point)
        if law.probabilities @ loss.value(geometry, moved, law.support) < before:
            return moved
        step = step / 2
    return None
