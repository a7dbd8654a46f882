"""What the servers of both plans share: lock, copies, kept messages and saving."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import wraps
from threading import RLock
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from geomstats_ldp.exceptions import StaleMessageError
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.protocol.protocol import check_is_protocol
from geomstats_ldp.server.checkpoint import UNSAVED, VERSION, open_checkpoint, save_checkpoint
from geomstats_ldp.server.engine import make_engine

if TYPE_CHECKING:
    from typing_extensions import Self


def alone(method):
    """Run a method while its object's `lock` is held."""

    @wraps(method)
    def locked(self, *args, **kwargs):
        with self.lock:
            return method(self, *args, **kwargs)

    return locked


class BaseServer(ABC):
    """A collection that threads may share; subclasses say what is asked and what is kept."""

    def __init__(self, protocol: Protocol, engine: str = "auto", keep_messages: bool = False):
        self.protocol = check_is_protocol(protocol)
        self.engine = make_engine(engine, protocol.geometry)
        self._kept: list[tuple] | None = [] if keep_messages else None
        self._version = UNSAVED
        self.lock, self._saving = RLock(), RLock()

    @abstractmethod
    def _position(self):
        """Attributes that messages change, by name, with values that nobody changes in place."""

    @abstractmethod
    def _arrays(self):
        """What a checkpoint holds beside the protocol, as it is at this moment."""

    @abstractmethod
    def _specs(self):
        """What these arrays have to be in a file; the server is new."""

    @abstractmethod
    def _take(self, arrays):
        """Go on from such arrays, or raise an error that says what is wrong with them."""

    def _return_to(self, position):
        """Go back, or forward, to what `_position` gave."""
        vars(self).update(position)

    @contextmanager
    def _all_or_nothing(self):
        """Be where it was before if what is done meanwhile fails."""
        before = self._position()
        try:
            yield
        except BaseException:
            self._return_to(before)
            raise

    @alone
    def __getstate__(self):
        # Compiled functions and buffers are rebuilt.
        kept = {"protocol": self.protocol, "engine": self.engine.name}
        return kept | {"version": self._version, "position": self._position()}

    def __setstate__(self, kept):
        self.__init__(kept["protocol"], kept["engine"])
        self._version = kept["version"]
        self._return_to(kept["position"])

    @property
    def keeps_messages(self) -> bool:
        """Whether messages are kept, for a transcript."""
        return self._kept is not None

    @alone
    def _kept_so_far(self):
        return None if self._kept is None else list(self._kept)

    def _require_new(self):
        """Raise StaleMessageError if somebody has answered: a transcript starts with the first."""
        if self.n_received > 0:
            raise StaleMessageError(
                "a transcript starts with the first participant; "
                f"{self.n_received} participants have answered already"
            )

    def save(self, path: str | os.PathLike) -> None:
        """Write protocol, state and messages that wait to a ``.npz`` file, without pickle.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        NewerStateError
            If the file holds a state that this server does not continue; it stays as it is.
        InvalidMessageError
            If rows that were replayed wait in the open round and are no messages: nobody could
            tell them from damage when the file is read.
        """
        with self._saving:
            with self.lock:
                texts = {"protocol": self.protocol.to_json(), "engine": self.engine.name}
                arrays = {name: np.array(text) for name, text in texts.items()} | self._arrays()
            self._version = save_checkpoint(path, arrays, self._version)

    @classmethod
    def load(cls, path: str | os.PathLike | BinaryIO) -> Self:
        """Resume from a file that `save` wrote.

        Parameters
        ----------
        path : path-like or binary file

        Returns
        -------
        server : object
            Of this class.

        Raises
        ------
        MessageError
            If anything in the file is not what a collection could have come to.
        """
        with open_checkpoint(path) as (file, protocol, engine):
            return resumed(cls(protocol, engine), file)


def resumed(server, file):
    """Let a new server go on from what is left of an open checkpoint, and return it."""
    arrays = file.read_arrays([VERSION, *server._specs()])
    server._version = tuple(arrays.pop("version").tolist())
    server._take(arrays)
    return server


def group_report(protocol, counts, weights):
    """What each group of participants contributes, by name: counts, and weights of one message."""
    rows = zip(protocol.mechanisms.items(), counts, weights)
    return {
        name: {"epsilon": each.epsilon, "n_participants": int(count), "weight": float(weight)}
        for (name, each), count, weight in rows
    }
