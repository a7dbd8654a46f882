"""Files that somebody changed."""

import io

import numpy as np
import pytest

from geomstats_ldp.protocol import Message
from geomstats_ldp.server import Server


def _changed(content, **changes):
    """Bytes of a ``.npz`` file with other arrays; a callable changes one, None leaves it out."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    for name, change in changes.items():
        arrays[name] = change(arrays[name].copy()) if callable(change) else change
    out = io.BytesIO()
    np.savez_compressed(out, **{name: value for name, value in arrays.items() if value is not None})
    return out.getvalue()


def _answers(server, n, seed=0):
    """Messages to the first `n` open queries, drawn by the mechanism for a zero score."""
    protocol, rng = server.protocol, np.random.default_rng(seed)
    queries = server.queries()[:n]
    coords = protocol.mechanism.randomise(np.zeros((len(queries), protocol.dim)), rng)
    vectors = [protocol.geometry.lift(c, q.point) for c, q in zip(coords, queries)]
    return [Message(q.fingerprint, q.round, q.index, v) for q, v in zip(queries, vectors)]


@pytest.fixture
def changed():
    return _changed


@pytest.fixture
def answers():
    return _answers


@pytest.fixture(scope="session")
def saved(pca_protocol, tmp_path_factory):
    """Bytes of a server with 61 pairs, in the middle of a round of three."""
    server = Server(pca_protocol(pairs_per_round=3, n_participants=1000))
    for seed in range(21):
        server.receive(_answers(server, 6, seed))
    server.receive(_answers(server, 2, 99))
    path = tmp_path_factory.mktemp("saved") / "state.npz"
    server.save(path)
    return path.read_bytes()
