"""Cells: their names, seeds and checkpoints, and rows that agree with themselves."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from geomstats.geometry.euclidean import Euclidean
from scipy import stats

from geomstats_ldp.geometry import Geometry, log_box
from geomstats_ldp.losses import FrechetLoss
from geomstats_ldp.planning.oracle import oracle_semi_axes
from geomstats_ldp.replication.study import methods
from geomstats_ldp.replication.study.axial_frechet import AxialFrechetLoss
from geomstats_ldp.replication.study.designs import FiniteLaw, load_design
from geomstats_ldp.replication.study.methods import (
    METHOD_TUNINGS,
    METHODS,
    Cell,
    repetition_seeds,
    run_cell,
)
from geomstats_ldp.replication.study.paper_results import paper_table
from geomstats_ldp.replication.study.summary import beside_paper, summarise
from geomstats_ldp.replication.study.tuning import design_mechanism, design_protocol


@pytest.fixture
def drawn(monkeypatch):
    """Data of every repetition, as they are drawn."""
    kept, draw = [], FiniteLaw.draw

    def draw_and_keep(law, rng, n):
        kept.append(draw(law, rng, n))
        return kept[-1]

    monkeypatch.setattr(FiniteLaw, "draw", draw_and_keep)
    return kept


def test_mechanisms_epsilons_methods_and_tunings_meet_the_same_data(drawn, monkeypatch):
    for fit in ("_fit_spr", "_fit_rounds", "_fit_trajectory", "_fit_half_sample"):
        monkeypatch.setattr(methods, fit, lambda *_: [])
    cells = [
        Cell("F", "gaussian", 8.0),
        Cell("F", "gaussian", 1.0),
        Cell("F", "gaussian", math.inf),
        Cell("F", "l2_ball", 8.0),
        Cell("F", "gaussian", 8.0, "trajectory"),
        Cell("F", "gaussian", 8.0, "half_sample"),
        Cell("F", "gaussian", 8.0, tuning="default"),
        Cell("F", "gaussian", 8.0, "rounds", "default"),
    ]
    for cell in cells:
        run_cell(cell, [200], [3], seed=1)
    assert len(drawn) == len(cells)
    for data in drawn:
        assert np.array_equal(data, drawn[0])
    run_cell(cells[0], [200], [4], seed=1)
    run_cell(cells[0], [200], [3], seed=2)
    assert not any(np.array_equal(data, drawn[0]) for data in drawn[-2:])


def test_seeds_differ_between_designs_repetitions_and_uses():
    states = {
        tuple(seed.generate_state(4))
        for design in "AB"
        for repetition in (0, 1)
        for study in (0, 1)
        for seed in repetition_seeds(study, design, repetition)
    }
    assert len(states) == 16


@pytest.mark.slow
def test_epsilons_and_methods_meet_the_same_noise(monkeypatch):
    gaussian = type(design_mechanism(load_design("F"), "gaussian", 8.0))
    kept, draw = [], gaussian.draw

    def draw_and_keep(mechanism, n, streams):
        kept.append(draw(mechanism, n, streams))
        return kept[-1]

    monkeypatch.setattr(gaussian, "draw", draw_and_keep)
    for cell in (
        Cell("F", "gaussian", 8.0),
        Cell("F", "gaussian", 1.0),
        Cell("F", "gaussian", 1.0, "trajectory"),
    ):
        run_cell(cell, [200], [3], seed=1)
    assert [len(noise) for noise in kept] == [200] * 3
    for noise in kept:
        assert np.array_equal(noise, kept[0])


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_checkpoints_of_one_stream_are_separate_runs(method):
    cell = Cell("F", "gaussian", 4.0, method, METHOD_TUNINGS[method][0])
    together = pd.DataFrame(run_cell(cell, [300, 800], [0, 1], seed=7))
    for n in (300, 800):
        alone = pd.DataFrame(run_cell(cell, [n], [0, 1], seed=7))
        part = together[together["n"] == n].reset_index(drop=True)
        pd.testing.assert_frame_equal(part, alone, check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_rows_agree_with_themselves(method):
    cell = Cell("A", "gaussian", 8.0, method, METHOD_TUNINGS[method][0])
    rows = pd.DataFrame(run_cell(cell, [1000], range(12), seed=0))
    assert rows["repetition"].tolist() == list(range(12))
    threshold = stats.chi2.ppf(0.95, 2)
    # The target is the centre of the working region, so that the region never excludes it.
    assert rows["covered"].tolist() == (rows["statistic"] <= threshold).tolist()
    assert (rows["semi_axis_1"] >= rows["semi_axis_2"]).all() and rows["semi_axis_3"].isna().all()
    assert (rows["error"] > 0).all() and rows["error"].nunique() == 12
    # A region that covers is at least as long as the error is.
    covered = rows[rows["covered"]]
    assert (covered["error"] <= 1.05 * covered["semi_axis_1"]).all()


@pytest.mark.slow
def test_without_privacy_error_and_semi_axes_are_those_of_the_oracle():
    """The score of F is affine, so that the sandwich is right at moderate n already."""
    rows = pd.DataFrame(run_cell(Cell("F", "gaussian", math.inf), [8000], range(60), seed=3))
    design = load_design("F")
    axes = oracle_semi_axes(design, design_mechanism(design, "gaussian", math.inf), 8000)
    assert math.isclose(rows["semi_axis_1"].mean(), axes[0], rel_tol=0.15)
    mean_square = np.sum(axes**2) / stats.chi2.ppf(0.95, 3)
    errors = rows["error"] ** 2 / mean_square
    assert abs(errors.mean() - 1) < 3 * errors.std() / math.sqrt(60) + 0.1


def test_rounds_are_those_of_the_plan_and_do_as_well_as_the_oracle():
    rows = pd.DataFrame(
        run_cell(Cell("F", "privunit", 8.0, "rounds", "default"), [4000], range(60), seed=3)
    )
    design = load_design("F")
    # Everybody is asked at one point, and their scores at that need less noise than the design's.
    protocol = design_protocol(design, "privunit", 8.0, 4000, "default", methods.N_ROUNDS)
    axes = oracle_semi_axes(design, protocol.mechanism, 4000)
    ratios = rows["error"] ** 2 / (np.sum(axes**2) / stats.chi2.ppf(0.95, 3))
    assert abs(ratios.mean() - 1) < 3 * ratios.std() / math.sqrt(60) + 0.1
    assert rows["covered"].sum() >= 50  # fewer of 60 with probability 3e-4


@pytest.mark.slow
@pytest.mark.parametrize(("design", "epsilon"), [("A", 8.0), ("F", 4.0)])
def test_a_cell_of_the_paper(design, epsilon):
    rows = pd.DataFrame(run_cell(Cell(design, "gaussian", epsilon), [32000], range(100), seed=5))
    table = beside_paper(summarise(rows))
    paper = paper_table().set_index(["design", "epsilon"]).loc[(design, epsilon)]
    assert abs(table["error"] - paper["paper_error"]).item() < 3.5 * table["error_se"].item()
    assert abs(table["coverage_z"].item()) < 3.5


@pytest.mark.slow
def test_the_paper_calibrated_c_over_its_box(monkeypatch):
    """It states no score bound for C. The triangle inequality's gives errors it does not have.

    The logarithm is an isometry, so this is design C in Euclidean space, which compiles faster.
    """
    center, axes = np.array([0.2, 0.1, -0.3]), np.array([0.31, 0.38, 0.29])
    support = np.concatenate([[center], center + np.diag(axes), center - np.diag(axes)])
    flat = replace(
        load_design("C"),
        space=Euclidean(3),
        region=log_box(center, [0.5] * 3, holds_queries=True),
        reference=np.zeros(3),
        initial_point=np.array([0.32, 0.0, -0.22]),
        target=center,
        law=FiniteLaw(support, [0.4] + [0.1] * 6),
    )
    ratios = []
    for loss in (
        AxialFrechetLoss(center=center, half_axes=axes),
        FrechetLoss(center=center, data_radius=0.38),
    ):
        geometry = Geometry(flat.space, flat.reference)
        design = replace(flat, loss=loss, score_bound=loss.score_bound(geometry, flat.region))
        monkeypatch.setattr(methods, "load_design", lambda _, design=design: design)
        rows = run_cell(Cell("C", "gaussian", 4.0), [32000], range(200), seed=0)
        ratios.append(np.mean([row["error"] for row in rows]) / 0.0229)
    assert abs(ratios[0] - 1) < 0.08 < ratios[1] - 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"design": "G"}, "design must be one of"),
        ({"mechanism": "laplace"}, "mechanism must be one of"),
        ({"method": "pairs"}, "method must be one of"),
        ({"tuning": "mine"}, "tuning must be one of"),
        ({"method": "trajectory", "tuning": "default"}, r"tuning must be one of \('paper',\)"),
        ({"method": "rounds", "tuning": "paper"}, r"tuning must be one of \('default',\)"),
        ({"epsilon": 3.0}, "epsilon must be one of .* paper's tuning.* got 3.0"),
    ],
)
def test_cells_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Cell(**({"design": "A", "mechanism": "gaussian", "epsilon": 8.0} | options))


@pytest.mark.parametrize("epsilon", [math.inf, 8.0, 0.1, 1e-5, 1.2345678, 1.23456789])
def test_names_are_read_back(epsilon):
    cell = Cell("C", "l2_ball", epsilon, tuning="default")
    assert Cell.from_key(cell.key) == cell
    assert Cell("A", "gaussian", 8.0, "half_sample").key == "A-gaussian-8-half_sample-paper"


def test_places_are_those_of_a_table():
    cells = [
        Cell("B", "gaussian", 8.0),
        Cell("A", "gaussian", 1.0),
        Cell("A", "gaussian", math.inf),
    ]
    keys = [cell.key for cell in sorted(cells, key=lambda cell: cell.place)]
    assert keys == [
        "A-gaussian-inf-spr-paper",
        "A-gaussian-1-spr-paper",
        "B-gaussian-8-spr-paper",
    ]
