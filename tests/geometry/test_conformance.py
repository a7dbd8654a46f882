"""Spaces of the package against the conformance suite."""

import numpy as np

from geomstats_ldp.geometry.spaces import space_from_spec
from geomstats_ldp.testing import SpaceCase, parametrize_with_checks

SPD = [[2.0, 0.3], [0.3, 0.7]]
PLACES = [
    ({"name": "Euclidean", "dim": 3}, [1.0, -2.0, 0.5]),
    ({"name": "Hypersphere", "dim": 1}, [0.6, 0.8]),
    ({"name": "Hypersphere", "dim": 4}, [0.5, 0.5, -0.5, 0.0, 0.5]),
    ({"name": "Hyperboloid", "dim": 2}, [1.5, 0.5, -1.0]),
    ({"name": "SPDAffineInvariant", "n": 2}, SPD),
    ({"name": "SPDLogEuclidean", "n": 2}, SPD),
    ({"name": "SpecialOrthogonal", "n": 3}, np.eye(3)),
    ({"name": "Grassmannian", "n": 3, "p": 1}, np.diag([1.0, 0.0, 0.0])),
]
CASES = [SpaceCase(space_from_spec(spec), center) for spec, center in PLACES]
CASES.append(SpaceCase(space_from_spec(PLACES[2][0]), PLACES[2][1], retraction="projection"))


@parametrize_with_checks(CASES)
def test_conformance(case, check):
    check(case)
