"""A text cannot make a device allocate more than a protocol may need."""

import json
import tracemalloc

import numpy as np
import pytest
from geomstats.geometry.euclidean import Euclidean

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import Geometry, geodesic_ball
from geomstats_ldp.losses import FrechetLoss
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import GainRule, Protocol, RadiusRule, make_protocol


@pytest.fixture(scope="module")
def record():
    center = np.zeros(2)
    protocol = make_protocol(
        Geometry(Euclidean(2), center),
        FrechetLoss(center=center, data_radius=1.0),
        make_mechanism("privunit", epsilon=1.0, dim=2, bound=4.0),
        geodesic_ball(center, 1.0),
        radius=RadiusRule.fixed(0.1),
        gain=GainRule(1.0, 0.0, 0.6, 1.0),
    )
    return json.loads(protocol.to_json())


def product(depth, width):
    if depth == 0:
        return {"name": "Euclidean", "dim": 1}
    return {"name": "Product", "factors": [product(depth - 1, width)] * width, "is_stacked": False}


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"space": {"name": "Hypersphere", "dim": 100_000}}, "dimension .* at most 512"),
        ({"space": {"name": "Hypersphere", "dim": 10**19}}, "dimension .* at most 512"),
        ({"space": {"name": "Hypersphere", "dim": 2.5}}, "dim must be an integer"),
        ({"space": {"name": "Hypersphere", "dim": "9" * 50}}, "dim must be an integer"),
        ({"space": {"name": "SPDAffineInvariant", "n": 1000}}, "entries .* at most 4096"),
        ({"space": {"name": "Registered", "shape": [10_000, 10_000]}}, "entries"),
        ({"space": product(1, 1000)}, "factors must be at most 64; got 65"),
        ({"space": product(3, 10)}, "factors must be at most 64; got 65"),
        ({"directions": [[1.0, 0.0]] * 5000}, "directions must be at most 4096; got 5000"),
        ({"basis": [[1.0, 0.0]] * 600}, "basis vectors must be at most 512; got 600"),
        ({"mechanism": {"name": "privunit", "dim": 10**9}}, "dim of the mechanism"),
    ],
)
def test_sizes_are_refused_before_they_are_allocated(record, changes, match):
    text = json.dumps(record | changes)
    tracemalloc.start()
    with pytest.raises(ProtocolError, match=match):
        Protocol.from_json(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6 + 100 * len(text)


def test_honest_protocols_pass(record):
    assert Protocol.from_json(json.dumps(record)).dim == 2
