"""The command ``fit``: the same numbers as in Python, and errors for people without it."""

import json
import warnings

import numpy as np
import pytest

from geomstats_ldp import (
    PrivateFrechetMean,
    PrivateHuberRegression,
    PrivateLinearRegression,
    PrivateLogisticRegression,
    PrivatePCA,
    PrivateSPDCovariance,
    PrivateVMFLocation,
    plotting,
)
from geomstats_ldp.cli import main
from geomstats_ldp.exceptions import LDPWarning

CENTRE, SCALE = np.array([170.0, 80.0, 100.0]), np.array([10.0, 20.0, 15.0])
ROWS = CENTRE + SCALE * np.random.default_rng(0).normal(0.3, 0.5, size=(3000, 3))
UNITS = ["--subtract", "170,80,100", "--divide-by", "10,20,15"]


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("people.csv", ROWS, "%.17g", ",", header="height,weight,waist", comments="")


def fit(model, *options, columns="height,weight,waist"):
    command = ["fit", model, "--csv", "people.csv", "--columns", columns, "--epsilon", "8"]
    return main([*command, *options])


MODELS = {
    "pca": (PrivatePCA(norm_bound=2.5), ["--norm-bound", "2.5"]),
    "direction": (PrivateVMFLocation(), []),
    "mean": (
        PrivateFrechetMean(data_radius=2.5, region_radius=2.5, n_rounds=1),
        ["--norm-bound", "2.5"],
    ),
    "covariance": (PrivateSPDCovariance(norm_bound=2.5), ["--norm-bound", "2.5"]),
}


@pytest.mark.parametrize(
    "model",  # two of them compile for this test alone
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in ("covariance", "direction")))
        for name in MODELS
    ],
)
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_the_numbers_are_those_of_the_estimator(model, people, capsys):
    estimator, options = MODELS[model]
    estimator.set_params(epsilon=8.0, random_state=3).fit((ROWS - CENTRE) / SCALE)
    files = ["--json", "answer.json", "--picture", "answer.png"]
    assert fit(model, *options, *UNITS, "--seed", "3", *files) == 0
    with open("answer.json") as file:
        record = json.load(file)
    np.testing.assert_array_equal(record["estimate"], estimator.estimate_)
    np.testing.assert_array_equal(record["covariance"], estimator.covariance_)
    assert record["largest_radius"] == estimator.confidence_region(0.95).largest_radius
    assert record["parameters"]["subtract"] == CENTRE.tolist() and record["n_participants"] == 3000
    assert "random_state" not in record["parameters"], "a seed is a key to the noise"
    printed = capsys.readouterr()
    assert f"{type(estimator).__name__}, 3000 people, epsilon 8" in printed.out
    assert "clipped" in printed.err and "clipped" not in printed.out + json.dumps(record)
    for label, component in record["components"].items():
        [line] = [text for text in printed.out.splitlines() if text.startswith(label + " ")]
        numbers = [float(text) for text in line[len(label) :].split() if text != "to"]
        expected, error = component["estimate"], component["standard_error"]
        expected = [expected, *component["interval"]]
        np.testing.assert_allclose(numbers, expected, rtol=5e-4, atol=error / 2)
    with open("answer.png", "rb") as file:
        assert file.read(4) == b"\x89PNG"


@pytest.mark.parametrize("model", ["mean", "covariance"])
def test_a_bound_that_scouts_do_not_find_is_a_number(model, people, capsys):
    with pytest.raises(SystemExit):
        fit(model, "--norm-bound", "scout")
    assert "a number is needed; got 'scout'; scouts find that of fit pca" in capsys.readouterr().err


@pytest.mark.slow  # compiles the moment of three columns
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_the_first_rows_may_scout(people, capsys):
    estimator = PrivatePCA(norm_bound="scout", initial_point="scout", epsilon=8.0, random_state=3)
    estimator.fit((ROWS - CENTRE) / SCALE)
    scout = ["--norm-bound", "scout", "--initial-point", "scout"]
    assert fit("pca", *scout, *UNITS, "--seed", "3", "--json", "answer.json") == 0
    with open("answer.json") as file:
        record = json.load(file)
    np.testing.assert_array_equal(record["estimate"], estimator.estimate_)
    found = estimator.scouted_.parameters
    assert record["scouted"]["n_participants"] == 750 and record["n_participants"] == 2250
    assert record["scouted"]["norm_bound"] == found["norm_bound"]
    assert record["scouted"]["initial_point"] == found["initial_point"].tolist()
    assert "750 more people scouted: norm bound" in capsys.readouterr().out


REGRESSIONS = {
    "linear": (PrivateLinearRegression(2.0, target_bound=2.5), ["--target-bound", "2.5"]),
    "huber": (PrivateHuberRegression(0.5, 2.0), ["--scale", "0.5"]),
    "logistic": (PrivateLogisticRegression(2.0), []),
}


