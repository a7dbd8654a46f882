"""Compiled entry points whose disk cache follows every source file that they are made of.

Numba drops a cached function when the file that defines it changes, but not when a function it
calls in another file does: an edited kernel would go on running in its old form. It also cannot
open a cache that names a class which has moved. The entry points made here carry a digest in
their name, so that a change compiles them anew, in files of their own. The digest covers the files
that hold kernels, and what those import, constants and records included; an edit elsewhere, of
an estimator or a plot, leaves the cache as it is.
"""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from pathlib import Path
from types import FunctionType

from numba import njit

from geomstats_ldp.exceptions import LDPWarning

#: What the text of a file with compiled code cannot do without.
_KERNEL = re.compile(r"\b(numba|cached_njit|compile_for_twin|register_jitable)\b")


def _compiled_sources(root):
    """Files of a package that hold compiled code, and those they import, directly or not.

    Parameters
    ----------
    root : Path
        Folder of the package. Its ``__init__.py`` only gathers public names, and is left out.

    Returns
    -------
    sources : dict
        Text of each file by its path relative to `root`, in the order of the paths.
    """
    paths = {_module_name(root, path): path for path in root.rglob("*.py")}
    del paths[root.name]
    texts = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
    open_ends = [name for name, text in texts.items() if _KERNEL.search(text)]
    found = set()
    while open_ends:
        name = open_ends.pop()
        if name not in found:
            found.add(name)
            home = name if paths[name].name == "__init__.py" else name.rpartition(".")[0]
            open_ends += _imported(texts[name], home) & texts.keys()
    names = {paths[name].relative_to(root).as_posix(): texts[name] for name in found}
    return dict(sorted(names.items()))


def _module_name(root, path):
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(text, home):
    """Names that a module of the package `home` may have imported modules by."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = home.split(".")[: home.count(".") + 2 - node.level] if node.level else []
            base = ".".join([*above, node.module] if node.module else above)
            found |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    return found


def _digest(sources):
    return hashlib.sha256(repr(list(sources.items())).encode()).hexdigest()


_DIGEST = _digest(_compiled_sources(Path(__file__).parent))


def cached_njit(function, allocates=True):
    """Compile a module-level function, with a disk cache that follows the sources of the package.

    `function` stays callable as plain Python; give the result another name when both are needed.

    Parameters
    ----------
    function : callable
    allocates : bool, default=True
        False leaves out the counting of references to arrays, which costs more than the arithmetic
        of small vectors, and numba refuses to compile an allocation anywhere inside. A division by
        zero then gives inf or NaN, as in numpy, instead of an exception.
    """
    options = {} if allocates else {"_nrt": False, "error_model": "numpy"}
    # Not a function that calls it, for which everything would be optimised once more.
    entry = FunctionType(function.__code__, function.__globals__, function.__name__)
    entry.__module__ = function.__module__
    # Numba names its cache files, and links machine code, by this.
    entry.__qualname__ = f"{function.__module__}.{function.__qualname__}.{_DIGEST[:16]}"
    try:
        return njit(cache=True, **options)(entry)
    except RuntimeError as error:
        # Numba finds no folder to write to; everything works, but compiles in each process.
        warnings.warn(f"compiled code cannot be cached: {error}", LDPWarning, stacklevel=2)
        return njit(**options)(entry)
