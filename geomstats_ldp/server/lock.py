"""Servers that threads may share."""

from __future__ import annotations

from functools import wraps


def alone(method):
    """Let one thread at a time run the methods of a server."""

    @wraps(method)
    def locked(self, *args, **kwargs):
        with self.lock:
            return method(self, *args, **kwargs)

    return locked
