"""The server's side of the baselines: one-query updates, probes and centred regression sums.

As in `geomstats_ldp.server.recursion` every function is plain Python over the operations of
`geomstats_ldp.geometry.dispatch` and runs in both engines; messages are inputs, and no datum
reaches this file. The update itself is `close_single`, the ordinary update of that module.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.geometry.elementwise import assign
from geomstats_ldp.server.recursion import N_PARTICIPANTS, close_single
from geomstats_ldp.twins import jitable


class CentredSums(NamedTuple):
    """Sums over displacements w and transported messages z, first index the checkpoint.

    Few arrays, because compiled code pays for each one that a record carries into a function.

    Attributes
    ----------
    n_rows : array of int, shape [n_checkpoints]
    means : array, shape [n_checkpoints, 2, dim]
        Means of w and of z.
    products : array, shape [n_checkpoints, 3, dim, dim]
        Sums of w w^T, z w^T and z z^T, with w and z about their means.
    """

    n_rows: np.ndarray
    means: np.ndarray
    products: np.ndarray


class Checkpoints(NamedTuple):
    """What one run of the point recursion leaves behind at the planned sample sizes.

    Attributes
    ----------
    starts, stops : array of int, shape [n_checkpoints]
        The average after `starts` participants is the anchor of the regression, which takes the
        participants after that up to `stops`; the average after `stops` is the estimate. Equal
        numbers mean no regression along the path.
    anchors, estimates : array, shape [n_checkpoints, *point_shape]
    safeguards : array of int, shape [n_checkpoints, 3]
        Those of the state at the estimate.
    sums : CentredSums
    """

    starts: np.ndarray
    stops: np.ndarray
    anchors: np.ndarray
    estimates: np.ndarray
    safeguards: np.ndarray
    sums: CentredSums


def make_checkpoints(starts, stops, shape, dim):
    """Checkpoints of a run that has not begun."""
    n = len(stops)
    return Checkpoints(
        np.array(starts, dtype=np.int64),
        np.array(stops, dtype=np.int64),
        np.zeros((n, *shape)),
        np.zeros((n, *shape)),
        np.zeros((n, 3), dtype=np.int64),
        CentredSums(np.zeros(n, dtype=np.int64), np.zeros((n, 2, dim)), np.zeros((n, 3, dim, dim))),
    )


@jitable
def add_row(sums, checkpoint, displacement, score):
    """Add one displacement and score; sums stay centred, so nothing cancels later."""
    dim = displacement.shape[0]
    sums.n_rows[checkpoint] += 1
    share = 1.0 / sums.n_rows[checkpoint]
    means, products = sums.means[checkpoint], sums.products[checkpoint]
    for i in range(dim):
        w_i, z_i = displacement[i] - means[0, i], score[i] - means[1, i]
        for j in range(dim):
            w_j, z_j = displacement[j] - means[0, j], score[j] - means[1, j]
            products[0, i, j] += (1.0 - share) * w_i * w_j
            products[1, i, j] += (1.0 - share) * z_i * w_j
            products[2, i, j] += (1.0 - share) * z_i * z_j
    for i in range(dim):
        means[0, i] += share * (displacement[i] - means[0, i])
        means[1, i] += share * (score[i] - means[1, i])


@jitable
def displacement_into(geometry, query, anchor, vector, out):
    """Frame coordinates of Log_anchor(query), whatever the retraction; `vector` is scratch.

    Messages are transported along that very geodesic, so that the slope at zero displacement is
    the Riemannian Hessian at the anchor.
    """
    dispatch.log_coords(geometry, query, anchor, vector, out)


@jitable
def take_answer(crowd, state, checkpoints, message):
    """Take the answer of the next participant, who was asked at the iterate.

    Of `crowd` only what the server has a part in is read: geometry, region, schedule and scratch.
    """
    geometry, scratch = crowd.geometry, crowd.server
    before = state.clock[N_PARTICIPANTS]
    n_checkpoints = checkpoints.stops.shape[0]
    displacement, score = scratch.coords[0], scratch.coords[1]
    for c in range(n_checkpoints):
        if checkpoints.starts[c] == before:
            assign(state.average, checkpoints.anchors[c])
        if checkpoints.starts[c] <= before and before < checkpoints.stops[c]:
            anchor = checkpoints.anchors[c]
            displacement_into(geometry, state.iterate, anchor, scratch.vectors[0], displacement)
            dispatch.carry(geometry, message, state.iterate, anchor, scratch.vectors, score)
            add_row(checkpoints.sums, c, displacement, score)
    close_single(geometry, crowd.region, crowd.schedule, state, scratch, message)
    for c in range(n_checkpoints):
        if checkpoints.stops[c] == before + 1:
            assign(state.average, checkpoints.estimates[c])
            assign(state.safeguards, checkpoints.safeguards[c])


@jitable
def open_probes(geometry, anchor, probes, radius, scratch):
    """Write the queries of one cycle of `Probes` about an anchor, and their displacements.

    The radius is a tangent length.
    """
    offset = scratch.coords[0]
    for probe in range(probes.directions.shape[0]):
        query, displacement = probes.queries[probe], probes.displacements[probe]
        for i in range(offset.shape[0]):
            offset[i] = radius * probes.directions[probe, i]
        dispatch.retract_coords(geometry, offset, anchor, scratch.vectors[0], query)
        displacement_into(geometry, query, anchor, scratch.vectors[0], displacement)


def probe_directions(dim):
    """Cycle e_1, ..., e_d, -e_1, ..., -e_d of the probes, shape [2 * dim, dim]."""
    return np.concatenate([np.eye(dim), -np.eye(dim)])
