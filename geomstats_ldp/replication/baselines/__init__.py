"""Two alternatives to symmetric pairs, for comparison: same-trajectory and half-sample regression.

Section 5.1 of the paper. Both ask every participant one query and return the same regions.
"""

from geomstats_ldp.replication.baselines.base import BaselineFit
from geomstats_ldp.replication.baselines.gains import ProbeRadius, offset_gain, reduced_gain
from geomstats_ldp.replication.baselines.half_sample import HalfSampleProbes
from geomstats_ldp.replication.baselines.regression import BaselineSandwich, RidgeRegression
from geomstats_ldp.replication.baselines.trajectory import SameTrajectoryRegression

__all__ = [
    "BaselineFit",
    "BaselineSandwich",
    "HalfSampleProbes",
    "ProbeRadius",
    "RidgeRegression",
    "SameTrajectoryRegression",
    "offset_gain",
    "reduced_gain",
]
