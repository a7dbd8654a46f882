"""Compiled entry points whose disk cache follows every source file of the package.

Numba drops a cached function when the file that defines it changes, but not when a function it
calls in another file does: an edited kernel would go on running in its old form. It also cannot
open a cache that names a class which has moved. The entry points made here carry a digest of all
source files of the package in their name, so any change compiles them anew, in files of their own.
"""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

from numba import njit
from numba.extending import register_jitable

from geomstats_ldp.exceptions import LDPWarning


def _source_digest():
    root = Path(__file__).parent
    stamps = [
        (str(path.relative_to(root)), path.stat().st_mtime_ns, path.stat().st_size)
        for path in sorted(root.rglob("*.py"))
    ]
    return hashlib.sha256(repr(stamps).encode()).hexdigest()


_DIGEST = _source_digest()


def cached_njit(function):
    """Compile a module-level function, with a disk cache that follows the whole package.

    `function` stays callable as plain Python; give the result another name when both are needed.
    """
    register_jitable(function)

    def entry(*args):
        return function(*args)

    # Numba names its cache files, and links machine code, by this.
    entry.__qualname__ = f"{function.__module__}.{function.__qualname__}.{_DIGEST[:16]}"
    try:
        return njit(cache=True)(entry)
    except RuntimeError as error:
        # Numba finds no folder to write to; everything works, but compiles in each process.
        warnings.warn(f"compiled code cannot be cached: {error}", LDPWarning, stacklevel=2)
        return njit(entry)
