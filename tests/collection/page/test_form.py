"""What is typed and the datum that it stands for, and public numbers in words."""

import re
from pathlib import Path

import numpy as np
import pytest
from geomstats.geometry.hyperboloid import Hyperboloid
from geomstats.geometry.hypersphere import Hypersphere
from geomstats.geometry.poincare_ball import PoincareBall
from geomstats.geometry.poincare_half_space import PoincareHalfSpace
from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDMatrices

from geomstats_ldp import PrivateFrechetMean, PrivateSPDCovariance, PrivateVMFLocation
from geomstats_ldp.geometry import UserCoordinates
from geomstats_ldp.geometry.spaces.hyperbolic import on_sheet

# The browser takes long.
pytestmark = pytest.mark.slow

PLAN = {"epsilon": 2.0, "n_rounds": 5, "n_participants": 2000}

TYPED = """async ([text, form, name, rows]) => {
    const { Protocol } = await import("/page/protocol.js");
    const { inputModes, meaning, readNumber } = await import("/page/fields.js");
    const protocol = new Protocol(text);
    const modes = inputModes(protocol, form);
    const mode = modes.find((mode) => mode.name === name);
    const understand = (row) => {
        try {
            const datum = mode.toDatum(row.map((entry, i) => readNumber(String(entry), i)));
            const { counted, isMoved } = meaning(protocol, datum);
            return { datum, isMoved, counted, back: mode.fromDatum?.(datum) };
        } catch (error) {
            const { message: fault, field, constructor } = error;
            return { fault, field, kind: constructor.name };
        }
    };
    return { modes, labels: mode.labels, rows: rows.map(understand) };
}"""


@pytest.fixture
def type_in(javascript):
    """What the form makes of rows of texts."""

    def make(estimator, mode, rows, form=None, n_features=None):
        text = estimator.start(n_features).protocol_.to_json()
        return javascript(TYPED, [text, form or {}, mode, np.asarray(rows).tolist()])

    return make


def hyperbolic_mean():
    return PrivateFrechetMean(Hyperboloid(dim=3), data_radius=1.5, **PLAN)


def test_points_of_the_poincare_ball(type_in):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    rows *= (rng.uniform(0, 0.999, size=200) / np.linalg.norm(rows, axis=1))[:, None]
    found = type_in(hyperbolic_mean(), "poincare_ball", rows)["rows"]
    expected = UserCoordinates(PoincareBall(3)).to_internal(rows)
    np.testing.assert_allclose([row["datum"] for row in found], expected, rtol=1e-11)
    np.testing.assert_allclose([row["back"] for row in found], rows, atol=1e-12)


def test_points_of_the_half_space(type_in):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(200, 3))
    rows[:, 2] = rng.lognormal(size=200)
    found = type_in(hyperbolic_mean(), "half_space", rows)["rows"]
    expected = UserCoordinates(PoincareHalfSpace(3)).to_internal(rows)
    np.testing.assert_allclose([row["datum"] for row in found], expected, rtol=1e-12)
    np.testing.assert_allclose([row["back"] for row in found], rows, rtol=1e-9, atol=1e-9)


def test_points_of_the_hyperboloid(type_in):
    rows = np.random.default_rng(2).normal(size=(20, 3))
    found = type_in(hyperbolic_mean(), "hyperboloid", rows)["rows"]
    np.testing.assert_allclose([row["datum"] for row in found], on_sheet(rows), rtol=1e-14)


@pytest.mark.parametrize(
    "mode, row, field",
    [("poincare_ball", [0.6, 0.8, 0], 0)]
    + [("half_space", [0.5, 0.5, 0.0], 2), ("half_space", [0.5, 0.5, -1.0], 2)],
)
def test_points_off_hyperbolic_space_get_a_kind_word(mode, row, field, type_in):
    (found,) = type_in(hyperbolic_mean(), mode, [row])["rows"]
    assert found["kind"] == "DatumError"
    assert found["field"] == field


@pytest.mark.parametrize(
    "space, name", [(PoincareBall(2), "poincare_ball"), (PoincareHalfSpace(2), "half_space")]
)
def test_the_coordinates_of_a_protocol_are_the_only_ones(space, name, type_in):
    mean = PrivateFrechetMean(space, data_radius=1.5, **PLAN)
    found = type_in(mean, name, [[0.1, 0.5]], form={"coordinates": "hyperboloid"})
    assert [mode["name"] for mode in found["modes"]] == [name]
    expected = UserCoordinates(space).to_internal([0.1, 0.5])
    np.testing.assert_allclose(found["rows"][0]["datum"], expected, rtol=1e-14)


