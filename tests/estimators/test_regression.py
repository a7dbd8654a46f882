"""Private regressions: without noise those of other programs, with it tables that hold."""

import json

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from geomstats_ldp import (
    Participant,
    PrivateHuberRegression,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    Tuning,
)
from geomstats_ldp.exceptions import ArgumentTypeError, ProtocolError, WeakCurvatureWarning
from geomstats_ldp.geometry import geodesic_ball
from geomstats_ldp.protocol import Protocol
from geomstats_ldp.server import RoundServer

pytestmark = pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")

BOUND = 1.5  # of two features in [-1, 1]: no row is clipped


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(20_000, 2))
    noise = 0.3 * rng.standard_t(4, size=20_000)
    return X, np.clip(0.2 + X @ [0.5, -0.3] + noise, -3, 3)


def _huber(X, y, scale):
    def loss(b):
        size = np.abs(b[0] + X @ b[1:] - y)
        inner = np.minimum(size, scale)
        return np.mean(inner**2 / 2 + scale * (size - inner))

    return minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-7}).x


def test_without_noise_they_are_the_regressions_of_other_programs(people):
    """Everybody is asked once, so they differ by the randomness of who is asked what.

    That has the size of the standard errors; coefficients are within four of them.
    """
    X, y = people
    common = {"feature_bound": BOUND, "epsilon": np.inf, "random_state": 0}
    linear = PrivateLinearRegression(target_bound=3.0, **common).fit(X, y)
    batch = LinearRegression().fit(X, y)
    _agree(linear, [batch.intercept_, *batch.coef_])
    huber = PrivateHuberRegression(scale=0.4, **common).fit(X, y)
    _agree(huber, _huber(X, y, 0.4))
    label = np.where(y > 0, "yes", "no")
    logistic = PrivateLogisticRegression(**common).fit(X, label)
    batch = LogisticRegression(C=1e8).fit(X, label)
    _agree(logistic, [*batch.intercept_, *batch.coef_[0]])
    assert list(logistic.classes_) == ["no", "yes"]
    assert np.mean(logistic.predict(X) == batch.predict(X)) > 0.98
    gap = logistic.predict_proba(X) - batch.predict_proba(X)
    assert np.abs(gap).max() < 0.05 and np.allclose(logistic.predict_proba(X).sum(axis=1), 1)
    assert logistic.coef_.shape == (1, 2) and logistic.intercept_.shape == (1,)


def _agree(model, expected):
    table = model.summary()
    assert np.abs((model.estimate_ - expected) / table.standard_error).max() < 4


def test_the_table_is_that_of_the_covariance(people):
    X, y = people
    model = PrivateHuberRegression(0.4, BOUND, epsilon=4.0, random_state=0).fit(X, y)
    table = model.summary(level=0.9)
    # By central differences of the coefficients.
    assert np.allclose(table.standard_error, np.sqrt(np.diag(model.covariance_)), rtol=1e-6)
    scale = np.array([BOUND / np.sqrt(2), 1, 1])  # of the intercept
    basis = model.protocol_.geometry.basis
    inner = basis.T @ model.confidence_region().covariance @ basis
    assert np.allclose(model.covariance_, scale[:, None] * inner * scale)
    width = stats.norm.ppf(0.95) * table.standard_error
    assert np.allclose(table.interval.T, [model.estimate_ - width, model.estimate_ + width])
    assert np.allclose(table.pvalues, 2 * stats.norm.sf(np.abs(table.z)))
    text = str(table)
    assert "n 20000, epsilon 4, privunit, 8 rounds" in text and "0.05" in text
    assert [line.split()[0] for line in text.splitlines()[-4:-1]] == ["intercept", "x0", "x1"]
    assert model.estimate_[0] == model.intercept_
    assert np.allclose(model.predict(X), model.intercept_ + X @ model.coef_)


def test_the_hessian_is_that_of_least_squares(people):
    """E z z^T of rows z = (1, x), whatever constant the loss puts in front."""
    X, y = people
    model = PrivateLinearRegression(BOUND, 3.0, epsilon=np.inf, random_state=0).fit(X, y)
    z = np.column_stack([np.ones(len(X)), X])
    assert np.allclose(model.hessian_, z.T @ z / len(z), atol=0.05)
    assert str(model.summary()).count("8 rounds") == 1
    one = clone(model).set_params(n_rounds=1).fit(X, y).summary()
    assert "1 round\n" in str(one)


