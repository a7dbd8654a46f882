"""Docstrings of public names are complete, by numpydoc's validator, and their types are stated.

Public is what has a page in the reference, with the public methods of the classes there. A method
that overrides another of the package, or that says "see" another, keeps the contract that the
other states, so that its own docstring says only what is special about it.
"""

import ast
import builtins
import importlib
import inspect
import re
import textwrap
from pathlib import Path

import pytest
from numpydoc import validate

ROOT = Path(__file__).parents[1]
NAMES = (
    "collection",
    "datasets",
    "estimators",
    "exceptions",
    "extension",
    "geometry",
    "inference",
    "losses",
    "mechanisms",
    "planning",
    "plotting",
    "replication",
    "scouting",
    "testing",
)
PAGES = [ROOT / "docs" / "api" / f"{name}.md" for name in NAMES]

#: Checks of numpydoc: form and order of the sections, one-line summaries with a capital and a full
#: stop, all parameters and nothing else in their section, each with its type; what is returned.
CHECKS = {
    *("GL05", "GL06", "GL07", "GL08", "GL09", "GL10", "SS01", "SS02", "SS03", "SS04", "SS06"),
    *("PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR08", "PR09", "PR10", "RT01", "RT04"),
    *("RT05", "YD01"),
}


def listed_names(page):
    """Full names of what a page of the reference lists."""
    module = None
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   [A-Za-z][\w.]*", line):
            yield f"{module}.{line.strip()}"


def load(name):
    """Object of that full name."""
    parts = name.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:depth]))
        except ModuleNotFoundError:
            continue
        for part in parts[depth:]:
            thing = getattr(thing, part)
        return thing
    raise ModuleNotFoundError(name)


def own_function(cls, name):
    """Function behind a method or property, and None if no class of the package defines it."""
    member = inspect.getattr_static(cls, name)
    # Of a property, cached or not, of a method that is there at times, of a class method.
    for behind in ("fget", "func", "fn", "__func__"):
        member = getattr(member, behind, member)
    is_own = getattr(member, "__module__", "").startswith("geomstats_ldp")
    return member if inspect.isfunction(member) and is_own else None


def public_names(page):
    """Full names of a page: what it lists, and the public methods of the classes."""
    for name in listed_names(page):
        yield name
        thing = load(name)
        if inspect.isclass(thing):
            for member in dir(thing):
                if not member.startswith("_") and own_function(thing, member):
                    yield f"{name}.{member}"


def keeps_contract(name):
    """Whether a method overrides another of the package, or refers to the docstring of another."""
    if re.search(r"[Ss]ee\s`[\w.]+`\.", load(name).__doc__):
        return True
    owner, _, member = name.rpartition(".")
    cls = load(owner)
    if not inspect.isclass(cls):
        return False
    defined = [base for base in cls.__mro__ if member in vars(base) and own_function(base, member)]
    return len(defined) > 1


def says_it_otherwise(name, code):
    """Whether a docstring may do without a section: PR01 is the parameters, RT01 the return."""
    thing = load(name)
    if code == "RT01":
        return keeps_contract(name) or not set(inspect.signature(thing).parameters) - {"self"}
    if code == "PR01":
        fields = getattr(thing, "_fields", None) or getattr(thing, "__dataclass_fields__", None)
        attributes = inspect.cleandoc(thing.__doc__).partition("Attributes\n-----")[2]
        return keeps_contract(name) or all(
            re.search(rf"\b{field}\b", attributes) for field in fields or [None]
        )
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_docstrings_are_complete(page):
    faults = [
        f"{name}: {code} {text}"
        for name in public_names(page)
        for code, text in validate.validate(name)["errors"]
        if code in CHECKS and not says_it_otherwise(name, code)
        if text != "Unknown parameters {'cls'}"  # numpydoc takes the name for a class method's
    ]
    assert not faults, "\n".join(faults)


def undocumented_errors(name):
    """Errors that a function raises itself and does not name in its docstring."""
    thing = load(name)
    source = textwrap.dedent(inspect.getsource(thing)) if callable(thing) else ""
    if not source or inspect.isclass(thing) or keeps_contract(name):
        return []
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Try, ast.With)):
            node.body = []  # an error there may become another
    raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    names = {error.func.id for error in raised if isinstance(error, ast.Call)}
    section = thing.__doc__.partition("Raises\n")[2]
    return sorted(
        error for error in names if not any(base in section for base in bases(thing, error))
    )


def bases(function, error):
    """Names of an error that a function raises, and of the errors that it is one of."""
    known = {**vars(builtins), **inspect.unwrap(function).__globals__}
    return [base.__name__ for base in known[error].__mro__ if base not in (Exception, object)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_errors_are_documented(page):
    faults = [f"{name}: {undocumented_errors(name)}" for name in public_names(page)]
    faults = [fault for fault in faults if not fault.endswith("[]")]
    assert not faults, "\n".join(faults)


def untyped(name):
    """Parameters, and "return", for which a function or the constructor of a class has no type."""
    thing = load(name)
    owner = load(name.rpartition(".")[0])
    if inspect.isclass(thing):
        function = thing.__init__
    elif inspect.isclass(owner):
        function = own_function(owner, name.rpartition(".")[2])
    else:
        function = inspect.unwrap(thing)
    if not inspect.isfunction(function) or not function.__module__.startswith("geomstats_ldp"):
        return []  # made by a NamedTuple or a dataclass, whose fields have types
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    returns = [] if inspect.isclass(thing) else ["return"]
    return [name for name in names + returns if name not in function.__annotations__]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_types_are_stated(page):
    faults = [f"{name}: {untyped(name)}" for name in public_names(page) if untyped(name)]
    assert not faults, "\n".join(faults)
