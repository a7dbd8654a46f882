"""The record of settings: reached by scikit-learn, and completed with what the loss knows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from geomstats_ldp import PrivateFrechetMean, PrivatePCA, PrivateSPDCovariance, Tuning
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import geodesic_ball, spectral_band
from geomstats_ldp.protocol import InferenceRule, RadiusRule

# Bounds are small on purpose, so that clipping takes part.
pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.ClippingWarning")


def make_data(n=240, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)) * [1.5, 0.6, 0.3]


def make_pca(**parameters):
    parameters = {"initial_point": [1.0, 0.2, 0.2], "random_state": 0, **parameters}
    return PrivatePCA(norm_bound=2.0, epsilon=8.0, **parameters)


def test_nested_parameters_reach_a_record_that_is_not_there_yet():
    pca = make_pca()
    rule = RadiusRule.fixed(0.1)
    assert pca.set_params(tuning__radius=rule) is pca
    assert pca.get_params()["tuning__radius"] == rule
    assert make_pca().tuning is None, "the record must not be shared"
    assert pca.set_params(tuning=None, tuning__pairs_per_round=2).tuning.radius is None
    pca.set_params(tuning__radius=rule)
    assert pca.tuning.pairs_per_round == 2
    with pytest.raises(ValueError, match="radios"):
        make_pca().set_params(tuning__radios=rule)


def test_a_clone_has_a_record_of_its_own():
    pca = make_pca(tuning=Tuning(pairs_per_round=2))
    clone(pca).set_params(tuning__pairs_per_round=7)
    assert pca.tuning.pairs_per_round == 2


def test_grid_search_reaches_the_record():
    rules = [RadiusRule.fixed(0.05), RadiusRule.fixed(0.3)]
    model = make_pipeline(FunctionTransformer(), make_pca())
    search = GridSearchCV(model, {"privatepca__tuning__radius": rules}, cv=2).fit(make_data())
    best = search.best_estimator_[-1].protocol_
    assert best.radius == search.best_params_["privatepca__tuning__radius"]
    assert search.cv_results_["std_test_score"].shape == (2,)


def known_fields(rule=None):
    """Inference rule of the protocol of a mean on a flat space, where the Hessian is I."""
    mean = PrivateFrechetMean(tuning=Tuning(inference=rule))
    return mean.start(n_features=2).protocol_.inference


def test_fields_left_out_are_what_the_loss_knows():
    assert known_fields() == known_fields(InferenceRule())
    assert known_fields().hessian_range == (1.0, 1.0)
    assert known_fields(InferenceRule(ridge=0.3)).hessian_range == (1.0, 1.0)
    assert known_fields(InferenceRule(hessian_range=(0.5, 1.0))).hessian_range == (0.5, 1.0)
    assert known_fields(InferenceRule(hessian="shrunk")).hessian_range is None
    assert known_fields(InferenceRule(hessian="raw")) == InferenceRule(hessian="raw")


def test_a_prior_brings_its_own_guard_unless_one_is_given():
    prior = {"prior_hessian": 2 * np.eye(2), "prior_sd": 0.1}
    assert known_fields(InferenceRule(**prior)).guard == pytest.approx(0.9 + 1.5 / 2)
    assert known_fields(InferenceRule(guard=0.2, **prior)).guard == 0.2
    # The prior says how large the Hessian H is, and the gain is at most 2 / H.
    plain, told = (
        PrivateFrechetMean(epsilon=np.inf, tuning=Tuning(inference=rule)).start(2).protocol_.gain
        for rule in (None, InferenceRule(**prior))
    )
    assert told.constant == pytest.approx(1.0)
    assert plain.constant > 1.0


def test_every_estimator_takes_a_working_region():
    """Its centre is where the search starts, and it bounds the score."""
    cap = geodesic_ball([0.6, 0.8, 0.0], 0.4)
    protocol = PrivatePCA(tuning=Tuning(working_region=cap)).start(3).protocol_
    np.testing.assert_allclose(protocol.geometry.reference, [0.6, 0.8, 0.0])
    assert protocol.working_region.radius == 0.4
    bounds = []
    for low in (0.05, 0.5):
        tuning = Tuning(working_region=spectral_band(2, low, 2.0), pairs_per_round=2)
        model = PrivateSPDCovariance(norm_bound=2.0, tuning=tuning).start(2)
        bounds.append(model.protocol_.mechanism.bound)
    assert bounds[1] < bounds[0]


TRIANGLE = [[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]]


def test_a_cycle_of_directions_of_ones_own():
    """Three directions are the shortest cycle of the plane: a region takes fewer people."""
    rows, tuning = make_data(20), Tuning(directions=TRIANGLE)
    pca = make_pca(tuning=tuning).fit(rows)
    np.testing.assert_array_equal(pca.protocol_.directions, TRIANGLE)
    assert pca.diagnostics_["n_regression_pairs"] == 6
    assert pca.diagnostics_["gram_condition_number"] == pytest.approx(1.0)
    rounds = make_pca(tuning=tuning, n_rounds=2, n_participants=60).start()
    assert rounds.protocol_.n_query_points == 3
    flat = PrivateFrechetMean(n_rounds=2, tuning=tuning, n_participants=60).start(n_features=2)
    assert flat.protocol_.rounds.query is None and flat.protocol_.n_query_points == 3
    assert clone(pca).fit(rows).estimate_.tolist() == pca.estimate_.tolist()


@pytest.mark.parametrize("directions", [TRIANGLE[:2], [[1.0, 0.0], [-1.0, 0.0]], 3.0, "x"])
@pytest.mark.parametrize("n_rounds", [None, 2])
def test_directions_that_do_not_learn_all_columns_alike_are_refused(directions, n_rounds):
    with pytest.raises(ProtocolError, match="directions must"):
        make_pca(tuning=Tuning(directions=directions), n_rounds=n_rounds).start()
