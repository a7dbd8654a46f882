"""Compiled entry points, with a cache on disk that a change of the sources makes afresh.

Numba compiles a function when it is called first, which takes seconds to a minute, and keeps the
machine code in files that it looks up by the function's name. It drops them when the file that
defines the function changes, but not when a kernel in another file does, and would go on running
the old kernel. So the name of each entry point ends in a digest of all files that may hold kernels:
after an edit in one of these folders the name is new, and everything is compiled again. Where
there is no folder to write to, everything works but is compiled in each process; a cache that
cannot be read (an interrupted copy, a full disk) is deleted and made again.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
from collections.abc import Callable
from functools import wraps
from importlib import resources
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core import event

from geomstats_ldp.exceptions import warn
from geomstats_ldp.twins import KERNEL_OPTIONS

#: Folders of the package whose files hold kernels, or constants and records that kernels read.
KERNEL_FOLDERS = (
    ".",
    "geometry",
    "geometry/regions",
    "geometry/spaces",
    "losses",
    "mechanisms",
    "replication/baselines",
    "replication/study",
    "score_regression",
    "server",
)

_LOGGER = logging.getLogger("geomstats_ldp")


def digest_of(package, folders):
    """Digest of the modules in folders of a package: sources, or byte code without sources.

    The package is a Traversable, in a file system or in a zip archive; folders are relative to it,
    and folders within them do not count.
    """
    digest = hashlib.sha256()
    for folder in folders:
        found = package.joinpath(folder) if folder != "." else package
        files = found.iterdir() if found.is_dir() else ()
        for file in sorted(files, key=lambda file: file.name):
            if file.name.endswith((".py", ".pyc")):
                digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


_DIGEST = digest_of(resources.files(__package__), KERNEL_FOLDERS)


def cached_njit(function: Callable, allocates: bool = True) -> Callable:
    """Compile a module-level function, with a disk cache that follows the sources of the package.

    `function` stays callable as plain Python; give the result another name when both are needed.

    Parameters
    ----------
    function : callable
    allocates : bool, default=True
        False makes numba leave out the counting of references to arrays (its option ``_nrt``),
        which for points of three coordinates takes longer than the arithmetic: a fit takes two to
        four times as long with it. Numba then refuses to compile an allocation anywhere inside,
        and a division by zero gives inf or NaN, as in numpy, instead of an exception.

    Returns
    -------
    compiled : callable
    """
    if config.DISABLE_JIT:
        return function
    # Kernels touch no Python objects, so other threads may run meanwhile.
    options: dict[str, Any] = {"nogil": True, **KERNEL_OPTIONS}
    options |= {} if allocates else {"_nrt": False, "error_model": "numpy"}
    # Numba names its cache files, and links machine code, by this.
    function.__qualname__ += f".{_DIGEST}"
    try:
        return _mending(njit(cache=True, **options)(function), options)
    except RuntimeError as error:
        _warn_once(error)
        return njit(**options)(function)


def _mending(cached, options):
    """Let a compiled function go on where its files cannot be read or written."""

    @wraps(cached.py_func)
    def call(*arguments):
        try:
            return cached(*arguments)
        except (EOFError, pickle.UnpicklingError, ImportError, AttributeError):
            # Kernels raise none of these; so a file of the cache is damaged, or names a class that
            # a user had compiled for and that is not there now, and nothing has run.
            for file in Path(cached.stats.cache_path).glob(f"*{cached.py_func.__qualname__}*"):
                file.unlink(missing_ok=True)
            return cached(*arguments)
        except OSError as error:
            _warn_once(error)
            return njit(**options)(cached.py_func)(*arguments)

    return call


_warned: list[OSError] = []


def _warn_once(error):
    if not _warned:
        _warned.append(error)
        warn(
            f"compiled code cannot be cached, and is compiled in each process: {error}; set "
            "NUMBA_CACHE_DIR to a folder that can be written",
        )


class _Announcement(event.Listener):
    """Say once that a wait is for the compiler."""

    said = False

    def on_start(self, event):
        """Log the first compilation of an entry point of this package."""
        compiled = getattr(event.data["dispatcher"], "py_func", None)
        if not self.said and getattr(compiled, "__qualname__", "").endswith(_DIGEST):
            _Announcement.said = True
            _LOGGER.info(
                "compiling for this kind of data, which takes up to a minute; later runs load "
                "the result from a cache"
            )

    def on_end(self, event):
        """Nothing to say."""


event.register("numba:compile", _Announcement())
