"""The exact regression of pairs on a second moment, from streaming sums."""

import math
from dataclasses import replace

import numpy as np
import pytest
from geomstats.geometry.hypersphere import Hypersphere

from geomstats_ldp import PrivatePCA, PrivateVMFLocation, Tuning
from geomstats_ldp.exceptions import MessageError, ProtocolError
from geomstats_ldp.geometry import Geometry
from geomstats_ldp.inference import (
    chart_of_scores,
    predict_from_differences,
    predict_pair_scores,
    weakest_direction,
)
from geomstats_ldp.inference.moment_regression import normal_equations
from geomstats_ldp.protocol import InferenceRule, Protocol
from geomstats_ldp.score_regression.moments import second_moments, symmetric_basis
from geomstats_ldp.server import Server
from geomstats_ldp.server.moment_sums import add_message, empty_moments, fourth_moments

S = np.diag([2.0, 1.2, 0.4, 0.1])


def scores_at(queries):
    """Mean scores -P_q S q."""
    seen = queries @ S[: queries.shape[1], : queries.shape[1]]
    return np.sum(seen * queries, axis=1, keepdims=True) * queries - seen


def some_answers(n, p=4, seed=0):
    """Queries, noisy messages to them, and weights."""
    rng = np.random.default_rng(seed)
    queries = rng.normal(size=(n, p)) + np.arange(p, 0, -1)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    noise = rng.normal(size=(n, p))
    noise -= np.sum(noise * queries, axis=1, keepdims=True) * queries
    return queries, scores_at(queries) + noise, rng.uniform(0.2, 1.0, size=n)


def sums_of(queries, messages, weights):
    sums = empty_moments(queries.shape[1])
    for one in zip(queries, messages, weights):
        add_message(sums, *one)
    return sums


def test_sums_are_those_of_products():
    queries, messages, weights = some_answers(7)
    sums = sums_of(queries, messages, weights)
    product = np.einsum("n,ni,nj,nk,nl->ijkl", weights, *[queries] * 4)
    np.testing.assert_allclose(fourth_moments(sums), product, rtol=1e-12)
    np.testing.assert_allclose(sums.second, (weights * queries.T) @ queries, rtol=1e-12)
    np.testing.assert_allclose(sums.cross, (weights * messages.T) @ queries, rtol=1e-12)


def test_normal_equations_are_least_squares_on_the_moment():
    """The moment by least squares over all messages, entry by entry, has the same scores."""
    queries, messages, weights = some_answers(60)
    geometry = Geometry(Hypersphere(3), queries[0])
    basis = symmetric_basis(3, False)
    units = second_moments(geometry, queries[0], basis)
    normal, values = normal_equations(sums_of(queries, messages, weights), units)
    fitted = np.tensordot(np.linalg.solve(normal, values), units, axes=1)
    entries = np.eye(16).reshape(16, 4, 4)
    entries = (entries + np.swapaxes(entries, 1, 2)) / 2
    seen = queries @ entries  # [entry, n, p]
    along = np.sum(seen * queries, axis=2, keepdims=True)
    rows = (along * queries - seen) * np.sqrt(weights)[:, None]
    target = messages * np.sqrt(weights)[:, None]
    moment = np.linalg.lstsq(rows.reshape(16, -1).T, target.ravel(), rcond=1e-10)[0]
    moment = np.tensordot(moment, entries, axes=1)
    difference = fitted - moment
    identity = np.trace(difference) / 4 * np.eye(4)  # which no score sees
    np.testing.assert_allclose(difference, identity, atol=1e-9)


def collection(n, start=(1.0, 0.5, 0.2, -0.1), engine="geomstats", answer=scores_at):
    """Server of pairs that all of n messages have reached."""
    pca = PrivatePCA(
        norm_bound=3.0,
        epsilon=math.inf,
        initial_point=start,
        n_participants=n,
        tuning=Tuning(engine=engine),
        random_state=0,
    )
    server, asked = pca.start().server_, []
    while server.queries():
        points = np.stack([query.point for query in server.queries()])
        server.replay(answer(points))
        asked.append(points)
    return server, np.concatenate(asked)


def test_without_noise_the_prediction_is_zero_at_the_eigenvector():
    """However far from it the iterates were: by half-differences it is not."""
    server, _ = collection(60)
    protocol, state = server.protocol, server.state
    known = predict_pair_scores(state, protocol)
    np.testing.assert_allclose(np.linalg.eigvalsh(known.slope)[-1], 1.9, rtol=0.05)
    target, chart = np.eye(4)[0], chart_of_scores(protocol)
    coords = chart.coordinates(chart.inverse_retract(target, state.average), state.average)
    assert 0.02 < np.linalg.norm(coords) < 0.4 < np.linalg.norm(protocol.initial_point - target)
    # exactly, up to <g, u> u, which the prediction leaves out
    left = known.value + known.slope @ coords - (known.value @ coords) * coords
    np.testing.assert_allclose(left, 0.0, atol=1e-9)
    by_differences = predict_from_differences(state, protocol)
    assert np.linalg.norm(by_differences.value + by_differences.slope @ coords) > 1e-3