@pytest.mark.parametrize(
    "kind",  # each compiles
    [pytest.param(name, marks=[pytest.mark.slow] * (name != "logistic")) for name in REGRESSIONS],
)
@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_regressions_are_those_of_the_estimators(kind, people, capsys):
    rows, (regression, options) = (ROWS - CENTRE) / SCALE, REGRESSIONS[kind]
    subtract, divide_by = "170,80,100", "10,20,15"
    if kind == "logistic":
        rows[:, 2] = rows[:, 0] + rows[:, 1] > 0.3
        table = np.column_stack([ROWS[:, :2], rows[:, 2]])
        np.savetxt("people.csv", table, "%.17g", ",", header="height,weight,waist", comments="")
        subtract, divide_by = "170,80", "10,20"
    regression.set_params(epsilon=8.0, random_state=3).fit(rows[:, :2], rows[:, 2])
    units = ["--subtract", subtract, "--divide-by", divide_by, "--feature-bound", "2"]
    asked = ["--kind", kind, "--target", "waist", *options, *units]
    files = ["--json", "answer.json", "--picture", "answer.png"]
    columns = "height,weight"
    assert fit("regression", *asked, *files, "--seed", "3", columns=columns) == 0
    with open("answer.json") as file:
        record = json.load(file)
    np.testing.assert_array_equal(record["estimate"], regression.estimate_)
    assert (record["kind"], record["target"]) == (kind, "waist")
    table = regression.summary()
    for name, value, error in zip(
        ("intercept", "height", "weight"), table.estimate, table.standard_error
    ):
        component = record["components"][name]
        assert (component["estimate"], component["standard_error"]) == (value, error)
    printed = capsys.readouterr().out
    is_wide = not regression.confidence_region().is_informative
    note = "The 95% region reaches the edge of where the answer was sought\n" if is_wide else ""
    assert printed.replace("height", "    x0").replace("weight", "    x1").split() == (
        f"{table}\n{note}wrote answer.json\nwrote answer.png".split()
    )


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_means_come_in_the_units_of_the_file(people):
    fit("mean", "--norm-bound", "3", *UNITS, "--seed", "0", "--rounds", "2", "--json", "mean.json")
    with open("mean.json") as file:
        components = json.load(file)["components"]
    for name, mean in zip(("height", "weight", "waist"), ROWS.mean(axis=0)):
        assert abs(components[name]["estimate"] - mean) < 5 * components[name]["standard_error"]


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_a_region_that_reaches_the_edge_is_said(people, capsys):
    """Means far from where they are sought."""
    said = "The 95% region reaches the edge of where the answer was sought"
    assert fit("mean", "--norm-bound", "2.5", *UNITS, "--seed", "0") == 0
    assert said not in capsys.readouterr().out
    assert fit("mean", "--norm-bound", "300", "--region-radius", "1", "--seed", "0") == 0
    printed = capsys.readouterr()
    assert said in printed.out
    assert "--subtract nearer to it, a larger --region-radius" in printed.err


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_means_are_sought_as_far_as_the_data_go(people):
    """Columns that are not centred: their means are longer than one, the estimator's default."""
    options = ["--norm-bound", "300", "--epsilon", "inf", "--seed", "0", "--json", "mean.json"]
    assert fit("mean", *options) == 0
    with open("mean.json") as file:
        record = json.load(file)
    assert record["is_informative"]
    np.testing.assert_allclose(record["estimate"], ROWS.mean(axis=0), rtol=1e-6)


@pytest.mark.slow  # compiles
def test_covariances_are_named_by_their_columns(people, capsys):
    assert fit("covariance", *UNITS, "--norm-bound", "2.5") == 0
    lines = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if "," in line and ":" not in line][1:] == [
        "height, height",
        "height, weight",
        "height, waist",
        "weight, weight",
        "weight, waist",
        "waist, waist",
    ]


@pytest.mark.parametrize(
    ("model", "options", "error"),
    [
        ("mean", ["--norm-bound", "-1"], "--norm-bound must be in"),
        ("pca", ["--norm-bound", "-1"], "--norm-bound must be in"),
        ("mean", ["--norm-bound", "1", "--region-radius", "0"], "--region-radius must be in"),
        ("mean", ["--norm-bound", "1", "--rounds", "0"], "--rounds must be an integer"),
        ("direction", ["--seed", "-1"], "--seed must be"),
        ("pca", ["--norm-bound", "1", "--initial-point", "0,0,0"], "--initial-point must"),
        ("mean", ["--norm-bound", "1", "--subtract", "1,2"], "--subtract must have 3 finite"),
        ("mean", ["--norm-bound", "1", "--divide-by", "1,0,1"], "--divide-by must have positive"),
        (
            "pca",
            ["--norm-bound", "1", "--initial-point", "1,2"],
            "--initial-point must have 3 numbers",
        ),
        ("pca", ["--norm-bound", "1", "--mechanism", "laplace"], "--mechanism must be one of"),
        ("direction", ["--level", "1"], "--level must be in"),
        ("regression", ["--scale", "1", "--target", "waist"], "--target must be one column"),
        ("regression", ["--target", "age"], "--scale must be given for --kind huber"),
        ("regression", ["--scale", "1", "--target", "age"], "no such column"),
        (
            "regression",
            ["--scale", "1", "--target", "age", "--target-bound", "1"],
            "--target-bound must not be given for --kind huber",
        ),
        (
            "regression",
            ["--scale", "1", "--target", "age", "--subtract", "1,2,3"],
            "--subtract must have 4 finite numbers, one for each of height, weight, waist, age",
        ),
        ("direction", ["--csv", "nobody.csv"], "nobody.csv"),
    ],
)
def test_errors_are_one_line(model, options, error, people, capsys):
    if model == "regression":
        options = ["--kind", "huber", "--feature-bound", "2", *options]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LDPWarning)
        assert fit(model, *options) == 2
    text = capsys.readouterr().err.splitlines()[-1]
    assert text.startswith("geomstats-ldp: error: ") and error in text