def test_results_do_not_depend_on_the_units(people):
    X, y = people
    models = [
        PrivateHuberRegression(0.4 * b, BOUND * a, epsilon=4.0, random_state=0).fit(a * X, b * y)
        for a, b in ((1.0, 1.0), (1e6, 1e-3))
    ]
    units = np.array([1e-3, 1e-9, 1e-9])
    squares = np.outer(units, units)
    small, large = models
    assert np.allclose(large.covariance_, squares * small.covariance_, rtol=1e-6)
    # The loss is in squares of the target's unit, which is 1e-3 as well.
    assert np.allclose(large.hessian_, 1e-6 / squares * small.hessian_, rtol=1e-6)
    expected = 1e-12 / squares * small.score_covariance_
    assert np.allclose(large.score_covariance_, expected, rtol=1e-6)
    small, large = (model.summary() for model in models)
    assert np.allclose(large.estimate, units * small.estimate, rtol=1e-6)
    assert np.allclose(large.standard_error, units * small.standard_error, rtol=1e-6)


def test_a_regression_without_an_intercept(people):
    X, y = people
    model = PrivateHuberRegression(0.4, BOUND, np.inf, fit_intercept=False, random_state=0)
    model.fit(X, y - 0.2)
    assert model.intercept_ == 0 and model.coef_.shape == (2,)
    assert np.abs(model.coef_ - [0.5, -0.3]).max() < 0.05
    assert str(model.summary()).count("intercept") == 0


def test_devices_answer_with_a_row_and_collections_resume(people, tmp_path):
    X, y = people
    model = PrivateLogisticRegression(
        BOUND, epsilon=4.0, n_participants=60, n_rounds=2, classes=["a", "b"], random_state=0
    ).start(n_features=2)
    protocol = Protocol.from_json(json.dumps(json.loads(model.protocol_.to_json())))
    place = 0
    while queries := model.queries():
        rows = np.column_stack([X, y > 0])[place : place + len(queries)]
        answers = [
            Participant(protocol, max_epsilon=4.0).respond(query, row)
            for query, row in zip(queries, rows)
        ]
        model.partial_fit(answers)
        place += len(queries)
    model.save_state(tmp_path / "state.npz")
    resumed = PrivateLogisticRegression(classes=["a", "b"]).load_state(tmp_path / "state.npz")
    assert model.n_participants_ == resumed.n_participants_ == 60
    assert np.array_equal(model.estimate_, resumed.estimate_)
    assert set(resumed.predict(X)) <= {"a", "b"} and resumed.n_features_in_ == 2


def test_points_are_in_the_units_of_the_user():
    start = np.array([0.5, 1.0, -0.5])
    region = Tuning(working_region=geodesic_ball(start, 2.0))
    for parameters in ({"initial_point": start}, {"tuning": region}):
        model = PrivateHuberRegression(1.0, BOUND, **parameters).start(2)
        assert np.allclose([model.intercept_, *model.coef_], start)
        constant = model.protocol_.loss_spec["intercept"]
        assert np.allclose(model.protocol_.initial_point, start / [constant, 1, 1])


def test_a_study_file_makes_a_collection_of_rows(people):
    study = pytest.importorskip("geomstats_ldp.collection.study")
    text = """
    estimator = "PrivateLogisticRegression"
    n_features = 2
    [parameters]
    feature_bound = 1.5
    epsilon = 8.0
    n_participants = 300
    n_rounds = 2
    """
    description = study.read_study_file(text)
    protocol, (X, y) = study.make_study_protocol(description), people
    server, rows = RoundServer(protocol), iter(np.column_stack([X, y > 0]))
    while queries := server.queries():
        server.receive(
            [Participant(protocol, max_epsilon=8.0).respond(query, next(rows)) for query in queries]
        )
    summary = study.summarise(description, server)
    assert summary["n_participants"] == 300 and len(summary["estimate"]) == 3
    assert study.fitted_estimator(description, server).predict(X).shape == y.shape


def test_rows_become_messages_once_a_collection_is_open():
    with pytest.raises(AttributeError) as caught:
        PrivateHuberRegression().partial_fit  # noqa: B018
    assert "call start(n_features)" in str(caught.value.__cause__)


def test_blocks_hold_the_target_in_the_last_column(people):
    X, y = people
    rows = np.column_stack([X, y])[:2000]
    model = PrivateHuberRegression(0.4, BOUND, epsilon=8.0, random_state=0)
    whole = model.fit(*np.split(rows, [2], axis=1)[:1], rows[:, 2]).estimate_
    blocks = model.fit_blocks([rows[:700], rows[700:]], n_participants=2000)
    assert np.array_equal(blocks.estimate_, whole)


