"""Things known by name, so that a record can name them: a record never holds code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from geomstats_ldp.exceptions import ProtocolError

_Class = TypeVar("_Class", bound=type)


class Registry(dict):
    """Spaces, losses, mechanisms or transforms by name.

    Parameters
    ----------
    kind : str
        What is registered, such as "loss"; ``register_loss`` is then the function that does it.
    facts : callable
        What two things of one name must share: of a thing, a value to compare and to print.
    things : dict, optional
        What is known from the start.
    """

    def __init__(self, kind: str, facts: Callable, things: Mapping[str, Any] | None = None):
        super().__init__(things or {})
        self._kind, self._facts = kind, facts

    def add(self, name: str, thing: Any) -> Any:
        """Make a thing known; one that is known already takes the place of its former self.

        Parameters
        ----------
        name : str
        thing : object

        Returns
        -------
        thing : object

        Raises
        ------
        ProtocolError
            If the name is no string, is empty, or is taken by a thing with other facts.
        """
        if not (isinstance(name, str) and name):
            raise ProtocolError(f"name must be a string that is not empty; got {name!r}")
        taken, new = self._facts(self.get(name, thing)), self._facts(thing)
        if taken != new:
            raise ProtocolError(
                f"name {name!r} is taken by {taken}; give another name to the {self._kind} {new}"
            )
        self[name] = thing
        return thing

    def find(self, name: str) -> Any:
        """Return what a name stands for.

        Parameters
        ----------
        name : str

        Returns
        -------
        thing : object

        Raises
        ------
        ProtocolError
            If nothing of that name is registered in this process.
        """
        if not (isinstance(name, str) and name in self):
            raise ProtocolError(
                f"{self._kind} must be one of {sorted(self)}; got {name!r}. One of your own has "
                f"to be registered, with register_{self._kind}, in every process that rebuilds "
                "its protocol"
            )
        return self[name]


def add_class(registry: Registry, cls: _Class, base: type) -> _Class:
    """Add a concrete subclass of `base` to a registry, under its ``name``.

    The same class defined again, as when a notebook cell is run twice, takes the place of its
    former self.

    Parameters
    ----------
    registry : Registry
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
        taken by another class.
    """
    kind = base.__name__
    if not (inspect.isclass(cls) and issubclass(cls, base)):
        raise ProtocolError(f"cls must be a subclass of {kind}; got {cls!r}")
    if inspect.isabstract(cls):
        missing = sorted(cls.__abstractmethods__)  # type: ignore[attr-defined]
        raise ProtocolError(f"{cls.__qualname__} must define {missing}, which {kind} leaves open")
    name = getattr(cls, "name", None)
    if not (isinstance(name, str) and name):
        raise ProtocolError(
            f"{cls.__qualname__}.name must be a string that is not empty; got {name!r}"
        )
    return registry.add(name, cls)


def place_of(cls):
    """Module and name of a class, its facts in a registry of classes."""
    return f"{cls.__module__}.{cls.__qualname__}"
