"""What all conformance checks share: cases, their checks, and errors that say what came."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from geomstats_ldp.serialization import canonical_json, decode


class ConformanceError(AssertionError):
    """A check failed; the message says what was expected and what came."""


class Case(ABC):
    """Something to be examined, with the data and sizes to examine it at."""

    @abstractmethod
    def checks(self) -> list[Callable]:
        """Checks that apply to the case: functions of it that raise ConformanceError."""

    @abstractmethod
    def __str__(self):
        """Name of the case, for test reports."""


def run_checks(case: Case) -> None:
    """Run every check of a case, without pytest.

    Parameters
    ----------
    case : Case

    Raises
    ------
    ConformanceError
        Listing the checks that failed, each with what was expected and what came. Any other error
        of a check is listed too, and the checks after it go on.
    """
    failures = []
    for check in case.checks():
        try:
            check(case)
        except ConformanceError as error:
            failures.append(f"{check.__name__}: {error}")
        except Exception as error:
            failures.append(f"{check.__name__}: expected no error; got {_described(error)}")
    if failures:
        listed = "\n".join(f"* {failure}" for failure in failures)
        raise ConformanceError(f"{case} fails {len(failures)} checks\n{listed}")


def parametrize_with_checks(cases: Iterable[Case]) -> Any:
    """Pytest decorator: one test for each check of each case.

    Parameters
    ----------
    cases : iterable of Case

    Returns
    -------
    decorator : pytest mark
        For a test function with the arguments ``case`` and ``check`` that calls ``check(case)``.
    """
    import pytest

    # The name of a case may cost a protocol: it is made once, not with each check.
    named = [(case, str(case)) for case in cases]
    return pytest.mark.parametrize(
        ("case", "check"),
        [
            pytest.param(case, check, id=f"{name}-{check.__name__.removeprefix('check_')}")
            for case, name in named
            for check in case.checks()
        ],
    )


def require_result(call, what):
    """Return the result of a call; raise ConformanceError with the error if it raises one."""
    try:
        return call()
    except Exception as error:
        raise ConformanceError(f"{what}: expected no error; got {_described(error)}") from error


def _described(error):
    return f"{type(error).__name__}: {error}"


def require(condition, message):
    """Raise ConformanceError with the message unless the condition holds."""
    if not condition:
        raise ConformanceError(message)


def require_close(actual, expected, tolerance, what):
    """Raise ConformanceError unless two arrays agree, entry by entry, to an absolute tolerance."""
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    require(
        actual.shape == expected.shape,
        f"{what}: expected shape {expected.shape}; got {actual.shape}",
    )
    gap = np.abs(actual - expected)
    fails = ~(gap <= tolerance)  # NaN fails too
    if fails.any():
        worst = np.unravel_index(np.argmax(np.where(np.isnan(gap), np.inf, gap)), gap.shape)
        limit = np.broadcast_to(tolerance, gap.shape)[worst]
        raise ConformanceError(
            f"{what}: expected {expected[worst]:.10g} within {limit:.3g}; got "
            f"{actual[worst]:.10g}, in {int(fails.sum())} of {fails.size} entries"
        )


def require_at_most(actual, limit, what):
    """Raise ConformanceError unless no entry exceeds the limit; NaN does."""
    actual = np.asarray(actual, dtype=float)
    if not (actual <= limit).all():
        raise ConformanceError(f"{what}: expected at most {limit:.10g}; got {np.max(actual):.10g}")


def require_equal(actual, expected, what):
    """Raise ConformanceError unless two objects are equal."""
    require(actual == expected, f"{what}: expected {expected!r}; got {actual!r}")


def require_same_arrays(actual, expected, what):
    """Raise ConformanceError unless two arrays are equal to the last bit."""
    require_close(actual, expected, 0.0, what)


def require_refused(what, call, *arguments, error=ValueError):
    """Raise ConformanceError unless a call with these arguments raises an error."""
    try:
        result = call(*arguments)
    except error:
        return
    except Exception as other:
        wrong = f"{what}: expected {error.__name__}; got {_described(other)}"
        raise ConformanceError(wrong) from other
    raise ConformanceError(f"{what}: expected {error.__name__}; got the result {result!r}")


def through_json(record):
    """What is read of the JSON text of a plain record."""
    return decode(json.loads(canonical_json(record)))


def equal_copies(name, original, **sources):
    """Copies of an object, required to be equal to it, with the name of what makes each."""
    for source, make in sources.items():
        copy = require_result(make, f"{name} from its {source}")
        require_equal(type(copy), type(original), f"class of the {name} from its {source}")
        require_equal(copy, original, f"{name} from its {source}")
        require_equal(hash(copy), hash(original), f"hash of the {name} from its {source}")
        yield source, copy
