"""Recognising twin records in compiled code.

A *twin* is a NamedTuple of numbers and arrays that stands for a Python object (a space, a loss, a
mechanism) in the compiled engine; its type selects the closed form.
"""

from numba import types


def twin_class(numba_type):
    """Class of the NamedTuple that a numba type stands for, or None."""
    if isinstance(numba_type, types.BaseNamedTuple):
        return numba_type.instance_class
    return None
