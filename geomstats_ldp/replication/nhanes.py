"""NHANES body measures: the leading body-size direction under local privacy.

The independent-user emulation of the paper's application: 5,175 adults of the 2017-2018 cycle each
release one private message; everything public comes from the 2015-2016 cycle.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from scipy import stats

from geomstats_ldp.datasets import NHANES_2015_2016, load_nhanes_body_measures
from geomstats_ldp.estimators import PrivatePCA, Tuning
from geomstats_ldp.exceptions import LDPWarning
from geomstats_ldp.losses import PCALoss
from geomstats_ldp.replicates import replicate

#: Privacy levels of the paper.
EPSILONS = (math.inf, 8.0, 4.0, 2.0, 1.0)

#: delta of the Gaussian mechanism; the others are pure.
GAUSSIAN_DELTA = 1e-6

LEVEL = 0.95


@dataclass(frozen=True)
class NHANESRecord:
    """Outcome of one run.

    Attributes
    ----------
    mechanism : str
    epsilon, delta : float
    loadings : tuple of float
        Height, weight, waist.
    angle_error_deg : float
        Angle to the batch direction, in degrees.
    semi_axis_deg : float
        Largest semi-axis of the 95% region as an angular radius, in degrees.
    informative : bool
        Whether the region stays inside the working region.
    n_participants, n_pairs, n_regression_pairs : int
    gram_condition_number : float
    hessian_floor_active : bool
    seed : int or None
    """

    mechanism: str
    epsilon: float
    delta: float
    loadings: tuple
    angle_error_deg: float
    semi_axis_deg: float
    informative: bool
    n_participants: int
    n_pairs: int
    n_regression_pairs: int
    gram_condition_number: float
    hessian_floor_active: bool
    seed: int | None

    def to_dict(self):
        """Plain record, for JSON."""
        return asdict(self)


def standardised_measures():
    """Measures of 2017-2018 in units of the 2015-2016 moments, shape [5175, 3]."""
    return NHANES_2015_2016.standardise(load_nhanes_body_measures().data)


def nhanes_estimator(mechanism="privunit", epsilon=1.0, **parameters):
    """`PrivatePCA` with the public numbers of the 2015-2016 cycle.

    Its leading direction is the initial point, and the inverse of its eigengap Hessian the
    preconditioner of the update.
    """
    reference = NHANES_2015_2016
    moment = np.asarray(reference.second_moment)
    gap = np.linalg.eigvalsh(moment)[-1] * np.eye(len(moment)) - moment
    estimator = PrivatePCA(
        norm_bound=reference.norm_bound,
        epsilon=epsilon,
        delta=GAUSSIAN_DELTA if mechanism == "gaussian" and math.isfinite(epsilon) else 0.0,
        mechanism=mechanism,
        initial_point=reference.leading_direction(),
        # The leading direction is in the null space of the gap, and drops out of its inverse.
        tuning=Tuning(preconditioner=np.linalg.pinv(gap, rcond=1e-8, hermitian=True)),
    )
    return estimator.set_params(**parameters)


def batch_direction(data):
    """Leading eigenvector of the clipped second moment, the non-private target."""
    clipped = PCALoss(norm_bound=NHANES_2015_2016.norm_bound).clip(None, data)
    direction = np.linalg.eigh(clipped.T @ clipped / len(clipped))[1][:, -1]
    return direction * np.sign(direction.sum())


def clipped_fraction(data):
    """Share of rows longer than the bound."""
    return float(np.mean(np.linalg.norm(data, axis=1) > NHANES_2015_2016.norm_bound))


def run_nhanes(data, mechanism="privunit", epsilon=1.0, seed=0, target=None, **parameters):
    """One emulated collection.

    Parameters
    ----------
    data : array, shape [n, 3]
        Standardised measures, one participant a row.
    mechanism : {"privunit", "gaussian", "l2_ball"}
    epsilon : float
    seed : int or None
    target : array, shape [3], optional
        Direction that the error is measured against; default the batch direction of `data`.

    Returns
    -------
    record : NHANESRecord
    estimator : PrivatePCA
    region : WaldRegion
    """
    target = batch_direction(data) if target is None else target
    estimator = nhanes_estimator(mechanism, epsilon, random_state=seed, **parameters)
    with warnings.catch_warnings():
        # The record says the same in its own fields; its target is that of the clipped rows.
        warnings.simplefilter("ignore", LDPWarning)
        estimator.fit(data)
        region = estimator.confidence_region(LEVEL)
    diagnostics = estimator.diagnostics_
    record = NHANESRecord(
        mechanism=mechanism,
        epsilon=float(epsilon),
        delta=float(estimator.delta),
        loadings=tuple(float(value) for value in estimator.estimate_),
        angle_error_deg=math.degrees(region.geometry.dist(estimator.estimate_, target)),
        semi_axis_deg=math.degrees(region.angular_radii[0]),
        informative=region.is_informative,
        n_participants=diagnostics["n_participants"],
        n_pairs=diagnostics["n_pairs"],
        n_regression_pairs=diagnostics["n_regression_pairs"],
        gram_condition_number=diagnostics["gram_condition_number"],
        hessian_floor_active=diagnostics["hessian_floor_active"],
        seed=seed,
    )
    return record, estimator, region


def oracle_semi_axis(data, mechanism="privunit", epsilon=1.0):
    """Largest semi-axis, in degrees, of the region with the true Hessian and score covariance.

    What the procedure would give if it knew both exactly: the yardstick for `semi_axis_deg`.
    """
    estimator = nhanes_estimator(mechanism, epsilon).start()
    protocol, target = estimator.protocol_, batch_direction(data)
    geometry, loss = protocol.geometry, PCALoss(norm_bound=estimator.norm_bound)
    frame = geometry.lift(np.eye(2), target)
    clipped = loss.clip(geometry, data)
    moment = clipped.T @ clipped / len(data)
    hessian = frame @ (target @ moment @ target * np.eye(3) - moment) @ frame.T
    scores = loss.score(geometry, target, clipped) @ frame.T
    total = scores.T @ scores / len(data) + sum(
        protocol.mechanism.noise_covariance(score) for score in scores
    ) / len(data)
    inverse = np.linalg.inv(hessian)
    largest = np.linalg.eigvalsh(inverse @ total @ inverse / len(data))[-1]
    return math.degrees(geometry.retracted_distance(math.sqrt(stats.chi2.ppf(LEVEL, 2) * largest)))


@dataclass(frozen=True)
class NHANESSummary:
    """Many runs at one privacy level.

    Attributes
    ----------
    mechanism : str
    epsilon : float
    repetitions : int
    median_semi_axis_deg, oracle_semi_axis_deg : float
    mean_angle_error_deg, standard_error_deg : float
        Mean angular error and its Monte Carlo standard error.
    coverage, coverage_standard_error : float
        Share of runs whose 95% region contains the batch direction.
    uninformative : float
        Share of runs whose region reaches the edge of the working region.
    """

    mechanism: str
    epsilon: float
    repetitions: int
    median_semi_axis_deg: float
    oracle_semi_axis_deg: float
    mean_angle_error_deg: float
    standard_error_deg: float
    coverage: float
    coverage_standard_error: float
    uninformative: float


def repeat_nhanes(data, mechanism="privunit", epsilon=1.0, repetitions=100, seed=0, **parameters):
    """Repeat the collection with participants resampled with replacement.

    Each repetition draws its own participants and its own noise from `seed`; joblib's
    ``parallel_config`` spreads them over cores.

    Returns
    -------
    summary : NHANESSummary
    """
    target = batch_direction(data)
    task = partial(_one_repetition, data, mechanism, epsilon, target, parameters)
    rows = list(replicate(task, repetitions, seed))
    semi_axis, error, covered, uninformative = np.array(rows, dtype=float).T
    return NHANESSummary(
        mechanism=mechanism,
        epsilon=float(epsilon),
        repetitions=repetitions,
        median_semi_axis_deg=float(np.median(semi_axis)),
        oracle_semi_axis_deg=oracle_semi_axis(data, mechanism, epsilon),
        mean_angle_error_deg=float(error.mean()),
        standard_error_deg=float(error.std(ddof=1) / math.sqrt(repetitions)),
        coverage=float(covered.mean()),
        coverage_standard_error=float(math.sqrt(covered.var() / repetitions)),
        uninformative=float(uninformative.mean()),
    )


def _one_repetition(data, mechanism, epsilon, target, parameters, seed):
    rng = np.random.default_rng(seed)
    sample = data[rng.integers(len(data), size=len(data))]
    record, _, region = run_nhanes(sample, mechanism, epsilon, rng, target, **parameters)
    return (
        record.semi_axis_deg,
        record.angle_error_deg,
        bool(region.contains(target)),
        not record.informative,
    )
