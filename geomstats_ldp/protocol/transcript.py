"""The transcript of a run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from geomstats_ldp.archives import ArraySpec, open_arrays
from geomstats_ldp.exceptions import MessageError
from geomstats_ldp.files import write_atomically
from geomstats_ldp.protocol.messages import LARGEST_ENTRY
from geomstats_ldp.protocol.protocol import Protocol
from geomstats_ldp.serialization import LONG_TEXT


@dataclass(frozen=True, eq=False)
class Transcript:
    """Public record of a run: the protocol and every message in order.

    Queries are not stored: they are functions of the protocol and the messages before them.

    Attributes
    ----------
    protocol : Protocol
    messages : array, shape [n_participants, *point_shape]
    """

    protocol: Protocol
    messages: np.ndarray

    def __len__(self):
        return len(self.messages)

    def save(self, path: str | os.PathLike | BinaryIO) -> None:
        """Write a ``.npz`` file, without pickle, that `load` reads back exactly.

        Parameters
        ----------
        path : path-like or binary file
        """
        write_atomically(
            path,
            lambda file: np.savez_compressed(
                file, protocol=np.array(self.protocol.to_json()), messages=self.messages
            ),
        )

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
            shape, planned = protocol.geometry.shape, protocol.n_participants
            spec = ArraySpec("messages", (None, *shape), low=-LARGEST_ENTRY, high=LARGEST_ENTRY)
            messages = file.read_arrays([spec])["messages"]
            if planned is not None and len(messages) > planned:
                raise ValueError(
                    f"{planned} participants are planned; got {len(messages)} messages"
                )
            return cls(protocol, messages)
