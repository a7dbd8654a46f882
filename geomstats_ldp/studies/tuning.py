"""Protocols of the study: the paper's constants for each design, or the defaults for all."""

from __future__ import annotations

import math

from geomstats_ldp.estimators import PrivateMEstimator
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import GainRule, InferenceRule, make_protocol
from geomstats_ldp.schedules import gain_offset
from geomstats_ldp.studies.designs import GAUSSIAN_DELTA

TUNINGS = ("paper", "default")

_GAIN_EXPONENT = 0.60


def design_delta(mechanism, epsilon):
    """Delta of a mechanism in the study: that of the paper for Gaussian noise, else zero."""
    return GAUSSIAN_DELTA if mechanism == "gaussian" and math.isfinite(epsilon) else 0.0


def design_mechanism(design, mechanism, epsilon):
    """Randomiser of a design, calibrated to its stated score bound."""
    return make_mechanism(
        mechanism,
        epsilon=epsilon,
        delta=design_delta(mechanism, epsilon),
        dim=int(design.space.dim),
        bound=design.score_bound,
    )


def design_protocol(design, mechanism, epsilon, n_participants, tuning="paper"):
    """Protocol of a design.

    Parameters
    ----------
    design : Design
    mechanism : {"gaussian", "privunit", "l2_ball"}
    epsilon : float
    n_participants : int
    tuning : {"paper", "default"}
        The constants of section S.3, or what `PrivateMEstimator` chooses from the public bounds,
        the working region and the initial point.

    Returns
    -------
    protocol : Protocol
    """
    if tuning not in TUNINGS:
        raise ValueError(f"tuning must be one of {TUNINGS}; got {tuning!r}")
    build = _paper_protocol if tuning == "paper" else _default_protocol
    return build(design, mechanism, epsilon, n_participants)


def _paper_protocol(design, mechanism, epsilon, n_participants):
    paper = design.paper
    randomiser = design_mechanism(design, mechanism, epsilon)
    cap = paper.step_caps[epsilon]
    noise_scale = math.sqrt(randomiser.noise_variance)
    offset = gain_offset(paper.gain_constant, _GAIN_EXPONENT, noise_scale, randomiser.dim, cap)
    guard = paper.guard if math.isfinite(epsilon) else paper.guard_nonprivate
    return make_protocol(
        design.space,
        design.loss,
        randomiser,
        design.region,
        radius=paper.radius,
        gain=GainRule(paper.gain_constant, offset, _GAIN_EXPONENT, cap),
        inference=InferenceRule.paper(guard=guard, guard_cap=paper.guard_cap),
        retraction=paper.retraction,
        reference=design.reference,
        initial_point=design.initial_point,
        hessian_bound=paper.hessian_bound,
        n_participants=n_participants,
    )


def _default_protocol(design, mechanism, epsilon, n_participants):
    estimator = PrivateMEstimator(
        design.space,
        design.loss,
        epsilon=epsilon,
        delta=design_delta(mechanism, epsilon),
        mechanism=mechanism,
        initial_point=design.initial_point,
        region=design.region,
        n_participants=n_participants,
    )
    return estimator.start().protocol_
