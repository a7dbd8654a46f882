"""The script behind the tables of rounds: targets are minimisers, and the oracle meets its law."""

import importlib
import math
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).parents[3] / "docs" / "study"


@pytest.fixture(scope="module", autouse=True)
def folder():
    """Scripts import what they share from their own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        yield


@pytest.fixture(scope="module")
def script(folder):
    return importlib.import_module("problems")


@pytest.fixture(scope="module")
def rounds(folder):
    return importlib.import_module("rounds")


@pytest.fixture(scope="module")
def weak(folder):
    return importlib.import_module("weak_curvature")


@pytest.mark.parametrize("name", ["vMF-S2", "vMF-S5", "H2", "H5", "SPD2", "SPD3", "PCA4"])
def test_the_mean_score_vanishes_at_the_target(script, name):
    problem = script.PROBLEMS[name]()
    np.testing.assert_allclose(problem.law.probabilities @ problem.scores, 0.0, atol=1e-9)
    assert np.linalg.eigvalsh(problem.hessian)[0] > 0
    initial = problem.make_protocol(8.0, 1000, 8).initial_point
    assert problem.geometry.dist(initial, problem.target) == pytest.approx(0.6, rel=1e-9)


@pytest.mark.parametrize("name", ["gap3", "gap4", "heavy6", "spike20", "line-H2", "skew-H3"])
def test_targets_of_weak_problems_are_minimisers(script, name):
    problem = script.WEAK[name]()
    np.testing.assert_allclose(problem.law.probabilities @ problem.scores, 0.0, atol=1e-9)
    assert np.linalg.eigvalsh(problem.hessian)[0] > 0


def test_the_rule_takes_the_score_region_where_it_warned(weak):
    columns = {
        "square": [1.0, 2.0, 3.0, 2.0],
        "oracle": [1.0, 1.0, 1.0, 1.0],
        "wald": [1, 0, 1, 0],
        "wald_axis": [1.0, 2.0, 3.0, 4.0],
        "error": [0.1, 0.3, 0.1, 0.3],
        "score": [0, 1, 0, 1],
        "is_open": [0, 0, 0, 1],
        "score_axis": [1.0, 2.0, 3.0, math.inf],
    }
    assert tuple(columns) == weak.COLUMNS
    row = weak.summary(np.transpose(list(columns.values())), threshold=0.2)
    assert row["rule"] == 1.0 and row["warned"] == 0.5 and row["quiet_axis"] == 2.0
    assert row["error"] == pytest.approx(math.sqrt(2))
    assert weak.failures(row | {"warned": 0.4}, 8.0, 2) == ["coverage", "axis"]
    assert weak.failures(row | {"rule": 0.95}, 8.0, 2) == []


@pytest.mark.slow
def test_the_oracle_has_the_covariance_of_the_population(script, rounds):
    n, n_repetitions = 1000, 60
    rows = rounds.run_some("vMF-S2", 8.0, n, 8, "late", 1, range(n_repetitions))
    problem = script.PROBLEMS["vMF-S2"]()
    mechanism = problem.make_protocol(8.0, n, 8).mechanism
    # On this sphere the score covariance is a multiple of the identity but for a few percent, so
    # that the longest axis tells the mean square error: 2 / 5.99 of its square.
    expected = 2 / 5.9915 * problem.longest_axis(mechanism) ** 2 / (0.8 * n)
    assert rows[:, 1].mean() == pytest.approx(expected, rel=4 / math.sqrt(n_repetitions))
    summary = rounds.summary(rows)
    assert abs(summary["error"] - 1) < 4 * summary["error_se"] + 0.1
    assert rows[:, 2].sum() >= 50  # fewer of 60 with probability 3e-4


def test_late_answers_join_their_round_and_missing_ones_nothing(script):
    protocol = script.PROBLEMS["vMF-S2"]().make_protocol(8.0, 1000, 3)
    problem = script.PROBLEMS["vMF-S2"]()
    heard = []

    class Crowd(script.Crowd):
        def add_answers(self, server, number, data, variates):
            heard.append((server.round, number, len(data)))
            super().add_answers(server, number, data, variates)

    data, _ = problem.draw(np.random.default_rng(0), 1000)
    variates = protocol.mechanism.draw(1000, script.make_streams(0))
    fates = np.random.default_rng(1).choice(3, size=1000, p=script.ANSWERS["late"])
    server = script.RoundServer(protocol)
    script.collect_rounds(server, Crowd(protocol), data, variates, fates)
    edges = np.cumsum((0, *protocol.rounds.sizes))
    by_round = [fates[start:end] for start, end in zip(edges, edges[1:])]
    counts = [[int(np.sum(part == fate)) for fate in range(3)] for part in by_round]
    assert heard == [
        (0, 0, counts[0][script.ON_TIME]),
        (1, 1, counts[1][script.ON_TIME]),
        (1, 0, counts[0][script.LATE]),
        (2, 2, counts[2][script.ON_TIME]),
        (2, 1, counts[1][script.LATE]),
        (3, 2, counts[2][script.LATE]),
    ]
