"""Every mechanism of the package against the conformance suite."""

import math

import pytest

from geomstats_ldp.mechanisms import MECHANISMS, make_mechanism
from geomstats_ldp.testing import MechanismCase, parametrize_with_checks

PARAMETERS = [
    *({"name": "privunit", "epsilon": epsilon} for epsilon in (0.5, 4.0)),
    *({"name": "l2_ball", "epsilon": epsilon} for epsilon in (0.5, 4.0)),
    *({"name": "gaussian", "epsilon": epsilon, "delta": 1e-4} for epsilon in (0.5, 4.0)),
    {"name": "identity", "epsilon": math.inf},
]


def cases(dims):
    return [
        MechanismCase(make_mechanism(**parameters, dim=dim, bound=2.0))
        for parameters in PARAMETERS
        for dim in dims
    ]


CASES = cases(dims=(3,))


@parametrize_with_checks(CASES)
def test_conformance(case, check):
    check(case)


@pytest.mark.slow  # the same on the line, and in more dimensions
@parametrize_with_checks(cases(dims=(1, 6)))
def test_conformance_in_other_dimensions(case, check):
    check(case)


def test_every_mechanism_is_examined():
    own = {name for name, cls in MECHANISMS.items() if cls.__module__.startswith("geomstats_ldp.")}
    assert {case.mechanism.name for case in CASES} == own
