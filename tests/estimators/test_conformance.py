"""scikit-learn's own conformance suite, with no expected failures.

The suite fits rows of many lengths, and compiled code is made afresh for most of them. What it
examines are names, shapes, types and errors, so that the interpreter will do; the compiled engine
is held to the same results elsewhere, and here for one estimator. Every class is examined in one of
the two plans, pairs and rounds, which share the interface that the suite looks at.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivateHuberRegression,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivateSPDCovariance,
    PrivateVMFLocation,
    Tuning,
)

# The suite's rows are few, and pay no heed to the bounds of the estimators.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")

INTERPRETED = Tuning(engine="geomstats")
ESTIMATORS = [
    PrivatePCA(tuning=INTERPRETED),
    PrivateFrechetMean(n_rounds=3, tuning=INTERPRETED),
    PrivateLinearRegression(n_rounds=2, tuning=INTERPRETED),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.slow  # compiles for rows of four lengths; matrices take the interpreter long
@parametrize_with_checks(
    [
        PrivateVMFLocation(tuning=INTERPRETED),
        PrivateSPDCovariance(n_rounds=3, tuning=INTERPRETED),
        PrivateHuberRegression(n_rounds=None, tuning=INTERPRETED),
        PrivateLogisticRegression(n_rounds=2, tuning=INTERPRETED),
        PrivateFrechetMean(n_rounds=3),
    ]
)
def test_scikit_learn_check_of_slow_estimators(estimator, check):
    check(estimator)
