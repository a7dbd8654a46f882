"""Emulated participants of the baselines: the part of the package that sees data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.emulation import Crowd
from geomstats_ldp.geometry import dispatch
from geomstats_ldp.losses import loss_of
from geomstats_ldp.losses.rows import clip_data
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.participant import participant_scratch, respond_into
from geomstats_ldp.replication.baselines.recursion import (
    add_row,
    make_checkpoints,
    open_probes,
    probe_directions,
    take_answer,
)
from geomstats_ldp.server.engine import make_engine
from geomstats_ldp.server.recursion import initial_state, make_scratch

#: Participants whose variates are drawn at once; results do not depend on it.
_BLOCK = 2**14


class Probes(NamedTuple):
    """Probes about the estimate of a checkpoint, and buffers for one cycle of them.

    Attributes
    ----------
    directions : array, shape [n_directions, dim]
    queries : array, shape [n_directions, *point_shape]
    displacements : array, shape [n_directions, dim]
    """

    directions: np.ndarray
    queries: np.ndarray
    displacements: np.ndarray


def answer_at_iterates(crowd, state, checkpoints, data, variates):
    """Let each row of `data` answer one query at the iterate of its turn; runs in both engines."""
    message = crowd.answers[0]
    for i in range(data.shape[0]):
        respond_into(
            crowd.geometry,
            crowd.loss,
            crowd.mechanism,
            state.iterate,
            data[i],
            variates[i],
            crowd.participant,
            message,
        )
        take_answer(crowd, state, checkpoints, message)


def answer_probes(crowd, probes, radius, first, checkpoints, checkpoint, data, variates):
    """Let each row of `data` answer one probe about the estimate of a checkpoint.

    Row 0 takes probe number `first`. Runs in both engines.
    """
    geometry, scratch, message = crowd.geometry, crowd.server, crowd.answers[0]
    anchor = checkpoints.estimates[checkpoint]
    open_probes(geometry, anchor, probes, radius, scratch)
    for i in range(data.shape[0]):
        probe = (first + i) % probes.directions.shape[0]
        query = probes.queries[probe]
        respond_into(
            geometry,
            crowd.loss,
            crowd.mechanism,
            query,
            data[i],
            variates[i],
            crowd.participant,
            message,
        )
        score = scratch.coords[1]
        dispatch.carry(geometry, message, query, anchor, scratch.vectors, score)
        add_row(checkpoints.sums, checkpoint, probes.displacements[probe], score)


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
        self._state = initial_state(protocol.initial_point, geometry.dim, len(protocol.directions))
        directions = probe_directions(geometry.dim)
        queries = np.empty((len(directions), *geometry.shape))
        self._probes = Probes(directions, queries, np.empty(directions.shape))
        self.checkpoints = make_checkpoints(starts, stops, geometry.shape, geometry.dim)
        parts = self._choose_engine(make_engine(engine, geometry))
        self._crowd = Crowd(
            *parts,
            protocol.working_region,
            one_query_schedule(protocol, gain),
            make_scratch(geometry.shape, geometry.dim, 1),
            participant_scratch(geometry),
            np.empty((1, *geometry.shape)),
        )

    def _choose_engine(self, engine):
        """Choose the functions that run, and return geometry, loss and mechanism for them."""
        loss, mechanism, self._twin = self._loss, self._protocol.mechanism, engine.twin
        if engine.name == "compiled" and loss.twin() is not None:
            self.engine = "compiled"
            self._walk, self._probe = _compiled_answer_at_iterates, _compiled_answer_probes
            return engine.geometry, loss.twin(), mechanism.twin()
        self.engine = "geomstats"
        self._walk, self._probe = answer_at_iterates, answer_probes
        return self._protocol.geometry, loss, mechanism

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
        self._walk(self._crowd, self._state, self.checkpoints, rows[:walking], variates[:walking])
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
            self._crowd,
            self._probes,
            float(radius),
            first + start - estimated,
            self.checkpoints,
            checkpoint,
            rows[start:stop],
            variates[start:stop],
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
