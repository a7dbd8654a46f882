"""The closed forms of a space, which compiled code runs, as functions of arrays."""

from types import SimpleNamespace

import numpy as np
import pytest

from geomstats_ldp.geometry import dispatch
from geomstats_ldp.twins import kernel_of


def _closed_forms(geometry):
    """Closed forms with the arguments of the methods of `Geometry`, run by the interpreter."""
    twin = geometry.twin()

    def returning(name, shape):
        kernel = kernel_of(getattr(dispatch, name), type(twin))

        def call(*arguments):
            out = np.full(shape, np.nan)
            kernel(twin, *arguments, out)
            return out

        return call

    vectors = ("exp", "log", "transport", "retract", "to_tangent", "lift")
    return SimpleNamespace(
        **{name: returning(name, geometry.shape) for name in vectors},
        coordinates=returning("coordinates", geometry.dim),
        dist=lambda a, b: kernel_of(dispatch.dist, type(twin))(twin, a, b),
        twin=twin,
    )


@pytest.fixture
def closed_forms():
    return _closed_forms
