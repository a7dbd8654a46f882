"""Alternatives for comparison: same-trajectory and half-sample regression, self-normalised SGD.

The first two are those of section 5.1 of the paper, and return the same regions; the third is a
published method for Euclidean parameters. All ask every participant one query.
"""

from geomstats_ldp.replication.baselines.base import BaselineFit
from geomstats_ldp.replication.baselines.gains import ProbeRadius, offset_gain, reduced_gain
from geomstats_ldp.replication.baselines.half_sample import HalfSampleProbes
from geomstats_ldp.replication.baselines.regression import BaselineSandwich, RidgeRegression
from geomstats_ldp.replication.baselines.self_normalised import SelfNormalisedSGD
from geomstats_ldp.replication.baselines.trajectory import SameTrajectoryRegression

__all__ = [
    "BaselineFit",
    "BaselineSandwich",
    "HalfSampleProbes",
    "ProbeRadius",
    "RidgeRegression",
    "SameTrajectoryRegression",
    "SelfNormalisedSGD",
    "offset_gain",
    "reduced_gain",
]
