"""scikit-learn's own conformance suite, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivatePCA,
    PrivateSPDCovariance,
    PrivateVMFLocation,
    Tuning,
)

ESTIMATORS = [
    PrivatePCA(),
    PrivatePCA(epsilon=float("inf"), tuning=Tuning(engine="geomstats")),
    PrivateFrechetMean(),
    PrivateFrechetMean(loss="pseudo_huber", scale=0.5),
    PrivateVMFLocation(),
    PrivateSPDCovariance(),
    PrivatePCA(n_rounds=3),
    PrivateFrechetMean(n_rounds=3),
    PrivateVMFLocation(n_rounds=3),
    PrivateSPDCovariance(n_rounds=3),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
