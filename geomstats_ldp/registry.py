"""Classes known by name, so that a record can name them: a record never holds code."""

from __future__ import annotations

import inspect

from geomstats_ldp.exceptions import ProtocolError


def register_class(known, cls, base):
    """Add a concrete subclass of `base` to the dictionary `known`, under its ``name``.

    Parameters
    ----------
    known : dict
        From names to classes; changed in place.
    cls : type
    base : type

    Returns
    -------
    cls : type
        The class itself, so that registering can be a decorator.

    Raises
    ------
    ProtocolError
        If the class is not a concrete subclass of `base`, has no name of its own, or its name is
        taken by another class. The same class defined again, as when a notebook cell is run twice,
        takes the place of its former self.
    """
    kind = base.__name__
    if not (inspect.isclass(cls) and issubclass(cls, base)):
        raise ProtocolError(f"cls must be a subclass of {kind}; got {cls!r}")
    if inspect.isabstract(cls):
        missing = sorted(cls.__abstractmethods__)
        raise ProtocolError(f"{cls.__qualname__} must define {missing}, which {kind} leaves open")
    name = getattr(cls, "name", None)
    if not (isinstance(name, str) and name):
        raise ProtocolError(
            f"{cls.__qualname__}.name must be a string that is not empty; got {name!r}"
        )
    taken = known.get(name)
    if taken is not None and _place(taken) != _place(cls):
        raise ProtocolError(
            f"name {name!r} is taken by {'.'.join(_place(taken))}; give "
            f"{'.'.join(_place(cls))} another name"
        )
    known[name] = cls
    return cls


def _place(cls):
    return cls.__module__, cls.__qualname__
