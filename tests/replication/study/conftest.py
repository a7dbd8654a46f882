"""A summary made up for tests of what is made from summaries."""

import itertools
import math

import pandas as pd
import pytest

EPSILONS = (math.inf, 8.0, 1.0)


def _made_up_summary(mechanisms=("gaussian",), methods=("spr", "trajectory", "half_sample")):
    """Errors of n^-1/2 / min(epsilon, 10), larger for the alternatives, and coverages by design."""
    rows = []
    for mechanism, method, design, epsilon, n in itertools.product(
        mechanisms, methods, "AB", EPSILONS, (8000, 32000)
    ):
        factor = {"spr": 1.0, "rounds": 1.05, "trajectory": 1.1, "half_sample": 1.5}[method]
        error = factor / math.sqrt(n)
        error /= min(epsilon, 10.0) * (1.0 if mechanism == "gaussian" else 4.0)
        coverage = {"A": 0.95, "B": 0.75 if method == "trajectory" else 0.96}[design]
        rows.append(
            {
                "design": design,
                "mechanism": mechanism,
                "tuning": "paper",
                "method": method,
                "epsilon": epsilon,
                "n": n,
                "repetitions": 500,
                "error": error,
                "error_se": error / 40,
                "coverage": coverage,
                "coverage_se": math.sqrt(coverage * (1 - coverage) / 500),
                "semi_axis": 2.2 * error,
                "hessian_floor_active": 0.0,
                "hessian_bound_active": 0.1,
                "uninformative": 0.0,
                "oracle_semi_axis": 2.0 * error,
                "ratio": 1.1,
            }
        )
    return pd.DataFrame(rows)


@pytest.fixture
def made_up_summary():
    return _made_up_summary
