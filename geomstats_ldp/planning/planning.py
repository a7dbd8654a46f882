"""How wide a region will be, before anybody is asked."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from geomstats_ldp.estimators.base import BasePrivateEstimator
from geomstats_ldp.exceptions import (
    ArgumentTypeError,
    HessianFloorWarning,
    LDPWarning,
    NotReadyError,
    ProtocolError,
    WeakCurvatureWarning,
)
from geomstats_ldp.inference import smooth_functional
from geomstats_ldp.inference.region import check_level
from geomstats_ldp.planning.oracle import oracle_covariance, oracle_semi_axes
from geomstats_ldp.planning.plan import Plan, Row, between, over_oracle
from geomstats_ldp.planning.population import population_of
from geomstats_ldp.validation import check_integer, finite_array

#: Rows of a pilot from which population matrices are made.
_MOST_ROWS = 2000

#: Warnings that say that a region may not hold its level.
_WEAK = (HessianFloorWarning, WeakCurvatureWarning)

#: Standard error of a median over that of a mean, of normal numbers.
_ERROR_OF_MEDIAN = math.sqrt(math.pi / 2)

#: Numbers of participants of a curve at which collections are emulated.
_N_EMULATED = 3


def plan(
    estimator: Any,
    pilot: ArrayLike,
    *,
    n: int | Sequence[int],
    epsilon: float | Sequence[float] | None = None,
    bounds: Mapping[str, float | Sequence[float]] | None = None,
    functional: Callable | None = None,
    level: float = 0.95,
    n_emulations: int = 8,
    largest_emulation: int = 100_000,
    random_state: int = 0,
) -> Plan:
    r"""Widths of regions for numbers of people, privacy levels and public bounds.

    Nobody is asked: the pilot stands for the people. It has to be public, or a guess: rows that
    were published before, or drawn from a law one believes in. For somebody who knew the Hessian
    H of the mean loss and the covariance :math:`\Sigma` of a released score, the covariance of the
    estimate would be :math:`H^{-1} \Sigma H^{-1} / n`; that is the *oracle*. A collection has to
    learn both, and its region is wider, by a factor that is large with few people and tends to one.
    It is never taken to be less; where emulated regions are, curvature is said to be weak.
    The factor is measured: at three of the numbers of people, collections of rows drawn from the
    pilot with replacement are emulated. Between these numbers its logarithm is interpolated in
    that of n.

    Parameters
    ----------
    estimator : estimator of the package
        Not changed.
    pilot : array-like, shape [m, *data_shape]
        Public rows, of a regression with the target last, which is 0 or 1 for two classes. Up to
        2000 of them, evenly spaced, make the oracle; all of them the emulations.
    n : int or sequence of int
        Numbers of participants.
    epsilon : float or sequence of float, optional
        Privacy levels. Default that of the estimator.
    bounds : dict of str to float or to sequence of float, optional
        Values of parameters of the estimator that are public bounds, such as
        ``{"norm_bound": [1.0, 2.0]}``; all combinations are planned.
    functional : callable, optional
        A function of the parameter, as for `functional` of an estimator. Widths are then the
        largest half-width of the intervals of its components; by default the largest semi-axis
        of the confidence region.
    level : float in (0, 1), default=0.95
    n_emulations : int, default=8
        Collections at each of the three numbers of people, at least two. Widths of single
        collections differ, most where people are few: see ``error`` of the rows.
    largest_emulation : int, default=100000
        Collections of more people are not emulated: the factor is taken to stay what it is there.
    random_state : int, default=0

    Returns
    -------
    plan : Plan

    Raises
    ------
    ArgumentTypeError
        If `estimator` is no estimator of this package, or another argument is of a type that is
        not allowed.
    ProtocolError
        Naming the argument that does not fit; or if the target of the pilot is outside the
        working region.

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import PrivateVMFLocation, plan
    >>> pilot = [0.6, 0.64, 0.48] + 0.5 * np.random.default_rng(0).normal(size=(500, 3))
    >>> estimator = PrivateVMFLocation(epsilon=4.0, initial_point=[1, 1, 1], n_rounds=8)
    >>> planned = plan(estimator, pilot, n=[1000, 4000], n_emulations=2)
    >>> [row.n for row in planned.rows]
    [1000, 4000]
    """
    if not isinstance(estimator, BasePrivateEstimator):
        raise ArgumentTypeError(
            f"estimator must be an estimator of this package; got {type(estimator).__name__}"
        )
    rows = finite_array("pilot", pilot, (...,))
    if rows.ndim < 2 or len(rows) < 2:
        raise ProtocolError(f"pilot must hold at least two rows; got shape {rows.shape}")
    sizes = sorted({check_integer("n", size, 2) for size in _listed(n)})
    if not sizes:
        raise ProtocolError("n must name at least one number of participants; got none")
    check_level(level)
    check_integer("n_emulations", n_emulations, 2)
    check_integer("largest_emulation", largest_emulation)
    check_integer("random_state", random_state, 0)
    if functional is not None and not callable(functional):
        raise ArgumentTypeError(
            f"functional must be a function of a point, or None; got {functional!r}"
        )
    if not isinstance(bounds, (Mapping, type(None))):
        raise ArgumentTypeError(f"bounds must be a dict of parameters to values; got {bounds!r}")
    grid = {"epsilon": _listed(estimator.epsilon if epsilon is None else epsilon)}
    if any(isinstance(value, dict) for value in grid["epsilon"]):
        raise ProtocolError("epsilon must be one number for a plan; give epsilon=[...] of its own")
    grid |= {name: _listed(values) for name, values in (bounds or {}).items()}
    unknown = grid.keys() - estimator.get_params().keys()
    if unknown:
        raise ProtocolError(
            f"bounds must be parameters of {type(estimator).__name__}; got {sorted(unknown)}"
        )
    for name, values in grid.items():
        if not values:
            raise ProtocolError(f"{name} must have at least one value; got none")
    possible = [size for size in sizes if size <= largest_emulation]
    if not possible:
        raise ProtocolError(
            f"n must name a number up to largest_emulation={largest_emulation}; got {sizes}"
        )
    places = np.linspace(0, len(possible) - 1, min(_N_EMULATED, len(possible)))
    task = _Task(
        rows,
        sizes,
        [possible[round(place)] for place in places],
        functional,
        level,
        n_emulations,
        random_state,
    )
    found: list[Row] = []
    for values in itertools.product(*grid.values()):
        setting = dict(zip(grid, values))
        found += _curve(task, clone(estimator).set_params(**setting), setting)
    sizes_of = partial(_sizes_of_rounds, clone(estimator), rows[:1])
    return Plan(tuple(found), level, functional is not None, estimator.n_rounds, sizes_of)


def _listed(values):
    """Values in a list, and a value on its own as the only one."""
    return list(values) if np.ndim(values) > 0 else [values]


class _Task(NamedTuple):
    """What all curves of a plan share; see `plan`."""

    rows: np.ndarray
    sizes: list
    emulated: list
    functional: Callable | None
    level: float
    n_emulations: int
    random_state: int


class _Seen(NamedTuple):
    """Median width of emulations, its relative error; shares of informative and of weak regions."""

    width: float
    error: float
    informative: float
    weak: float


def _started(estimator, rows, size):
    """Copy of an estimator with the protocol that it has for a number of participants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        return (
            clone(estimator).set_params(n_participants=size).start(estimator._n_features_of(rows))
        )


