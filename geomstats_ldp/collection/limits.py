"""What keeps a service up whatever is sent: sizes of bodies, and how often somebody may ask."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from hashlib import blake2b

#: Largest body of a request, in bytes; a Gaussian message of 512 integers fits in.
LARGEST_BODY = 2**15

#: Longest time that a body may take to arrive, in seconds.
LONGEST_UPLOAD = 30

#: Longest token or key, in characters.
LONGEST_SECRET = 128

#: Names that a limit remembers.
_CAPACITY = 100_000


class RateLimit:
    """Token buckets by name, in memory; a name is kept as a hash under a key of this process.

    Parameters
    ----------
    rate : float
        Requests a second in the long run.
    burst : int
        Requests at once.
    clock : callable
        Seconds, monotonous.
    """

    def __init__(self, rate, burst, clock):
        self._rate, self._burst, self._clock = rate, burst, clock
        self._key, self._buckets = secrets.token_bytes(32), OrderedDict()

    def wait(self, name):
        """Seconds until somebody may ask again, zero if this request is within the limit."""
        key = blake2b(name.encode("utf-8", "surrogatepass"), key=self._key, digest_size=16).digest()
        now = self._clock()
        level, seen = self._buckets.pop(key, (self._burst, now))
        level = min(self._burst, level + (now - seen) * self._rate)
        allowed = level >= 1.0
        self._buckets[key] = (level - allowed, now)
        if len(self._buckets) > _CAPACITY:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1.0 - level) / self._rate
