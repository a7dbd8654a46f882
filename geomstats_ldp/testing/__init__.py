"""Conformance checks for losses, mechanisms, estimators and spaces, yours or the package's own.

A case names what is to be examined; `run_checks` examines it, and `parametrize_with_checks` makes
one pytest test of each check. Every failing check says what was expected and what came.

>>> from geomstats.geometry.euclidean import Euclidean
>>> from geomstats_ldp.losses import FrechetLoss
>>> from geomstats_ldp.testing import LossCase, run_checks
>>> loss = FrechetLoss(center=[0.0, 0.0], data_radius=1.0)
>>> run_checks(LossCase(loss, Euclidean(2), center=[0.1, 0.0]))
"""

from geomstats_ldp.testing.audit import (
    AuditResult,
    audit_release,
    candidate_release,
    device_release,
    direct_release,
)
from geomstats_ldp.testing.cases import (
    Case,
    ConformanceError,
    parametrize_with_checks,
    run_checks,
)
from geomstats_ldp.testing.estimators import EstimatorCase
from geomstats_ldp.testing.losses import LossCase
from geomstats_ldp.testing.mechanisms import MechanismCase
from geomstats_ldp.testing.spaces import SpaceCase

__all__ = [
    "AuditResult",
    "Case",
    "ConformanceError",
    "EstimatorCase",
    "LossCase",
    "MechanismCase",
    "SpaceCase",
    "audit_release",
    "candidate_release",
    "device_release",
    "direct_release",
    "parametrize_with_checks",
    "run_checks",
]
