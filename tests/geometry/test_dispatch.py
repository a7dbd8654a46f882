"""Names of the compiled operations, which the disk cache of numba takes for their identity."""

import itertools

import numpy as np
import pytest
from geomstats.geometry.hypersphere import Hypersphere
from numba import njit, typeof
from numba.core.registry import cpu_target

from geomstats_ldp.geometry import Geometry, dispatch

TERNARY = ("exp", "log", "retract", "to_tangent", "lift", "coordinates")


def implementation(operation, *types):
    """Python function that numba compiles for an operation on the given types."""
    njit(operation)  # makes sure that the registries are loaded
    context = cpu_target.typing_context
    context.refresh()
    function_type = context.resolve_value_type(operation)
    for template in function_type.templates:
        chosen = template._overload_func(*types)
        if chosen is not None:
            return chosen
    raise AssertionError(f"{operation.__name__} has no compiled form for these types")


@pytest.fixture
def types():
    twin = Geometry(Hypersphere(dim=2), np.array([0.0, 0.6, 0.8])).twin()
    vector = typeof(np.zeros(3))
    return typeof(twin), vector, vector, vector


def test_compiled_operations_have_names_of_their_own(types):
    """Operations of one signature must differ in name.

    Numba links cached and fresh machine code by qualified name, argument types and a counter that
    starts anew in each process. Two operations that share a name can therefore be taken for each
    other, silently, when one comes from the disk cache and the other is compiled.
    """
    found = {name: implementation(getattr(dispatch, name), *types) for name in TERNARY}
    for (one, first), (other, second) in itertools.combinations(found.items(), 2):
        assert (first.__module__, first.__qualname__) != (second.__module__, second.__qualname__), (
            f"{one} and {other} both compile under the name {first.__qualname__}"
        )
