"""Scouting: a first share of the participants finds the bound and the start that nobody knows."""

from geomstats_ldp.scouting.bound import best_norm_bound
from geomstats_ldp.scouting.device import NormParticipant
from geomstats_ldp.scouting.histogram import NormHistogram
from geomstats_ldp.scouting.plan import ScoutPlan

__all__ = ["NormHistogram", "NormParticipant", "ScoutPlan", "best_norm_bound"]
