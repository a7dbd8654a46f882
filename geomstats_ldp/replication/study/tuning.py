"""Protocols of the study: the paper's constants for each design, or the defaults for all."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from geomstats_ldp.estimators import PrivateMEstimator, Tuning
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import GainRule, InferenceRule, make_protocol
from geomstats_ldp.replication.study.designs import EPSILONS, GAUSSIAN_DELTA
from geomstats_ldp.schedules import gain_offset

TUNINGS = ("paper", "default")


@dataclass(frozen=True)
class BaselineTuning:
    """Constants of the two baselines in one design (section 5.1 of the paper).

    Attributes
    ----------
    gain_constant : float
        C of the one-query gain.
    step_caps : dict
        Bound on the first noise step, for each epsilon.
    hessian_bound : float
        L_H.
    probe_scale : float
    probe_exponents : dict
        The probe radius is ``probe_scale * n^-exponent``, with an exponent for each epsilon.
    always_offset : bool
        Whether the half-sample recursion has the offset form of the gain too.
    """

    gain_constant: float
    step_caps: dict
    hessian_bound: float
    probe_scale: float = 0.65
    probe_exponents: dict = field(default_factory=lambda: dict.fromkeys(EPSILONS, 0.025))
    always_offset: bool = False


def _caps(*values):
    return dict(zip(EPSILONS, values))


BASELINE_TUNING = {
    "A": BaselineTuning(0.18, dict.fromkeys(EPSILONS, 0.85), 5.0),
    "B": BaselineTuning(0.24, _caps(1.35, 1.60, 1.35, 1.35, 1.35), 5.6),
    "C": BaselineTuning(0.60, dict.fromkeys(EPSILONS, 0.75), 1.0),
    "D": BaselineTuning(
        0.75, dict.fromkeys(EPSILONS, 0.85), 1.4 / math.tanh(1.4), probe_scale=0.85
    ),
    "E": BaselineTuning(
        0.75,
        _caps(1.0, 1.0, 2.0, 1.5, 2.0),
        1.0,
        probe_scale=0.85,
        probe_exponents=dict.fromkeys(EPSILONS, 0.025) | {math.inf: 0.15},
    ),
    "F": BaselineTuning(1.00, _caps(0.85, 0.85, 0.10, 0.20, 0.40), 0.6, always_offset=True),
}

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


def design_protocol(design, mechanism, epsilon, n_participants, tuning="paper", n_rounds=None):
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
    n_rounds : int, optional
        For a collection in rounds instead of pairs, for which there are defaults only.

    Returns
    -------
    protocol : Protocol
    """
    if tuning not in TUNINGS:
        raise ValueError(f"tuning must be one of {TUNINGS}; got {tuning!r}")
    if tuning == "default":
        return _default_protocol(design, mechanism, epsilon, n_participants, n_rounds)
    if n_rounds is not None:
        raise ValueError("tuning must be 'default' for rounds; got 'paper'")
    return _paper_protocol(design, mechanism, epsilon, n_participants)


def _paper_protocol(design, mechanism, epsilon, n_participants):
    paper = design.paper
    randomiser = design_mechanism(design, mechanism, epsilon)
    cap = paper.step_caps[epsilon]
    noise_scale = math.sqrt(randomiser.noise_variance)
    offset = gain_offset(paper.gain_constant, _GAIN_EXPONENT, noise_scale, randomiser.dim, cap)
    guard = paper.guard if math.isfinite(epsilon) else paper.guard_nonprivate
    return make_protocol(
        Geometry(design.space, design.reference, retraction=paper.retraction),
        design.loss,
        randomiser,
        design.region,
        radius=paper.radius,
        gain=GainRule(paper.gain_constant, offset, _GAIN_EXPONENT, cap),
        inference=InferenceRule.paper(guard=guard, guard_cap=paper.guard_cap),
        initial_point=design.initial_point,
        hessian_bound=paper.hessian_bound,
        n_participants=n_participants,
    )


def _default_protocol(design, mechanism, epsilon, n_participants, n_rounds):
    estimator = PrivateMEstimator(
        design.space,
        design.loss,
        epsilon=epsilon,
        delta=design_delta(mechanism, epsilon),
        mechanism=mechanism,
        initial_point=design.initial_point,
        n_participants=n_participants,
        n_rounds=n_rounds,
        tuning=Tuning(working_region=design.region),
    )
    return estimator.start().protocol_