def test_blocks_hold_labels_as_zero_and_one(people):
    X, y = people
    rows = np.column_stack([X, y > 0])[:2000]
    model = PrivateLogisticRegression(BOUND, epsilon=8.0, random_state=0)
    blocks = clone(model).fit_blocks([rows[:700], rows[700:]], n_participants=2000)
    assert blocks.classes_.tolist() == [0, 1]
    model.fit(rows[:, :2], np.where(rows[:, 2] > 0, "yes", "no"))
    assert model.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(blocks.estimate_, model.estimate_)
    assert model.fit_blocks([rows], n_participants=2000).classes_.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("labels", "classes", "match"),
    [
        ([0, 1, 2, 1], None, "Only binary classification"),
        ([1, 1, 1, 1], None, "two classes"),
        ([0, 1, 2, 1], [0, 1], "hold the classes"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, classes, match):
    model = PrivateLogisticRegression(classes=classes, tuning=Tuning(engine="geomstats"))
    with pytest.raises(ValueError, match=match):
        model.fit(np.ones((4, 2)), labels)


def test_arguments_that_do_not_fit_are_refused():
    X, y = np.ones((4, 2)), [0, 1, 0, 1]
    with pytest.raises(ProtocolError, match="classes must be two different labels"):
        PrivateLogisticRegression(classes=[1, 1]).fit(X, y)
    said = "^X must have 1 features to fit initial_point, which holds the intercept and .*; got 2"
    with pytest.raises(ProtocolError, match=said):
        PrivateHuberRegression(initial_point=[0.0, 0.0]).fit(X, y)
    with pytest.raises(ProtocolError, match=r"^initial_point must .*; got \(1,\)"):
        PrivateHuberRegression(initial_point=[0.0]).fit(X, y)
    with pytest.raises(ArgumentTypeError, match="fit_intercept must be True or False; got 'no'"):
        PrivateLinearRegression(fit_intercept="no").fit(X, y)
    with pytest.raises(ProtocolError, match="feature_bound"):
        PrivateLinearRegression(feature_bound=-1.0).fit(X, y)


@pytest.mark.slow
def test_coverage_of_regressions():
    """400 regions; four standard errors of a share are 0.044, of a standard deviation 14%.

    Standard errors are those of the estimates, and not under the oracle's, which knows the Hessian
    and asks at the target: sqrt of (tau^2 + Var psi E x^2) / n / (E psi' E x^2), with E x^2 = 1/3.
    """
    rng, covered, errors, found = np.random.default_rng(0), [], [], []
    for seed in range(400):
        X = rng.uniform(-1, 1, size=(20_000, 2))
        y = 0.2 + X @ [0.5, -0.3] + 0.3 * rng.standard_t(4, size=20_000)
        model = PrivateHuberRegression(0.4, BOUND, epsilon=4.0, random_state=seed).fit(X, y)
        covered.append(model.confidence_region().contains([0.2, 0.5, -0.3]))
        errors.append(model.summary().standard_error)
        found.append(model.estimate_)
    assert abs(np.mean(covered) - 0.95) < 0.044
    typical = np.median(errors, axis=0)
    assert typical == pytest.approx(np.std(found, axis=0), rel=0.2)
    residual = 0.3 * stats.t(4).rvs(200_000, random_state=1)
    slope = np.mean(np.abs(residual) < 0.4)
    spread = np.mean(np.clip(residual, -0.4, 0.4) ** 2)
    noise = model.protocol_.mechanism.noise_variance
    assert typical[1:].min() > np.sqrt((noise + spread / 3) / 20_000) / slope * 3


@pytest.mark.slow
def test_coverage_and_length_of_logistic_intervals():
    """200 regions; four standard errors of a share are 0.062.

    Intervals are beside those of an oracle who asks everybody at the target, knows the Hessian
    there and uses the same mechanism: H^-1 (Sigma + tau^2 I) H^-1 / n.
    """
    rng, truth, covered, errors = np.random.default_rng(0), np.array([-0.3, 1.0, -0.5]), [], []
    for seed in range(200):
        X = rng.uniform(-1, 1, size=(60_000, 2))
        y = rng.uniform(size=60_000) < 1 / (1 + np.exp(-truth[0] - X @ truth[1:]))
        model = PrivateLogisticRegression(BOUND, epsilon=4.0, random_state=seed).fit(X, y)
        covered.append(model.confidence_region().contains(truth))
        errors.append(model.summary().standard_error)
    assert abs(np.mean(covered) - 0.95) < 0.062
    rows, scale = np.column_stack([np.ones(60_000), X]), BOUND / np.sqrt(2)  # of the intercept
    probability = 1 / (1 + np.exp(-rows @ truth))
    hessian = (rows * (probability * (1 - probability))[:, None]).T @ rows / 60_000
    noise = model.protocol_.mechanism.noise_variance * np.diag([1 / scale**2, 1, 1])
    inverse = np.linalg.inv(hessian)
    ideal = np.sqrt(np.diag(inverse @ (hessian + noise) @ inverse) / 60_000)
    ratios = np.median(errors, axis=0) / ideal
    assert 1 < ratios.min() and ratios.max() < 1.3


def test_weak_curvature_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 1)) * [1.0, 0.95] + 0.05 * rng.normal(size=(4000, 2))
    y = (rng.uniform(size=4000) < 0.5) * 1
    model = PrivateLogisticRegression(3.0, epsilon=2.0, random_state=0).fit(X, y)
    with pytest.warns(WeakCurvatureWarning, match="score"):
        model.summary()
