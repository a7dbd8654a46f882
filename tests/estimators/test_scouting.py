"""Estimators whose bound and start are found by a first share of the participants."""

import numpy as np
import pytest
from sklearn.base import clone

from geomstats_ldp import (
    Participant,
    PrivateFrechetMean,
    PrivatePCA,
    PrivateSPDCovariance,
    PrivateVMFLocation,
)
from geomstats_ldp.exceptions import FewParticipantsWarning, NotReadyError, ProtocolError
from geomstats_ldp.scouting import NormParticipant
from geomstats_ldp.server import make_server

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")

AXIS = np.array([-0.8, 0.5, 0.3]) / np.linalg.norm([0.8, 0.5, 0.3])


def rows_of(n, unit=1.0, seed=0):
    """Rows along the axis, with its sign at random."""
    rng = np.random.default_rng(seed)
    return unit * (rng.normal(size=(n, 1)) * AXIS + 0.3 * rng.normal(size=(n, 3)))


def scouting_pca(**parameters):
    values = {"norm_bound": "scout", "initial_point": "scout", "epsilon": 4.0, "n_rounds": 5}
    return PrivatePCA(**{**values, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def pca():
    return scouting_pca().fit(rows_of(16_000, unit=250.0))


def test_what_nobody_knew_is_found(pca):
    plan, n_scouts, found = pca.scouted_
    assert n_scouts == 800 and pca.n_participants_ == 16_000 - 800
    norms = np.linalg.norm(rows_of(16_000, unit=250.0), axis=1)
    assert 0.02 < np.mean(norms < found["norm_bound"]) < 0.4
    assert found["initial_point"] @ -AXIS > 0.97  # the largest entry is positive
    assert pca.confidence_region().contains(-AXIS)
    assert plan.norms.epsilon == plan.start.mechanism.epsilon == 4.0


def test_the_protocol_of_the_study_follows_from_the_answers(pca):
    found = pca.scouted_.parameters
    study = PrivatePCA(epsilon=4.0, n_rounds=5, **found)
    study.fit(rows_of(16_000 - 800))
    assert study.protocol_ == pca.protocol_


def test_what_scouts_say_of_the_moment_enters_the_estimate(pca):
    """They were asked under the bound that was found, and are counted by their information."""
    found, plan = pca.scouted_.parameters, pca.scouted_.plan
    assert plan.start.loss_spec["norm_bound"] == found["norm_bound"] and plan.tells_moment
    moment, covariance = found["known_moment"]
    rows = rows_of(16_000, unit=250.0)
    bound = found["norm_bound"]
    clipped = rows * np.minimum(1, bound / np.linalg.norm(rows, axis=1))[:, None]
    error = moment - clipped.T @ clipped / len(rows)
    assert np.linalg.norm(error) < 3 * np.sqrt(np.trace(covariance))
    without = clone(pca).set_params(**found, random_state=0)
    without.set_params(known_moment=None).fit(rows[800:])
    assert np.trace(pca.covariance_) < np.trace(without.covariance_)
    pairs = scouting_pca(n_rounds=None).set_params(norm_bound=bound)
    assert not pairs.scout_plan(3).tells_moment
    assert not scouting_pca(n_components=2, norm_bound=1.0).scout_plan(3).tells_moment


def test_the_parameters_stay_what_they_were(pca):
    assert pca.norm_bound == pca.initial_point == "scout" and pca.random_state == 0
    again = clone(pca).fit(rows_of(16_000, unit=250.0))
    np.testing.assert_array_equal(again.estimate_, pca.estimate_)
    other = clone(pca).set_params(random_state=1).fit(rows_of(16_000, unit=250.0))
    assert other.scouted_.parameters["norm_bound"] != pca.scouted_.parameters["norm_bound"]


@pytest.mark.parametrize("known", [{"norm_bound": 0.7}, {"initial_point": AXIS}])
def test_one_of_the_two_may_be_known(known):
    model = scouting_pca(**known).fit(rows_of(8000))
    plan, n_scouts, found = model.scouted_
    assert n_scouts == 400 and not set(found) & set(known)
    assert (plan.norms is None) == ("norm_bound" in known)
    assert (plan.start is None) == ("initial_point" in known)
    assert abs(model.estimate_ @ AXIS) > 0.98


@pytest.mark.slow  # compiles
def test_scouts_find_a_subspace_and_the_bound_of_its_variances():
    rows = np.random.default_rng(1).normal(size=(9000, 4)) * [90.0, 60.0, 20.0, 20.0]
    model = scouting_pca(n_components=2, epsilon=8.0).fit(rows[:8000])
    found = model.scouted_.parameters
    start = found["initial_point"]
    np.testing.assert_allclose(start @ start.T, np.eye(2), atol=1e-12)
    plane = np.diag([1.0, 1.0, 0.0, 0.0])
    assert np.trace(start @ plane @ start.T) > 1.9
    assert np.trace(model.estimate_ @ plane) > 1.98
    assert model.fit_variance(rows[8000:]).variance_estimator().data_radius == pytest.approx(
        found["norm_bound"] ** 2 / 2
    )


def test_directions_are_started_by_scouts():
    rng = np.random.default_rng(0)
    X = 40 * (AXIS + 0.4 * rng.normal(size=(8000, 3)))
    model = PrivateVMFLocation(epsilon=2.0, initial_point="scout", n_rounds=5, random_state=0)
    model.fit(X)
    assert model.scouted_.parameters["initial_point"] @ AXIS > 0.95
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert model.confidence_region().contains(units.mean(axis=0) / np.linalg.norm(units.mean(0)))
    with pytest.raises(ProtocolError, match="initial_point='scout' is for fit"):
        PrivateVMFLocation(initial_point="scout").start(3)


def test_a_collection_asks_devices_and_then_has_numbers():
    model = scouting_pca(random_state=None, epsilon=8.0)
    with pytest.raises(ProtocolError, match="norm_bound='scout' is for fit"):
        model.start(3)
    plan = model.scout_plan(3)
    people = rows_of(160, seed=3)
    candidates = [NormParticipant(plan.norms, max_epsilon=8.0).respond(y) for y in people[:80]]
    server = make_server(plan.start, "geomstats")  # a few people: compiling takes longer
    for y in people[80:]:
        server.receive(Participant(plan.start, max_epsilon=8.0).respond(server.queries(1)[0], y))
    found = plan.parameters(plan.norms.sets(candidates), server)
    assert 0.1 < found["norm_bound"] < 3.0 and abs(found["initial_point"] @ AXIS) > 0.9
    model.set_params(**found).start(3)
    assert model.protocol_.loss_spec["norm_bound"] == found["norm_bound"]
    np.testing.assert_allclose(model.protocol_.initial_point, found["initial_point"])


def test_more_scouts_are_asked_where_the_first_do_not_tell_the_start():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(12_000, 3)) * [1.0, 0.9, 0.3]  # the gap is small
    model = scouting_pca(norm_bound=1.0, epsilon=2.0, random_state=1).fit(rows)
    n_scouts = model.scouted_.n_participants
    assert 600 < n_scouts <= 6000 and n_scouts % 600 == 0
    assert model.n_participants_ == 12_000 - n_scouts
    sphere = rng.normal(size=(4000, 3))  # no direction at all
    with pytest.warns(FewParticipantsWarning, match="2000 scouts are too few to tell the initial"):
        scouting_pca(norm_bound=1.0, epsilon=1.0).fit(sphere)


def test_answers_have_to_be_those_of_the_plan():
    plan = scouting_pca().scout_plan(3)
    sets = np.eye(plan.norms.n_bins)
    with pytest.raises(ProtocolError, match="sets must be the answers"):
        plan.parameters(server=make_server(plan.start))
    with pytest.raises(ProtocolError, match="server must be that of the collection"):
        plan.parameters(sets, make_server(scouting_pca(epsilon=2.0).scout_plan(3).start))
    with pytest.raises(NotReadyError, match="nobody has answered"):
        plan.parameters(sets, make_server(plan.start))


def test_what_cannot_scout_says_so():
    with pytest.raises(ProtocolError, match=r"one of .* must be 'scout'"):
        PrivatePCA().scout_plan(3)
    with pytest.raises(ProtocolError, match="'scout' is for fit"):
        scouting_pca().fit_blocks([rows_of(100)], 100)
    with pytest.raises(ProtocolError, match="more than half are above"):
        scouting_pca().fit(rows_of(4000, unit=1e9))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (PrivateSPDCovariance(norm_bound="scout"), "norm_bound"),
        (PrivateFrechetMean(initial_point="scout"), "initial_point"),
        (PrivateFrechetMean(data_radius="scout"), "data_radius"),
        (PrivateVMFLocation(region_radius="scout"), "region_radius"),
        (scouting_pca(epsilon="scout"), "epsilon"),
    ],
)
def test_a_parameter_that_scouts_cannot_find_says_which_they_can(model, name):
    message = f"{name} of {type(model).__name__} must not be 'scout': scouts find norm_bound and"
    for begin in (lambda: model.fit(rows_of(20)), lambda: model.start(3)):
        with pytest.raises(ProtocolError, match=message):
            begin()


