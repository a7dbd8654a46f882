"""One thread at a time."""

from __future__ import annotations

import threading
from functools import wraps


def make_lock():
    """Lock that the thread which holds it may take again."""
    return threading.RLock()


def alone(method):
    """Run a method while its object's `lock` is held."""

    @wraps(method)
    def locked(self, *args, **kwargs):
        with self.lock:
            return method(self, *args, **kwargs)

    return locked
