"""Files that collections are saved to and go on from, without pickle."""

from __future__ import annotations

import secrets
from contextlib import contextmanager

import numpy as np

from geomstats_ldp.archives import ArraySpec, open_arrays
from geomstats_ldp.exceptions import MessageError, NewerStateError
from geomstats_ldp.files import write_atomically
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.serialization import LONG_TEXT

#: The version of a file: how often the collection was saved, and a number drawn at each time.
VERSION = ArraySpec("version", (2,), "i8", low=0)

#: Version of what was never saved.
UNSAVED = (0, 0)


def save_checkpoint(path, arrays, version):
    """Write a file, unless that would put back what somebody else has brought forward.

    Parameters
    ----------
    path : path-like
    arrays : dict of str to array
    version : tuple of int
        Version of the file that the collection was loaded from or saved to last.

    Returns
    -------
    version : tuple of int
        Version of the new file; NewerStateError if the file there has been saved as often, but is
        not the one of the old version.
    """
    new = (version[0] + 1, secrets.randbits(62))
    arrays = arrays | {"version": np.array(new)}

    def check():
        found = _version_of(path)
        if found[0] >= version[0] and found != version:
            raise NewerStateError(
                f"{path} holds a state that was saved {found[0]} times; this collection was last "
                f"in step with one that was saved {version[0]} times, and would undo what has "
                "come since. Load the file and go on from there, or save to another"
            )

    write_atomically(path, lambda file: np.savez_compressed(file, **arrays), check)
    return new


def _version_of(path):
    """Version of an existing file; what is missing, damaged or no checkpoint has none."""
    try:
        with open_arrays(path, "a saved server", MessageError) as file:
            return tuple(file.read_array(VERSION).tolist())
    except (FileNotFoundError, MessageError):
        return UNSAVED


@contextmanager
def open_checkpoint(source):
    """Open what `save_checkpoint` wrote: what is left of the file, the protocol and the engine.

    Errors of what is read from the file become MessageErrors.
    """
    with open_arrays(source, "a saved server", MessageError) as file:
        protocol = Protocol.from_json(file.read_text("protocol", LONG_TEXT))
        yield file, protocol, file.read_text("engine", 20)
