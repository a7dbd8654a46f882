"""The one way of a datum to its public bounds, on a device and in an emulation.

`Loss.check_data` and `Loss.clip` say what is done to a datum, and a device does just that. In an
emulation they would cost more than everything else a participant does. So many data of a loss of
the distance go through compiled loops, which leave those rows to `Loss` where rounding could
matter: close to the cut locus, or far out.
"""

from __future__ import annotations

import numpy as np

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import assign
from geomstats_ldp.losses.radial import RadialLoss
from geomstats_ldp.losses.returned import checked
from geomstats_ldp.validation import check_shape, finite_array

#: Distances this far below the injectivity radius, and no larger, are left to the closed forms.
_MARGIN, _FARTHEST = 1e-3, 30.0

#: Relative change of a row that need not come from a bound.
_ROUNDING = 1e-6


def check_data(loss, geometry, rows, twin=None):
    """Return rows, shape [n, *data_shape], as floats, or raise ValueError as `Loss.check_data`.

    A twin of the geometry lets compiled loops do it.
    """
    shape = loss.data_shape(geometry)
    check_shape("data", rows, ("n", *shape), ValueError)
    if twin is None or not _clips_to_ball(loss):
        return loss.check_data(geometry, rows)
    rows = finite_array("datum", rows, ("n", *shape), ValueError)
    sure = np.empty(len(rows), dtype=np.bool_)
    _compiled_settled_rows(twin, rows, np.empty(geometry.shape), sure)
    try:
        loss.check_data(geometry, rows[~sure])
    except ValueError:
        loss.check_data(geometry, rows)  # all of them, so that the error gives the index
        raise
    return rows


def clip_data(loss, geometry, rows, twin=None):
    """Clip checked rows to the public bounds as `Loss.clip` does; see `check_data`."""
    if twin is None or not _clips_to_ball(loss):
        clipped = checked(loss, "clip", loss.clip(geometry, rows), np.shape(rows))
        return np.ascontiguousarray(clipped)
    rows = np.ascontiguousarray(rows)  # rows column by column would be compiled for once more
    out, sure = np.empty(rows.shape), np.empty(len(rows), dtype=np.bool_)
    limit = min(geometry.injectivity_radius - _MARGIN, _FARTHEST)
    scratch = np.empty((2, *geometry.shape))
    center = np.array(loss.center)
    _compiled_clipped_rows(twin, center, loss.data_radius, limit, rows, scratch, out, sure)
    if not sure.all():
        out[~sure] = loss.clip(geometry, rows[~sure])
    return out


def moved_rows(loss, rows, clipped):
    """Which rows clipping moved, rounding apart, shape [n]."""
    if not loss.clips:
        return np.zeros(len(rows), dtype=bool)
    moved = size = np.zeros(len(rows))
    # Column by column: a reduction over short rows takes numpy ten times as long.
    for given, kept in zip(rows.reshape(len(rows), -1).T, clipped.reshape(len(rows), -1).T):
        moved, size = np.maximum(moved, np.abs(given - kept)), np.maximum(size, np.abs(given))
    return moved > _ROUNDING * size


def _clips_to_ball(loss):
    """Whether the data are points in a ball; a subclass may have ideas of its own."""
    if not isinstance(loss, RadialLoss):
        return False
    return all(
        getattr(type(loss), name) is getattr(RadialLoss, name) for name in ("clip", "check_data")
    )


def settled_rows(geometry, rows, point, sure):
    """Note which rows lie on the manifold for certain; `point` is scratch."""
    for i in range(rows.shape[0]):
        sure[i] = dispatch.settle(geometry, rows[i], point)


def clipped_rows(geometry, center, radius, limit, rows, scratch, out, sure):
    """Project rows to the ball, and note which were at a distance that leaves no doubt."""
    point, tangent = scratch[0], scratch[1]
    for i in range(rows.shape[0]):
        sure[i] = dispatch.settle(geometry, rows[i], out[i])
        if not sure[i]:
            continue
        distance = dispatch.dist(geometry, center, out[i])
        if distance <= radius:
            continue
        sure[i] = distance < limit
        if sure[i]:
            dispatch.interpolate(geometry, center, out[i], radius / distance, tangent, point)
            assign(point, out[i])


_compiled_settled_rows = cached_njit(settled_rows, allocates=False)
_compiled_clipped_rows = cached_njit(clipped_rows, allocates=False)
