"""The public part: protocol, queries, messages, transcript."""

from geomstats_ldp.protocol.amplification import (
    AmplifiedGuarantee,
    amplified_epsilon,
    amplified_guarantee,
)
from geomstats_ldp.protocol.making import make_protocol
from geomstats_ldp.protocol.messages import Message, Query
from geomstats_ldp.protocol.protocol import Protocol
from geomstats_ldp.protocol.rounds import RoundPlan
from geomstats_ldp.protocol.rules import GainRule, InferenceRule, RadiusRule
from geomstats_ldp.protocol.transcript import Transcript

__all__ = [
    "AmplifiedGuarantee",
    "GainRule",
    "InferenceRule",
    "Message",
    "Protocol",
    "Query",
    "RadiusRule",
    "RoundPlan",
    "Transcript",
    "amplified_epsilon",
    "amplified_guarantee",
    "make_protocol",
]
