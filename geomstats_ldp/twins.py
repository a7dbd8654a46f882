"""Twin records: what stands for a space, a loss or a mechanism in compiled code.

A *twin* is a NamedTuple of numbers and arrays; its type selects the closed form. The selection is
made by `numba.extending.overload` and not by passing functions, because numba caches to disk only
what it reaches through module globals.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from numba import config, types
from numba.extending import overload, register_jitable

#: Kernels are called by compiled code alone: numba need not make them callable from C too, which
#: takes a tenth of the compilation.
KERNEL_OPTIONS = {"no_cfunc_wrapper": True}

#: Decorators of the functions that kernels are made of. The code of the second becomes a part of
#: each caller's; that of the first too if the caller is such a part itself.
jitable = register_jitable(**KERNEL_OPTIONS)
jitable_inline = register_jitable(forceinline=True, **KERNEL_OPTIONS)

#: Kernels by operation and class of twin.
_KERNELS: dict[tuple, Callable] = {}


def operation(function):
    """Mark a function that has kernels: compiled code runs these in its place.

    With ``NUMBA_DISABLE_JIT=1``, for a debugger or for coverage, plain Python runs them too.
    """
    if not config.DISABLE_JIT:
        return function

    @wraps(function)
    def run(first, *rest):
        return _KERNELS.get((run, type(first)), function)(first, *rest)

    return run


def compile_for_twin(
    operation: Callable, twin: type, kernel: Callable, is_small: bool = True
) -> None:
    """Let compiled calls of `operation` on records of class `twin` run `kernel`.

    Parameters
    ----------
    operation : function
        Interpreted form, decorated by `operation`; its first argument is the object or its twin.
    twin : type
        NamedTuple class.
    kernel : function
        Jitable twin of `operation`, a function of its own at module level. Numba links machine
        code by module, name, argument types and a counter that starts anew in each process: of
        two closures with one name, compiled code could get the wrong one from the disk cache.
    is_small : bool, default=True
        Whether a call would cost more than what the kernel does, so that it is always inlined,
        with all that it calls. Unless it is said here, numba takes that over from the caller, and
        a large kernel would be compiled again wherever it is used.

    Raises
    ------
    TypeError
        If the kernel is not defined at module level.
    """
    if "<locals>" in kernel.__qualname__:
        raise TypeError(f"kernel must be defined at module level; got {kernel.__qualname__}")
    _KERNELS[operation, twin] = kernel

    @overload(operation, strict=False, jit_options={"forceinline": is_small, **KERNEL_OPTIONS})
    def choose(first, *rest):
        is_twin = isinstance(first, types.BaseNamedTuple) and first.instance_class is twin
        return kernel if is_twin else None


def kernel_of(operation: Callable, twin: type) -> Callable:
    """Kernel of an operation for a class of twins, as plain Python; see `compile_for_twin`."""
    return _KERNELS[operation, twin]
