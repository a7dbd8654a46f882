"""Emulated participants of the baselines: the part of the package that sees data."""

from __future__ import annotations

import numpy as np

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.losses import loss_of
from geomstats_ldp.losses.rows import clip_data
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.participant import participant_scratch, respond_into
from geomstats_ldp.replication.baselines.recursion import (
    make_checkpoints,
    open_probes,
    probe_directions,
    take_answer,
    take_probe,
)
from geomstats_ldp.server.engine import make_engine
from geomstats_ldp.server.recursion import initial_state, make_scratch

#: Participants whose variates are drawn at once; results do not depend on it.
_BLOCK = 2**14


def answer_at_iterates(
    geometry,
    loss,
    mechanism,
    region,
    schedule,
    state,
    server,
    participant,
    checkpoints,
    data,
    variates,
    message,
):
    """Let each row of `data` answer one query at the iterate of its turn.

    Runs in both engines; `server`, `participant` and `message` are scratch.
    """
    for i in range(data.shape[0]):
        respond_into(
            geometry,
            loss,
            mechanism,
            state.iterate,
            data[i],
            variates[i],
            participant,
            message,
        )
        take_answer(geometry, region, schedule, state, server, checkpoints, message)


def answer_probes(
    geometry,
    loss,
    mechanism,
    directions,
    radius,
    first,
    server,
    participant,
    checkpoints,
    checkpoint,
    data,
    variates,
    message,
    queries,
    displacements,
):
    """Let each row of `data` answer one probe about the estimate of a checkpoint.

    Row 0 takes probe number `first`. Runs in both engines; what follows `variates` is scratch.
    """
    anchor, n_directions = checkpoints.estimates[checkpoint], directions.shape[0]
    open_probes(geometry, anchor, directions, radius, server, queries, displacements)
    for i in range(data.shape[0]):
        probe = (first + i) % n_directions
        query = queries[probe]
        respond_into(geometry, loss, mechanism, query, data[i], variates[i], participant, message)
        take_probe(
            geometry,
            anchor,
            query,
            displacements[probe],
            server,
            checkpoints.sums,
            checkpoint,
            message,
        )


_compiled_answer_at_iterates = cached_njit(answer_at_iterates, allocates=False)
_compiled_answer_probes = cached_njit(answer_probes, allocates=False)


class BaselineRun:
    """One stream of participants that answer in row order, at several checkpoints.

    Participants up to the last of `stops` answer at the iterate. Where a checkpoint has a probe
    radius, the participants after its stop answer probes about its estimate, as they would in a
    collection planned for that checkpoint alone.

    Parameters
    ----------
    protocol : Protocol
    gain : GainRule
    starts, stops : sequence of int
        See `Checkpoints`.
    totals : sequence of int
        Participants of each checkpoint in all, increasing.
    radii : sequence of float or None
        Probe radius of each checkpoint.
    engine : {"auto", "compiled", "geomstats"}
    """

    def __init__(self, protocol, gain, starts, stops, totals, radii, engine):
        geometry = protocol.geometry
        self._loss, self._protocol = loss_of(protocol), protocol
        self._totals, self._radii = totals, radii
        self._directions = probe_directions(geometry.dim)
        self._schedule = one_query_schedule(protocol, gain)
        self._state = initial_state(protocol.initial_point, geometry.dim, len(protocol.directions))
        self._scratch = (
            make_scratch(geometry.shape, geometry.dim, 1),
            participant_scratch(geometry),
        )
        self._message = np.empty(geometry.shape)
        self._probes = (
            np.empty((len(self._directions), *geometry.shape)),
            np.empty(self._directions.shape),
        )
        self.checkpoints = make_checkpoints(starts, stops, geometry.shape, geometry.dim)
        self._choose_engine(make_engine(engine, geometry))

    def _choose_engine(self, engine):
        loss, mechanism, self._twin = self._loss, self._protocol.mechanism, engine.twin
        if engine.name == "compiled" and loss.twin() is not None:
            self.engine = "compiled"
            self._walk, self._probe = _compiled_answer_at_iterates, _compiled_answer_probes
            self._parts = (engine.geometry, loss.twin(), mechanism.twin())
        else:
            self.engine = "geomstats"
            self._walk, self._probe = answer_at_iterates, answer_probes
            self._parts = (self._protocol.geometry, loss, mechanism)

    def emulate(self, data, random_state):
        """Let all participants answer.

        Parameters
        ----------
        data : array, shape [n, *data_shape]
            Checked, not clipped.
        random_state : None, int, SeedSequence, Generator, RandomState or Streams
            Participant i draws the i-th row of variates, whatever is asked.
        """
        streams = make_streams(random_state)
        for first in range(0, len(data), _BLOCK):
            rows = data[first : first + _BLOCK]
            rows = clip_data(self._loss, self._protocol.geometry, rows, self._twin)
            variates = self._protocol.mechanism.draw(len(rows), streams)
            self._answer(first, rows, variates)

    def _answer(self, first, rows, variates):
        """Answers of the participants from number `first`, counted from zero."""
        walking = max(0, int(self.checkpoints.stops[-1]) - first)
        self._walk(
            *self._parts,
            self._protocol.working_region,
            self._schedule,
            self._state,
            *self._scratch,
            self.checkpoints,
            rows[:walking],
            variates[:walking],
            self._message,
        )
        for checkpoint, radius in enumerate(self._radii):
            if radius is not None:
                self._answer_probes(checkpoint, radius, first, rows, variates)

    def _answer_probes(self, checkpoint, radius, first, rows, variates):
        estimated = int(self.checkpoints.stops[checkpoint])
        start = max(0, estimated - first)
        stop = min(len(rows), self._totals[checkpoint] - first)
        if start >= stop:
            return
        self._probe(
            *self._parts,
            self._directions,
            float(radius),
            first + start - estimated,
            *self._scratch,
            self.checkpoints,
            checkpoint,
            rows[start:stop],
            variates[start:stop],
            self._message,
            *self._probes,
        )


def one_query_schedule(protocol, gain):
    """Clock of the one-query recursion: that of the protocol with this gain and no offsets."""
    return protocol.schedule._replace(
        radius_maximum=0.0,
        gain_constant=gain.constant,
        gain_offset=gain.offset,
        gain_exponent=gain.exponent,
        step_cap=gain.step_cap,
    )
