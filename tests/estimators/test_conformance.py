"""scikit-learn's own conformance suite, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from geomstats_ldp import PrivatePCA


@parametrize_with_checks([PrivatePCA(), PrivatePCA(epsilon=float("inf"), engine="geomstats")])
def test_scikit_learn_check(estimator, check):
    check(estimator)
