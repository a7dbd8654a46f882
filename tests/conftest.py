"""One thread of linear algebra for each worker, and fixtures that several test files share.

What they need is imported in them: the process that hands tests to the workers needs none of it,
and the workers wait for that process.
"""

import os

import pytest


def pytest_configure():
    """Leave each core to one worker: threads of several would wait for each other.

    Workers, and interpreters that tests start, inherit the environment. Blocks of rows, which are
    answered by threads of the package itself, still take all cores.
    """
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")


@pytest.hookimpl(tryfirst=True)  # before the slow ones are left out
def pytest_collection_modifyitems(items):
    """Examples of the baselines, each of which compiles an emulation of its own, are slow."""
    for item in items:
        if "replication/baselines" in item.nodeid and isinstance(item, pytest.DoctestItem):
            item.add_marker("slow")


@pytest.fixture(scope="session")
def score_at():
    """Coordinates of the score that a device computes."""
    import numpy as np

    from tests import builders

    protocol = builders.pca_protocol()
    # What has to be compiled says so.
    builders.score_at(protocol, protocol.initial_point, np.ones(3))
    return builders.score_at


@pytest.fixture(scope="session")
def pca_protocol():
    """Protocol of principal directions on the sphere."""
    from tests import builders

    return builders.pca_protocol


@pytest.fixture
def pca_data():
    """Rows with decreasing spread."""
    from tests import builders

    return builders.pca_data


@pytest.fixture
def same_state():
    """Whether two server states are equal to the last bit."""
    from tests import builders

    return builders.same_state
