"""Rounds that ask for curvature: what they ask, what they tell, and that nothing else moves."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from geomstats_ldp import (
    Participant,
    PrivateHuberRegression,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePCA,
    Tuning,
)
from geomstats_ldp.defaults import curvature_share
from geomstats_ldp.emulation_in_rounds import emulate_in_rounds
from geomstats_ldp.exceptions import LDPWarning, MessageError, ProtocolError
from geomstats_ldp.losses import loss_of
from geomstats_ldp.mechanisms import make_mechanism
from geomstats_ldp.protocol import InferenceRule, Protocol, Query, RoundPlan
from geomstats_ldp.protocol.rounds import round_sizes, sizes_with_curvature
from geomstats_ldp.score_regression import merge_states, without_messages
from geomstats_ldp.score_regression.curvature import (
    curvature_answers,
    known_apart,
    orthonormal_bases,
    whitening_of,
    whitening_range,
)
from geomstats_ldp.score_regression.fit import hedged_step
from geomstats_ldp.score_regression.hessian_error import guard_of_covariance, mean_product
from geomstats_ldp.score_regression.moments import symmetric_basis
from geomstats_ldp.score_regression.shrinkage import guard_of_parts
from geomstats_ldp.server import RoundServer

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")

MODELS = {
    "logistic": PrivateLogisticRegression(2.0, classes=(0, 1)),
    "huber": PrivateHuberRegression(1.5, 2.0),
    "linear": PrivateLinearRegression(2.0, target_bound=3.0),
}


def people(n, name="logistic", seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
    X *= np.minimum(1, 2.0 / np.linalg.norm(X, axis=1))[:, None]
    predictor = X @ [0.8, -0.5] - 0.3
    if name == "logistic":
        return X, (rng.uniform(size=n) < 1 / (1 + np.exp(-predictor))) * 1.0
    return X, np.clip(predictor + 0.7 * rng.standard_t(3, size=n), -3, 3)


def protocol_of(name, n, epsilon=8.0, **options):
    model = MODELS[name].set_params(epsilon=epsilon, n_participants=n, random_state=1, **options)
    return model.start(2).protocol_


def collected(protocol, name, n, seed=0):
    server = RoundServer(protocol, keep_messages=True)
    emulate_in_rounds(server, np.column_stack(people(n, name, seed)), random_state=seed)
    return server


# ------------------------------------------------------------------------ what is asked


@pytest.mark.parametrize("dim", range(1, 10))
def test_squares_along_the_bases_tell_all_symmetric_matrices(dim):
    bases = orthonormal_bases(dim)
    assert bases.shape == (dim, dim, dim)
    for basis in bases:
        np.testing.assert_allclose(basis @ basis.T, np.eye(dim), atol=1e-15)
    rows = bases.reshape(-1, dim)
    squares = np.einsum("ni,nj->nij", rows, rows).reshape(len(rows), -1)
    assert np.linalg.matrix_rank(squares) == dim * (dim + 1) // 2
    # Every pair of axes is told once, and every axis as often as any other.
    met = np.sum((rows != 0)[:, :, None] & (rows != 0)[:, None, :], axis=0)
    np.testing.assert_array_equal(met, 2 - 2 * np.eye(dim) + np.diag(np.diag(met)))
    assert len(set(np.diag(met))) == 1


def test_directions_make_the_known_hessian_the_identity():
    server = collected(protocol_of("logistic", 6000), "logistic", 6000)
    fit = server.fit()
    known = replace(fit, hessian_covariance=1e-20 * np.eye(6))
    whitening = whitening_of(server.protocol, known)
    np.testing.assert_allclose(whitening @ fit.raw_hessian @ whitening, np.eye(3), atol=1e-6)
    np.testing.assert_array_equal(whitening, whitening.T)
    # What is not known is not used: an error of the size of the bound leaves nothing to whiten.
    unknown = replace(fit, hessian_covariance=1e6 * np.eye(6))
    bound = server.protocol.hessian_bound
    expected = np.eye(3) / np.sqrt(bound)
    np.testing.assert_allclose(whitening_of(server.protocol, unknown), expected, atol=1e-12)


def test_the_fifth_round_asks_in_the_units_of_what_the_third_has_told():
    server = collected(protocol_of("logistic", 40_000), "logistic", 40_000)
    rounds = server.protocol.rounds
    assert rounds.curvature_rounds == (2, 4)
    assert abs(rounds.sizes[4] - 2 * rounds.sizes[2]) <= 1
    data = np.column_stack(people(40_000))
    loss, geometry = loss_of(server.protocol), server.protocol.geometry
    for index in range(server.n_directions):
        directions = server.directions(4, index)
        means = loss.curvature(geometry, server.state.centers[4], data, directions).mean(axis=0)
        assert 0.6 < means.min() and means.max() < 1.5
        np.testing.assert_array_equal(server.points(4)[index], server.state.centers[4])
    assert server.directions(3, 0) is None


# ------------------------------------------------------------------------ what is told


@pytest.mark.parametrize("name", MODELS)
def test_without_noise_or_clipping_answers_are_the_hessian(name):
    """Against the mean of z z^T l'' at the centre of the round, by hand."""
    n = 3000
    protocol = protocol_of(name, n, epsilon=np.inf)
    protocol = replace(protocol, rounds=replace(protocol.rounds, curvature_bound=1e6))
    server = collected(protocol, name, n)
    X, y = people(n, name)
    told = curvature_answers(protocol, server.state)
    assert [answers.number for answers in told] == [2, 4]
    loss = loss_of(protocol)
    z = np.column_stack([np.full(n, loss.intercept), X])
    start = 0
    for number, size in enumerate(protocol.rounds.sizes[:5]):
        rows, targets = z[start : start + size], y[start : start + size]
        start += size
        if number not in (2, 4):
            continue
        [answers] = [one for one in told if one.number == number]
        predictor = rows @ server.state.centers[number]
        probability = 1 / (1 + np.exp(-predictor))
        bend = {
            "logistic": probability * (1 - probability),
            "huber": np.abs(predictor - targets) < 1.5,
            "linear": np.ones(size),
        }[name]
        for index, mean in enumerate(answers.means):
            own = slice(index, None, server.n_directions)
            hessian = (rows[own] * bend[own, None]).T @ rows[own] / len(rows[own])
            asked = server.directions(number, index)
            expected = np.diag(asked @ hessian @ asked.T)
            np.testing.assert_allclose(mean, expected, rtol=1e-9)
    basis = symmetric_basis(3, is_isotropic=False)
    known = known_apart(protocol, told, server.state.centers[0], basis, 1.0, np.ones(8))
    assert not known.information[:3].any() and not known.values[:3].any()
    if name == "linear":  # one Hessian everywhere
        found = np.tensordot(np.linalg.solve(known.information[3:, 3:], known.values[3:]), basis, 1)
        np.testing.assert_allclose(found, z.T @ z / n, atol=0.2 * np.trace(z.T @ z / n) / 3)


def test_all_directions_are_told_with_one_relative_error():
    """Whatever the units of the features: that is what the whitening is for.

    By noise alone, entries off the diagonal have 3/4 of the error of those on it, for three axes.
    """
    server = collected(protocol_of("linear", 30_000), "linear", 30_000)
    [answers] = [one for one in curvature_answers(server.protocol, server.state) if one.number == 4]
    basis = symmetric_basis(3, is_isotropic=False)
    known = known_apart(server.protocol, [answers], server.state.centers[4], basis, 1.0, np.ones(8))
    covariance = np.linalg.inv(known.information[3:, 3:])
    whitening = server.state.stretches[4]
    into = np.einsum("lij,kij->lk", basis, whitening @ basis @ whitening)
    spread = into @ covariance @ into.T
    errors = np.sqrt(np.diag(spread))
    assert errors.max() < 1.4 * errors.min()


@pytest.mark.parametrize("name", ["logistic", "huber"])
def test_clipping_of_curvature_does_not_move_the_target(name):
    """Nearly all answers are at a bound of 0.3; the mean score still vanishes at the estimate."""
    n = 20_000
    protocol = protocol_of(name, n, epsilon=np.inf)
    tight = replace(protocol, rounds=replace(protocol.rounds, curvature_bound=0.3))
    loss, data = loss_of(protocol), np.column_stack(people(n, name))
    for plan, spread in ((protocol, (1.0, np.inf)), (tight, (0.0, 0.3**2))):
        server = collected(plan, name, n)
        scores = loss.score(plan.geometry, server.estimate(), data)
        error = scores.mean(axis=0) / (scores.std(axis=0) / np.sqrt(n))
        assert np.abs(error).max() < 3  # it is not zero, as early rounds asked elsewhere
        last = curvature_answers(plan, server.state)[-1]
        assert spread[0] < np.trace(last.covariance) < spread[1]


def test_the_weakest_eigenvalue_is_known_better():
    """With correlated features, beside rounds that ask from afar, in 30 collections each."""
    errors = {}
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200_000, 2)) @ np.linalg.cholesky([[1, 0.9], [0.9, 1]]).T
    X *= np.minimum(1, 2.5 / np.linalg.norm(X, axis=1))[:, None]
    y = rng.uniform(size=len(X)) < 1 / (1 + np.exp(-X @ [0.5, 0.3]))
    for name, directions in (("afar", "adaptive"), ("curvature", None)):
        found = []
        for seed in range(30):
            places = np.random.default_rng(seed).integers(len(X), size=60_000)
            tuning = Tuning(directions=directions)
            model = PrivateLogisticRegression(2.5, epsilon=3.0, random_state=seed, tuning=tuning)
            model.fit(X[places], y[places])
            found.append(np.linalg.eigvalsh(model.server_.fit().raw_hessian)[0])
        assert (model.protocol_.rounds.curvature_rounds is None) == (name == "afar")
        errors[name] = np.std(found) / np.mean(found)
    assert errors["curvature"] < 0.6 * errors["afar"]


# ------------------------------------------------------------------------ errors of the Hessian


def _random_covariance(size, seed=0):
    root = np.random.default_rng(seed).normal(size=(size, size + 2))
    return root @ root.T / size


def test_mean_products_are_those_of_draws():
    covariance, basis = _random_covariance(6), symmetric_basis(3, is_isotropic=False)
    moment = np.diag([1.0, 2.0, 0.5])
    expected = 0.0
    values, vectors = np.linalg.eigh(covariance)
    for value, vector in zip(values, vectors.T):  # an error along each of its principal axes
        error = np.tensordot(np.sqrt(value) * vector, basis, axes=1)
        expected = expected + error @ moment @ error
    np.testing.assert_allclose(mean_product(covariance, moment), expected, atol=1e-12)


def test_an_even_error_hedges_as_its_norm_does():
    hessian = np.diag([3.0, 1.0, 0.2])
    even = 0.3 * np.eye(6)
    square = mean_product(even, np.eye(3))
    np.testing.assert_allclose(square, np.trace(even) / 3 * np.eye(3), atol=1e-12)
    step = hedged_step(hessian, square)
    np.testing.assert_allclose(step, hedged_step(hessian, np.trace(even) / 3), atol=1e-12)


def test_the_guard_is_the_known_one_for_errors_spread_evenly():
    rule, hessian, basis = InferenceRule(), 2.0 * np.eye(4), symmetric_basis(4, False)
    trace = np.trace(basis, axis1=1, axis2=2) / 2
    spherical = 0.03 * np.outer(trace, trace)
    deviatoric = 0.01 * (np.eye(10) - np.outer(trace, trace))
    for parts in (
        (spherical, 0 * deviatoric),
        (0 * spherical, deviatoric),
        (spherical, deviatoric),
    ):
        expected = guard_of_parts(*(np.trace(part) for part in parts), hessian, 0.0, rule, 4)
        found = guard_of_covariance(sum(parts), hessian, rule)
        assert found == pytest.approx(expected, rel=1e-9)


def test_the_guard_keeps_coverage_where_errors_are_relative():
    """The statistic of a normal score by a Hessian that is off by a tenth in every direction."""
    rng, hessian, basis = (
        np.random.default_rng(0),
        np.diag([4.0, 1.0, 0.1]),
        symmetric_basis(3, False),
    )
    root = np.sqrt(hessian)
    white = (root @ basis @ root).reshape(6, -1)
    into = np.linalg.lstsq(basis.reshape(6, -1).T, white.T, rcond=None)[0]
    covariance = 0.15**2 * into @ into.T
    n = 400_000
    coefficients = rng.multivariate_normal(np.zeros(6), covariance, size=n)
    errors = np.tensordot(coefficients, basis, axes=1)
    score = rng.normal(size=(n, 3))
    moved = score + np.einsum("nij,nj->ni", errors, score @ np.linalg.inv(hessian))
    statistic = np.sum(moved**2, axis=1)
    quantile = stats.chi2.ppf(0.95, 3)
    guard = guard_of_covariance(covariance, hessian, InferenceRule())
    assert np.mean(statistic <= quantile) < 0.945
    assert 0.948 < np.mean(statistic <= guard * quantile) < 0.956


def test_the_share_of_the_people_balances_both_costs():
    mechanism = make_mechanism("privunit", epsilon=3.0, dim=4, bound=7.0)
    n = 50_000
    share = curvature_share(mechanism, n)
    noise = mechanism.noise_variance / mechanism.bound**2
    # Entries of a matrix by 4 bases, each told by a fourth, and half as often again by the pairs.
    variance = (noise * 3.0**2 * 4 + 2) * 4 / 2
    cost = lambda p: p + 15 * variance / (p * n)  # noqa: E731
    assert cost(share) < min(cost(1.1 * share), cost(share / 1.1))
    assert curvature_share(mechanism, 4 * n) == pytest.approx(share / 2)


# ------------------------------------------------------------------------ devices


@pytest.fixture(scope="module")
def asked():
    """A server in its third round, and a question about curvature."""
    protocol = protocol_of("logistic", 3000)
    server = RoundServer(protocol)
    data = np.column_stack(people(sum(protocol.rounds.sizes[:2])))
    emulate_in_rounds(server, data, random_state=0)
    return server, server.queries(1)[0]


def test_a_question_is_a_text(asked):
    _, query = asked
    assert query.round == 2
    again = Query.from_json(query.to_json())
    np.testing.assert_array_equal(again.directions, query.directions)
    assert "directions" not in replace(query, directions=None).to_json()
    assert Query.from_json(replace(query, directions=None).to_json()).directions is None
    record = json.loads(query.to_json())
    record["directions"] = "none"
    with pytest.raises(MessageError, match="text is not a Query"):
        Query.from_json(json.dumps(record))


@pytest.mark.parametrize(
    "directions",
    [
        None,
        np.eye(2),
        np.full((3, 3), np.nan),
        np.eye(3)[0],
        np.zeros((3, 3)),
        np.diag([1.0, 1.0, 1e12]),
        np.diag([1.0, 1.0, 1e200]),
    ],
)
def test_questions_without_proper_directions_are_refused(asked, directions):
    server, query = asked
    participant = Participant(server.protocol, max_epsilon=8.0)
    with pytest.raises(ProtocolError, match="query directions must"):
        participant.respond(replace(query, directions=directions), [0.1, 0.2, 1.0])
    assert not participant.has_answered


def test_directions_are_refused_where_scores_are_asked_for(asked):
    server, query = asked
    with pytest.raises(ProtocolError, match="directions must be None"):
        Participant(server.protocol, max_epsilon=8.0).respond(
            replace(query, round=0), [0.1, 0.2, 1.0]
        )


@pytest.mark.parametrize("end", [None, 0, 1])
@pytest.mark.parametrize(
    "datum", [[0.1, 0.2, 1.0], [np.nan, 0.0, 1.0], [1e300, -1e300, 1e300], "nothing", [1.0]]
)
def test_devices_answer_whatever_the_datum_and_the_directions(asked, datum, end):
    server, query = asked
    participant = Participant(server.protocol, max_epsilon=8.0)
    if end is not None:  # of the public range
        query = replace(query, directions=whitening_range(server.protocol)[end] * np.eye(3))
    message = participant.respond(query, datum)
    assert server.protocol.mechanism.in_support(message.tangent_vec, rtol=1e-6)


def test_an_answer_is_the_curvature_in_the_ball_of_scores(asked):
    """The mean of what seeded participants release, against the clipped excess by hand."""
    server, query = asked
    protocol, datum = server.protocol, np.array([0.9, -1.1, 1.0])
    participant = Participant(protocol, random_state=0)
    messages = [participant.respond(query, datum).tangent_vec for _ in range(4000)]
    z = np.array([loss_of(protocol).intercept, *datum[:2]])
    probability = 1 / (1 + np.exp(-z @ query.point))
    excess = probability * (1 - probability) * (query.directions @ z) ** 2 - 1
    bound = protocol.rounds.curvature_bound
    excess *= min(1, bound / np.linalg.norm(excess))
    expected = excess * protocol.mechanism.bound / bound
    error = np.sqrt(protocol.mechanism.noise_variance / len(messages))
    assert np.abs(np.mean(messages, axis=0) - expected).max() < 4 * error


def test_losses_without_curvature_are_not_asked(asked):
    protocol = PrivatePCA(epsilon=8.0, n_rounds=8, n_participants=4000).start(3).protocol_
    with pytest.raises(ProtocolError, match="moment is None or 'quadratic'"):
        replace(protocol.rounds, curvature_rounds=(1,), curvature_bound=2.0)
    plan = replace(protocol.rounds, moment=None, curvature_rounds=(1,), curvature_bound=2.0)
    other = replace(protocol, rounds=plan)
    with pytest.raises(ProtocolError, match="states no curvature"):
        Participant(other, max_epsilon=8.0)
    with pytest.raises(ProtocolError, match="states no curvature"):
        emulate_in_rounds(RoundServer(other), np.ones((10, 3)), random_state=0)


# ------------------------------------------------------------------------ servers agree


@pytest.fixture(scope="module")
def server():
    return collected(protocol_of("huber", 3000, n_rounds=6), "huber", 3000)


def same(one, other):
    assert one.round == other.round
    for part, again in zip(one.state, other.state):
        np.testing.assert_array_equal(part, again)


def test_a_transcript_and_a_checkpoint_give_the_same(server, tmp_path):
    again = RoundServer(server.protocol)
    again.replay_transcript(server.transcript())
    same(again, server)
    server.save(tmp_path / "state.npz")
    loaded = RoundServer.load(tmp_path / "state.npz")
    same(loaded, server)
    np.testing.assert_array_equal(loaded.fit().point, server.fit().point)
    np.testing.assert_array_equal(loaded.directions(2, 1), server.directions(2, 1))


def test_states_of_workers_add_up(server):
    merged = merge_states([server.state, without_messages(server.state)])
    for part, again in zip(server.state, merged):
        np.testing.assert_array_equal(part, again)
    other = server.state.stretches.copy()
    other[2] *= 2
    with pytest.raises(ProtocolError, match="ask at the same points"):
        merge_states([server.state, server.state._replace(stretches=other)])


@pytest.mark.parametrize("change", ["short", "skew", "first", "identity of another round"])
def test_files_with_impossible_directions_are_refused(server, tmp_path, change):
    server.save(tmp_path / "state.npz")
    with np.load(tmp_path / "state.npz") as file:
        arrays = dict(file)
    stretches = arrays["stretches"]
    if change == "short":
        stretches[2] = 0.9 * np.eye(3) / np.sqrt(server.protocol.hessian_bound)
    elif change == "skew":
        stretches[4, 0, 1] += 0.1
    else:
        stretches[{"first": 0}.get(change, 3)] *= 2
    np.savez(tmp_path / "made_up.npz", **arrays)
    with pytest.raises(MessageError, match="stretches must be symmetric"):
        RoundServer.load(tmp_path / "made_up.npz")


@pytest.mark.parametrize("engine", ["compiled", "geomstats"])
def test_one_by_one_is_as_at_once(engine):
    """People who answer one after the other, with the draws of one participant for all."""
    protocol, n = protocol_of("linear", 1500, n_rounds=5, epsilon=12.0), 1500
    assert protocol.rounds.curvature_rounds == (2,)
    data = np.column_stack(people(n, "linear"))
    one, other = RoundServer(protocol, engine), RoundServer(protocol, "geomstats")
    person = Participant(protocol, random_state=3)
    while not one.is_complete:
        for query in one.queries():
            message = person.respond(query, data[one.n_participants])
            for server in (one, other):
                server.receive(message)
    assert one.n_participants == n
    np.testing.assert_allclose(one.estimate(), other.estimate(), rtol=1e-8)
    error = one.estimate() - collected(protocol, "linear", n).estimate()
    assert np.linalg.norm(error) < 1.5


def test_groups_tell_curvature_in_units_of_their_own():
    model = MODELS["logistic"].set_params(epsilon={"strict": 2.0, "open": 8.0}, n_rounds=8)
    X, y = people(30_000)
    model.set_params(n_participants=None, random_state=0)
    model.fit(X, y, groups=np.where(np.arange(30_000) % 3 == 0, "strict", "open"))
    told = curvature_answers(model.protocol_, model.server_.state)
    assert len(told) == 4
    strict, open_ = told[2:]
    for answers in (strict, open_):
        mean = answers.counts @ answers.means / answers.counts.sum()
        error = np.sqrt(np.diag(answers.covariance) / answers.counts.sum())
        assert np.abs(mean - 1).max() < 0.3 + 4 * error.max()
    assert np.trace(strict.covariance) > 2 * np.trace(open_.covariance)
    model.set_params(epsilon=8.0)


# ------------------------------------------------------------------------ plans


def test_the_protocol_says_it_and_other_protocols_do_not():
    protocol = protocol_of("logistic", 20_000)
    assert Protocol.from_json(protocol.to_json()) == protocol
    assert '"curvature_rounds":[2,4]' in protocol.to_json()
    for model in (
        MODELS["logistic"].set_params(n_participants=None),
        MODELS["logistic"].set_params(n_participants=20_000, n_rounds=4),
        MODELS["logistic"].set_params(n_rounds=8, tuning=Tuning(directions="adaptive")),
        MODELS["logistic"].set_params(n_rounds=8, tuning=None, n_participants=100),
    ):
        assert "curvature" not in model.start(2).protocol_.to_json()
    MODELS["logistic"].set_params(tuning=None, n_rounds=8)


@pytest.mark.parametrize(
    "rounds, bound, message",
    [
        ((0, 2), 1.0, "curvature_rounds must"),
        ((3, 1), 1.0, "curvature_rounds must"),
        ((1, 1), 1.0, "curvature_rounds must"),
        ((), 1.0, "curvature_rounds must"),
        ((1, 8), 1.0, "curvature_rounds must"),
        ((1,), 0.0, "curvature_bound must"),
        (None, 1.0, "curvature_bound must be 0"),
    ],
)
def test_plans_that_make_no_sense_are_refused(rounds, bound, message):
    with pytest.raises(ProtocolError, match=message):
        RoundPlan(8, curvature_rounds=rounds, curvature_bound=bound)


def test_sizes_add_up():
    for n in (500, 3001, 115_000):
        sizes = sizes_with_curvature(round_sizes(n, 8, 16), (1, 3), 0.06, 16)
        assert sum(sizes) == n and min(sizes) >= 16
        others = [size for number, size in enumerate(sizes) if number not in (1, 3)]
        assert others == sorted(others)


def test_no_warning_of_numpy_escapes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", LDPWarning)
        collected(protocol_of("logistic", 3000), "logistic", 3000).predict_scores()