def test_both_engines_and_an_odd_last_participant_give_the_same_sums():
    start = 1.0, 0.5, 0.2  # other tests compile for three columns too
    one, queries = collection(9, start)
    other, _ = collection(9, start, engine="compiled")
    for mine, theirs in zip(one.state.moments, other.state.moments):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    expected = sums_of(queries, scores_at(queries), np.ones(9))
    for mine, wanted in zip(one.state.moments, expected):
        np.testing.assert_allclose(mine, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.UninformativeRegionWarning")
@pytest.mark.parametrize("epsilon", [8.0, {"strict": 2.0, "open": 8.0}], ids=["one", "groups"])
def test_score_regions_of_pairs_cover_at_their_level(epsilon):
    """With groups the sums are weighted, and the region counts the noise of each."""
    n, target, law, covered, surer = 150, np.eye(3)[0], np.random.default_rng(1), [], []
    options = {} if isinstance(epsilon, float) else {"groups": ["strict", "open"] * 2000}
    for seed in range(n):
        X = law.normal(size=(4000, 3)) * [1.0, 0.85, 0.4]  # clipping leaves the target e_1
        pca = PrivatePCA(
            norm_bound=2.5, epsilon=epsilon, initial_point=[1.0, 0.4, 0.1], random_state=seed
        ).fit(X, **options)
        region = pca.confidence_region(kind="score")
        covered.append(region.contains(target))
        old = predict_from_differences(pca.server_.state, pca.protocol_)
        new = predict_pair_scores(pca.server_.state, pca.protocol_)
        surer.append(weakest_direction(new)[0] < weakest_direction(old)[0])
    assert abs(np.mean(covered) - 0.95) < 3.5 * math.sqrt(0.95 * 0.05 / n)
    assert np.mean(surer) > 0.8


# ---------------------------------------------------------------- who has a moment


def started(**options):
    return PrivatePCA(norm_bound=2.0, epsilon=4.0, **options).start().protocol_


def test_the_moment_is_set_where_the_hessian_is_left_to_the_loss():
    start = [1.0, 0.2, 0.1]
    protocol = started(initial_point=start)
    assert protocol.inference.moment == "second"
    assert Protocol.from_json(protocol.to_json()) == protocol
    for rule in (InferenceRule.paper(), InferenceRule(hessian="shrunk")):
        assert started(initial_point=start, tuning=Tuning(inference=rule)).inference.moment is None
    assert started(initial_point=start, n_rounds=2, n_participants=80).inference.moment is None
    assert started(initial_point=np.eye(33)[0]).inference.moment is None
    directions = PrivateVMFLocation(epsilon=4.0, initial_point=start).start()
    assert directions.protocol_.inference.moment is None
    assert '"moment"' not in directions.protocol_.to_json()


@pytest.mark.parametrize("dim, options", [(33, {}), (2, {"n_rounds": 2, "n_participants": 80})])
def test_a_moment_that_pairs_cannot_have_is_refused(dim, options):
    protocol = started(initial_point=np.eye(dim)[0], **options)
    rule = replace(protocol.inference, moment="second")
    with pytest.raises(ProtocolError, match="moment of the inference rule must be None but"):
        Protocol.from_json(replace(protocol, inference=rule).to_json())
    with pytest.raises(ProtocolError, match="moment must be"):
        InferenceRule(moment="third")


@pytest.mark.parametrize("name", ["second", "fourth", "cross"])
def test_sums_that_no_messages_have_are_refused(tmp_path, name):
    server, _ = collection(8)
    server.save(tmp_path / "good.npz")
    loaded = Server.load(tmp_path / "good.npz")
    for mine, theirs in zip(loaded.state.moments, server.state.moments):
        np.testing.assert_array_equal(mine, theirs)
    with np.load(tmp_path / "good.npz") as file:
        arrays = dict(file)
    changed = arrays[f"moments_{name}"].copy()
    changed.flat[0] += 1e6 if name == "cross" else 0.01
    np.savez(tmp_path / "bad.npz", **arrays | {f"moments_{name}": changed})
    with pytest.raises(MessageError, match="moments_"):
        Server.load(tmp_path / "bad.npz")
