"""One thread at a time."""

from __future__ import annotations

from functools import wraps


def alone(method):
    """Run a method while its object's `lock` is held."""

    @wraps(method)
    def locked(self, *args, **kwargs):
        with self.lock:
            return method(self, *args, **kwargs)

    return locked
