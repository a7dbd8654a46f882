"""Searches: the query and the datum with the longest score, and the target of some data."""

from __future__ import annotations

import numpy as np

_STARTS = 2
_STEPS = 40
_PROPOSALS = 12

#: Gradient steps to a target, and the norm of its mean score relative to the bound.
_DESCENTS = 300
_STATIONARY = 1e-9


def largest_score(case):
    """Longest score that hill climbing finds, with its query and clipped datum."""
    rng = np.random.default_rng(case.seed)
    norms = np.stack([case.norms(point, case.clipped) for point in case.queries])
    norms = np.where(np.isfinite(norms), norms, np.inf)
    best = np.argsort(norms.max(axis=0))[-_STARTS:]
    return max(
        (_climb(case, case.clipped[index], rng) for index in best), key=lambda found: found[0]
    )


def _climb(case, datum, rng):
    dim = case.geometry.dim
    coords = rng.normal(size=dim)
    coords *= case.radius / np.linalg.norm(coords)
    norm, query = -np.inf, _query(case, coords)
    for _ in range(_STEPS):
        size = 10 ** rng.uniform(-3, 0)
        moved = coords + size * case.radius * rng.normal(size=dim)
        moved *= min(1.0, case.radius / np.linalg.norm(moved))
        data = np.stack([datum, *_perturbed(case, datum, size, rng)])
        for candidate in (coords, moved):
            point = _query(case, candidate)
            norms = case.norms(point, data)
            if norms.max() > norm:
                norm, best = norms.max(), np.argmax(norms)
                coords, query, datum = candidate, point, data[best]
    return float(norm), query, datum


def _query(case, coords):
    center = case.region.center
    return case.geometry.exp(case.geometry.lift(coords, center), center)


def _perturbed(case, datum, size, rng):
    """Clipped data near a clipped one."""
    geometry = case.geometry
    if case.data_are_points:
        coords = size * rng.normal(size=(_PROPOSALS, geometry.dim))
        near = np.stack([geometry.exp(geometry.lift(c, datum), datum) for c in coords])
    else:
        spread = size * np.linalg.norm(datum)
        near = datum + spread * rng.normal(size=(_PROPOSALS, *datum.shape))
    try:
        return case.loss.clip(geometry, case.loss.check_data(geometry, near))
    except ValueError:
        return near[:0]  # a refused datum is no counterexample


def find_target(case, data):
    """Where the mean score of clipped data vanishes, or None if descent leaves the region."""
    geometry, point = case.geometry, case.region.center
    for _ in range(_DESCENTS):
        score = case.score(point, data).mean(axis=0)
        if geometry.norm(score, point) <= _STATIONARY * case.score_bound:
            return point
        point = geometry.exp(-score / case.hessian_bound, point)
        if not geometry.dist(case.region.center, point) <= case.radius:
            return None
    return None