@pytest.mark.parametrize("model", ["pca", "direction"])
def test_directions_take_two_columns(model, people, capsys):
    options = ["--norm-bound", "1"] if model == "pca" else []
    assert fit(model, *options, columns="height") == 2
    said = f"--columns must be 2 names at least for {model}; got 'height'"
    assert said in capsys.readouterr().err


def test_an_empty_file_is_said_to_be_empty(people, capsys):
    open("people.csv", "w").close()
    assert fit("mean", "--norm-bound", "1") == 2
    assert "there is no such column. That line is empty" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::geomstats_ldp.exceptions.LDPWarning")
def test_means_are_printed_to_the_size_of_their_errors(people, capsys):
    """Far from zero four digits would hide the interval."""
    rows = ROWS.copy()
    rows[:, 0] = 1e4 + 1e-3 * (ROWS[:, 0] - CENTRE[0]) / SCALE[0]
    np.savetxt("people.csv", rows, "%.6f", ",", header="far,weight,waist", comments="")
    units = ["--subtract", "1e4,80,100", "--divide-by", "1e-3,20,15", "--seed", "3"]
    asked = ["--norm-bound", "2.5", *units, "--json", "a.json"]
    assert fit("mean", *asked, columns="far,weight,waist") == 0
    with open("a.json") as file:
        component = json.load(file)["components"]["far"]
    [line] = [text for text in capsys.readouterr().out.splitlines() if text.startswith("far")]
    value, low, high = (float(text) for text in line.split()[1:] if text != "to")
    error = component["standard_error"]
    np.testing.assert_allclose(
        [value, low, high], [component["estimate"], *component["interval"]], rtol=0, atol=error / 2
    )


def test_the_picture_of_means_is_in_public_units(people, monkeypatch):
    """In the units of the file an interval far from zero would be a dot."""
    drawn = []
    draw = plotting.plot_loadings

    def plot_loadings(*arguments, **options):
        drawn.append(draw(*arguments, **options))
        return drawn[-1]

    monkeypatch.setattr(plotting, "plot_loadings", plot_loadings)
    assert fit("mean", "--norm-bound", "2.5", *UNITS, "--picture", "answer.png") == 0
    [ax] = drawn
    assert ax.get_xlabel().endswith("after --subtract and --divide-by")
    assert np.abs(ax.get_xlim()).max() < 3.0 < CENTRE.min()


def test_missing_columns_are_named(people, capsys):
    assert fit("mean", "--norm-bound", "1", columns="height,age") == 2
    assert "column 'age' must be one of the first line" in capsys.readouterr().err


def test_too_few_rows_are_said(people, capsys):
    np.savetxt("people.csv", ROWS[:3], "%.3f", ",", header="height,weight,waist", comments="")
    assert fit("mean", "--norm-bound", "1", *UNITS) == 2
    assert capsys.readouterr().err


def test_labels_that_are_no_labels_are_blamed_on_the_target(people, capsys):
    options = ["--kind", "logistic", "--feature-bound", "1", "--target", "waist"]
    assert fit("regression", *options, columns="height,weight") == 2
    assert "error: --target must hold the classes [0, 1] only" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "error"),
    [
        (("--picture", "answer.foo"), "it must end with .png, .pdf, .svg; got 'answer.foo'"),
        (("--picture", "nowhere/answer.png"), "there is no folder nowhere"),
        (("--json", "nowhere/answer.json"), "there is no folder nowhere"),
        (("--norm-bound", "two"), "a number or scout is needed; got 'two'"),
    ],
)
def test_what_cannot_be_written_is_said_before_the_work(option, error, people, capsys):
    with pytest.raises(SystemExit):
        fit("pca", "--norm-bound", "1", *option)
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("text", ["1,x", ""])
def test_lists_of_numbers_are_checked(text, people, capsys):
    with pytest.raises(SystemExit):
        fit("mean", "--norm-bound", "1", "--subtract", text)
    assert "numbers with commas are needed" in capsys.readouterr().err
