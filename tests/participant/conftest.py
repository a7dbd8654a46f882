"""What the tests of participants share."""

import pytest

from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Query
from geomstats_ldp.server import Server


@pytest.fixture
def first_query():
    return lambda protocol: Server(protocol, "geomstats").queries()[0]  # no compilation


@pytest.fixture
def changed():
    """A query with other attributes."""
    return lambda query, **changes: Query(**(query.__dict__ | changes))


@pytest.fixture
def device():
    """What runs on the device of one person."""

    def make(protocol, **limits):
        return Participant(protocol, **(limits or {"fingerprint": protocol.fingerprint}))

    return make
