"""One collection of the study: a design, a mechanism and a method, at several sample sizes."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass, replace

import numpy as np

from geomstats_ldp.emulation import emulate
from geomstats_ldp.emulation_in_rounds import emulate_in_rounds
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.inference import WaldRegion, estimate_round_sandwich, estimate_sandwich
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.replication.baselines import (
    HalfSampleProbes,
    ProbeRadius,
    SameTrajectoryRegression,
    offset_gain,
    reduced_gain,
)
from geomstats_ldp.replication.study.designs import DESIGNS, EPSILONS, load_design
from geomstats_ldp.replication.study.tuning import BASELINE_TUNING, TUNINGS, design_protocol
from geomstats_ldp.server import RoundServer, Server
from geomstats_ldp.server.recursion import N_CAPPED, N_PROJECTED
from geomstats_ldp.validation import check_choice

METHODS = ("spr", "rounds", "trajectory", "half_sample")
MECHANISMS = ("gaussian", "privunit", "l2_ball")
LEVEL = 0.95

#: Tunings that there are for each method, the one that is taken unless another is asked for first.
METHOD_TUNINGS = {
    "spr": TUNINGS,
    "rounds": ("default",),
    "trajectory": ("paper",),
    "half_sample": ("paper",),
}

#: Rounds of a collection in rounds.
N_ROUNDS = 8

#: Columns that hold semi-axes, the longest first; unused ones are empty.
_N_AXES = 3


@dataclass(frozen=True)
class Cell:
    """What one row of a table stands for, but for the sample size.

    Parameters
    ----------
    design : str
        A to F.
    mechanism : {"gaussian", "privunit", "l2_ball"}
    epsilon : float
    method : {"spr", "rounds", "trajectory", "half_sample"}
    tuning : {"paper", "default"}
        Pairs have both, rounds the defaults only, and the baselines the paper's.
    """

    design: str
    mechanism: str
    epsilon: float
    method: str = "spr"
    tuning: str = "paper"

    def __post_init__(self):
        allowed = {
            "design": DESIGNS,
            "mechanism": MECHANISMS,
            "method": METHODS,
            "tuning": METHOD_TUNINGS.get(self.method, TUNINGS),
        }
        for name, choices in allowed.items():
            check_choice(name, getattr(self, name), choices)
        if self.tuning == "paper" and self.epsilon not in EPSILONS:
            raise ValueError(
                f"epsilon must be one of {EPSILONS} for the paper's tuning, which has no constants "
                f"for others; got {self.epsilon}"
            )

    @property
    def key(self):
        """Name of the cell, fit for a file; equal for equal cells only."""
        epsilon = repr(float(self.epsilon)).removesuffix(".0")
        return f"{self.design}-{self.mechanism}-{epsilon}-{self.method}-{self.tuning}"

    @classmethod
    def from_key(cls, key):
        """Cell of a name; ValueError if it is none."""
        # The epsilon in the middle may have a minus sign of its own.
        design, mechanism, rest = key.split("-", 2)
        epsilon, method, tuning = rest.rsplit("-", 2)
        return cls(design, mechanism, float(epsilon), method, tuning)

    @property
    def is_private(self):
        """Whether messages are randomised."""
        return math.isfinite(self.epsilon)

    @property
    def place(self):
        """Sorts cells in the order of a table, least privacy first."""
        names = [
            MECHANISMS.index(self.mechanism),
            METHODS.index(self.method),
            TUNINGS.index(self.tuning),
            DESIGNS.index(self.design),
        ]
        return *names, -self.epsilon


def repetition_seeds(seed, design, repetition):
    """Seeds of the data and of the noise of one repetition.

    They depend on the design and the repetition only, so that mechanisms, privacy levels, methods
    and tunings are compared on the same data and the same random numbers.
    """
    key = (DESIGNS.index(design), repetition)
    return np.random.SeedSequence(seed, spawn_key=key).spawn(2)


def run_cell(cell, checkpoints, repetitions, seed):
    """Run some repetitions of a cell.

    Parameters
    ----------
    cell : Cell
    checkpoints : sequence of int
        Increasing sample sizes. One stream of participants serves them all; only the probes of
        the half-sample method, and the rounds, differ between them.
    repetitions : iterable of int
        Numbers of the repetitions.
    seed : int

    Returns
    -------
    rows : list of dict
        One for each repetition and sample size, in that order.
    """
    design = load_design(cell.design)
    protocol = design_protocol(
        design, cell.mechanism, cell.epsilon, checkpoints[-1], tuning=cell.tuning
    )
    fit = {
        "spr": _fit_spr,
        "rounds": _fit_rounds,
        "trajectory": _fit_trajectory,
        "half_sample": _fit_half_sample,
    }
    rows = []
    for repetition in repetitions:
        data_seed, noise_seed = repetition_seeds(seed, cell.design, repetition)
        data = design.law.draw(np.random.default_rng(data_seed), checkpoints[-1])
        with warnings.catch_warnings():
            # The columns of the result say the same as the warnings.
            warnings.simplefilter("ignore", LDPWarning)
            fits = fit[cell.method](protocol, design, cell, data, checkpoints, noise_seed)
        for n, one in zip(checkpoints, fits):
            rows.append(asdict(cell) | {"n": n, "repetition": repetition} | one)
    return rows


def _fit_spr(protocol, design, cell, data, checkpoints, noise_seed):
    server, streams = Server(protocol), make_streams(noise_seed)
    rows, start = [], 0
    for n in checkpoints:
        emulate(server, data[start:n], streams)
        start = n
        sandwich = estimate_sandwich(server.state, protocol)
        row = _row(protocol, design, server.state.average, sandwich, server.state.safeguards)
        rows.append(row | {"guard": sandwich.guard})
    return rows


def _fit_rounds(protocol, design, cell, data, checkpoints, noise_seed):
    """A collection of its own for each sample size, with the first of the same people."""
    rows = []
    for n in checkpoints:
        plan = design_protocol(
            design, cell.mechanism, cell.epsilon, n, tuning=cell.tuning, n_rounds=N_ROUNDS
        )
        server = RoundServer(plan)
        emulate_in_rounds(server, data[:n], np.random.default_rng(noise_seed))
        fit = server.fit()
        sandwich = estimate_round_sandwich(fit, plan)
        # Steps are not cut one by one: what counts is whether the estimate is where it was put.
        safeguards = {N_CAPPED: int(fit.is_cut), N_PROJECTED: 0}
        row = _row(plan, design, server.estimate(), sandwich, safeguards)
        rows.append(row | {"guard": sandwich.guard})
    return rows


def _fit_trajectory(protocol, design, cell, data, checkpoints, noise_seed):
    constants = BASELINE_TUNING[cell.design]
    protocol = replace(protocol, hessian_bound=constants.hessian_bound)
    gain = offset_gain(constants.gain_constant, *_noise(protocol, constants, cell))
    baseline = SameTrajectoryRegression(
        protocol, gain, checkpoints=checkpoints, random_state=noise_seed
    )
    return _baseline_rows(baseline, protocol, design, data)


def _fit_half_sample(protocol, design, cell, data, checkpoints, noise_seed):
    constants = BASELINE_TUNING[cell.design]
    protocol = replace(protocol, hessian_bound=constants.hessian_bound)
    make_gain = offset_gain if constants.always_offset else reduced_gain
    baseline = HalfSampleProbes(
        protocol,
        ProbeRadius(constants.probe_scale, constants.probe_exponents[cell.epsilon]),
        make_gain(constants.gain_constant, *_noise(protocol, constants, cell)),
        checkpoints=checkpoints,
        random_state=noise_seed,
    )
    return _baseline_rows(baseline, protocol, design, data)


def _noise(protocol, constants, cell):
    """Standard deviation of one coordinate of the noise, and the step it may cause."""
    scale = math.sqrt(protocol.mechanism.noise_variance)
    return scale, constants.step_caps[cell.epsilon]


def _baseline_rows(baseline, protocol, design, data):
    fits = baseline.fit(data).fits_.values()
    return [_row(protocol, design, fit.estimate, fit.sandwich, fit.safeguards) for fit in fits]


def _row(protocol, design, estimate, sandwich, safeguards):
    region = WaldRegion(
        protocol.geometry, estimate, sandwich.covariance, LEVEL, protocol.working_region
    )
    axes = np.full(_N_AXES, np.nan)
    axes[: region.dim] = region.semi_axis_lengths
    statistic = float(region.statistic(design.target))
    return {
        "error": design.error(estimate),
        # The target is inside the working region, to which the ellipsoid is restricted.
        "covered": statistic <= region.threshold,
        "statistic": statistic,
        **{f"semi_axis_{i + 1}": float(axis) for i, axis in enumerate(axes)},
        "informative": region.is_informative,
        "hessian_floor_active": sandwich.hessian_floor_active,
        "hessian_bound_active": sandwich.hessian_bound_active,
        "guard": 1.0,
        "n_capped": int(safeguards[N_CAPPED]),
        "n_projected": int(safeguards[N_PROJECTED]),
    }
