"""The analyst's side: recursion, regression sums and the interactive server."""

from __future__ import annotations

import os
from typing import BinaryIO

from geomstats_ldp.protocol import Protocol
from geomstats_ldp.server.base import resumed
from geomstats_ldp.server.checkpoint import open_checkpoint
from geomstats_ldp.server.engine import ENGINES
from geomstats_ldp.server.recursion import State
from geomstats_ldp.server.regression import window
from geomstats_ldp.server.rounds import RoundServer
from geomstats_ldp.server.server import Server


def make_server(
    protocol: Protocol, engine: str = "auto", keep_messages: bool = False
) -> Server | RoundServer:
    """Server for the plan of a protocol, a `RoundServer` if it has rounds.

    Parameters
    ----------
    protocol : Protocol
    engine : {"auto", "compiled", "geomstats"}
    keep_messages : bool

    Returns
    -------
    server : Server or RoundServer
    """
    kind = Server if protocol.rounds is None else RoundServer
    return kind(protocol, engine, keep_messages)


def load_server(path: str | os.PathLike | BinaryIO) -> Server | RoundServer:
    """Resume a collection from the file that its server saved.

    Parameters
    ----------
    path : path-like or binary file

    Returns
    -------
    server : Server or RoundServer

    Raises
    ------
    MessageError
        If the file is not a saved server.
    """
    with open_checkpoint(path) as (file, protocol, engine):
        return resumed(make_server(protocol, engine), file)


__all__ = ["ENGINES", "RoundServer", "Server", "State", "load_server", "make_server", "window"]
