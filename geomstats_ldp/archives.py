"""Files of arrays, read only where every array is declared and the file holds nothing else."""

from __future__ import annotations

import math
import os
import re
import struct
import zipfile
import zlib
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np

from geomstats_ldp.serialization import BAD_CONTENT

#: Arrays of a length that the file decides may take so many bytes, and so many more for each byte
#: in the file: noise does not compress, so a file of messages cannot be much smaller than they are.
_FREE_BYTES, _INFLATION = 2**24, 20

#: Most arrays in one file.
_MOST_ARRAYS = 64

#: Counts up to here are exact as doubles.
LARGEST_COUNT = 2**53

_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[a-zA-Z]\d*)', 'fortran_order': False, 'shape': \(([\d, ]*)\), \} *\n"
)

_BAD_FILES = (
    *BAD_CONTENT,
    EOFError,
    OSError,
    RuntimeError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class ArraySpec:
    """What one array of a file has to be.

    Attributes
    ----------
    name : str
    shape : tuple of int or None
        None stands for a length that the file decides.
    dtype : {"f8", "i8"}
        Floats have to be finite.
    low, high : float
        Smallest and largest value allowed.
    """

    name: str
    shape: tuple = ()
    dtype: str = "f8"
    low: float = -math.inf
    high: float = math.inf

    def check_header(self, dtype, shape):
        """Raise ValueError unless type and shape are as declared."""
        fits = len(shape) == len(self.shape) and all(
            wanted in (None, length) for wanted, length in zip(self.shape, shape)
        )
        if not fits or dtype.newbyteorder("=") != np.dtype(self.dtype):
            wanted = ", ".join("n" if length is None else str(length) for length in self.shape)
            raise ValueError(
                f"{self.name} must be {np.dtype(self.dtype)} of shape ({wanted}); "
                f"got {dtype} of shape {shape}"
            )

    def check_values(self, values):
        """Raise ValueError unless all values are finite and in range."""
        if not np.isfinite(values).all():
            raise ValueError(f"{self.name} must be finite; it holds NaN or inf")
        if values.size and not (self.low <= values.min() and values.max() <= self.high):
            raise ValueError(
                f"{self.name} must be in [{self.low:g}, {self.high:g}]; "
                f"got {values.min():g} to {values.max():g}"
            )


def spec_like(name, array, shape):
    """What an array of a file has to be that holds the like of another, in some shape."""
    if array.dtype.kind == "i":
        return ArraySpec(name, shape, "i8", low=0, high=LARGEST_COUNT)
    return ArraySpec(name, shape)


class Archive:
    """An open ``.npz`` file, of which a ZipFile is given."""

    def __init__(self, file):
        self._file = file
        members = file.infolist()
        if len(members) > _MOST_ARRAYS:
            raise ValueError(f"it holds {len(members)} arrays; {_MOST_ARRAYS} at most are read")
        self._members = {member.filename: member for member in members}
        if len(self._members) < len(members):
            raise ValueError("it holds two arrays of one name")

    def read_text(self, name, longest):
        """Read a text that was stored as an array of no dimensions.

        ValueError if it is missing, no such text, or longer than `longest` characters.
        """
        with self._open(name) as (member, stream):
            dtype, shape = self._read_header(member, stream)
            if dtype.kind != "U" or shape != () or dtype.itemsize > 4 * longest:
                raise ValueError(
                    f"{name} must be a text of at most {longest} characters; "
                    f"got {dtype} of shape {shape}"
                )
            data = stream.read(dtype.itemsize)
        return data.decode("utf-32-be" if dtype.str[0] == ">" else "utf-32-le").rstrip("\0")

    def read_arrays(self, specs):
        """Read arrays by name that are as declared; nothing else may be left in the file.

        They are fresh and can be written to. ValueError names the array that is missing, unknown or
        not as declared.
        """
        arrays = {spec.name: self.read_array(spec) for spec in specs}
        if self._members:
            raise ValueError(f"it holds more than it should: {sorted(self._members)[0][:40]!r}")
        return arrays

    def read_array(self, spec):
        """Read one array; ValueError if it is missing or not as declared."""
        with self._open(spec.name) as (member, stream):
            dtype, shape = self._read_header(member, stream)
            spec.check_header(dtype, shape)
            n_bytes = math.prod(shape) * dtype.itemsize
            if None in spec.shape:
                most = _FREE_BYTES + _INFLATION * member.compress_size
                if n_bytes > most:
                    raise ValueError(
                        f"{spec.name} would take {n_bytes} bytes, from {member.compress_size} "
                        f"in the file; at most {most} are read"
                    )
            values = np.frombuffer(stream.read(n_bytes), dtype).reshape(shape)
        spec.check_values(values)
        return values.astype(spec.dtype)

    @contextmanager
    def _open(self, name):
        member = self._members.pop(f"{name}.npy", None)
        if member is None:
            raise ValueError(f"{name} is missing")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is compressed in a way that numpy does not use")
        with self._file.open(member) as stream:
            yield member, stream

    @staticmethod
    def _read_header(member, stream):
        """Type and shape that an array declares, which its size in the file has to confirm."""
        start = stream.read(len(_MAGIC) + 2)
        length = int.from_bytes(start[len(_MAGIC) :], "little")
        match = _HEADER.fullmatch(stream.read(length))
        if not start.startswith(_MAGIC) or match is None:
            raise ValueError(f"{member.filename[:40]} has no header of a plain array")
        if b"O" in match[1]:
            raise ValueError("it holds Python objects")
        dtype = np.dtype(match[1].decode())
        shape = tuple(int(number) for number in match[2].split(b",") if number.strip())
        if len(start) + length + math.prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError(f"{member.filename[:40]} has another size than it declares")
        return dtype, shape


@contextmanager
def open_arrays(source, kind, error):
    """Read a ``.npz`` file without pickle; whatever is wrong with its content raises `error`.

    Parameters
    ----------
    source : path-like or binary file
        One that is missing stays a FileNotFoundError.
    kind : str
        What the file should be, for the message.
    error : type
        Exception class.

    Yields
    ------
    archive : Archive
    """
    try:
        is_open = hasattr(source, "read")
        with nullcontext(source) if is_open else open(source, "rb") as file:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is no .npz archive, or not a whole one")
            with zipfile.ZipFile(file) as members, np.errstate(all="ignore"):
                yield Archive(members)
    except FileNotFoundError:
        raise
    except _BAD_FILES as cause:
        name = "the file" if is_open else os.fspath(source)
        raise error(f"{name} is not {kind}: {cause}") from cause
