"""All participants of a data set, emulated in one process, one row a participant."""

from __future__ import annotations

import numpy as np
from tqdm.auto import tqdm

from geomstats_ldp.compilation import cached_njit
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses import loss_from_spec
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.participant import participant_scratch, respond_into
from geomstats_ldp.server.recursion import close_round, close_single, copy_state, open_round

#: Participants whose variates are drawn at once; results do not depend on it.
_BLOCK = 2**14


def emulate_rounds(
    geometry,
    loss,
    mechanism,
    region,
    schedule,
    state,
    server,
    participant,
    data,
    variates,
    messages,
):
    """Let a block of participants answer in row order.

    Rows past the last full round form a smaller round, and an odd last row one ordinary update.
    Runs in both engines; `server` and `participant` are their scratch.
    """
    answers = 2 * schedule.pairs_per_round
    start = 0
    while start < data.shape[0]:
        n_pairs = min(answers, data.shape[0] - start) // 2
        if n_pairs == 0:
            respond_into(
                geometry,
                loss,
                mechanism,
                state.iterate,
                data[start],
                variates[start],
                participant,
                messages[start],
            )
            close_single(geometry, region, schedule, state, server, messages[start])
            start += 1
            continue
        open_round(geometry, schedule, state, server, n_pairs)
        stop = start + 2 * n_pairs
        for i in range(start, stop):
            respond_into(
                geometry,
                loss,
                mechanism,
                server.queries[i - start],
                data[i],
                variates[i],
                participant,
                messages[i],
            )
        close_round(geometry, region, schedule, state, server, messages[start:stop], n_pairs)
        start = stop


_compiled_emulate_rounds = cached_njit(emulate_rounds)


def emulate(server, data, random_state=None, progress=False):
    """Feed a server the answers of one participant per row of `data`, in row order.

    A stream can be emulated in pieces, with the state of the server read in between: the pieces
    give the very state of one call, if they draw from one and the same `Streams`.

    Parameters
    ----------
    server : Server
        Changed in place.
    data : array, shape [n, *data_shape]
        Raw data; the rows are checked before the first message is made. They complete the planned
        number of participants, or stay within the plan and fill whole rounds; an open plan has
        whole rounds only.
    random_state : None, int, numpy Generator, RandomState or Streams
        As for `Participant`; the draws are those of one `Participant` that answers row by row.
        `make_streams` makes the streams of a run in pieces.
    progress : bool, default=False
        Show a progress bar.

    Raises
    ------
    ValueError
        If the data are not finite or have the wrong shape.
    ProtocolError
        If a round is open, or the rows do not fit the plan. The server is then what it was.
    """
    protocol = server.protocol
    loss = loss_from_spec(protocol.loss)
    data = loss.check_data(protocol.geometry, data)
    _check_plan(server, len(data))
    state = copy_state(server.state)
    run, parts = _engine_parts(server, loss, state)
    streams = make_streams(random_state)
    kept = []
    block = _BLOCK - _BLOCK % (2 * protocol.pairs_per_round) or 2 * protocol.pairs_per_round
    starts = range(0, len(data), block)
    for start in tqdm(starts, disable=not progress, unit="block", desc="participants"):
        rows = loss.clip(protocol.geometry, data[start : start + block])
        variates = protocol.randomiser.draw(len(rows), streams)
        messages = np.empty((len(rows), *protocol.geometry.shape))
        run(*parts, np.ascontiguousarray(rows), variates, messages)
        if server.keeps_messages:
            kept.append(messages)
    server.adopt(state, kept)


def _check_plan(server, n_rows):
    planned, received = server.protocol.n_participants, server.n_participants
    if server.pending:
        raise ProtocolError("an open round cannot be emulated; finish it with messages first")
    if planned is not None and received + n_rows == planned:
        return
    full = 2 * server.protocol.pairs_per_round
    if n_rows % full != 0 or (planned is not None and received + n_rows > planned):
        raise ProtocolError(
            f"data must complete the plan of n_participants={planned}, of which {received} have "
            f"answered, or stay within it and fill whole rounds of {full}; got {n_rows} rows"
        )


def _engine_parts(server, loss, state):
    protocol = server.protocol
    mechanism = protocol.randomiser
    scratch = (server.scratch, participant_scratch(protocol.geometry))
    run, geometry = emulate_rounds, protocol.geometry
    twins = loss.twin(), mechanism.twin()
    if server.engine.name == "compiled" and None not in twins:
        run, geometry = _compiled_emulate_rounds, server.engine.geometry
        loss, mechanism = twins
    return run, (
        geometry,
        loss,
        mechanism,
        protocol.working_region,
        protocol.schedule,
        state,
        *scratch,
    )