def test_scouts_have_one_epsilon():
    grouped = scouting_pca(epsilon={"a": 1.0, "b": 2.0})
    for ask in (lambda: grouped.scout_plan(3), lambda: grouped.fit(rows_of(20))):
        with pytest.raises(ProtocolError, match="epsilon must be one number where norm_bound='sco"):
            ask()
    with pytest.raises(ProtocolError, match="groups must be None where norm_bound='scout'"):
        scouting_pca().fit(rows_of(20), groups=["a"] * 20)


def test_fewer_scouts_than_tell_the_norm_are_warned_of():
    with pytest.warns(FewParticipantsWarning, match="750 scouts may be too few .* takes 2022"):
        scouting_pca(epsilon=1.0, initial_point=AXIS).fit(rows_of(3000))


@pytest.mark.slow
def test_a_study_loses_little_by_not_knowing():
    squares = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = rows_of(32_000, 1000 ** rng.uniform(), seed)
        # What a study does best with: a bound that clips most rows.
        best = np.quantile(np.linalg.norm(rows, axis=1), 0.2)
        told = scouting_pca(norm_bound=best, initial_point=AXIS, epsilon=2.0, random_state=seed)
        found = scouting_pca(epsilon=2.0, random_state=seed)
        estimates = [model.fit(rows).estimate_ for model in (told, found)]
        squares.append([1 - (u @ AXIS) ** 2 for u in estimates])
    told, found = np.mean(squares, axis=0)
    error = np.std(np.array(squares) / [told, found] @ [-1, 1]) / np.sqrt(60) / 2  # of the ratio
    assert np.sqrt(found / told) < 1.15 + 2 * error < 1.5


@pytest.mark.parametrize("known, fewest", [({}, 5), ({"norm_bound": 2.0}, 2)])
def test_there_are_scouts_and_people_of_the_study(known, fewest):
    rows = rows_of(fewest)
    for few in range(1, fewest):
        with pytest.raises(ProtocolError, match=f"X must have {fewest} rows or more"):
            scouting_pca(**known).fit(rows[:few])
    assert scouting_pca(**known).fit(rows).n_participants_ >= 1
