"""Checks of what a loss states about its Hessian."""

from __future__ import annotations

from functools import partial

import numpy as np

from geomstats_ldp.losses.curvature import curvature, may_ask_for_curvature
from geomstats_ldp.testing.cases import (
    require,
    require_at_most,
    require_close,
)
from geomstats_ldp.testing.derivatives import derivatives_along_frame
from geomstats_ldp.testing.search import find_target


def check_hessian_bound(case):
    """No law of the data has a Hessian above the bound: one datum, and means of several."""
    scale = max(1.0, case.hessian_bound)
    for point in case.queries:
        hessians = _hessians(case, point, case.clipped)
        asymmetry = np.abs(hessians - np.swapaxes(hessians, 1, 2))
        require_at_most(asymmetry, 1e-5 * scale, "asymmetry of the Hessian")
        means = [hessians[start::3].mean(axis=0, keepdims=True) for start in range(3)]
        largest = np.linalg.eigvalsh(np.concatenate([hessians, *means]))[:, -1]
        limit = case.hessian_bound + 1e-5 * scale  # finite differences
        require_at_most(largest, limit, "largest eigenvalue of a Hessian, hessian_bound")


def check_target_hessian(case):
    """Where a mean of the data has its target in the region, what is known of the Hessian holds."""
    known = case.loss.target_hessian(case.geometry, case.region)
    if known is None:
        return
    require(
        0 <= known.low <= known.high < np.inf and 0 <= known.nearby_sd < np.inf,
        f"target_hessian: expected 0 <= low <= high and nearby_sd >= 0, all finite; got {known}",
    )
    room = 1e-5 * max(1.0, case.hessian_bound)  # finite differences
    _check_blocks(case, known, room)
    thirds, alone = (slice(start, None, 3) for start in range(3)), range(0, len(case.clipped), 5)
    for rows in (slice(None), *thirds, *(slice(i, i + 1) for i in alone)):
        data = case.clipped[rows]
        target = find_target(case, data)
        if target is None:
            continue
        hessian = _hessians(case, target, data).mean(axis=0)
        values = np.linalg.eigvalsh(hessian)
        require_at_most(values, known.high + room, "eigenvalue of a Hessian, target_hessian.high")
        require_at_most(known.low, values[0] + room, "target_hessian.low, eigenvalue of a Hessian")
        if known.is_isotropic:
            require_at_most(np.ptp(values), room, "spread of the eigenvalues, is_isotropic")
        for place, low, high in _places(known.blocks):
            values = np.linalg.eigvalsh(hessian[place, place])
            require_at_most(values, high + room, "eigenvalue of a block, high of target_hessian")
            require_at_most(low, values[0] + room, "low of target_hessian, eigenvalue of a block")


def _check_blocks(case, known, room):
    """Blocks are all there is of the Hessian of each datum, at any query."""
    if known.blocks is None:
        return
    sizes = [block[0] for block in known.blocks]
    require(
        sum(sizes) == case.geometry.dim,
        f"blocks of target_hessian: expected sizes that add up to the dimension; got {sizes}",
    )
    inside = np.zeros((case.geometry.dim,) * 2, dtype=bool)
    for place, _, _ in _places(known.blocks):
        inside[place, place] = True
    for point in case.queries:
        hessians = _hessians(case, point, case.clipped)
        require_at_most(np.abs(hessians[:, ~inside]), room, "Hessian outside of its blocks")
        for place, low, high in _places(known.blocks):
            if low == high:
                off = np.abs(hessians[:, place, place] - low * np.eye(place.stop - place.start))
                require_at_most(off, room, "block of one multiple of the identity against it")


def _places(blocks):
    """Slice of each block with its bounds."""
    start = 0
    for size, low, high in blocks or ():
        yield slice(start, start + size), low, high
        start += size


def check_curvature(case):
    """Differences of scores, which rounds may ask for, are no larger than the Hessian bound.

    By the mean value theorem they are the mean of the second derivative in between: a score that
    jumps somewhere, and so has no such bound, shows in differences and not in derivatives.
    """
    loss, geometry = case.loss, case.geometry
    if not may_ask_for_curvature(loss, geometry):
        return
    directions = np.random.default_rng(case.seed).normal(size=(3, geometry.dim))
    limit = case.hessian_bound * np.sum(directions**2, axis=1)
    for point in case.queries[:2]:
        for reach in case.radius * np.array([1e-3, 0.1]):
            asked = loss, geometry, point, directions, reach
            found = curvature(*asked, case.clipped)
            require(np.isfinite(found).all(), f"differences of scores must be finite; got {found}")
            over = (found - limit) / limit
            require_at_most(over, 1e-6, "difference of scores over hessian_bound, less one")
            alone = np.concatenate([curvature(*asked, y[None]) for y in case.clipped])
            require_close(alone, found, 1e-9 * limit.max(), "curvature of a datum against its row")


def _hessians(case, point, data):
    """Hessian of each clipped datum in frame coordinates, shape [n, dim, dim]."""
    scores = partial(_transported_scores, case, data, point)
    return derivatives_along_frame(case.geometry, point, scores)


def _transported_scores(case, data, point, end):
    """Frame coordinates at `point` of the scores at `end`."""
    geometry = case.geometry
    return geometry.coordinates(geometry.transport(case.score(end, data), end, point), point)
