"""Plans: curves, the number of people for a width, calendars, and what collections then have."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivateVMFLocation,
    plan,
)
from geomstats_ldp.cli import main
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.planning.plan import Plan, Row, between, over_oracle
from geomstats_ldp.protocol.rounds import round_sizes

STUDY = Path(__file__).parents[2] / "docs" / "collection" / "STUDY.toml"
LAW = np.array([0.6, 0.64, 0.48])


def people(n, seed):
    return LAW + 0.5 * np.random.default_rng(seed).normal(size=(n, 3))


def row(n, width, epsilon=4.0, **changes):
    fields = {
        "oracle": 0.9 * width,
        "error": 0.01 * width,
        "is_informative": True,
        "is_weak": False,
        "is_emulated": True,
        "clipped_share": 0.0,
        "shift": 0.0,
    }
    return Row(n=n, setting={"epsilon": epsilon}, width=width, **(fields | changes))


def plan_of(*rows, n_rounds=None):
    return Plan(rows, 0.95, False, n_rounds, sizes_of)


def sizes_of(n, n_rounds, setting):
    """More people in the first rounds where epsilon is small."""
    return round_sizes(n, n_rounds, 40 if setting["epsilon"] < 2 else 8)


# ---------------------------------------------------------------- reading a plan


def test_factors_are_interpolated_on_logarithmic_scales():
    sizes, factors = [100, 1600], [4.0, 1.0]
    assert between(400, sizes, factors) == pytest.approx(2.0)
    assert between(100, sizes, factors) == 4.0
    assert between(10**6, sizes, factors) == 1.0
    assert between(400, sizes, [math.inf, 1.0]) == math.inf
    assert between(1600, sizes, [math.inf, 1.0]) == 1.0


def test_the_number_of_people_inverts_the_curve():
    planned = plan_of(row(400, 0.2), row(1600, 0.05), row(6400, 0.025))
    assert planned.participants_for(0.1) == 800  # halfway on both logarithmic scales
    assert planned.participants_for(0.05) == 1600
    assert planned.participants_for(0.5) == 400
    assert planned.participants_for(0.0125) == 25_600  # as one over the root from the end on
    assert planned.participants_for(0.001) == math.inf


def test_what_is_beyond_reach_is_said():
    planned = plan_of(
        row(400, math.inf, is_informative=False), row(1600, 0.3, is_weak=True), row(6400, 0.1)
    )
    assert planned.participants_for(0.5) == 1600
    assert "beyond reach" in str(planned) and "weak curvature" in str(planned)
    assert plan_of(row(400, 0.2, is_informative=False)).participants_for(0.5) == math.inf


def test_a_curve_is_chosen_by_its_setting():
    planned = plan_of(row(400, 0.2, epsilon=1.0), row(400, 0.1, epsilon=4.0))
    assert len(planned.curves) == 2
    assert planned.participants_for(0.1, epsilon=4.0) == 400
    for setting in ({}, {"epsilon": 3.0}):
        with pytest.raises(ProtocolError, match="setting must name one curve"):
            planned.participants_for(0.1, **setting)


def test_a_calendar_waits_for_every_round():
    planned = plan_of(row(400, 0.2), n_rounds=5)
    calendar = planned.calendar(1000, 60)
    assert calendar.sizes == round_sizes(1000, 5, 8)
    assert calendar.days == tuple(-(-size // 60) for size in calendar.sizes)
    assert len(planned.calendar(1000, 60, n_rounds=3).sizes) == 3
    assert f"{sum(calendar.days)} days" in str(calendar)
    assert len(plan_of(row(400, 0.2)).calendar(1000, 60).sizes) == 8  # a service asks in rounds
    differing = plan_of(row(400, 0.2), row(400, 0.4, epsilon=1.0))
    assert differing.calendar(500, 60, epsilon=1.0).sizes == round_sizes(500, 8, 40)
    for setting in ({}, {"epsilon": 3.0}):
        with pytest.raises(ProtocolError, match="setting must name one curve"):
            differing.calendar(500, 60, **setting)
    for arguments in ({"n": 0, "answers_a_day": 1}, {"n": 10, "answers_a_day": 0}):
        with pytest.raises(ProtocolError):
            planned.calendar(**arguments)


def test_a_calendar_has_the_rounds_of_the_collection():
    # Two rounds ask for curvature, of sizes of their own: the third and the fifth.
    rng = np.random.default_rng(0)
    pilot = np.column_stack([rng.normal(size=(200, 3)), rng.integers(2, size=200)])
    regression = PrivateLogisticRegression(2.0, epsilon=4.0, classes=(0, 1))
    planned = plan(regression, pilot, n=[2000], n_emulations=2)
    calendar = planned.calendar(60_000, 1000)
    started = regression.set_params(n_participants=60_000).start(3).protocol_.rounds
    assert started.curvature_rounds == (2, 4)
    assert calendar.sizes == started.sizes
    assert calendar.days == tuple(math.ceil(size / 1000) for size in started.sizes)
    assert calendar.sizes[4] == pytest.approx(2 * calendar.sizes[2], rel=0.01)


def test_the_picture_has_a_line_and_an_oracle_for_each_setting():
    planned = plan_of(row(400, 0.2), row(1600, 0.1, is_weak=True), row(400, 0.4, epsilon=1.0))
    ax = planned.plot()
    solid = [line for line in ax.lines if line.get_linestyle() == "-"]
    assert [line.get_ydata().tolist() for line in solid] == [[0.2, 0.1], [0.4]]
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "none"]
    assert [line.get_xdata() for line in hollow] == [[1600]]
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["400", "1,600"]
    low, high = ax.get_ylim()
    widths = [tick.label1 for tick in ax.yaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    assert [text.get_text() for text in widths] == ["0.1", "0.15", "0.2", "0.3"]
    assert not any(text.get_text() for text in ax.get_yticklabels(minor=True))


# ---------------------------------------------------------------- making one


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"n": []}, "n must name"),
        ({"n": [1]}, "n must be"),
        ({"n": [1000], "bounds": {"norm": [1.0]}}, "bounds must be parameters"),
        ({"n": [1000], "largest_emulation": 500}, "largest_emulation=500"),
        ({"n": [1000], "n_emulations": 1}, "n_emulations"),
        ({"n": [1000], "level": 2}, "level"),
        ({"n": "1000"}, "n must be an integer"),
        ({"n": None}, "n must be an integer"),
        ({"n": 1000, "epsilon": "4"}, "epsilon must be a real number"),
        ({"n": 1000, "epsilon": []}, "epsilon must have at least one value"),
        ({"n": 1000, "bounds": {"epsilon": []}}, "epsilon must have at least one value"),
        ({"n": 1000, "bounds": "norm_bound"}, "bounds must be a dict"),
        ({"n": 1000, "functional": 3}, "functional must be a function"),
        ({"n": 1000, "random_state": None}, "random_state must be an integer"),
        ({"n": 1000, "estimator": "x"}, "estimator must be an estimator"),
        ({"n": 1000, "estimator": PrivateVMFLocation}, "estimator must be an estimator"),
        ({"n": [1000], "epsilon": [1.0, {"strict": 1.0}]}, "epsilon must be one number for a plan"),
        ({"n": [1000], "pilot": [1.0, 2.0]}, "pilot must hold"),
        ({"n": [1000], "pilot": [[1.0, math.nan, 0.0]] * 3}, "pilot must"),
    ],
)
def test_bad_arguments_are_named(arguments, match):
    estimator = PrivateVMFLocation(initial_point=LAW)
    with pytest.raises(ProtocolError, match=match):
        plan(**({"estimator": estimator, "pilot": people(20, 0)} | arguments))


def test_nobody_is_promised_more_than_the_oracle_has():
    """Regions of collections come out narrower where noise makes the Hessian large."""
    shares, oracles = np.array([0.5, 0.89, 0.97, 1.5]), np.array([0.2, 0.1, 0.3, 0.2])
    factors, is_less = over_oracle(shares * oracles, [0.01] * 4, oracles)
    np.testing.assert_allclose(factors, [1.0, 1.0, 1.0, 1.5])
    assert is_less == [True, False, False, False]  # .89 is within two standard errors of .9
    assert over_oracle(0.4 * oracles, [0.3] * 4, oracles) == ([1.0] * 4, [False] * 4)


def test_one_number_is_a_sequence_of_one():
    estimator, rows = PrivateFrechetMean(epsilon=8.0, region_radius=2.0, n_rounds=1), people(50, 0)
    values = {"n": 200, "epsilon": 4.0, "bounds": {"data_radius": 2.0}}
    listed = {"n": [200], "epsilon": [4.0], "bounds": {"data_radius": [2.0]}}
    alone, in_lists = (plan(estimator, rows, n_emulations=2, **one) for one in (values, listed))
    assert alone == in_lists
    assert alone.rows[0].setting == {"epsilon": 4.0, "data_radius": 2.0}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.WeakCurvatureWarning")
def test_a_plan_says_what_collections_then_have():
    """Widths at numbers that were not emulated, against fresh people of the same law.

    Within three standard errors of the two medians, and of the pilot of 800, whose root of a
    variance and whose Hessian err by 3% each.
    """
    estimator = PrivateVMFLocation(epsilon=2.0, initial_point=[1, 1, 1], n_rounds=8)
    before = estimator.get_params()
    planned = plan(estimator, people(800, 0), n=[400, 800, 2000, 5000, 16000], n_emulations=24)
    assert estimator.get_params() == before and not hasattr(estimator, "server_")
    assert [one.is_emulated for one in planned.rows] == [True, False, True, False, True]
    for place in (1, 3):
        expected = planned.rows[place]
        widths = [
            estimator.set_params(random_state=seed)
            .fit(people(expected.n, 100 + seed))
            .confidence_region()
            .largest_radius
            for seed in range(30)
        ]
        errors = [expected.error, 1.25 * np.std(widths) / math.sqrt(30), 0.04 * expected.width]
        assert errors[0] < 0.08 * expected.width
        assert np.median(widths) == pytest.approx(expected.width, abs=3 * math.hypot(*errors))


@pytest.mark.slow
def test_without_noise_the_width_of_a_flat_mean_is_that_of_its_standard_error():
    rows = 0.3 * np.random.default_rng(0).normal(size=(2000, 2)) * [1.0, 0.5]
    mean = PrivateFrechetMean(epsilon=math.inf, data_radius=2.0, n_rounds=1)
    planned = plan(mean, rows, n=[4000], functional=lambda point: point[0], n_emulations=4)
    error = 1.959964 * rows[:, 0].std() / math.sqrt(4000)
    assert planned.is_of_functional
    # Four emulations of 4000: each standard deviation is known to 1 / sqrt(8000) = 1.1%.
    assert planned.rows[0].width == pytest.approx(error, rel=0.03)


def test_a_regression_is_planned_from_rows_with_their_target():
    """Without noise the oracle is the sandwich of least squares, with the intercept in its unit."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = X @ [1.0, -0.5] + 0.3 * rng.normal(size=400)
    estimator = PrivateLinearRegression(2.0, target_bound=3.0, epsilon=math.inf)
    options = {"n": [20_000], "n_emulations": 2}
    planned = plan(estimator, np.column_stack([X, y]), **options)
    constant = np.column_stack([np.full(400, math.sqrt(2)), X])  # 2 over the root of 2 features
    residual = y - constant @ np.linalg.lstsq(constant, y, rcond=None)[0]
    inverse = np.linalg.inv(constant.T @ constant)
    covariance = 400 * inverse @ (constant.T * residual**2) @ constant @ inverse
    axis = math.sqrt(stats.chi2.ppf(0.95, 3) * np.linalg.eigvalsh(covariance)[-1] / 20_000)
    assert planned.rows[0].oracle == pytest.approx(axis, rel=1e-6)
    assert planned.rows[0].width > axis
    classes = PrivateLogisticRegression(2.0, epsilon=math.inf, classes=["no", "yes"])
    (found,) = plan(classes, np.column_stack([X, y > 0.3]), **options).rows
    assert math.isfinite(found.width)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--n", "1"], "error: --n must be an integer of at least 2; got 1"),
        (["--n", "200", "--epsilon", "0"], "error: --epsilon must be"),
        (["--n", "200", "--level", "1"], "error: --level must be"),
        (["--n", "200", "--emulations", "1"], "error: --emulations must be"),
        (["--n", "200", "--seed", "-1"], "error: --seed must be"),
        (["--n", "200", "--bound", "norm=1"], "error: --bound must be parameters of PrivatePCA"),
    ],
)
def test_errors_of_the_command_name_its_options(options, error, tmp_path, capsys):
    pilot = tmp_path / "pilot.csv"
    np.savetxt(pilot, people(20, 0), delimiter=",", header="height,weight,waist", comments="")
    command = ["plan", str(STUDY), "--pilot", str(pilot), "--columns", "height,weight,waist"]
    assert main([*command, *options]) == 2
    assert error in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_writes_the_table_and_the_picture(tmp_path, capsys):
    rows = np.random.default_rng(0).normal(size=(400, 3)) * [0.2, 0.9, 0.3]
    pilot = tmp_path / "pilot.csv"
    np.savetxt(pilot, rows, delimiter=",", header="height,weight,waist", comments="")
    command = ["plan", str(STUDY), "--pilot", str(pilot), "--columns", "height,weight,waist"]
    command += ["--n", "1000", "4000", "--bound", "norm_bound=1.5,2", "--width", "0.08"]
    command += ["--answers-a-day", "200", "--emulations", "2"]
    command += ["--json", str(tmp_path / "plan.json"), "--picture", str(tmp_path / "plan.png")]
    assert main(command) == 0
    printed = capsys.readouterr().out
    record = json.loads((tmp_path / "plan.json").read_text())
    assert [one["n"] for one in record["rows"]] == [1000, 4000, 1000, 4000]
    assert {one["norm_bound"] for one in record["wanted"]} == {1.5, 2.0}
    assert "norm_bound 1.5: a width of 0.08 takes" in printed and "in all:" in printed
    assert (tmp_path / "plan.png").stat().st_size > 5000
    assert main([*command[:-4], "--columns", "height,weight,nose"]) == 2
