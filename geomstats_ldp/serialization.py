"""JSON with infinite floats, and files that appear whole or not at all."""

from __future__ import annotations

import json
import math
import os
import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np


def encode(value):
    """Replace infinities by the strings "inf" and "-inf", which JSON can hold."""
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    return value


def decode(value):
    """Inverse of `encode`."""
    if value in ("inf", "-inf"):
        return float(value)
    if isinstance(value, dict):
        return {key: decode(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decode(item) for item in value]
    return value


def nested_tuple(array):
    """Floats of an array as nested tuples: a plain record that cannot be changed."""
    return tuple(map(nested_tuple, array)) if np.ndim(array) else float(array)


def canonical_json(value):
    """One text per value: sorted keys, no spaces, shortest floats that read back exactly."""
    return json.dumps(encode(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def write_atomically(path, write):
    """Call ``write(file)`` on a temporary file and move it to `path` when it is complete."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {path.parent}")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        # A temporary file is private to its owner; the result is as public as any new file.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


@contextmanager
def open_arrays(path, kind, error):
    """Read a ``.npz`` file without pickle; what is wrong with its content raises `error`.

    Parameters
    ----------
    path : path-like
    kind : str
        What the file should be, for the message.
    error : type
        Exception class. A missing file stays FileNotFoundError.
    """
    try:
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):
                # numpy would take it for a pickle, and recommend to load that.
                raise ValueError("it is no .npz archive, or not a whole one")
        with np.load(path, allow_pickle=False) as file:
            yield file
    except FileNotFoundError:
        raise
    except (
        KeyError,
        ValueError,
        TypeError,
        EOFError,
        OSError,
        zipfile.BadZipFile,
        zlib.error,
    ) as cause:
        reason = "it holds Python objects" if "allow_pickle" in str(cause) else cause
        raise error(f"{path} is not {kind}: {reason}") from cause
