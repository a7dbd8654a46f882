"""Estimates on manifolds, with confidence regions, from locally private messages."""

from geomstats_ldp.estimators import (
    PrivateFrechetMean,
    PrivateMEstimator,
    PrivatePCA,
    PrivateSPDCovariance,
    PrivateVMFLocation,
    Tuning,
)
from geomstats_ldp.geometry import register_space
from geomstats_ldp.inference import SmoothFunctional, WaldRegion
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Message, Protocol, Query, Transcript
from geomstats_ldp.replicates import replicate
from geomstats_ldp.server import Server

__version__ = "0.1.0"

__all__ = [
    "Message",
    "Participant",
    "PrivateFrechetMean",
    "PrivateMEstimator",
    "PrivatePCA",
    "PrivateSPDCovariance",
    "PrivateVMFLocation",
    "Protocol",
    "Query",
    "Server",
    "SmoothFunctional",
    "Transcript",
    "Tuning",
    "WaldRegion",
    "register_space",
    "replicate",
]
