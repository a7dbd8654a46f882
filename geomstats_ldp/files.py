"""Files that appear whole or not at all, whoever else writes, and whatever is killed meanwhile."""

from __future__ import annotations

import os
import re
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: writers there are not kept apart
    fcntl = None  # type: ignore[assignment]

#: A file that is not there yet; Windows would change line ends without the last flag.
_NEW_FILE = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)

_PART = re.compile(r"\.[0-9a-f]{16}\.part")


def write_atomically(path, write, check=None, mode=0o666):
    """Call ``write(file)`` on a temporary file that takes the place of `path` when complete.

    File and folder are on disk when this returns. An existing file keeps its permissions and,
    where that is allowed, its owner; a symbolic link is followed. Temporary files that killed
    writers left behind are removed.

    Parameters
    ----------
    path : path-like
    write : callable
        Takes a binary file that is open for writing.
    check : callable, optional
        Called without arguments just before the file is replaced, while no other process can
        replace a file of this folder. What it raises leaves the old file in place.
    mode : int
        Permissions of a file that is new, less those that the process masks.

    Raises
    ------
    FileNotFoundError
        If there is no such folder.
    """
    path = Path(os.path.realpath(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {path.parent}")
    _remove_orphans(path)
    part, file = _open_part(path, mode)
    try:
        write(file)
        file.flush()
        os.fsync(file.fileno())
        if fcntl is None:
            file.close()  # Windows moves closed files only
        with _locked(path.parent):
            if check is not None:
                check()
            os.replace(part, path)
    except BaseException:
        file.close()
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise
    file.close()


def write_text(path, text, check=None, mode=0o666):
    """Write a text in UTF-8; see `write_atomically`."""
    write_atomically(path, lambda file: file.write(text.encode()), check, mode)


def write_figure(path, figure, dpi=150):
    """Write a figure in the format that the name ends with, PNG without an ending."""
    kind = Path(path).suffix[1:] or "png"
    write_atomically(path, lambda file: figure.savefig(file, dpi=dpi, format=kind))


def _open_part(path, mode):
    """Create a temporary file beside `path`, locked for as long as its writer lives."""
    old = os.stat(path) if path.exists() else None
    while True:
        part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
        handle = os.open(part, _NEW_FILE, mode if old is None else 0o600)
        if _lock(handle) and os.fstat(handle).st_nlink == 0:
            os.close(handle)  # somebody took it for an orphan before it was locked
            continue
        if old is not None:
            with suppress(PermissionError, AttributeError):
                os.chown(part, old.st_uid, old.st_gid)
            os.chmod(part, stat.S_IMODE(old.st_mode))
        return part, os.fdopen(handle, "wb")


def _lock(handle, wait=True):
    """Lock an open file or folder until it is closed; whether that worked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # held by somebody else, or a file system without locks
        return False
    return True


def _remove_orphans(path):
    """Remove temporary files of `path` that no living process holds."""
    for part in path.parent.iterdir():
        if part.name.startswith(path.name) and _PART.fullmatch(part.name[len(path.name) :]):
            with suppress(OSError):
                handle = os.open(part, os.O_RDWR)
                try:
                    if _lock(handle, wait=False):
                        os.unlink(part)
                finally:
                    os.close(handle)


@contextmanager
def _locked(folder):
    """Keep other writers out of a folder, and put its entries on disk at the end."""
    if os.name == "nt":  # folders cannot be opened there
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle)
        yield
        os.fsync(handle)
    finally:
        os.close(handle)
