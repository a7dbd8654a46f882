"""The transcript of a run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from geomstats_ldp.archives import LARGEST_COUNT, ArraySpec, open_arrays
from geomstats_ldp.exceptions import MessageError
from geomstats_ldp.files import write_atomically
from geomstats_ldp.protocol.messages import LARGEST_ENTRY
from geomstats_ldp.protocol.protocol import Protocol
from geomstats_ldp.serialization import LONG_TEXT


@dataclass(frozen=True, eq=False)
class Transcript:
    """Public record of a run: the protocol and every message in order.

    Query points are not stored: they are functions of the protocol and the messages before them.

    Attributes
    ----------
    protocol : Protocol
    messages : array, shape [n, *point_shape], or [n, dim] of a collection in rounds
        In pairs, tangent vectors in the order of their queries. In rounds, frame coordinates at
        the query points, in the order in which they came.
    addresses : array of int, shape [n, 2], or None
        Round and index of the query that each message answers; None for pairs without groups.
    closings : array of int, shape [n_closed], or None
        How many messages had come when each round was closed; None for pairs.
    """

    protocol: Protocol
    messages: np.ndarray
    addresses: np.ndarray | None = None
    closings: np.ndarray | None = None

    def __len__(self):
        return len(self.messages)

    def save(self, path: str | os.PathLike | BinaryIO) -> None:
        """Write a ``.npz`` file, without pickle, that `load` reads back exactly.

        Parameters
        ----------
        path : path-like or binary file
        """
        arrays: dict[str, Any] = {
            "protocol": np.array(self.protocol.to_json()),
            "messages": self.messages,
        }
        for name in ("addresses", "closings"):
            if getattr(self, name) is not None:
                arrays[name] = getattr(self, name)
        write_atomically(path, lambda file: np.savez_compressed(file, **arrays))

    @classmethod
    def load(cls, path: str | os.PathLike | BinaryIO) -> Transcript:
        """Read a transcript that `save` wrote.

        Whether the rows can be messages shows when they are replayed, which knows the queries.

        Parameters
        ----------
        path : path-like or binary file

        Returns
        -------
        transcript : Transcript

        Raises
        ------
        MessageError
            If the file is not a transcript.
        """
        with open_arrays(path, "a transcript", MessageError) as file:
            protocol = Protocol.from_json(file.read_text("protocol", LONG_TEXT))
            arrays = file.read_arrays(_specs(protocol))
            messages, planned = arrays["messages"], protocol.n_participants
            if protocol.rounds is None and planned is not None and len(messages) > planned:
                raise ValueError(
                    f"{planned} participants are planned; got {len(messages)} messages"
                )
            return cls(protocol, **arrays)


def _specs(protocol):
    """What the arrays of a transcript have to be."""
    rounds, shape = protocol.rounds, protocol.geometry.shape
    shape = shape if rounds is None else (protocol.dim,)
    yield ArraySpec("messages", (None, *shape), low=-LARGEST_ENTRY, high=LARGEST_ENTRY)
    if rounds is not None or protocol.groups is not None:
        largest = LARGEST_COUNT if rounds is None else rounds.n_rounds
        largest = max(largest, protocol.n_query_points)
        yield ArraySpec("addresses", (None, 2), "i8", low=0, high=largest)
    if rounds is not None:
        yield ArraySpec("closings", (None,), "i8", low=1)