def _sizes_of_rounds(estimator, rows, n, n_rounds, setting):
    """Sizes of the rounds in which an estimator would ask so many people."""
    planned = clone(estimator).set_params(n_rounds=n_rounds, **setting)
    return _started(planned, rows, n).protocol_.rounds.sizes


def _curve(task, estimator, setting):
    """Rows of the plan for one setting of the public parameters."""
    seen = [_emulate(task, estimator, size) for size in task.emulated]
    started = [_started(estimator, task.rows, size) for size in task.sizes]
    step = -(-len(task.rows) // _MOST_ROWS)
    pilot = started[0]._to_internal(task.rows[::step])
    population = population_of(started[0].protocol_, pilot)
    if _has_one_query(started[0].protocol_):
        # Everybody is asked at one public point: errors are means, and shrink as such.
        last = seen[-1].width * math.sqrt(task.emulated[-1])
        oracles = [last / math.sqrt(size) for size in task.sizes]
    else:
        oracles = [_oracle_width(task, one, population) for one in started]
    at = [task.sizes.index(size) for size in task.emulated]
    widths, errors = [one.width for one in seen], [one.error for one in seen]
    factors, below = over_oracle(widths, errors, [oracles[place] for place in at])
    planned = [
        oracle * between(size, task.emulated, factors) for size, oracle in zip(task.sizes, oracles)
    ]
    informative = np.interp(task.sizes, task.emulated, [one.informative for one in seen])
    weak = np.maximum([one.weak for one in seen], below)
    weak = np.interp(task.sizes, task.emulated, weak)
    return [
        Row(
            n=size,
            setting=setting,
            oracle=oracle,
            width=width,
            error=width * errors[_nearest(task, size)],
            is_informative=bool(informative[place] >= 0.5),
            is_weak=bool(weak[place] > 0.5),
            is_emulated=size in task.emulated,
            clipped_share=population.clipped_share,
            shift=population.shift,
        )
        for place, (size, oracle, width) in enumerate(zip(task.sizes, oracles, planned))
    ]


def _nearest(task, size):
    """Place of the emulated number that is nearest on the logarithmic scale."""
    return int(np.argmin(np.abs(np.log(task.emulated) - math.log(size))))


def _has_one_query(protocol):
    return protocol.rounds is not None and protocol.rounds.query is not None


def _oracle_width(task, started, population):
    """Width for somebody who knows the population matrices."""
    protocol = started.protocol_
    mechanism, n = protocol.mechanism, protocol.n_participants
    if task.functional is None:
        return float(oracle_semi_axes(population, mechanism, n, task.level)[0])
    covariance = oracle_covariance(population, mechanism) / n
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        found = smooth_functional(
            task.functional,
            protocol.geometry,
            population.target,
            covariance,
            coordinates=started._coordinates(),
        )
    return _half_width(found, task.level)


def _emulate(task, estimator, size):
    """Collections of a number of people who are drawn from the pilot."""
    found = []
    for place in range(task.n_emulations):
        rng = np.random.default_rng([task.random_state, size, place])
        people = task.rows[rng.integers(len(task.rows), size=size)]
        found.append(_emulate_once(task, clone(estimator).set_params(random_state=rng), people))
    widths, informative, weak = zip(*found)
    width, error = float(np.median(widths)), math.inf
    if np.all(np.isfinite(widths)):
        error = _ERROR_OF_MEDIAN * float(np.std(widths, ddof=1)) / math.sqrt(len(widths)) / width
    return _Seen(width, error, float(np.mean(informative)), float(np.mean(weak)))


def _emulate_once(task, estimator, people):
    """Width, whether the region is informative, and whether curvature is weak."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            region = estimator._fit_rows(people).confidence_region(task.level)
        except NotReadyError:
            return math.inf, False, True
        width = region.largest_radius
        if task.functional is not None:
            width = _half_width(estimator.functional(task.functional), task.level)
    weak = any(issubclass(one.category, _WEAK) for one in caught)
    return width, region.is_informative, weak


def _half_width(functional, level):
    """Largest half-width of the intervals of the components."""
    low, high = functional.interval(level).T
    return float(np.max(high - low)) / 2
