"""Estimates on manifolds, with confidence regions, from locally private messages.

The public names are loaded when they are asked for: a device needs `Participant` alone, and should
not have to import what an analyst needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from geomstats_ldp.estimators import (
        PrivateFrechetMean,
        PrivateHuberRegression,
        PrivateLinearRegression,
        PrivateLogisticRegression,
        PrivateMEstimator,
        PrivatePCA,
        PrivateSPDCovariance,
        PrivateVMFLocation,
        Tuning,
        combine,
        compare,
    )
    from geomstats_ldp.geometry import register_space
    from geomstats_ldp.inference import (
        CoefficientTable,
        Comparison,
        ProfiledFunctional,
        ScoreRegion,
        SmoothFunctional,
        WaldRegion,
    )
    from geomstats_ldp.participant import Participant
    from geomstats_ldp.planning.planning import plan
    from geomstats_ldp.protocol import Message, Protocol, Query, Transcript
    from geomstats_ldp.replicates import replicate
    from geomstats_ldp.server import Server

__version__ = "0.1.0"

__all__ = [
    "CoefficientTable",
    "Comparison",
    "Message",
    "Participant",
    "PrivateFrechetMean",
    "PrivateHuberRegression",
    "PrivateLinearRegression",
    "PrivateLogisticRegression",
    "PrivateMEstimator",
    "PrivatePCA",
    "PrivateSPDCovariance",
    "PrivateVMFLocation",
    "ProfiledFunctional",
    "Protocol",
    "Query",
    "ScoreRegion",
    "Server",
    "SmoothFunctional",
    "Transcript",
    "Tuning",
    "WaldRegion",
    "combine",
    "compare",
    "plan",
    "register_space",
    "replicate",
]

#: Module of each public name; those left out are in `estimators`.
_HOMES = {
    "CoefficientTable": "inference",
    "Comparison": "inference",
    "Message": "protocol",
    "Participant": "participant",
    "ProfiledFunctional": "inference",
    "Protocol": "protocol",
    "Query": "protocol",
    "ScoreRegion": "inference",
    "Server": "server",
    "SmoothFunctional": "inference",
    "Transcript": "protocol",
    "WaldRegion": "inference",
    "plan": "planning.planning",
    "register_space": "geometry",
    "replicate": "replicates",
}


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'estimators')}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__})