def test_angles_are_directions(type_in):
    sphere = type_in(PrivateVMFLocation(**PLAN), "angles", [[90, 30], [0, 91]], n_features=3)
    np.testing.assert_allclose(sphere["rows"][0]["datum"], [0, np.sqrt(0.75), 0.5], atol=1e-15)
    assert "latitude" in sphere["rows"][1]["fault"]
    circle = type_in(PrivateVMFLocation(**PLAN), "angle", [[180]], n_features=2)
    np.testing.assert_allclose(circle["rows"][0]["datum"], [-1, 0], atol=1e-15)
    lengths = type_in(
        PrivateVMFLocation(**PLAN), "components", [[3e200, 4e200], [0, 0]], n_features=2
    )
    np.testing.assert_allclose(lengths["rows"][0]["counted"], [0.6, 0.8])
    assert "direction" in lengths["rows"][1]["fault"]


def test_points_of_the_sphere_are_moved_to_their_bound(type_in):
    mean = PrivateFrechetMean(Hypersphere(2), initial_point=[0, 0, 1], data_radius=0.5, **PLAN)
    found = type_in(mean, "components", [[0, 2, 0], [0, 0.1, 3], [0, 0, -1]])
    assert [row["isMoved"] for row in found["rows"]] == [True, False, True]
    np.testing.assert_allclose(found["rows"][0]["counted"], [0, np.sin(0.5), np.cos(0.5)])


def test_a_matrix_is_typed_by_its_lower_triangle(type_in):
    space = SPDMatrices(2, equip=False)
    space.equip_with_metric(SPDAffineMetric)
    mean = PrivateFrechetMean(space, data_radius=1.5, **PLAN)
    rows = [[2, 0.5, 1], [1, 2, 1], [-1, 0, 1], [900, 0, 1]]
    found = type_in(mean, "matrix", rows, form={"labels": ["Height", "Weight"]})
    assert found["labels"] == ["Height with itself", "Weight with Height", "Weight with itself"]
    assert found["rows"][0]["datum"] == [[2, 0.5], [0.5, 1]]
    assert not found["rows"][0]["isMoved"]
    assert all("positive definite" in row["fault"] for row in found["rows"][1:3])
    assert found["rows"][3]["isMoved"]


def test_vectors_beyond_the_norm_are_counted_at_it(type_in):
    covariance = PrivateSPDCovariance(norm_bound=3.0, **PLAN)
    found = type_in(covariance, "numbers", [[30, 40], [1, 1], ["1e160", "1e160"]], n_features=2)
    assert [row["isMoved"] for row in found["rows"]] == [True, False, True]
    np.testing.assert_allclose(found["rows"][0]["counted"], [1.8, 2.4])


def test_labels_and_the_first_coordinates_are_the_organisers(type_in):
    form = {"labels": ["Where", "Where else", "How high"], "coordinates": "half_space"}
    found = type_in(hyperbolic_mean(), "half_space", [[0, 0, 1]], form=form)
    assert found["modes"][0]["name"] == "half_space"
    assert found["labels"] == form["labels"]
    odd = {"labels": "abc", "coordinates": "polar"}
    found = type_in(hyperbolic_mean(), "half_space", [[0, 0, 1]], form=odd)
    assert found["labels"] == ["Number 1", "Number 2", "Number 3"]


def test_odds_are_those_of_the_documentation(javascript):
    page = Path(__file__).parents[3] / "docs" / "what_is_protected.md"
    row = re.compile(r"^\| ([\d.]+) \| ([\d.]+) \| ([\d.]+)% \| ([\d.]+)% \|", re.M)
    table = [tuple(map(float, found)) for found in row.findall(page.read_text())]
    assert len(table) == 5
    texts = javascript(
        """async (epsilons) => {
            const { percent, posterior } = await import("/page/words.js");
            const said = (epsilon) => [0.5, 0.01].map((p) => percent(posterior(p, epsilon)));
            return epsilons.map(said);
        }""",
        [row[0] for row in table],
    )
    for (_, _, half, hundredth), found in zip(table, texts):
        assert [float(text[:-1]) for text in found] == pytest.approx([half, hundredth], abs=0.06)


def test_certainty_is_never_claimed(javascript):
    texts = javascript(
        """async () => {
            const { percent, posterior } = await import("/page/words.js");
            return [0.5, 0.9, 0.999].map((prior) => percent(posterior(prior, 16)));
        }"""
    )
    assert all(float(text[:-1]) < 100 for text in texts)
