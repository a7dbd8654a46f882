"""What every mechanism promises: no bias, stated noise, stated privacy, and immutability."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from geomstats_ldp.mechanisms import make_streams, mechanism_from_spec
from geomstats_ldp.mechanisms.base import compiled_release
from geomstats_ldp.serialization import canonical_json
from geomstats_ldp.testing import privacy, release
from geomstats_ldp.testing.cases import (
    Case,
    ConformanceError,
    equal_copies,
    require,
    require_at_most,
    require_close,
    require_equal,
    require_refused,
    require_result,
    require_same_arrays,
    through_json,
)


@dataclass(eq=False)
class MechanismCase(Case):
    """A mechanism, and how many messages it is judged by.

    Parameters
    ----------
    mechanism : Mechanism
        Of a registered class.
    n : int, default=40_000
        Messages for each input.
    seed : int, default=0
    largest_z : float, default=5.5
        Largest Monte Carlo deviation, in standard errors. A case makes some hundreds of
        comparisons; a normal variate exceeds 5.5 with probability 4e-8.
    """

    mechanism: Any
    n: int = 40_000
    seed: int = 0
    largest_z: float = 5.5

    def __str__(self):
        m = self.mechanism
        return f"{m.name} epsilon={m.epsilon:g} dim={m.dim}"

    def checks(self) -> list[Callable]:
        """Checks of a mechanism; privacy unless epsilon is inf, the twin where there is one."""
        checks = list(_CHECKS)
        if math.isfinite(self.mechanism.epsilon):
            checks += privacy.CHECKS
        if self.mechanism.twin() is not None:
            checks.append(check_twin)
        if self.mechanism.candidate_width is not None:
            checks += release.CHECKS
        return checks

    @cached_property
    def inputs(self) -> np.ndarray:
        """Zero, points inside, next to the boundary, at it and antipodal, shape [n, dim]."""
        mechanism = self.mechanism
        direction = np.random.default_rng(self.seed).normal(size=mechanism.dim)
        direction /= np.linalg.norm(direction)
        rows = [radius * direction for radius in (0.0, 0.6, 0.999, 1.0, -1.0)]
        return mechanism.bound * np.stack([*rows, np.eye(mechanism.dim)[0]])

    @cached_property
    def messages(self) -> np.ndarray:
        """Messages of each input, shape [n_inputs, n, dim]; each has variates of its own."""
        streams = make_streams(self.seed)
        mechanism = self.mechanism
        return np.stack(
            [mechanism.release(v, mechanism.draw(self.n, streams)) for v in self.inputs]
        )

    def require_mean(self, samples: np.ndarray, expected: np.ndarray, what: str) -> None:
        """Require that a mean is as expected, up to Monte Carlo error.

        Parameters
        ----------
        samples : array, shape [n, ...]
        expected : array, shape [...]
        what : str
            What to call it in an error.

        Raises
        ------
        ConformanceError
            If it is not.
        """
        error = samples.std(axis=0) / math.sqrt(len(samples))
        rounding = 1e-9 * np.abs(samples).max(initial=1e-300)
        require_close(samples.mean(axis=0), expected, self.largest_z * error + rounding, what)


def check_unbiased(case):
    """The mean of the messages is the input."""
    for vector, released in zip(case.inputs, case.messages):
        case.require_mean(released, vector, f"mean of the messages of {vector}")


def check_noise_covariance(case):
    """The covariance of the messages is the stated one."""
    for vector, released in zip(case.inputs, case.messages):
        noise = released - vector
        stated = np.asarray(case.mechanism.noise_covariance(vector))
        products = noise[:, :, None] * noise[:, None, :]
        case.require_mean(products, stated, f"covariance of the messages of {vector}")


def check_noise_bounds(case):
    """Between its floor and its bound lies every eigenvalue of the noise covariance."""
    mechanism = case.mechanism
    low, high = mechanism.noise_variance_floor, mechanism.noise_variance
    require(0 <= low <= high < math.inf, f"expected 0 <= floor <= variance; got {low}, {high}")
    rounding = 1e-9 * high + 1e-14 * mechanism.bound**2
    for vector in case.inputs:
        values = np.linalg.eigvalsh(mechanism.noise_covariance(vector))
        require_at_most(values, high + rounding, "eigenvalue of the noise, noise_variance")
        require_at_most(-values, rounding - low, "minus that eigenvalue, noise_variance_floor")


def check_support(case):
    """Every message lies within the support radius and is taken by `in_support`."""
    mechanism = case.mechanism
    lengths = np.linalg.norm(case.messages, axis=-1)
    require_at_most(lengths, mechanism.support_radius * (1 + 1e-9), "length of a message")
    taken = mechanism.in_support(case.messages, rtol=1e-9)
    require_equal(np.shape(taken), case.messages.shape[:-1], "shape of in_support")
    require(np.all(taken), "in_support: expected True for a message; got False")


def check_blocks(case):
    """Variates drawn in blocks of any size are the same rows."""
    mechanism = case.mechanism
    whole = mechanism.draw(1000, make_streams(case.seed))
    require_equal(np.shape(whole), (1000, mechanism.n_variates), "shape of the variates")
    streams = make_streams(case.seed)
    pieces = [mechanism.draw(n, streams) for n in (1, 0, 13, 486, 500)]
    require_same_arrays(np.concatenate(pieces), whole, "variates drawn in blocks")


def check_release(case):
    """Release is deterministic, broadcasts, projects to the ball and takes any memory order."""
    mechanism, rng = case.mechanism, np.random.default_rng(case.seed)
    vectors = mechanism.bound * rng.normal(size=(4, mechanism.dim))
    variates = mechanism.draw(20, make_streams(case.seed)).reshape(5, 4, mechanism.n_variates)
    batch = mechanism.release(vectors, variates)
    require_equal(batch.shape, (5, 4, mechanism.dim), "shape of the messages")
    again = mechanism.release(np.asfortranarray(vectors), variates)
    require_same_arrays(again, batch, "a second release with the same variates")
    one = mechanism.release(vectors[2], variates[3, 2])
    require_same_arrays(one, batch[3, 2], "release of one vector against its row")
    edge = case.inputs[3]
    expected = mechanism.release(edge, variates[0])
    for factor in (1.0000001, 1e150, 1e300):
        # the lift of a boundary point, sqrt(1 - |v/G|^2), turns a rounding of 1e-16 into 1e-8
        tolerance = 1e-6 * max(1.0, np.abs(expected).max())
        outside = mechanism.release(factor * edge, variates[0])
        require_close(outside, expected, tolerance, f"release of {factor:g} times the edge")


def check_immutable(case):
    """No attribute can be set or deleted."""
    mechanism = case.mechanism
    before = canonical_json(mechanism.to_spec())
    for name in ("epsilon", "bound", "noise_variance", "anything"):
        require_refused(f"setting {name}", setattr, mechanism, name, 5.0, error=AttributeError)
    require_refused("deleting epsilon", delattr, mechanism, "epsilon", error=AttributeError)
    require_equal(canonical_json(mechanism.to_spec()), before, "record after all that")


def check_record(case):
    """The record is plain JSON; it, a pickle and a copy give an equal mechanism."""
    mechanism = case.mechanism
    record = require_result(lambda: through_json(mechanism.to_spec()), "record")
    required = {"name", "epsilon", "delta", "dim", "bound"}
    require(required <= record.keys(), f"record: expected {required}; got {sorted(record)}")
    copies = equal_copies(
        "mechanism",
        mechanism,
        record=lambda: mechanism_from_spec(record),
        pickle=lambda: pickle.loads(pickle.dumps(mechanism)),
        deepcopy=lambda: copy.deepcopy(mechanism),
    )
    variates = mechanism.draw(5, make_streams(case.seed))
    expected = mechanism.release(case.inputs[1], variates)
    for source, other in copies:
        released = other.release(case.inputs[1], variates)
        require_same_arrays(released, expected, f"messages of the mechanism from its {source}")
    require(repr(mechanism), "repr: expected a text that states the guarantee; got none")


def check_refusals(case):
    """What is not finite, of another shape or kind is refused, and bad parameters are."""
    mechanism = case.mechanism
    variates = mechanism.draw(2, make_streams(case.seed))
    for value in (math.nan, math.inf):
        bad = np.zeros((2, mechanism.dim))
        bad[1, 0] = value
        require_refused(f"a vector with {value}", mechanism.randomise, bad)
        require_refused(f"a vector with {value}", mechanism.release, bad, variates)
    wide = np.zeros((2, mechanism.dim + 1))
    require_refused("too wide a vector", mechanism.release, wide, variates)
    text = np.full((2, mechanism.dim), "1.0")
    require_refused("a vector of texts", mechanism.release, text, variates)
    bad_parameters = [("epsilon", -1.0), ("epsilon", 0.0), ("epsilon", math.nan)]
    bad_parameters += [("delta", 1.0), ("dim", 0), ("bound", -1.0), ("bound", math.inf)]
    for name, value in bad_parameters:
        record = mechanism.to_spec() | {name: value}
        require_refused(f"{name}={value}", mechanism_from_spec, record)


def check_twin(case):
    """The kernel, which `release` runs, releases the same in place, to 1e-12."""
    mechanism = case.mechanism
    vectors = np.tile(case.inputs, (20, 1))
    variates = mechanism.draw(len(vectors), make_streams(case.seed))
    expected = mechanism.release(vectors, variates)
    twin = mechanism.twin()
    if not isinstance(twin, tuple):
        raise ConformanceError(f"twin: expected a NamedTuple; got {twin!r}")
    tolerance = 1e-12 * max(1.0, np.abs(expected).max())
    compiled_release(twin, vectors, variates, vectors)
    require_close(vectors, expected, tolerance, "compiled release in place against release")


_CHECKS = (
    check_unbiased,
    check_noise_covariance,
    check_noise_bounds,
    check_support,
    check_blocks,
    check_release,
    check_immutable,
    check_record,
    check_refusals,
)
