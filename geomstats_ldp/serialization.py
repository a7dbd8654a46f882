"""JSON with infinite floats.

`parse_json` is the one door for texts. What it takes is plain JSON of moderate size: what a
generous parser lets pass, such as a name given twice or a number that is not finite, is refused,
so that nobody can read two things out of one text.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter

import numpy as np

#: Longest text of one query or message; a point of 40,000 numbers fits in.
SHORT_TEXT = 2**20

#: Longest text of a protocol; a frame of 600,000 numbers fits in.
LONG_TEXT = 2**24

#: Deepest nesting of lists and objects.
_DEPTH = 12

#: Longest text of one number; the exact decimal form of a double is shorter.
_DIGITS = 1100

#: Everything that reading and checking a damaged record can raise without being at fault itself.
BAD_CONTENT = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)

_STRINGS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NOT_BRACKETS = re.compile(r"[^\[\]{}]+")


def parse_json(text, longest):
    """Read a JSON text from outside; the size and nesting are checked before anything is built.

    Parameters
    ----------
    text : str or bytes
        UTF-8 if bytes; anything else is a TypeError.
    longest : int
        Largest length, in characters.

    Raises
    ------
    ValueError
        If it is too long or nested too deeply, is no JSON, gives a name twice, or holds a number
        that is not finite.
    """
    if not isinstance(text, (str, bytes, bytearray)):
        raise TypeError(f"expected a text; got {type(text).__name__}")
    if len(text) > longest:
        raise ValueError(f"it must have at most {longest} characters; got {len(text)}")
    if not isinstance(text, str):
        text = text.decode("utf-8")
    _check_nesting(text)
    return json.loads(
        text,
        object_pairs_hook=_record_without_repeats,
        parse_int=_parse_int,
        parse_float=_parse_float,
        parse_constant=_refuse_constant,
    )


def _check_nesting(text):
    depth = 0
    for bracket in _NOT_BRACKETS.sub("", _STRINGS.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > _DEPTH:
            raise ValueError(f"lists and objects must be nested at most {_DEPTH} deep")


def _record_without_repeats(pairs):
    record = dict(pairs)
    if len(record) < len(pairs):
        repeated, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"the field {repeated[:40]!r} is given more than once")
    return record


def _parse_int(digits):
    # int() of a long text takes time that grows with its square.
    if len(digits) > 20:
        raise ValueError(f"integers must have at most 20 digits; got {len(digits)}")
    return int(digits)


def _parse_float(digits):
    value = float(digits) if len(digits) <= _DIGITS else math.nan
    if not math.isfinite(value):
        raise ValueError(f"numbers must be finite doubles; got {digits[:40]}")
    return value


def _refuse_constant(name):
    raise ValueError(f"numbers must be finite; got {name}")


def number_array(value):
    """Array of the numbers in nested lists of a JSON text, all of them floats.

    ValueError if the lists are ragged, TypeError if an entry is no number, as booleans and texts.
    """
    if not _are_numbers(value):
        raise TypeError("expected a number or nested lists of numbers")
    return np.array(value, dtype=float)


def _are_numbers(value):
    if isinstance(value, list):
        return all(map(_are_numbers, value))
    return type(value) in (int, float)


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


def plain_record(name, values):
    """Record of what has a name and named values: arrays as nested tuples, all else as it is."""
    plain = {key: nested_tuple(value) if np.ndim(value) else value for key, value in values.items()}
    return {"name": name, **plain}


def canonical_json(value):
    """One text per value: sorted keys, no spaces, shortest floats that read back exactly."""
    return json.dumps(encode(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
